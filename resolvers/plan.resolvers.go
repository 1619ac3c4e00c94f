package resolvers

import (
	"context"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

func (r *companyResolver) Subscription(ctx context.Context, obj *model.Company) (*model.CompanySubscription, error) {
	return r.tenant(ctx).Subscription(ctx, time.Now())
}
