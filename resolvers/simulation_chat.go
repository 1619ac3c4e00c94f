package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// coverage returns the effect of each possible call, by the chat's id.
func (r *Resolver) coverage(ctx context.Context, t *db.Tenant, ids []string) (map[string][]*model.CallCoverage, error) {
	found, err := t.Find(ctx, db.SimulationChatRows, ids, "agent_id", "tool_mocking")
	if err != nil {
		return nil, err
	}
	chats := make([]*model.SimulationChat, len(found))
	for i, row := range found {
		chats[i] = row.(*model.SimulationChat)
	}
	return r.engine.Coverage(ctx, t, chats)
}
