package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) CreateAgentTests(ctx context.Context, input model.CreateAgentTestsInput) (*model.CreateAgentTestsPayload, error) {
	tests, err := r.tenant(ctx).CreateAgentTests(ctx, input)
	if err != nil {
		return nil, err
	}
	return &model.CreateAgentTestsPayload{AgentTests: tests}, nil
}

func (r *mutationResolver) MoveAgentTests(ctx context.Context, input model.MoveAgentTestsInput) (*model.MoveAgentTestsPayload, error) {
	tests, err := r.tenant(ctx).MoveAgentTests(ctx, input)
	if err != nil {
		return nil, err
	}
	return &model.MoveAgentTestsPayload{AgentTests: tests}, nil
}

func (r *mutationResolver) CopyAgentTests(ctx context.Context, input model.CopyAgentTestsInput) (*model.CopyAgentTestsPayload, error) {
	tests, err := r.tenant(ctx).CopyAgentTests(ctx, input)
	if err != nil {
		return nil, err
	}
	return &model.CopyAgentTestsPayload{AgentTests: tests}, nil
}

func (r *mutationResolver) DeleteAgentTests(ctx context.Context, input model.DeleteAgentTestsInput) (*model.DeleteAgentTestsPayload, error) {
	if err := r.tenant(ctx).DeleteAgentTests(ctx, input.TestIds); err != nil {
		return nil, err
	}
	return &model.DeleteAgentTestsPayload{DeletedIds: model.Unique(input.TestIds)}, nil
}
