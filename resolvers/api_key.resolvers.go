package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) CreateAPIKey(ctx context.Context, input model.CreateAPIKeyInput) (*model.CreateAPIKeyPayload, error) {
	key, secret, err := r.tenant(ctx).CreateAPIKey(ctx, input)
	return &model.CreateAPIKeyPayload{APIKey: key, Secret: secret}, err
}

func (r *mutationResolver) RevokeAPIKey(ctx context.Context, input model.RevokeAPIKeyInput) (*model.RevokeAPIKeyPayload, error) {
	key, err := r.tenant(ctx).RevokeAPIKey(ctx, input.APIKeyID)
	return &model.RevokeAPIKeyPayload{APIKey: key}, err
}
