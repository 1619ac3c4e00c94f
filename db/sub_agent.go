package db

import (
	"context"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Lists of a company's sub-agents: by their ids, and by their agents, in the order in which they were added.
// ParentsOfAgents lists the agents that delegate to an agent.
var (
	SubAgentRows      = pg.Rows{Type: "sub-agent", Model: (*model.SubAgent)(nil), Key: pg.ByID}
	SubAgentsOfAgents = pg.Rows{Model: (*model.SubAgent)(nil), Key: "?TableAlias.agent_id", Order: "?TableAlias.position"}
	ParentsOfAgents   = pg.List{
		Model: (*model.Agent)(nil),
		Of: "EXISTS (SELECT 1 FROM sub_agents AS relation WHERE relation.company_id = ?0 AND relation.agent_id = " +
			"?TableAlias.id AND relation.delegate_agent_id = ?1)",
		Order: pg.NewestFirst,
	}
)

// SubAgentsOfAgents returns the sub-agents of several agents, in the order in which they were added to each.
func (t *Tenant) SubAgentsOfAgents(ctx context.Context, agentIDs []string,
	columns ...string) ([]*model.SubAgent, error) {
	return pg.Find[*model.SubAgent](ctx, t.db, SubAgentsOfAgents, agentIDs, columns...)
}

// AddSubAgent lets an agent, the parent, delegate to another. It returns the relation and the parent.
func (t *Tenant) AddSubAgent(ctx context.Context, in model.AddSubAgentInput) (*model.SubAgent, *model.Agent, error) {
	if err := in.Validate(); err != nil {
		return nil, nil, err
	}
	relation := &model.SubAgent{
		ID: model.NewID("subagent"), AgentID: in.AgentID, DelegateAgentID: in.DelegateAgentID, Name: in.Name,
		TechnicalName: in.TechnicalName, Position: 1, CreatedAt: now(),
	}
	if in.Description != nil {
		relation.Description = *in.Description
	}
	var parent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if parent, err = t.lockAgent(ctx, in.AgentID, forUpdate); err != nil {
			return err
		}
		if _, err := t.lockAgent(ctx, in.DelegateAgentID, forReference); err != nil {
			return err
		}
		siblings := []*model.SubAgent{}
		if err := t.db.Select(&siblings).Where("agent_id = ?", parent.ID).Order("position").Scan(ctx); err != nil {
			return err
		}
		if len(siblings) >= model.MaxConnections {
			return model.Errorf(model.Unprocessable, "agent %q has %d sub-agents, the maximum: disconnect some "+
				"first", parent.ID, len(siblings))
		}
		for _, s := range siblings {
			relation.Position = s.Position + 1
		}
		tools, err := t.ToolsOfAgents(ctx, []string{parent.ID})
		if err != nil {
			return err
		}
		for _, tool := range tools {
			if tool.TechnicalName == in.TechnicalName {
				var faults model.Fields
				faults.Add("technicalName", "is already the technical name of a tool of this agent")
				return faults.As(model.Unprocessable)
			}
		}
		return pg.Insert(ctx, t.db, relation)
	})
	return relation, parent, err
}

// copySubAgents gives a new agent the sub-agents of another.
func (t tenantTx) copySubAgents(ctx context.Context, originalID string, agent *model.Agent) error {
	// Deleting a delegate deletes its relations. So lock the delegates before reading the relations.
	delegates := []*model.Agent{}
	if err := t.db.Select(&delegates).Column("id").
		Where("id IN (SELECT delegate_agent_id FROM sub_agents WHERE company_id = ? AND agent_id = ?)",
			t.CompanyID(), originalID).
		Order("id").For(string(forReference)).Scan(ctx); err != nil {
		return err
	}
	relations, err := t.SubAgentsOfAgents(ctx, []string{originalID})
	if err != nil || len(relations) == 0 {
		return err
	}
	for _, relation := range relations {
		relation.ID, relation.AgentID, relation.CreatedAt = model.NewID("subagent"), agent.ID, agent.CreatedAt
		if relation.DelegateAgentID == originalID {
			relation.DelegateAgentID = agent.ID
		}
	}
	return pg.Insert(ctx, t.db, relations...)
}

// UpdateSubAgent changes the fields that the input sets, and returns the relation and the parent.
func (t *Tenant) UpdateSubAgent(ctx context.Context, in model.UpdateSubAgentInput) (*model.SubAgent, *model.Agent,
	error) {
	relation := &model.SubAgent{}
	var parent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		err := t.lock(ctx, "sub-agent", in.SubAgentID, relation, forUpdate)
		if err != nil {
			return err
		}
		before := relation.DelegateAgentID
		if err := relation.Update(in); err != nil {
			return err
		}
		// Lock only a new delegate. A request that is deleting the previous one holds its lock, and may be waiting for the
		// relation.
		if relation.DelegateAgentID == before {
			_, err = t.Agent(ctx, before)
		} else {
			_, err = t.lockAgent(ctx, relation.DelegateAgentID, forReference)
		}
		if err != nil {
			return err
		}
		if parent, err = t.Agent(ctx, relation.AgentID); err != nil {
			return err
		}
		return exec(ctx, t.db.Update(relation).WherePK())
	})
	return relation, parent, err
}

// RemoveSubAgent removes a relation and returns the parent.
func (t *Tenant) RemoveSubAgent(ctx context.Context, id string) (*model.Agent, error) {
	var parent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		relation := &model.SubAgent{}
		err := t.lock(ctx, "sub-agent", id, relation, forDelete)
		if err != nil {
			return err
		}
		if parent, err = t.Agent(ctx, relation.AgentID); err != nil {
			return err
		}
		return t.delete(ctx, "sub-agent", id, (*model.SubAgent)(nil))
	})
	return parent, err
}
