package db

import (
	"context"
	"reflect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// Agent returns one agent, or NOT_FOUND.
func (t *Tenant) Agent(ctx context.Context, id string) (*model.Agent, error) {
	agent := &model.Agent{}
	return agent, t.db.One(ctx, "agent", id, agent)
}

func (t tenantTx) lockAgent(ctx context.Context, id string, strength rowLock) (*model.Agent, error) {
	agent := &model.Agent{}
	return agent, t.lock(ctx, "agent", id, agent, strength)
}

// Lists of a company's agents: by their ids, and in pages.
var (
	AgentRows = pg.Rows{Type: "agent", Model: (*model.Agent)(nil), Key: pg.ByID}
	AgentList = pg.List{Model: (*model.Agent)(nil), Order: pg.NewestFirst, Orders: &agentOrders}

	agentOrders = map[model.AgentOrder]pg.Order{
		model.AgentOrderUpdatedAt: {Direction: "DESC", Behind: "<", By: "?TableAlias.updated_at", Place: "?1",
			Column: "updated_at"},
		model.AgentOrderName: {Direction: "ASC", Behind: ">", By: "lower(?TableAlias.name)", Place: "lower(?1)",
			Column: "name"},
	}
)

// AgentsByID returns the agents with the ids, in any order. Ids that do not exist are left out.
func (t *Tenant) AgentsByID(ctx context.Context, ids []string, columns ...string) ([]*model.Agent, error) {
	return pg.Find[*model.Agent](ctx, t.db, AgentRows, ids, columns...)
}

// Agents returns a page of the agents that pass the filter, in the order of the arguments.
func (t *Tenant) Agents(ctx context.Context, args model.PageArgs, filter *model.AgentFilter,
	columns ...string) (*model.Page[*model.Agent], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return pg.Page[*model.Agent](ctx, t.db, AgentList, args, columns, AgentsMatching(filter))
}

// AgentsMatching returns the filter of a list of agents. wanted is valid or nil.
func AgentsMatching(wanted *model.AgentFilter) (f pg.Filter) {
	if wanted == nil {
		return nil
	}
	f = pg.Equal(pg.Equal(f, "channel", wanted.Channel), "direction", wanted.Direction)
	if len(wanted.Tags) > 0 {
		f = f.AndInView(schema.AgentsView, "?TableAlias.tags @> to_jsonb(?::text[])", wanted.Tags)
	}
	if wanted.NameContains != nil {
		f = nameContains(f, schema.AgentsView, *wanted.NameContains)
	}
	return f
}

// nameParts are the characters of a name and its pairs of adjacent characters. The indexes agents_filter_idx and
// documents_name_idx contain the same expression.
const nameParts = `(string_to_array(translate(lower(?TableAlias.name), E'\n', ' '), NULL)
	|| string_to_array(regexp_replace(substr(regexp_replace(translate(lower(?TableAlias.name), E'\n', ' '), '(.)', '\1\1', 'g'), 2), '(..)', E'\\1\n', 'g'), E'\n'))`

// nameContains selects the agents or documents of a view whose names contain the part, ignoring case. The cheap
// comparison of names comes first. It is written as <> 0, because Postgres then expects that nearly all rows of the
// index pass it. The index is searched only for the first and the last pair of characters of the part. With more pairs,
// Postgres would expect almost no rows and scan many matches instead of the newest rows. For the same reason, plan such
// a statement with its arguments: a generic plan reads all matches.
func nameContains(f pg.Filter, view, part string) pg.Filter {
	f = f.AndInView(view, "strpos(lower(?TableAlias.name), lower(?)) <> 0", part)
	if part == "" {
		return f
	}
	return f.AndInView(view, nameParts+" @> ARRAY[left(translate(lower(?0), E'\n', ' '), 2), right(translate(lower(?0), "+
		"E'\n', ' '), 2)]", part)
}

// CreateAgent creates an agent. Its prompt becomes version 1.
func (t *Tenant) CreateAgent(ctx context.Context, in model.CreateAgentInput) (*model.Agent, error) {
	agent, err := model.NewAgent(in, now())
	if err != nil {
		return nil, err
	}
	return agent, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := pg.Insert(ctx, t.db, agent); err != nil {
			return err
		}
		if err := t.recordPrompt(ctx, agent, nil); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateAgent, agent.ID)
	})
}

// DuplicateAgent copies an agent with its prompt, tools, sub-agents and knowledge base chat. An agent that delegates to
// itself becomes a copy that delegates to itself.
func (t *Tenant) DuplicateAgent(ctx context.Context, in model.DuplicateAgentInput) (*model.Agent, error) {
	var agent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		tools, err := t.ToolsOfAgents(ctx, []string{in.AgentID}, "id")
		if err != nil {
			return err
		}
		// All transactions lock tools before agents, so that they cannot deadlock.
		if _, err := t.lockTools(ctx, idsOf(tools), forShare); err != nil {
			return err
		}
		original, err := t.lockAgent(ctx, in.AgentID, forShare)
		if err != nil {
			return err
		}
		if agent, err = original.Duplicate(in.Name, now()); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, agent); err != nil {
			return err
		}
		if err := t.recordPrompt(ctx, agent, nil); err != nil {
			return err
		}
		if _, err := t.ConnectTools(ctx, agent.ID, idsOf(tools)...); err != nil {
			return err
		}
		if err := t.copySubAgents(ctx, original.ID, agent); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateAgent, agent.ID)
	})
	return agent, err
}

