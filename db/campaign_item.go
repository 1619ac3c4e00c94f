package db

import (
	"context"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

const campaignItem = "campaign item"

// Lists of a company's campaign items: by their ids, in pages, and by their campaigns. EventsOfItems lists the events
// of items, in order.
var (
	CampaignItemRows = pg.Rows{Type: campaignItem, Model: (*model.CampaignItem)(nil), Key: pg.ByID}
	CampaignItemList = pg.List{Model: (*model.CampaignItem)(nil), Order: pg.NewestFirst}
	ItemsOfCampaigns = pg.List{Model: (*model.CampaignItem)(nil), Of: "?TableAlias.campaign_id = ?1",
		Order: pg.NewestFirst}
	EventsOfItems = pg.Rows{Model: (*model.CampaignItemEvent)(nil), Key: "?TableAlias.item_id",
		Order: "?TableAlias.number"}
)

// ItemsMatching returns the filter of a list of items. more is valid or nil.
func ItemsMatching(status *model.CampaignItemStatus, isArchived *bool, more *model.CampaignItemFilter) pg.Filter {
	f := pg.Equal(pg.Equal(nil, "running_status", status), "is_archived", isArchived)
	if more != nil && more.PhoneNumberPrefix != nil {
		prefix := *more.PhoneNumberPrefix
		if prefix != "" {
			prefix = "+" + strings.TrimPrefix(prefix, "+")
		}
		f = f.AndInView(schema.CampaignItemsView, "?TableAlias.phone_number LIKE ?", prefix+"%")
	}
	if more != nil && more.Tag != nil {
		f = f.AndInView(schema.CampaignItemsView, "?TableAlias.result #>> '{tag,name}' = ?", *more.Tag)
	}
	if more != nil && more.AfterVersion != nil {
		f = f.And("?TableAlias.version > ?", *more.AfterVersion)
	}
	return f
}

// CampaignItem returns one item of a campaign. It returns NOT_FOUND with the campaignId when there is no such
// campaign.
func (t *Tenant) CampaignItem(ctx context.Context, campaignID, id string,
	columns ...string) (*model.CampaignItem, error) {
	items := []*model.CampaignItem{}
	err := t.db.SelectColumns(&items, columns).Where("?TableAlias.id = ?", id).
		Where("?TableAlias.campaign_id = ?", campaignID).Scan(ctx)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		if _, err := t.Campaign(ctx, campaignID); err != nil {
			return nil, err
		}
		return nil, model.Missing(campaignItem, id)
	}
	return items[0], nil
}

// CampaignItems returns a page of the items of a campaign that pass the filter, newest first. status and isArchived
// narrow the list further.
func (t *Tenant) CampaignItems(
	ctx context.Context, args model.PageArgs, campaignID string, status *model.CampaignItemStatus, isArchived *bool,
	filter *model.CampaignItemFilter,
	columns ...string,
) (*model.Page[*model.CampaignItem], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	if _, err := t.Campaign(ctx, campaignID); err != nil {
		return nil, err
	}
	return pg.Page[*model.CampaignItem](ctx, t.db, CampaignItemList, args, columns,
		append(ItemsMatching(status, isArchived, filter), WhereCampaign(&campaignID)...))
}

// AddCampaignItems adds all of the items to a campaign, or none. If an open item already has the number, it leaves out
// the new item, returns CONFLICT, or adds it, as in.OnDuplicate says.
func (t *Tenant) AddCampaignItems(ctx context.Context, in model.AddCampaignItemsInput) (*model.AddCampaignItemsPayload,
	error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	added := &model.AddCampaignItemsPayload{}
	return added, t.changeItems(ctx, in.CampaignID, len(in.Items),
		func(ctx context.Context, t tenantTx, campaign *model.Campaign) (counterDeltas, error) {
			agent, err := t.Agent(ctx, campaign.AgentID)
			if err != nil {
				return nil, err
			}
			items, err := campaign.NewItems(in, agent, now())
			if err != nil {
				return nil, err
			}
			openItems, err := t.openItems(ctx, campaign.ID, items)
			if err != nil {
				return nil, err
			}
			if added.Items, added.Duplicates, err = in.WithoutDuplicates(items, openItems); err != nil || len(added.Items) == 0 {
				return counterDeltas{}, err
			}
			return counterDeltas{}.countItems(1, added.Items...), pg.Insert(ctx, t.db, pg.JoinBatch(added.Items)...)
		})
}

