package db

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/group"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// transitionTries bounds the retries of a transition when other requests change the item during it.
const transitionTries = 100

// transitionItem stores a change of an item with its events, and notifies the followers. It returns CONFLICT when the
// campaign is archived.
func (t *Tenant) transitionItem(
	ctx context.Context, campaignID, itemID string,
	move func(*model.CampaignItem, *model.Campaign) ([]*model.CampaignItemEvent, error),
) (*model.CampaignItem, error) {
	for range transitionTries {
		campaign, err := t.Campaign(ctx, campaignID)
		if err != nil {
			return nil, err
		}
		if err := campaign.Frozen(); err != nil {
			return nil, err
		}
		item, err := t.CampaignItem(ctx, campaignID, itemID)
		if err != nil {
			return nil, err
		}
		was := *item
		events, err := move(item, campaign)
		if err != nil {
			return nil, err
		}
		isKept, err := t.saveTransition(ctx, campaign, &was, item, events)
		if err != nil {
			return nil, err
		}
		if isKept {
			t.wake(campaignID)
			return item, nil
		}
	}
	return nil, model.Errorf(model.Conflict, "other requests keep changing campaign item %q; try again", itemID)
}

// itemTransition is a changed item with its previous state, the fields that its transition depends on, and its
// events.
type itemTransition struct {
	tenant         *Tenant
	campaign       *model.Campaign
	previous, item *model.CampaignItem
	events         []*model.CampaignItemEvent
	// isSaved is set if the transition was saved, which requires that item and campaign were unchanged. err is set if the
	// outcome is unknown.
	isSaved bool
	err     error
}

// newItemTransitions returns the group commit of transitions. All transitions of a campaign wait for each other,
// because the campaign numbers them. Those that arrive while others are being written share the next transaction.
func newItemTransitions() *group.Group[string, *itemTransition] {
	return &group.Group[string, *itemTransition]{
		Limit:    transitionsPerCommit,
		Conflict: func(a, b *itemTransition) bool { return a.item.ID == b.item.ID },
		Commit: func(ctx context.Context, _ string, together []*itemTransition) error {
			t := together[0].tenant
			err := t.saveTransitions(ctx, together)
			if err == nil || len(together) == 1 {
				return err
			}
			for _, one := range together { // a faulty one must not block the others
				one.err = t.saveTransitions(ctx, []*itemTransition{one})
			}
			return nil
		},
	}
}

// saveTransition writes a changed item with its events, and gives it the next version of its campaign. It returns
// false when the item, or anything that its transition depends on, has changed since it was read.
func (t *Tenant) saveTransition(
	ctx context.Context, campaign *model.Campaign, was, item *model.CampaignItem, events []*model.CampaignItemEvent,
) (bool, error) {
	one := &itemTransition{tenant: t, campaign: campaign, previous: was, item: item, events: events}
	var err error
	if t.db.InTx() {
		err = t.saveTransitions(ctx, []*itemTransition{one})
	} else {
		err = t.store.itemTransitions.Do(ctx, t.CompanyID()+" "+campaign.ID, one)
	}
	return one.isSaved, errors.Join(err, one.err)
}

// saveTransitions writes transitions of one campaign's items in one round trip. It updates the campaign only once, at
// the end. If a transaction updates a row twice, Postgres also checks the row's foreign key to the agent, which another
// request may be deleting. Before the update, only the moved items have a higher version than the campaign.
func (t *Tenant) saveTransitions(ctx context.Context, together []*itemTransition) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	// Renewing a claim locks items in this order, too.
	slices.SortFunc(together, func(a, b *itemTransition) int { return strings.Compare(a.item.ID, b.item.ID) })
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		campaign, ids := together[0].campaign.ID, make([]string, len(together))
		batch := &pgx.Batch{}
		batch.Queue(t.db.Select((*model.Campaign)(nil)).Column("id").Where("?TableAlias.id = ?", campaign).
			For(string(forUpdate)).String())
		for i, one := range together {
			one.isSaved, ids[i] = false, one.item.ID
			t.save(batch, one, i+1)
		}
		moved := func(ids []string) *bun.SelectQuery {
			return t.db.Select((*model.CampaignItem)(nil)).Column("id").Where("?TableAlias.id IN (?)", bun.List(ids)).
				Where("?TableAlias.version > campaign.version")
		}
		changes := counterChanges(together)
		numbered := setCounters(t.db.Update((*model.Campaign)(nil)).Set("version = version + ?", len(together)),
			len(together), func(place int) any {
				change, isChanged := changes[place]
				if !isChanged {
					return 0
				}
				number := func(ids []string) *bun.SelectQuery {
					return t.db.NewSelect().TableExpr("(?) AS moved", moved(ids)).ColumnExpr("count(*)")
				}
				return t.db.NewSelect().ColumnExpr("(?) - (?)", number(change.added), number(change.removed))
			})
		batch.Queue(numbered.Where("?TableAlias.id = ?", campaign).Where("EXISTS (?)", moved(ids)).String())
		return t.db.Send(ctx, batch)
	})
}

