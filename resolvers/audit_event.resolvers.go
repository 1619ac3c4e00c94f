package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *queryResolver) AuditEvents(ctx context.Context, first int32, after *string, offset *int32, filter *model.AuditEventFilter) (*model.Page[*model.AuditEvent], error) {
	return r.tenant(ctx).AuditEvents(ctx, pageArgs(first, after, offset), filter, query.Columns(ctx)...)
}