// openItems returns the ids of the open items of a campaign that have the numbers, by number. While the campaign is
// locked, no other request adds items.
func (t tenantTx) openItems(ctx context.Context, campaignID string,
	items []*model.CampaignItem) (map[string]string, error) {
	numbers := make([]string, 0, len(items))
	for _, item := range items {
		if item.PhoneNumber != "" {
			numbers = append(numbers, item.PhoneNumber)
		}
	}
	taken := []*model.CampaignItem{}
	err := t.db.Select(&taken).Column("id", "phone_number").Where("?TableAlias.campaign_id = ?", campaignID).
		Where("?TableAlias.phone_number = ANY(?)", pgdialect.Array(numbers)).
		Where("?TableAlias.running_status NOT IN (?, ?) AND NOT ?TableAlias.is_archived",
			model.CampaignItemStatusProcessed, model.CampaignItemStatusError).
		Order("created_at DESC", "id DESC").Scan(ctx)
	return model.MapOf(taken, func(item *model.CampaignItem) (string, string) { return item.PhoneNumber, item.ID }), err
}

// AdvanceCampaignItem moves an item to the state that a dialer reports, with its events, and returns it. It returns
// CONFLICT when the item cannot make the move. Of two reports of the same move, one is stored.
func (t *Tenant) AdvanceCampaignItem(ctx context.Context,
	in model.AdvanceCampaignItemInput) (*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var tags []model.ClassificationTag
	if in.Result != nil {
		campaign, err := t.Campaign(ctx, in.CampaignID)
		if err != nil {
			return nil, err
		}
		agent, err := t.Agent(ctx, campaign.AgentID)
		if err != nil {
			return nil, err
		}
		tags = agent.ClassificationTags
	}
	return t.transitionItem(ctx, in.CampaignID, in.ItemID, func(item *model.CampaignItem, campaign *model.Campaign) (
		[]*model.CampaignItemEvent, error) {
		return item.Advance(in, campaign, tags, now())
	})
}

// ResetCampaignItem resets an item to its first state, and returns it. It returns CONFLICT when the item has changed
// since the version in the input.
func (t *Tenant) ResetCampaignItem(ctx context.Context, in model.ResetCampaignItemInput) (*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return t.transitionItem(ctx, in.CampaignID, in.ItemID,
		func(item *model.CampaignItem, _ *model.Campaign) ([]*model.CampaignItemEvent, error) {
			if err := item.Expect(in.ExpectedVersion); err != nil {
				return nil, err
			}
			return item.Reset(now())
		})
}

// DeleteCampaignItem deletes an item with its events. It returns CONFLICT during a call, and when the campaign is
// archived.
func (t *Tenant) DeleteCampaignItem(ctx context.Context, in model.DeleteCampaignItemInput) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		campaign, err := t.lockCampaign(ctx, in.CampaignID, forUpdate)
		if err != nil {
			return err
		}
		item := &model.CampaignItem{}
		if err := t.lockItem(ctx, in.CampaignID, in.ItemID, item, forDelete); err != nil {
			return err
		}
		if err := campaign.Frozen(); err != nil {
			return err
		}
		if item.RunningStatus == model.CampaignItemStatusCalling {
			return model.Errorf(model.Conflict, "campaign item %q is in a call: wait until it ends", item.ID)
		}
		if err := t.revise(ctx, campaign, counterDeltas{}.countItems(-1, item)); err != nil {
			return err
		}
		return t.delete(ctx, campaignItem, item.ID, (*model.CampaignItem)(nil))
	})
}

