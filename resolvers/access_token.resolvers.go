package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) CreateAccessToken(ctx context.Context, input model.CreateAccessTokenInput) (*model.CreateAccessTokenPayload, error) {
	token, text, err := r.tenant(ctx).CreateAccessToken(ctx, input)
	if err != nil {
		return nil, err
	}
	return &model.CreateAccessTokenPayload{Token: text, ExpiresAt: token.ExpiresAt}, nil
}

func (r *mutationResolver) RevokeAccessToken(ctx context.Context, input model.RevokeAccessTokenInput) (*model.RevokeAccessTokenPayload, error) {
	hash, err := revocableToken(ctx, input.Token)
	if err != nil {
		return nil, err
	}
	isRevoked, err := r.tenant(ctx).RevokeAccessToken(ctx, hash)
	return &model.RevokeAccessTokenPayload{IsRevoked: isRevoked}, err
}
