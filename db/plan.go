package db

import (
	"context"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// Subscription returns the plan of the month that the time is in, with what was used in that month; nil
// when there is none.
func (t *Tenant) Subscription(ctx context.Context, at time.Time) (*model.CompanySubscription, error) {
	month := model.MonthOf(at)
	used := t.find((*model.UsageMonth)(nil)).ColumnExpr("COALESCE(sum(micro_credits), 0)::bigint").Where("month = ?", month.Format(time.DateOnly))
	found := []*model.CompanySubscription{}
	err := t.find((*model.Plan)(nil)).Column("name", "micro_credits_included", "micro_credits_budget").
		ColumnExpr("(?) AS micro_credits_used", used).
		Where("month <= ?", month.Format(time.DateOnly)).Order("month DESC").Limit(1).Scan(ctx, &found)
	if err != nil || len(found) == 0 {
		return nil, translate(err)
	}
	found[0].PeriodStart = month
	return found[0], nil
}

// SetPlan makes a plan hold from the current month on, in place of the one before.
func (t *Tenant) SetPlan(ctx context.Context, in model.SetPlanInput) error {
	plan, err := model.NewPlan(in, now())
	if err != nil {
		return err
	}
	plan.OwnBy(t.companyID)
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		_, err := t.db.NewInsert().Model(plan).On("CONFLICT (company_id, month) DO UPDATE").
			Set("name = excluded.name").Set("micro_credits_included = excluded.micro_credits_included").
			Set("micro_credits_budget = excluded.micro_credits_budget").Returning("NULL").Exec(ctx)
		if err != nil {
			return translate(err)
		}
		return t.audit(ctx, model.AuditActionChangePlan, t.companyID)
	})
}

// ClearPlan leaves the company without a plan and without a budget.
func (t *Tenant) ClearPlan(ctx context.Context) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.remove((*model.Plan)(nil)).Exec(ctx); err != nil {
			return translate(err)
		}
		return t.audit(ctx, model.AuditActionChangePlan, t.companyID)
	})
}
