package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *campaignItemResolver) Campaign(ctx context.Context, obj *model.CampaignItem) (*model.Campaign, error) {
	return query.One[*model.Campaign](ctx, obj)
}

func (r *campaignItemResolver) EventList(ctx context.Context, obj *model.CampaignItem) ([]*model.CampaignItemEvent, error) {
	return query.Many[*model.CampaignItemEvent](ctx, obj)
}

func (r *mutationResolver) AddCampaignItems(ctx context.Context, input model.AddCampaignItemsInput) (*model.AddCampaignItemsPayload, error) {
	return r.tenant(ctx).AddCampaignItems(ctx, input)
}

func (r *mutationResolver) AdvanceCampaignItem(ctx context.Context, input model.AdvanceCampaignItemInput) (*model.AdvanceCampaignItemPayload, error) {
	item, err := r.tenant(ctx).AdvanceCampaignItem(ctx, input)
	return &model.AdvanceCampaignItemPayload{Item: item}, err
}

func (r *mutationResolver) ResetCampaignItem(ctx context.Context, input model.ResetCampaignItemInput) (*model.ResetCampaignItemPayload, error) {
	item, err := r.tenant(ctx).ResetCampaignItem(ctx, input)
	return &model.ResetCampaignItemPayload{Item: item}, err
}

func (r *mutationResolver) DeleteCampaignItem(ctx context.Context, input model.DeleteCampaignItemInput) (*model.DeleteCampaignItemPayload, error) {
	return &model.DeleteCampaignItemPayload{DeletedID: input.ItemID}, r.tenant(ctx).DeleteCampaignItem(ctx, input)
}

func (r *mutationResolver) ArchiveCampaignItems(ctx context.Context, input model.ArchiveCampaignItemsInput) (*model.ArchiveCampaignItemsPayload, error) {
	items, err := r.tenant(ctx).ArchiveCampaignItems(ctx, input)
	return &model.ArchiveCampaignItemsPayload{Items: items}, err
}

func (r *mutationResolver) ClaimCampaignItems(ctx context.Context, input model.ClaimCampaignItemsInput) (*model.ClaimCampaignItemsPayload, error) {
	claimID, items, err := r.tenant(ctx).ClaimCampaignItems(ctx, input)
	return &model.ClaimCampaignItemsPayload{ClaimID: claimID, Items: items}, err
}

func (r *mutationResolver) RenewCampaignClaim(ctx context.Context, input model.RenewCampaignClaimInput) (*model.RenewCampaignClaimPayload, error) {
	items, err := r.tenant(ctx).RenewCampaignClaim(ctx, input)
	return &model.RenewCampaignClaimPayload{Items: items}, err
}

func (r *queryResolver) CampaignItem(ctx context.Context, campaignID string, id string) (*model.CampaignItem, error) {
	return r.tenant(ctx).CampaignItem(ctx, campaignID, id, query.Columns(ctx)...)
}

func (r *queryResolver) CampaignItems(ctx context.Context, campaignID string, runningStatus *model.CampaignItemStatus, isArchived *bool, filter *model.CampaignItemFilter, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.CampaignItem], error) {
	if err := checkItemFilter(ctx, filter); err != nil {
		return nil, err
	}
	return r.tenant(ctx).CampaignItems(ctx, model.NewPageArgs(first, after, offset, last, before), campaignID, runningStatus, isArchived, filter, query.Columns(ctx)...)
}

func (r *subscriptionResolver) CampaignItemUpdated(ctx context.Context, campaignID string, afterVersion int32) (<-chan *model.CampaignItem, error) {
	return r.tenant(ctx).FollowCampaignItems(ctx, campaignID, afterVersion)
}

func (r *Resolver) CampaignItem() graph.CampaignItemResolver { return &campaignItemResolver{r} }

type campaignItemResolver struct{ *Resolver }
