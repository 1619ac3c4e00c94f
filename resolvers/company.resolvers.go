package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

func (r *companyResolver) APIKeys(ctx context.Context, obj *model.Company) ([]*model.APIKey, error) {
	return r.tenant(ctx).APIKeys(ctx)
}

func (r *companyResolver) AgentTags(ctx context.Context, obj *model.Company) ([]string, error) {
	return r.tenant(ctx).AgentTags(ctx)
}

func (r *Resolver) Company() graph.CompanyResolver { return &companyResolver{r} }

type companyResolver struct{ *Resolver }
