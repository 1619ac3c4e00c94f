package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentConsumptionResolver) Agent(ctx context.Context, obj *model.AgentConsumption) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *campaignConsumptionResolver) Campaign(ctx context.Context, obj *model.CampaignConsumption) (*model.Campaign, error) {
	return query.One[*model.Campaign](ctx, obj)
}

func (r *queryResolver) ConsumptionBreakdown(ctx context.Context, from model.DateBound, to model.DateBound) (*model.ConsumptionBreakdown, error) {
	return r.tenant(ctx).ConsumptionBreakdown(ctx, from, to, axes(ctx))
}

func (r *Resolver) AgentConsumption() graph.AgentConsumptionResolver {
	return &agentConsumptionResolver{r}
}

func (r *Resolver) CampaignConsumption() graph.CampaignConsumptionResolver {
	return &campaignConsumptionResolver{r}
}

type (
	agentConsumptionResolver    struct{ *Resolver }
	campaignConsumptionResolver struct{ *Resolver }
)
