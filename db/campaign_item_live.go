package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// maxChanges bounds what itemsAfter returns at once.
const maxChanges = 100

// FollowCampaignItems delivers every item of a campaign that changed after the version as it is now, in the
// order of their last changes, and again after each change of it; of changes that follow each other quickly
// the last one. The channel is closed when the campaign is archived and every item is delivered as it is
// then, when the campaign is gone, and when ctx ends. BAD_INPUT for a negative version.
func (t *Tenant) FollowCampaignItems(ctx context.Context, campaignID string, version int32) (<-chan *model.CampaignItem, error) {
	var faults model.Fields
	if version < 0 {
		faults.Add("afterVersion", "must not be negative")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	items := make(chan *model.CampaignItem)
	err := follow(ctx, t, campaignID, t.Campaign, func() { close(items) }, func(campaign *model.Campaign) (bool, error) {
		for ctx.Err() == nil {
			changed, err := t.itemsAfter(ctx, campaignID, version)
			if err != nil {
				return false, err
			}
			for _, item := range changed {
				deliver(ctx, items, item)
				version = item.Version
			}
			if len(changed) < maxChanges {
				break
			}
		}
		return campaign.Status == model.CampaignStatusArchived, nil
	})
	if err != nil {
		return nil, err
	}
	return items, nil
}

// itemsAfter returns, in the order of their last changes, the items that changed after the version. Whoever
// changes items holds their campaign, which numbers the changes, until the commit: a change that is seen has none
// before it that is not.
func (t *Tenant) itemsAfter(ctx context.Context, campaignID string, version int32) ([]*model.CampaignItem, error) {
	items := []*model.CampaignItem{}
	err := t.find(&items).Where("?TableAlias.campaign_id = ?", campaignID).Where("?TableAlias.version > ?", version).
		Order("version").Limit(maxChanges).Scan(ctx)
	return items, translate(err)
}
