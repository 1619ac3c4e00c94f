package resolvers

import (
	"context"
	"encoding/json"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) Coverage(ctx context.Context, obj *model.Agent, toolMocking *model.ToolMocking) ([]*model.CallCoverage, error) {
	if err := toolMocking.Validate(); err != nil {
		return nil, err
	}
	// Agents of one list share the result for the same mocking.
	mocking, err := json.Marshal(toolMocking)
	if err != nil {
		return nil, err
	}
	return query.Value(ctx, obj, "coverage "+string(mocking), func(ctx context.Context, t *db.Tenant, ids []string) (map[string][]*model.CallCoverage, error) {
		return r.engine.CoverageOfAgents(ctx, t, ids, toolMocking)
	})
}

func (r *mutationResolver) AnswerToolApproval(ctx context.Context, input model.AnswerToolApprovalInput) (*model.AnswerToolApprovalPayload, error) {
	call, err := r.tenant(ctx).AnswerToolApproval(ctx, input)
	return &model.AnswerToolApprovalPayload{ToolCall: call}, err
}

func (r *simulationChatResolver) ToolCalls(ctx context.Context, obj *model.SimulationChat) ([]*model.ToolCall, error) {
	return query.Many[*model.ToolCall](ctx, obj)
}

func (r *simulationChatResolver) PendingApprovals(ctx context.Context, obj *model.SimulationChat) ([]*model.ToolCall, error) {
	return query.Many[*model.ToolCall](ctx, obj)
}

func (r *simulationChatResolver) Coverage(ctx context.Context, obj *model.SimulationChat) ([]*model.CallCoverage, error) {
	return query.Value(ctx, obj, "coverage", r.coverage)
}
