package db

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// checkBudget returns BUDGET_EXCEEDED when the month's budget is used up. It runs one SQL statement.
func (t *Tenant) checkBudget(ctx context.Context) error {
	subscription, err := t.Subscription(ctx, now())
	if err != nil || subscription == nil {
		return err
	}
	if !t.store.budgets.isSent(t.CompanyID(), subscription) {
		t.store.budgets.scheduleCheck(t.CompanyID())
	}
	if subscription.Status() == model.CompanySubscriptionStatusExhausted {
		return model.Errorf(model.BudgetExceeded, "%s", subscription.Warning())
	}
	return nil
}

// When budgets are checked.
const (
	// budgetCheckDelay is the delay of a check after usage was recorded. One check covers everything recorded until then.
	budgetCheckDelay   = time.Second
	budgetCheckTimeout = 5 * time.Second
)

// budgetWarnings sends warnings when budgets are nearly used up, once for each company, month, budget and status.
type budgetWarnings struct {
	store *Store
	log   *slog.Logger
	sent  sync.Map

	mu sync.Mutex
	// scheduled has the companies with a scheduled check. It is nil after close.
	scheduled map[string]bool
	closing   chan struct{}
	checks    sync.WaitGroup
}

// scheduleCheck schedules a check of the company's budget in the background.
func (b *budgetWarnings) scheduleCheck(companyID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.scheduled == nil || b.scheduled[companyID] {
		return
	}
	b.scheduled[companyID] = true
	b.checks.Go(func() {
		select {
		case <-time.After(budgetCheckDelay):
		case <-b.closing:
		}
		// Usage that is committed from here on gets another check.
		b.mu.Lock()
		delete(b.scheduled, companyID)
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), budgetCheckTimeout)
		defer cancel()
		subscription, err := b.store.Tenant(companyID).Subscription(ctx, now())
		if err != nil {
			b.log.WarnContext(ctx, "could not check a company's budget after recording "+
				"usage", "company", companyID, "error", err)
			return
		}
		if subscription != nil {
			b.warn(ctx, companyID, subscription)
		}
	})
}

// close runs all scheduled checks immediately and waits for them.
func (b *budgetWarnings) close() {
	b.mu.Lock()
	if b.scheduled != nil {
		b.scheduled = nil
		close(b.closing)
	}
	b.mu.Unlock()
	b.checks.Wait()
}

// budgetWarning identifies a warning that is sent once.
type budgetWarning struct {
	companyID string
	month     time.Time
	budget    model.Credits
	status    model.CompanySubscriptionStatus
}

// isSent reports whether the current warning was already sent, or there is none.
func (b *budgetWarnings) isSent(companyID string, s *model.CompanySubscription) bool {
	if s.Warning() == "" {
		return true
	}
	_, isSent := b.sent.Load(budgetWarning{companyID, s.PeriodStart, *s.Budget, s.Status()})
	return isSent
}

// warn logs the warning and writes it to the company's webhooks.
func (b *budgetWarnings) warn(ctx context.Context, companyID string, s *model.CompanySubscription) {
	if b.isSent(companyID, s) {
		return
	}
	warning := budgetWarning{companyID, s.PeriodStart, *s.Budget, s.Status()}
	if _, isSent := b.sent.LoadOrStore(warning, true); isSent {
		return
	}
	b.log.WarnContext(ctx, s.Warning(), "company", companyID, "used", s.CreditsUsed, "budget", *s.Budget)
	if err := b.store.Tenant(companyID).enqueueBudgetEvent(ctx, s); err != nil {
		b.sent.Delete(warning)
		b.log.WarnContext(ctx, "could not send a budget warning to webhooks", "company", companyID, "error", err)
	}
}
