package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *simulationChatResolver) ToolCalls(ctx context.Context, obj *model.SimulationChat) ([]*model.ToolCall, error) {
	return query.Many[*model.ToolCall](ctx, obj)
}

func (r *simulationChatResolver) Coverage(ctx context.Context, obj *model.SimulationChat) ([]*model.CallCoverage, error) {
	return query.Value(ctx, obj, "coverage", r.coverage)
}