// UpdateAgent changes the fields that the input sets. A different prompt becomes a new version.
func (t *Tenant) UpdateAgent(ctx context.Context, in model.UpdateAgentInput) (*model.Agent, error) {
	if in.Prompt == nil && in.PromptNote != nil && *in.PromptNote != "" {
		var faults model.Fields
		faults.Add("promptNote", "can be given only with prompt. To change the note of a version, use updatePromptVersion")
		return nil, faults.Err()
	}
	return t.updateAgent(ctx, in, nil)
}

// updateAgent does the same as UpdateAgent. If there are edits, it applies the edits to the current prompt, and ignores
// the prompt of the input.
func (t *Tenant) updateAgent(ctx context.Context, in model.UpdateAgentInput,
	edits model.PromptEdits) (*model.Agent, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var agent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if agent, err = t.lockAgent(ctx, in.AgentID, forUpdate); err != nil {
			return err
		}
		versions, direction := agent.PromptVersion, agent.Direction
		if err := agent.Expect(in); err != nil {
			return err
		}
		if edits != nil {
			prompt, err := edits.Apply(agent.Prompt)
			if err != nil {
				return err
			}
			in.Prompt = &prompt
		}
		if err := agent.Update(in, now()); err != nil {
			return err
		}
		if agent.Direction != direction {
			if err := t.checkDirectionChange(ctx, agent); err != nil {
				return err
			}
		}
		if _, err := t.db.Update(agent).WherePK().Exec(ctx); err != nil {
			return err
		}
		if agent.PromptVersion == versions {
			return t.audit(ctx, model.AuditActionUpdateAgent, agent.ID)
		}
		if err := t.recordPrompt(ctx, agent, in.PromptNote); err != nil {
			return err
		}
		if err := t.runAfterPrompt(ctx, agent); err != nil {
			return err
		}
		if others := (model.UpdateAgentInput{AgentID: in.AgentID, Prompt: in.Prompt, PromptNote: in.PromptNote,
			ExpectedVersion: in.ExpectedVersion, ExpectedUpdatedAt: in.ExpectedUpdatedAt}); !reflect.DeepEqual(in, others) {
			if err := t.audit(ctx, model.AuditActionUpdateAgent, agent.ID); err != nil {
				return err
			}
		}
		return t.audit(ctx, model.AuditActionUpdatePrompt, agent.ID)
	})
	return agent, err
}

// DeleteAgent deletes an agent with its prompt versions, simulated chats, tests, folders, campaigns, items, and
// relations in both directions. Executions and runs of its tests stay, as evidence. The agent, its campaigns and its
// tests can have many dependent rows, so DeleteAgent only marks them as deleted.
func (t *Tenant) DeleteAgent(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.lockAgent(ctx, id, forDelete); err != nil {
			return err
		}
		// The relations are locked in one order, so that two agents that refer to each other can be deleted concurrently.
		relations := []*model.SubAgent{}
		if err := t.db.Select(&relations).Column("id").Where("agent_id = ? OR delegate_agent_id = ?", id, id).
			Order("id").For(string(forDelete)).Scan(ctx); err != nil {
			return err
		}
		if _, err := t.db.Delete((*model.SubAgent)(nil)).Where("agent_id = ? OR delegate_agent_id = ?", id, id).
			Exec(ctx); err != nil {
			return err
		}
		if err := t.disableSchedules(ctx, "the agent was deleted", pg.Where("agent_id = ?", id)); err != nil {
			return err
		}
		if err := t.deleteTestsOfAgent(ctx, id); err != nil {
			return err
		}
		if err := t.recordTombstonesOfCampaigns(ctx, id); err != nil {
			return err
		}
		if err := t.markCampaigns(ctx, pg.Where("agent_id = ?", id)); err != nil {
			return err
		}
		if err := t.wakeChatsOfAgent(ctx, id); err != nil {
			return err
		}
		// A marked agent must not prevent the deletion of its knowledge base chat.
		if _, err := t.db.Update((*model.Agent)(nil)).Set("deleted_at = ?", now()).Set("knowledge_base_chat_id = NULL").
			Where("id = ?", id).Exec(ctx); err != nil {
			return err
		}
		if err := t.audit(ctx, deletions[typeAgent], id); err != nil {
			return err
		}
		return t.recordTombstone(ctx, typeAgent, id)
	})
}

// wakeChatsOfAgent signals the followers of the agent's newest chats that have not ended. The sweep finds followers of
// older chats.
func (t tenantTx) wakeChatsOfAgent(ctx context.Context, id string) error {
	ids := []string{}
	err := t.db.Select((*model.SimulationChat)(nil)).Column("id").Where("agent_id = ?", id).
		Where("ended_at IS NULL").Order("created_at DESC", "id DESC").Limit(chatsPerSweep).Scan(ctx, &ids)
	for _, id := range ids {
		t.wake(id)
	}
	return err
}

// delete removes the row with the id and the rows that reference it, and records the deletion in the audit log.
func (t tenantTx) delete(ctx context.Context, typeName, id string, row any) error {
	isDeleted, err := pg.Affects(t.db.Delete(row).Where("id = ?", id).Exec(ctx))
	if err != nil {
		return err
	}
	if !isDeleted {
		return model.Missing(typeName, id)
	}
	return t.audit(ctx, deletions[typeName], id)
}

// WhereAgent narrows a list to the rows of the agent. A nil id adds no condition.
func WhereAgent(id *string) pg.Filter { return pg.Equal(nil, "agent_id", id) }
