package db

import (
	"context"
	"database/sql"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Retentions returns the company's retention periods, by kind of data.
func (t *Tenant) Retentions(ctx context.Context) ([]*model.Retention, error) {
	retentions := []*model.Retention{}
	return retentions, t.db.Select(&retentions).Order("kind").Scan(ctx)
}

// SetRetention sets how long data of a kind is kept from now on.
func (t *Tenant) SetRetention(ctx context.Context, in model.SetRetentionInput) error {
	retention, err := model.NewRetention(in)
	if err != nil {
		return err
	}
	retention.OwnBy(t.CompanyID())
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if retention.Days == 0 {
			_, err = t.db.Delete(retention).WherePK().Exec(ctx)
		} else {
			_, err = t.db.NewInsert().Model(retention).On("CONFLICT (company_id, kind) DO UPDATE").
				Set("days = excluded.days").Exec(ctx)
		}
		if err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionChangeRetention, t.CompanyID())
	})
}

// expiryTimeout bounds how long one sweep deletes expired data, before it looks for lost workers.
const expiryTimeout = 2 * time.Second

// retentions returns the retention periods of all companies, in any order. It leaves out periods that cannot be read,
// and returns an error for them.
func (s *Store) retentions(ctx context.Context) ([]*model.Retention, error) {
	return queryAllCompanies[*model.Retention](ctx, s, func(ofCompany func(string) pg.Selection) scanner {
		return s.db.Program().NewSelect().Model((*model.Retention)(nil)).Apply(ofCompany("?TableAlias.company_id"))
	})
}

// deleteExpired deletes expired data, one part of each retention at a time, and returns the retentions that remain when
// the time is over. An error of one company does not stop the others.
func (s *Store) deleteExpired(ctx context.Context, retentions []*model.Retention) (left []*model.Retention, err error) {
	return roundRobin(retentions, expiryTimeout, func(r *model.Retention) (bool, error) {
		return s.Tenant(r.CompanyID).forgetPart(ctx, r)
	})
}

// Numbers of rows that one transaction deletes, in well below a second.
const (
	chatsPerPart      = 100
	executionsPerPart = 2
	itemsPerPart      = 1_000
	tombstonesPerPart = 1_000
	entriesPerPart    = 5_000
)

// forgetPart deletes some expired data, and returns whether there may be more.
func (t *Tenant) forgetPart(ctx context.Context, r *model.Retention) (bool, error) {
	before := now().AddDate(0, 0, -int(r.Days))
	switch r.Kind {
	case model.RetentionLedger:
		return t.sumUpLedger(ctx, ledgerStart(r.Days))
	case model.RetentionChats:
		return t.forgetChats(ctx, before)
	case model.RetentionExecutions:
		return t.forgetExecutions(ctx, before)
	case model.RetentionCampaignItems:
		return t.forgetItems(ctx, before)
	case model.RetentionTombstones:
		old := t.db.NewSelect().TableExpr("tombstones").Column("noun", "id").Where("company_id = ?", t.CompanyID()).
			Where("deleted_at < ?", before).Limit(tombstonesPerPart)
		result, err := t.db.NewDelete().TableExpr("tombstones").Where("company_id = ?", t.CompanyID()).
			Where("(noun, id) IN (?)", old).Exec(ctx)
		return isFull(result, err, tombstonesPerPart)
	}
	return false, nil // a later version of the program added this kind
}

func (t *Tenant) forgetChats(ctx context.Context, before time.Time) (bool, error) {
	old := t.db.Select((*model.SimulationChat)(nil)).Column("id").Where("?TableAlias.created_at < ?", before).
		Where("?TableAlias.status <> ? OR ?TableAlias.reply_until < now()", model.SimulationChatStatusReplying).
		Where(`NOT EXISTS (SELECT 1 FROM simulation_chat_messages AS m WHERE m.company_id = ?TableAlias.company_id
			AND m.chat_id = ?TableAlias.id AND m.written_at >= ?)`, before).
		Order("created_at", "id").Limit(chatsPerPart)
	ids := []string{}
	err := t.db.Delete((*model.SimulationChat)(nil)).Where("id IN (?)", old).Returning("id").Scan(ctx, &ids)
	for _, id := range ids {
		t.wake(id)
	}
	return len(ids) == chatsPerPart, err
}

func (t *Tenant) forgetExecutions(ctx context.Context, before time.Time) (bool, error) {
	if _, err := t.db.Delete((*model.BlameSearch)(nil)).Where("finished_at < ?", before).Exec(ctx); err != nil {
		return false, err
	}
	ids := []string{}
	err := t.db.Select((*model.AgentTestExecution)(nil)).Column("id").Where("created_at < ?", before).
		Where("finished_at < ?", before).
		Where(`NOT EXISTS (SELECT 1 FROM agent_test_executions AS again WHERE again.company_id = ?TableAlias.company_id
			AND again.rejudge_of_id = ?TableAlias.id AND again.finished_at IS NULL)`).
		Order("created_at", "id").Limit(executionsPerPart).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	hasMore := len(ids) == executionsPerPart
	again := []string{}
	err = t.db.Select((*model.AgentTestExecution)(nil)).Column("id").Where("rejudge_of_id IN (?)", bun.List(ids)).
		Order("id").Limit(executionsPerPart).Scan(ctx, &again)
	if err != nil {
		return false, err
	}
	if len(again) > 0 { // delete rejudgments before their originals; there may be many
		ids, hasMore = again, true
	}
	return hasMore, t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return t.deleteExecutions(ctx, ids) })
}

// forgetItems deletes items of the first campaign that has expired ones.
func (t *Tenant) forgetItems(ctx context.Context, before time.Time) (bool, error) {
	campaigns := []string{}
	err := t.db.Select((*model.Campaign)(nil)).Column("id").
		Where("EXISTS (?)", t.oldItems(before).Where("?TableAlias.campaign_id = campaign.id")).
		Order("id").Limit(1).Scan(ctx, &campaigns)
	if err != nil || len(campaigns) == 0 {
		return false, err
	}
	return true, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		campaign, err := t.lockCampaign(ctx, campaigns[0], forUpdate)
		if err != nil {
			return err
		}
		_, err = t.deleteItems(ctx, campaign, t.oldItems(before).Where("?TableAlias.campaign_id = ?", campaign.ID))
		return err
	})
}

func (t *Tenant) oldItems(before time.Time) *bun.SelectQuery {
	return t.db.Select((*model.CampaignItem)(nil)).Column("id").Where("?TableAlias.created_at < ?", before).
		Where("?TableAlias.running_status IN (?)",
			bun.List([]model.CampaignItemStatus{model.CampaignItemStatusProcessed, model.CampaignItemStatusError})).
		Where("?TableAlias.last_call_date < ?", before)
}

// isFull reports whether a statement changed its maximum number of rows, so that there may be more.
func isFull(result sql.Result, err error, limit int64) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == limit, err
}
