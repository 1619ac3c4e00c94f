package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) CreateAPIKey(ctx context.Context, input model.CreateAPIKeyInput) (*model.CreateAPIKeyPayload, error) {
	key, secret, err := r.tenant(ctx).CreateAPIKey(ctx, input)
	if err != nil {
		return nil, err
	}
	return &model.CreateAPIKeyPayload{APIKey: key, Secret: secret}, nil
}

func (r *mutationResolver) RevokeAPIKey(ctx context.Context, input model.RevokeAPIKeyInput) (*model.RevokeAPIKeyPayload, error) {
	key, err := r.tenant(ctx).RevokeAPIKey(ctx, input.APIKeyID)
	if err != nil {
		return nil, err
	}
	return &model.RevokeAPIKeyPayload{APIKey: key}, nil
}
