package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) CreateTestFromSimulationChat(ctx context.Context, input model.CreateTestFromSimulationChatInput) (*model.CreateTestFromSimulationChatPayload, error) {
	test, warnings, err := r.tenant(ctx).CreateTestFromSimulationChat(ctx, input)
	return &model.CreateTestFromSimulationChatPayload{AgentTest: test, Warnings: warnings}, err
}
