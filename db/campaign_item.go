package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

const campaignItem = "campaign item"

// CampaignItem returns one item of a campaign. NOT_FOUND names campaignId when there is no such campaign.
func (t *Tenant) CampaignItem(ctx context.Context, campaignID, id string, columns ...string) (*model.CampaignItem, error) {
	items := []*model.CampaignItem{}
	err := t.find(&items).Apply(only(columns)).Where("?TableAlias.id = ?", id).
		Where("?TableAlias.campaign_id = ?", campaignID).Scan(ctx)
	if err != nil {
		return nil, translate(err)
	}
	if len(items) == 0 {
		if _, err := t.Campaign(ctx, campaignID); err != nil {
			return nil, err
		}
		return nil, model.Missing(campaignItem, id)
	}
	return items[0], nil
}

// CampaignItemsByID returns the items with the ids, in any order; what does not exist is left out.
func (t *Tenant) CampaignItemsByID(ctx context.Context, ids []string, columns ...string) ([]*model.CampaignItem, error) {
	return byID[*model.CampaignItem](ctx, t, ids, columns)
}

// CampaignItems returns a page of the items of a campaign, newest first: all of them, or those in one state,
// archived or not.
func (t *Tenant) CampaignItems(
	ctx context.Context, args model.PageArgs, campaignID string, status *model.CampaignItemStatus, isArchived *bool, columns ...string,
) (*model.Page[*model.CampaignItem], error) {
	if _, err := t.Campaign(ctx, campaignID); err != nil {
		return nil, err
	}
	return list[*model.CampaignItem](ctx, t, args, columns, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.campaign_id = ?", campaignID).Apply(given("running_status", status)).Apply(given("is_archived", isArchived))
	})
}

// ItemsOfCampaigns are the items of each of several campaigns, or those of them in one state, archived or not.
func (t *Tenant) ItemsOfCampaigns(status *model.CampaignItemStatus, isArchived *bool) Children[*model.CampaignItem] {
	return Children[*model.CampaignItem]{t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.campaign_id = parent.id").Apply(given("running_status", status)).Apply(given("is_archived", isArchived))
	}}
}

// EventsOfItems returns what happened to several items, each item's events in order.
func (t *Tenant) EventsOfItems(ctx context.Context, itemIDs []string) ([]*model.CampaignItemEvent, error) {
	events := []*model.CampaignItemEvent{}
	err := t.find(&events).ColumnExpr("?TableColumns").ColumnExpr("?TableAlias.item_id AS parent_id").
		Where("?TableAlias.item_id IN (?)", bun.List(itemIDs)).OrderExpr("?TableAlias.item_id, ?TableAlias.number").Scan(ctx)
	return events, translate(err)
}

// AddCampaignItems adds items to a campaign, all of them or none.
func (t *Tenant) AddCampaignItems(ctx context.Context, in model.AddCampaignItemsInput) ([]*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var items []*model.CampaignItem
	return items, t.changeItems(ctx, in.CampaignID, func(ctx context.Context, t *Tenant, campaign *model.Campaign) error {
		agent, err := t.Agent(ctx, campaign.AgentID)
		if err != nil {
			return err
		}
		if items, err = campaign.NewItems(in, agent, now()); err != nil {
			return err
		}
		campaign.Version += int32(len(items))
		return insert(ctx, t, items...)
	})
}

// AdvanceCampaignItem moves an item as a dialer reports it, with its events, and returns it. CONFLICT when
// the item cannot move so: of two reports of the same move one is kept.
func (t *Tenant) AdvanceCampaignItem(ctx context.Context, in model.AdvanceCampaignItemInput) (*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return t.moveItem(ctx, in.CampaignID, in.ItemID, func(
		ctx context.Context, t *Tenant, item *model.CampaignItem, campaign *model.Campaign, at time.Time,
	) ([]*model.CampaignItemEvent, error) {
		agent, err := t.Agent(ctx, campaign.AgentID)
		if err != nil {
			return nil, err
		}
		return item.Advance(in, campaign, agent, at)
	})
}

// ResetCampaignItem sets an item back to the beginning, and returns it.
func (t *Tenant) ResetCampaignItem(ctx context.Context, in model.ResetCampaignItemInput) (*model.CampaignItem, error) {
	return t.moveItem(ctx, in.CampaignID, in.ItemID, func(
		_ context.Context, _ *Tenant, item *model.CampaignItem, _ *model.Campaign, at time.Time,
	) ([]*model.CampaignItemEvent, error) {
		return item.Reset(at)
	})
}

// itemMove changes an item, which is held, and returns what happened to it.
type itemMove func(context.Context, *Tenant, *model.CampaignItem, *model.Campaign, time.Time) ([]*model.CampaignItemEvent, error)

