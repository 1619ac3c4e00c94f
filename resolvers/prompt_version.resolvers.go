package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) RestoreAgentPrompt(ctx context.Context, input model.RestoreAgentPromptInput) (*model.RestoreAgentPromptPayload, error) {
	agent, err := r.tenant(ctx).RestoreAgentPrompt(ctx, input)
	if err != nil {
		return nil, err
	}
	return &model.RestoreAgentPromptPayload{Agent: agent}, nil
}
