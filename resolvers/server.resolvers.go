package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *queryResolver) Server(ctx context.Context) (*model.Server, error) {
	return &r.server, nil
}
