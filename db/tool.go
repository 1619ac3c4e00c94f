package db

import (
	"context"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/seal"
	"github.com/agentgraph/agentgraph/model"
)

// Tool returns one tool, or NOT_FOUND.
func (t *Tenant) Tool(ctx context.Context, id string) (*model.Tool, error) {
	tool := &model.Tool{}
	return tool, t.db.One(ctx, "tool", id, tool)
}

// Lists of a company's tools: by their ids, in pages, and by their agents in the order of their connection.
// AgentsOfTools lists the agents that have a tool.
var (
	ToolRows      = pg.Rows{Type: "tool", Model: (*model.Tool)(nil), Key: pg.ByID}
	ToolList      = pg.List{Model: (*model.Tool)(nil), Order: pg.NewestFirst}
	ToolsOfAgents = pg.Rows{
		Model: (*model.Tool)(nil),
		Join: "JOIN agent_tools AS relation ON relation.company_id = ?TableAlias.company_id AND relation.tool_id = " +
			"?TableAlias.id",
		Key: "relation.agent_id", Order: "relation.position",
	}
	AgentsOfTools = pg.List{
		Model: (*model.Agent)(nil),
		Of: "EXISTS (SELECT 1 FROM agent_tools AS relation WHERE relation.company_id = ?0 AND relation.agent_id = " +
			"?TableAlias.id AND relation.tool_id = ?1)",
		Order: pg.NewestFirst,
	}
)

// Tools returns a page of the tools, newest first.
func (t *Tenant) Tools(ctx context.Context, args model.PageArgs, filter *model.NameFilter,
	columns ...string) (*model.Page[*model.Tool], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return pg.Page[*model.Tool](ctx, t.db, ToolList, args, columns, NamesMatching(filter))
}

// ToolsOfAgents returns the tools of several agents, in the order of their connection to each.
func (t *Tenant) ToolsOfAgents(ctx context.Context, agentIDs []string, columns ...string) ([]*model.Tool, error) {
	return pg.Find[*model.Tool](ctx, t.db, ToolsOfAgents, agentIDs, columns...)
}

// CreateTool creates a tool.
func (t *Tenant) CreateTool(ctx context.Context, in model.CreateToolInput) (*model.Tool, error) {
	changes := in.Changes()
	if in.McpServerID == nil && in.McpName == nil {
		tool, err := model.NewTool(changes, now(), t.seal)
		if err != nil {
			return nil, err
		}
		return tool, pg.Insert(ctx, t.db, tool)
	}
	var tool *model.Tool
	return tool, t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if err := t.fillFromMcp(ctx, &changes, nil); err != nil {
			return err
		}
		if tool, err = model.NewTool(changes, now(), t.seal); err != nil {
			return err
		}
		return pg.Insert(ctx, t.db, tool)
	})
}

// UpdateTool changes the fields that the input sets.
func (t *Tenant) UpdateTool(ctx context.Context, in model.UpdateToolInput) (*model.Tool, error) {
	tool := &model.Tool{}
	return tool, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if in.McpServerID != nil {
			// Every transaction locks servers before their tools.
			if err := t.fillFromMcp(ctx, &in, nil); err != nil {
				return err
			}
		}
		if err := t.lock(ctx, "tool", in.ToolID, tool, forUpdate); err != nil {
			return err
		}
		if in.McpServerID == nil {
			if err := in.CheckMcp(tool); err != nil {
				return err
			}
		}
		if err := model.Unchanged("tool", tool.ID, in.ExpectedUpdatedAt, tool.UpdatedAt); err != nil {
			return err
		}
		before := tool.TechnicalName
		if err := tool.Update(in, now(), t.seal); err != nil {
			return err
		}
		if tool.TechnicalName != before {
			if err := t.checkRename(ctx, tool); err != nil {
				return err
			}
		}
		if err := exec(ctx, t.db.Update(tool).WherePK()); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionUpdateTool, tool.ID)
	})
}

// seal encrypts a secret in the company's row with the id.
func (t *Tenant) seal(id string, text []byte) ([]byte, error) {
	sealed, err := t.store.sealer.Seal(t.CompanyID()+"/"+id, text)
	if errors.Is(err, seal.ErrNoKey) {
		return nil, model.Errorf(model.Unprocessable, "secrets are stored encrypted, but this server has no secret key: "+
			"its operator must set AGENTGRAPH_SECRET_KEY")
	}
	return sealed, err
}