// changeOfCounter lists the items that a counter gains (added) and loses (removed) if their transitions are saved.
type changeOfCounter struct{ added, removed []string }

// counterChanges returns how transitions change the counters of their campaign, by the counters' indexes.
func counterChanges(together []*itemTransition) map[int]changeOfCounter {
	changes := map[int]changeOfCounter{}
	for _, one := range together {
		from, to := counterIndex(one.previous), counterIndex(one.item)
		if from == to {
			continue
		}
		before, after := changes[from], changes[to]
		before.removed, after.added = append(before.removed, one.item.ID), append(after.added, one.item.ID)
		changes[from], changes[to] = before, after
	}
	return changes
}

// save changes the state of an item of a locked campaign. The item's new version is the campaign's version plus the
// argument higher.
func (t *Tenant) save(batch *pgx.Batch, one *itemTransition, higher int) {
	campaign := one.campaign
	moved := t.db.Update(one.item).TableExpr("campaigns AS campaign").
		ExcludeColumn("campaign_id", "phone_number", "data_bag", "is_archived", "created_at", "version").
		Set("version = campaign.version + ?", higher).WherePK().Where("?TableAlias.version = ?", one.previous.Version).
		Where("?TableAlias.claim_id IS NOT DISTINCT FROM ?", one.previous.ClaimID).
		Where("campaign.company_id = ?", t.CompanyID()).Where("campaign.id = ?", campaign.ID).
		Where("(campaign.status, campaign.max_attempts, campaign.retry_delay_minutes) = (?, ?, ?)", campaign.Status,
			campaign.MaxAttempts, campaign.RetryDelayMinutes).
		Returning("?TableAlias.version")
	batch.Queue(moved.String()).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&one.item.Version}, func() error {
			one.isSaved = true
			return nil
		})
		return err
	})
	if len(one.events) > 0 {
		isMoved := t.db.Select((*model.CampaignItem)(nil)).Column("id").Where("?TableAlias.id = ?", one.item.ID).
			Where("?TableAlias.version > campaign.version")
		batch.Queue(t.insertEvents(campaign.ID, isMoved, one.events).String())
	}
}

// insertEvents returns the statement that inserts the events of an item, if isMoved selects the item.
func (t *Tenant) insertEvents(campaignID string, isMoved *bun.SelectQuery,
	events []*model.CampaignItemEvent) *bun.RawQuery {
	var numbers []int32
	var types, dates, descriptions []string
	for _, e := range events {
		numbers, types = append(numbers, e.Number), append(types, e.Type.String())
		dates, descriptions = append(dates, pg.LiteralTime(e.Date)), append(descriptions, e.Description)
	}
	return t.db.NewRaw(`INSERT INTO campaign_item_events (company_id, item_id, number, type, date, description)
		SELECT ?0, ?1, event.* FROM campaigns AS campaign, unnest(?2::int[], ?3::text[], ?4::timestamptz[],
			?5::text[]) AS event
		WHERE campaign.company_id = ?0 AND campaign.id = ?6 AND EXISTS (?7)`,
		t.CompanyID(), events[0].ItemID, pgdialect.Array(numbers), pgdialect.Array(types), pgdialect.Array(dates),
		pgdialect.Array(descriptions), campaignID, isMoved)
}
