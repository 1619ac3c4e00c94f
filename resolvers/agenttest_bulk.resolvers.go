package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) CreateAgentTests(ctx context.Context, input model.CreateAgentTestsInput) (*model.CreateAgentTestsPayload, error) {
	tests, err := r.tenant(ctx).CreateAgentTests(ctx, input)
	return &model.CreateAgentTestsPayload{AgentTests: tests}, err
}

func (r *mutationResolver) MoveAgentTests(ctx context.Context, input model.MoveAgentTestsInput) (*model.MoveAgentTestsPayload, error) {
	tests, err := r.tenant(ctx).MoveAgentTests(ctx, input)
	return &model.MoveAgentTestsPayload{AgentTests: tests}, err
}

func (r *mutationResolver) CopyAgentTests(ctx context.Context, input model.CopyAgentTestsInput) (*model.CopyAgentTestsPayload, error) {
	tests, err := r.tenant(ctx).CopyAgentTests(ctx, input)
	return &model.CopyAgentTestsPayload{AgentTests: tests}, err
}

func (r *mutationResolver) DeleteAgentTests(ctx context.Context, input model.DeleteAgentTestsInput) (*model.DeleteAgentTestsPayload, error) {
	err := r.tenant(ctx).DeleteAgentTests(ctx, input.TestIds)
	return &model.DeleteAgentTestsPayload{DeletedIds: model.Unique(input.TestIds)}, err
}
