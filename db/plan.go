package db

import (
	"context"
	"log/slog"
	"sync"
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
	_, err = t.db.NewInsert().Model(plan).On("CONFLICT (company_id, month) DO UPDATE").
		Set("name = excluded.name").Set("micro_credits_included = excluded.micro_credits_included").
		Set("micro_credits_budget = excluded.micro_credits_budget").Returning("NULL").Exec(ctx)
	return translate(err)
}

// ClearPlan leaves the company without a plan and without a budget.
func (t *Tenant) ClearPlan(ctx context.Context) error {
	_, err := t.remove((*model.Plan)(nil)).Exec(ctx)
	return translate(err)
}

// checkBudget returns BUDGET_EXCEEDED when the budget of the month is used up. It costs one statement.
func (t *Tenant) checkBudget(ctx context.Context) error {
	subscription, err := t.Subscription(ctx, now())
	if err != nil || subscription == nil {
		return err
	}
	warning := subscription.Warning()
	if warning != "" {
		t.store.budget.warn(ctx, t.companyID, warning, subscription)
	}
	if subscription.Status() == model.CompanySubscriptionStatusExhausted {
		return model.Errorf(model.BudgetExceeded, "%s", warning)
	}
	return nil
}

// budgets warns of those that are nearly used up, once for each company, month and status.
type budgets struct {
	log  *slog.Logger
	told sync.Map
}

func newBudgets(log *slog.Logger) *budgets {
	if log == nil {
		log = slog.Default()
	}
	return &budgets{log: log}
}

func (b *budgets) warn(ctx context.Context, companyID, warning string, s *model.CompanySubscription) {
	type occasion struct {
		companyID string
		month     time.Time
		status    model.CompanySubscriptionStatus
	}
	if _, told := b.told.LoadOrStore(occasion{companyID, s.PeriodStart, s.Status()}, true); !told {
		b.log.WarnContext(ctx, warning, "company", companyID)
	}
}
