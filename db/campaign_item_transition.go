package db

import (
	"context"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// transitionTries bounds the retries of a transition whose item somebody else changed meanwhile.
const transitionTries = 100

// transitionItem keeps a change of an item and what happened to it by that, and tells the followers. CONFLICT when the
// campaign is archived.
func (t *Tenant) transitionItem(
	ctx context.Context, campaignID, itemID string, move func(*model.CampaignItem, *model.Campaign) ([]*model.CampaignItemEvent, error),
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
	return nil, model.Errorf(model.Conflict, "campaign item %q is being changed by others all the time; try again", itemID)
}

// saveTransition writes a changed item with its events, and gives it the next version of its campaign; false when the item
// or what its transition depends on is no longer what it was. All transitions of a campaign wait for each other here, so it is
// one statement: nobody waits for what goes back and forth between the database and the program.
func (t *Tenant) saveTransition(
	ctx context.Context, campaign *model.Campaign, was, item *model.CampaignItem, events []*model.CampaignItemEvent,
) (bool, error) {
	next := t.change((*model.Campaign)(nil)).Set("version = version + 1").Where("id = ?", campaign.ID).
		Where("(status, max_attempts, retry_delay_minutes) = (?, ?, ?)", campaign.Status, campaign.MaxAttempts, campaign.RetryDelayMinutes).
		Returning("version")
	moved := t.change(item).TableExpr("next").
		ExcludeColumn("campaign_id", "phone_number", "data_bag", "is_archived", "created_at", "version").
		Set("version = next.version").WherePK().Where("?TableAlias.version = ?", was.Version).
		Where("?TableAlias.claim_id IS NOT DISTINCT FROM ?", was.ClaimID).Returning("?TableAlias.id, ?TableAlias.version")
	var numbers []int32
	var types, dates, descriptions []string
	for _, e := range events {
		numbers, types = append(numbers, e.Number), append(types, e.Type.String())
		dates, descriptions = append(dates, literalTime(e.Date)), append(descriptions, e.Description)
	}
	happened := t.db.NewRaw(`INSERT INTO campaign_item_events (company_id, item_id, number, type, date, description)
		SELECT ?, moved.id, event.* FROM moved, unnest(?::int[], ?::text[], ?::timestamptz[], ?::text[]) AS event`,
		t.companyID, pgdialect.Array(numbers), pgdialect.Array(types), pgdialect.Array(dates), pgdialect.Array(descriptions))
	versions := []int32{}
	err := t.db.NewSelect().With("next", next).With("moved", moved).With("happened", happened).
		Table("moved").Column("version").Scan(ctx, &versions)
	if err != nil || len(versions) == 0 {
		return false, translate(err)
	}
	item.Version = versions[0]
	return true, nil
}