func (t *Tenant) moveItem(ctx context.Context, campaignID, itemID string, move itemMove) (*model.CampaignItem, error) {
	item := &model.CampaignItem{}
	return item, t.changeItems(ctx, campaignID, func(ctx context.Context, t *Tenant, campaign *model.Campaign) error {
		if err := t.itemOf(ctx, campaignID, itemID, item, forUpdate); err != nil {
			return err
		}
		events, err := move(ctx, t, item, campaign, now())
		if err != nil {
			return err
		}
		campaign.Version++
		item.Version = campaign.Version
		_, err = t.change(item).ExcludeColumn("campaign_id", "phone_number", "data_bag", "is_archived", "created_at").WherePK().Exec(ctx)
		if err != nil {
			return translate(err)
		}
		return insert(ctx, t, events...)
	})
}

// DeleteCampaignItem deletes an item with its events. CONFLICT while it is being called.
func (t *Tenant) DeleteCampaignItem(ctx context.Context, in model.DeleteCampaignItemInput) error {
	return t.Tx(ctx, func(ctx context.Context, t *Tenant) error {
		campaign, err := t.campaign(ctx, in.CampaignID, forShare)
		if err != nil {
			return err
		}
		item := &model.CampaignItem{}
		if err := t.itemOf(ctx, in.CampaignID, in.ItemID, item, forDelete); err != nil {
			return err
		}
		if err := campaign.Frozen(); err != nil {
			return err
		}
		if item.RunningStatus == model.CampaignItemStatusCalling {
			return model.Errorf(model.Conflict, "campaign item %q is being called", item.ID)
		}
		return t.delete(ctx, campaignItem, item.ID, (*model.CampaignItem)(nil))
	})
}

// ArchiveCampaignItems archives items, or takes them back, all of them or none, and returns them in the order
// of the input. CONFLICT while one of them is under way.
func (t *Tenant) ArchiveCampaignItems(ctx context.Context, in model.ArchiveCampaignItemsInput) ([]*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	items := []*model.CampaignItem{}
	return items, t.changeItems(ctx, in.CampaignID, func(ctx context.Context, t *Tenant, campaign *model.Campaign) error {
		held := []*model.CampaignItem{}
		err := t.find(&held).Where("?TableAlias.campaign_id = ?", in.CampaignID).Where("?TableAlias.id IN (?)", bun.List(in.ItemIds)).
			Order("id").For(string(forUpdate)).Scan(ctx)
		if err != nil {
			return translate(err)
		}
		byID := make(map[string]*model.CampaignItem, len(held))
		for _, item := range held {
			byID[item.ID] = item
		}
		var changed []string
		var versions []int32
		seen := map[string]bool{}
		for _, id := range in.ItemIds {
			item, found := byID[id]
			switch {
			case !found:
				return model.Missing(campaignItem, id)
			case item.IsUnderWay():
				return model.Errorf(model.Conflict, "campaign item %q is being called or evaluated", id)
			case seen[id]:
				continue
			}
			seen[id] = true
			items = append(items, item)
			if item.IsArchived != in.IsArchived {
				campaign.Version++
				item.IsArchived, item.Version = in.IsArchived, campaign.Version
				changed, versions = append(changed, id), append(versions, item.Version)
			}
		}
		if len(changed) == 0 {
			return nil
		}
		_, err = t.change((*model.CampaignItem)(nil)).
			TableExpr("unnest(?::text[], ?::int[]) AS change (id, version)", pgdialect.Array(changed), pgdialect.Array(versions)).
			Set("is_archived = ?", in.IsArchived).Set("version = change.version").Where("?TableAlias.id = change.id").Exec(ctx)
		return translate(err)
	})
}

// changeItems runs fn in a transaction that holds the campaign, numbers in it the changes that fn made, and
// then tells the followers. CONFLICT when the campaign is archived.
func (t *Tenant) changeItems(ctx context.Context, campaignID string, fn func(context.Context, *Tenant, *model.Campaign) error) error {
	changed := false
	err := t.Tx(ctx, func(ctx context.Context, t *Tenant) error {
		campaign, err := t.campaign(ctx, campaignID, forUpdate)
		if err != nil {
			return err
		}
		if err := campaign.Frozen(); err != nil {
			return err
		}
		was := campaign.Version
		if err := fn(ctx, t, campaign); err != nil {
			return err
		}
		if changed = campaign.Version != was; !changed {
			return nil
		}
		_, err = t.change(campaign).Column("version").WherePK().Exec(ctx)
		return translate(err)
	})
	if err == nil && changed {
		t.store.hub.Wake(t.signalOf(campaignID))
	}
	return err
}

// itemOf reads an item of a campaign that exists into dst, or returns NOT_FOUND.
func (t *Tenant) itemOf(ctx context.Context, campaignID, id string, dst *model.CampaignItem, hold rowLock) error {
	err := t.find(dst).Where("?TableAlias.id = ?", id).Where("?TableAlias.campaign_id = ?", campaignID).For(string(hold)).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return model.Missing(campaignItem, id)
	}
	return translate(err)
}
