package db

import (
	"context"
	"time"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Subscription returns the plan of the month that contains the time, with the usage of that month. It returns nil
// when there is no plan.
func (t *Tenant) Subscription(ctx context.Context, at time.Time) (*model.CompanySubscription, error) {
	month, found := model.MonthOf(at), []*model.CompanySubscription{}
	w := t.db.Batch() // the Tenant may be in a transaction
	w.Add(findPlan, &found, month.Format(time.DateOnly))
	if err := w.Send(ctx); err != nil || len(found) == 0 {
		return nil, err
	}
	found[0].PeriodStart = month
	return found[0], nil
}

// findPlan is the statement that finds the plan of a month, with its usage. Every new chat runs it.
var findPlan = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	used := t.Select((*model.UsageMonth)(nil)).ColumnExpr("COALESCE(sum(micro_credits), 0)::bigint").
		Where("month = ?::date", pg.Param(2))
	return t.Select((*model.Plan)(nil)).Column("name", "micro_credits_included", "micro_credits_budget").
			ColumnExpr("(?) AS micro_credits_used", used).Where("month <= ?::date", pg.Param(2)).Order("month DESC").Limit(1).
			String(),
		[]string{"name", "micro_credits_included", "micro_credits_budget", "micro_credits_used"}
})

// SetPlan replaces the plan from the current month on.
func (t *Tenant) SetPlan(ctx context.Context, in model.SetPlanInput) error {
	plan, err := model.NewPlan(in, now())
	if err != nil {
		return err
	}
	plan.OwnBy(t.CompanyID())
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		_, err := t.db.NewInsert().Model(plan).On("CONFLICT (company_id, month) DO UPDATE").
			Set("name = excluded.name").Set("micro_credits_included = excluded.micro_credits_included").
			Set("micro_credits_budget = excluded.micro_credits_budget").Returning("NULL").Exec(ctx)
		if err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionChangePlan, t.CompanyID())
	})
}

// ClearPlan removes the plan and the budget of the company.
func (t *Tenant) ClearPlan(ctx context.Context) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.db.Delete((*model.Plan)(nil)).Exec(ctx); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionChangePlan, t.CompanyID())
	})
}
