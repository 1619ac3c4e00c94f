package db

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// ClaimCampaignItems hands items of a running campaign that are due to the caller, those that have waited
// longest first, and returns them with the claim that they are under; nil and no items when nothing is due.
// Nobody else is given them until the lease is over, unless it is renewed. An item under a claim is Pending
// all along, so that a claim that lapses leaves nothing to tidy up.
func (t *Tenant) ClaimCampaignItems(ctx context.Context,
	in model.ClaimCampaignItemsInput) (*string, []*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, nil, err
	}
	claim := model.NewID("claim")
	// Materialized, and not a subquery of the update: that one may be run again for other rows.
	due := t.db.Select((*model.CampaignItem)(nil)).Column("id").
		Join("JOIN campaigns AS campaign ON campaign.company_id = ?TableAlias.company_id AND campaign.id = "+
			"?TableAlias.campaign_id").
		Where("campaign.company_id = ?", t.CompanyID()).Where("campaign.status = ?", model.CampaignStatusRunning).
		Where("?TableAlias.campaign_id = ?", in.CampaignID).
		Where("?TableAlias.running_status = ? AND NOT ?TableAlias.is_archived", model.CampaignItemStatusPending).
		Where("?TableAlias.due_at <= now()").Where("?TableAlias.attempt_count < campaign.max_attempts").
		OrderExpr("?TableAlias.due_at, ?TableAlias.id").Limit(int64(in.Limit)).For("NO KEY UPDATE OF ?TableAlias SKIP LOCKED")
	items := []*model.CampaignItem{}
	err := t.db.Update((*model.CampaignItem)(nil)).WithQuery(bun.NewWithQuery("due", due).Materialized()).TableExpr("due").
		Set("claim_id = ?", claim).Set(untilLapse, in.LeaseSeconds).Where("?TableAlias.id = due.id").
		Returning("?TableAlias.*").Scan(ctx, &items)
	if err != nil {
		return nil, nil, err
	}
	if len(items) > 0 {
		return &claim, inOrder(items), nil
	}
	campaign, err := t.Campaign(ctx, in.CampaignID)
	if err != nil {
		return nil, nil, err
	}
	if campaign.Status != model.CampaignStatusRunning {
		return nil, nil, model.Errorf(model.Conflict, "campaign %q is %s: only a running campaign hands out items",
			campaign.ID, campaign.Status)
	}
	return nil, items, nil
}

// Leases are measured by the database's clock alone: those of the replicas may differ.
const untilLapse = "due_at = now() + ? * interval '1 second'"

// RenewCampaignClaim prolongs a claim and returns the items under it that still wait for their calls. One
// that has lapsed holds again what nobody else was given meanwhile.
func (t *Tenant) RenewCampaignClaim(ctx context.Context,
	in model.RenewCampaignClaimInput) ([]*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	campaign, err := t.Campaign(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	// Archiving locks items in the same order, so the two cannot deadlock.
	held := t.db.Select((*model.CampaignItem)(nil)).Column("id").
		Where("?TableAlias.campaign_id = ?", in.CampaignID).Where("?TableAlias.claim_id = ?", in.ClaimID).
		Where("?TableAlias.running_status = ? AND NOT ?TableAlias.is_archived", model.CampaignItemStatusPending).
		Where("?TableAlias.attempt_count < ?", campaign.MaxAttempts).
		Order("id").For(string(forUpdate))
	items := []*model.CampaignItem{}
	err = t.db.Update((*model.CampaignItem)(nil)).WithQuery(bun.NewWithQuery("held", held).Materialized()).
		TableExpr("held").
		Set(untilLapse, in.LeaseSeconds).Where("?TableAlias.id = held.id").
		Returning("?TableAlias.*").Scan(ctx, &items)
	return inOrder(items), err
}

// inOrder makes items that one statement changed a batch, oldest first.
func inOrder(items []*model.CampaignItem) []*model.CampaignItem {
	slices.SortFunc(items, func(a, b *model.CampaignItem) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return pg.Together(items)
}