// ArchiveCampaignItems archives or restores all of the items, or none, and returns them in the order of the input. It
// returns CONFLICT while one of them is in progress, and when the campaign is archived.
func (t *Tenant) ArchiveCampaignItems(ctx context.Context,
	in model.ArchiveCampaignItemsInput) ([]*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var items []*model.CampaignItem
	return items, t.changeItems(ctx, in.CampaignID, len(in.ItemIds),
		func(ctx context.Context, t tenantTx, campaign *model.Campaign) (counterDeltas, error) {
			var err error
			if items, err = t.lockItems(ctx, in.CampaignID, in.ItemIds); err != nil {
				return nil, err
			}
			counted := counterDeltas{}
			changed, versions := []string{}, []int32{}
			for _, item := range items {
				if item.IsInProgress() {
					return nil, model.Errorf(model.Conflict, "campaign item %q is in a call or an evaluation: wait until it "+
						"ends", item.ID)
				}
				if item.IsArchived != in.IsArchived {
					counted.countItems(-1, item)
					item.IsArchived, item.Version = in.IsArchived, campaign.ItemVersion+int32(len(changed))+1
					counted.countItems(1, item)
					changed, versions = append(changed, item.ID), append(versions, item.Version)
				}
			}
			_, err = t.db.Update((*model.CampaignItem)(nil)).
				TableExpr("unnest(?::text[], ?::int[]) AS change (id, version)", pgdialect.Array(changed),
					pgdialect.Array(versions)).
				Set("is_archived = ?", in.IsArchived).Set("version = change.version").Where("?TableAlias.id = change.id").Exec(ctx)
			return counted, err
		})
}

// lockItems locks the items of a campaign with the ids until the end of the transaction. It returns each once, in the
// order of the ids.
func (t tenantTx) lockItems(ctx context.Context, campaignID string, ids []string) ([]*model.CampaignItem, error) {
	locked := []*model.CampaignItem{}
	err := t.db.Select(&locked).Where("?TableAlias.campaign_id = ?", campaignID).
		Where("?TableAlias.id IN (?)", bun.List(ids)).
		Order("id").For(string(forUpdate)).Scan(ctx)
	if err != nil {
		return nil, err
	}
	items, err := inOrder(campaignItem, model.Unique(ids), locked)
	return pg.JoinBatch(items), err
}

// changeItems runs fn in a transaction that locks the campaign, and then notifies the followers. fn gets the campaign,
// makes at most the given number of changes, with consecutive versions, and returns how they change the counters.
// changeItems returns CONFLICT when the campaign is archived.
func (t *Tenant) changeItems(
	ctx context.Context, campaignID string, changes int, fn func(context.Context, tenantTx,
		*model.Campaign) (counterDeltas,
		error),
) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		campaign, err := t.lockCampaign(ctx, campaignID, forUpdate)
		if err != nil {
			return err
		}
		if err := campaign.Frozen(); err != nil {
			return err
		}
		t.wake(campaignID)
		counted, err := fn(ctx, t, campaign)
		if err != nil {
			return err
		}
		return exec(ctx, counted.saveCounters(t.db.Update((*model.Campaign)(nil)).Set("version = version + ?", changes),
			changes).
			Where("id = ?", campaignID))
	})
}

// lockItem locks and reads an item of an existing campaign into dst, or returns NOT_FOUND.
func (t tenantTx) lockItem(ctx context.Context, campaignID, id string, dst *model.CampaignItem,
	strength rowLock) error {
	return pg.OrMissing(campaignItem, id, t.db.Select(dst).Where("?TableAlias.id = ?", id).
		Where("?TableAlias.campaign_id = ?", campaignID).
		For(string(strength)).Scan(ctx))
}