// checkRename locks the agents of a tool, so that no sub-agent is added to them. It refuses the technical name of a
// sub-agent that one of these agents has.
func (t tenantTx) checkRename(ctx context.Context, tool *model.Tool) error {
	agents := []*model.Agent{}
	err := t.db.Select(&agents).Column("id").
		Where("id IN (SELECT agent_id FROM agent_tools WHERE company_id = ? AND tool_id = ?)", t.CompanyID(), tool.ID).
		Order("id").For(string(forUpdate)).Scan(ctx)
	if err != nil || len(agents) == 0 {
		return err
	}
	ids := idsOf(agents)
	clash, err := t.db.Select((*model.SubAgent)(nil)).Where("agent_id IN (?)", bun.List(ids)).
		Where("technical_name = ?", tool.TechnicalName).Exists(ctx)
	if err != nil {
		return err
	}
	var faults model.Fields
	if clash {
		faults.Add("technicalName", "is already the technical name of a sub-agent of an agent that has this tool")
	}
	return faults.As(model.Unprocessable)
}

// DeleteTool deletes a tool and disconnects it from every agent.
func (t *Tenant) DeleteTool(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		return t.delete(ctx, "tool", id, (*model.Tool)(nil))
	})
}

type agentTool struct {
	bun.BaseModel `bun:"table:agent_tools,alias:agent_tool"`
	model.Owned

	AgentID  string `bun:",pk"`
	ToolID   string `bun:",pk"`
	Position int32
}

// ConnectTool connects a tool to an agent. The tool becomes the last of the agent's tools. Connecting it again changes
// nothing.
func (t *Tenant) ConnectTool(ctx context.Context, in model.ConnectToolInput) (*model.Agent, error) {
	return t.ConnectTools(ctx, in.AgentID, in.ToolID)
}

// ConnectTools is ConnectTool for several tools, in order. It connects all of them or none.
func (t *Tenant) ConnectTools(ctx context.Context, agentID string, toolIDs ...string) (*model.Agent, error) {
	var agent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// All transactions lock tools before agents, so that they cannot deadlock.
		tools, err := t.lockTools(ctx, toolIDs, forShare)
		if err != nil {
			return err
		}
		if agent, err = t.lockAgent(ctx, agentID, forUpdate); err != nil {
			return err
		}
		relations := []*agentTool{}
		if err := t.db.Select(&relations).Where("agent_id = ?", agent.ID).Order("position").Scan(ctx); err != nil {
			return err
		}
		had, next := len(relations), int32(1)
		if had > 0 {
			next = relations[had-1].Position + 1
		}
		for _, tool := range tools {
			if !slices.ContainsFunc(relations, func(e *agentTool) bool { return e.ToolID == tool.ID }) {
				relations = append(relations, &agentTool{AgentID: agent.ID, ToolID: tool.ID, Position: next})
				next++
			}
		}
		if len(relations) == had {
			return nil
		}
		if len(relations) > model.MaxConnections {
			return model.Errorf(model.Unprocessable, "agent %q has %d tools, and can have at most %d: disconnect some "+
				"first", agent.ID, had,
				model.MaxConnections)
		}
		if err := t.checkSubAgents(ctx, agent, tools); err != nil {
			return err
		}
		return pg.Insert(ctx, t.db, relations[had:]...)
	})
	return agent, err
}

// lockTools locks tools and returns them in the order of the ids.
func (t tenantTx) lockTools(ctx context.Context, ids []string, strength rowLock) ([]*model.Tool, error) {
	locked := []*model.Tool{}
	if err := t.db.Select(&locked).Where("id IN (?)", bun.List(ids)).Order("id").For(string(strength)).
		Scan(ctx); err != nil {
		return nil, err
	}
	return inOrder("tool", ids, locked)
}

// checkSubAgents returns UNPROCESSABLE when a sub-agent of the agent has the technical name of one of the tools.
func (t tenantTx) checkSubAgents(ctx context.Context, agent *model.Agent, tools []*model.Tool) error {
	names := model.Map(tools, func(tool *model.Tool) string { return tool.TechnicalName })
	clash := []*model.SubAgent{}
	err := t.db.Select(&clash).Column("technical_name").Where("agent_id = ?", agent.ID).
		Where("technical_name IN (?)", bun.List(names)).Limit(1).Scan(ctx)
	if err != nil {
		return err
	}
	if len(clash) > 0 {
		return model.Errorf(model.Unprocessable, "agent %q has a sub-agent with the technical name %q", agent.ID,
			clash[0].TechnicalName)
	}
	return nil
}

// DisconnectTool disconnects a tool from an agent. It changes nothing if they are not connected.
func (t *Tenant) DisconnectTool(ctx context.Context, in model.DisconnectToolInput) (*model.Agent, error) {
	if _, err := t.Tool(ctx, in.ToolID); err != nil {
		return nil, err
	}
	agent, err := t.Agent(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	_, err = t.db.Delete((*agentTool)(nil)).Where("agent_id = ?", in.AgentID).Where("tool_id = ?", in.ToolID).Exec(ctx)
	return agent, err
}
