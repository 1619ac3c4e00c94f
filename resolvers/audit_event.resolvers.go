package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *queryResolver) AuditEvents(ctx context.Context, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.AuditEventFilter) (*model.Page[*model.AuditEvent], error) {
	return r.tenant(ctx).AuditEvents(ctx, model.NewPageArgs(first, after, offset, last, before), filter, query.Columns(ctx)...)
}
