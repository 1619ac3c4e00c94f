package resolvers

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) Campaigns(ctx context.Context, obj *model.Agent, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.Campaign], error) {
	return query.Page[*model.Campaign](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *campaignResolver) Agent(ctx context.Context, obj *model.Campaign) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *campaignResolver) Fields(ctx context.Context, obj *model.Campaign) ([]*model.CampaignField, error) {
	agent, err := query.One[*model.Agent](ctx, obj)
	if err != nil {
		return nil, err
	}
	return obj.Fields(agent), nil
}

func (r *campaignResolver) Counts(ctx context.Context, obj *model.Campaign) (*model.CampaignItemCounts, error) {
	return campaignCounts(ctx, obj)
}

func (r *campaignResolver) Items(ctx context.Context, obj *model.Campaign, runningStatus *model.CampaignItemStatus, isArchived *bool, filter *model.CampaignItemFilter, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.CampaignItem], error) {
	if err := checkItemFilter(ctx, filter); err != nil {
		return nil, err
	}
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return query.Page[*model.CampaignItem](ctx, obj, model.NewPageArgs(first, after, offset, last, before), db.ItemsMatching(runningStatus, isArchived, filter))
}

func (r *mutationResolver) CreateCampaign(ctx context.Context, input model.CreateCampaignInput) (*model.CreateCampaignPayload, error) {
	campaign, err := r.tenant(ctx).CreateCampaign(ctx, input)
	return &model.CreateCampaignPayload{Campaign: campaign}, err
}

func (r *mutationResolver) UpdateCampaign(ctx context.Context, input model.UpdateCampaignInput) (*model.UpdateCampaignPayload, error) {
	campaign, err := r.tenant(ctx).UpdateCampaign(ctx, input)
	return &model.UpdateCampaignPayload{Campaign: campaign}, err
}

func (r *mutationResolver) AddCampaignField(ctx context.Context, input model.AddCampaignFieldInput) (*model.AddCampaignFieldPayload, error) {
	campaign, field, err := r.tenant(ctx).AddCampaignField(ctx, input)
	return &model.AddCampaignFieldPayload{Campaign: campaign, Field: field}, err
}

func (r *mutationResolver) DeleteCampaign(ctx context.Context, input model.DeleteCampaignInput) (*model.DeleteCampaignPayload, error) {
	err := r.tenant(ctx).DeleteCampaign(ctx, input.CampaignID)
	return &model.DeleteCampaignPayload{DeletedID: input.CampaignID}, err
}

func (r *queryResolver) Campaign(ctx context.Context, id string) (*model.Campaign, error) {
	campaign, err := query.ByID[*model.Campaign](ctx, id)
	if missing, ok := errors.AsType[*model.Error](err); ok && missing.Code == model.NotFound {
		return nil, model.MissingCampaign("id", id) // the same error as for other lookups within a campaign
	}
	return campaign, err
}

func (r *queryResolver) Campaigns(ctx context.Context, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.CampaignFilter) (*model.Page[*model.Campaign], error) {
	return r.tenant(ctx).Campaigns(ctx, model.NewPageArgs(first, after, offset, last, before), filter, query.Columns(ctx)...)
}

func (r *subscriptionResolver) CampaignUpdated(ctx context.Context, campaignID string) (<-chan *model.Campaign, error) {
	return r.tenant(ctx).FollowCampaign(ctx, campaignID)
}

func (r *Resolver) Campaign() graph.CampaignResolver { return &campaignResolver{r} }

type campaignResolver struct{ *Resolver }
