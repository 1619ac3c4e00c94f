package db

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// ClaimCampaignItems claims the items of a running campaign that have been due longest. It returns the id of the claim
// and the items, oldest first. If no item is due, it returns nil and no items. No other caller gets the items until the
// lease and its renewals end. Claimed items stay Pending, so a claim that expires needs no cleanup. ClaimCampaignItems
// returns CONFLICT when the campaign is not running.
func (t *Tenant) ClaimCampaignItems(ctx context.Context,
	in model.ClaimCampaignItemsInput) (*string, []*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, nil, err
	}
	claim := model.NewID("claim")
	// The query is materialized. Otherwise, Postgres may run it again during the update and get other rows.
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
		Set("claim_id = ?", claim).Set(leaseUntil, in.LeaseSeconds).Where("?TableAlias.id = due.id").
		Returning("?TableAlias.*").Scan(ctx, &items)
	if err != nil {
		return nil, nil, err
	}
	if len(items) > 0 {
		return &claim, oldestFirst(items), nil
	}
	campaign, err := t.Campaign(ctx, in.CampaignID)
	if err != nil {
		return nil, nil, err
	}
	return nil, items, campaign.AllowClaims()
}

// Only the database's clock measures leases, because the replicas' clocks may differ.
const leaseUntil = "due_at = now() + ? * interval '1 second'"

// RenewCampaignClaim extends a claim and returns its items that still wait for their calls. If the claim had expired,
// it gets back the items that no other caller has claimed since. RenewCampaignClaim returns CONFLICT when the campaign
// is not running.
func (t *Tenant) RenewCampaignClaim(ctx context.Context,
	in model.RenewCampaignClaimInput) ([]*model.CampaignItem, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	campaign, err := t.Campaign(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	if err := campaign.AllowClaims(); err != nil {
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
		Set(leaseUntil, in.LeaseSeconds).Where("?TableAlias.id = held.id").
		Returning("?TableAlias.*").Scan(ctx, &items)
	return oldestFirst(items), err
}

// oldestFirst sorts items by age, and joins them into one batch.
func oldestFirst(items []*model.CampaignItem) []*model.CampaignItem {
	slices.SortFunc(items, func(a, b *model.CampaignItem) int {
		if order := a.CreatedAt.Compare(b.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return pg.JoinBatch(items)
}
