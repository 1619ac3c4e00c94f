package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// coverage maps the id of each chat to the calls that its agent can make, and whether each call would be real or
// mocked.
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
