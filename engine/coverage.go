package engine

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Coverage returns, by the id of the chat, what would happen to each thing that the chat's agent can call: its tools, its
// sub-agents and, when it may, the transfer. The number of statements does not depend on that of the chats.
func (e *Engine) Coverage(ctx context.Context, t *db.Tenant, chats []*model.SimulationChat) (map[string][]*model.CallCoverage, error) {
	ids := make([]string, len(chats))
	for i, chat := range chats {
		ids[i] = chat.AgentID
	}
	speakers, err := loadSpeakers(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	coverage := make(map[string][]*model.CallCoverage, len(chats))
	for _, chat := range chats {
		calls := []*model.CallCoverage{}
		// An agent that was deleted meanwhile calls nothing.
		if s := speakers[chat.AgentID]; s != nil {
			for _, target := range s.targets(&chat.ToolMocking, e.canTransfer()) {
				calls = append(calls, &target.CallCoverage)
			}
		}
		coverage[chat.ID] = calls
	}
	return coverage, nil
}

// loadSpeakers reads agents with their tools and sub-agents, by the id of the agent, in three statements.
func loadSpeakers(ctx context.Context, t *db.Tenant, agentIDs []string) (map[string]*speaker, error) {
	agentIDs = model.Unique(agentIDs)
	speakers := make(map[string]*speaker, len(agentIDs))
	if len(agentIDs) == 0 {
		return speakers, nil
	}
	agents, err := t.AgentsByID(ctx, agentIDs)
	if err != nil {
		return nil, err
	}
	for _, agent := range agents {
		speakers[agent.ID] = &speaker{agent: agent}
	}
	tools, err := t.ToolsOfAgents(ctx, agentIDs)
	if err != nil {
		return nil, err
	}
	for _, tool := range tools {
		if s := speakers[tool.Parent()]; s != nil {
			s.tools = append(s.tools, tool)
		}
	}
	subAgents, err := t.SubAgentsOfAgents(ctx, agentIDs)
	if err != nil {
		return nil, err
	}
	for _, sub := range subAgents {
		if s := speakers[sub.AgentID]; s != nil {
			s.subAgents = append(s.subAgents, sub)
		}
	}
	return speakers, nil
}

// loadSpeaker reads one agent with its tools and sub-agents; NOT_FOUND when it does not exist.
func loadSpeaker(ctx context.Context, t *db.Tenant, agentID string) (*speaker, error) {
	speakers, err := loadSpeakers(ctx, t, []string{agentID})
	if err != nil {
		return nil, err
	}
	if s := speakers[agentID]; s != nil {
		return s, nil
	}
	return nil, model.Missing("agent", agentID)
}
