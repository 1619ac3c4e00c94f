package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) RecordUsage(ctx context.Context, input model.RecordUsageInput) (*model.RecordUsagePayload, error) {
	return r.tenant(ctx).RecordUsage(ctx, input)
}
