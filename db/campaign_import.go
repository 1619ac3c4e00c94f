package db

import (
	"context"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// ImportCampaign stores a campaign of an existing agent with all of its items and events, which the caller has built
// with the methods of package model.
func (t *Tenant) ImportCampaign(
	ctx context.Context, campaign *model.Campaign, items []*model.CampaignItem, events []*model.CampaignItemEvent,
) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.lockAgent(ctx, campaign.AgentID, forShare); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, campaign); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, items...); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, events...); err != nil {
			return err
		}
		return t.recountItems(ctx, campaign.ID)
	})
}
