package db

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// checkBudget returns BUDGET_EXCEEDED when the month's budget is used up. It takes one statement.
func (t *Tenant) checkBudget(ctx context.Context) error {
	subscription, err := t.Subscription(ctx, now())
	if err != nil || subscription == nil {
		return err
	}
	if !t.store.budgets.isTold(t.CompanyID(), subscription) {
		t.store.budgets.look(t.CompanyID())
	}
	if subscription.Status() == model.CompanySubscriptionStatusExhausted {
		return model.Errorf(model.BudgetExceeded, "%s", subscription.Warning())
	}
	return nil
}

// When budgets are checked.
const (
	// lookDelay is the delay of a check after usage was recorded. One check covers everything recorded until then.
	lookDelay = time.Second
	lookTime  = 5 * time.Second
)

// budgets sends warnings when budgets are nearly used up, once for each company, month, budget and status.
type budgets struct {
	log *slog.Logger
	// of reads the current state of a company's plan.
	of func(ctx context.Context, companyID string) (*model.CompanySubscription, error)
	// tell writes messages to the company's webhooks. They are written once, even if several processes try.
	tell func(ctx context.Context, companyID string, s *model.CompanySubscription) error
	told sync.Map

	mu sync.Mutex
	// awaited are the companies with a scheduled check. It is nil after close.
	awaited map[string]bool
	closing chan struct{}
	looks   sync.WaitGroup
}

func newBudgets(
	log *slog.Logger, of func(context.Context, string) (*model.CompanySubscription, error),
	tell func(context.Context, string, *model.CompanySubscription) error,
) *budgets {
	return &budgets{log: cmp.Or(log, slog.Default()), of: of, tell: tell, awaited: map[string]bool{},
		closing: make(chan struct{})}
}

// look schedules a check of the company's budget in the background.
func (b *budgets) look(companyID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.awaited == nil || b.awaited[companyID] {
		return
	}
	b.awaited[companyID] = true
	b.looks.Go(func() {
		select {
		case <-time.After(lookDelay):
		case <-b.closing:
		}
		// Usage that is committed from here on gets another check.
		b.mu.Lock()
		delete(b.awaited, companyID)
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), lookTime)
		defer cancel()
		subscription, err := b.of(ctx, companyID)
		if err != nil {
			b.log.WarnContext(ctx, "a budget was not looked at after usage was recorded", "company", companyID, "error", err)
			return
		}
		if subscription != nil {
			b.warn(ctx, companyID, subscription)
		}
	})
}

// close runs all scheduled checks at once and waits for them.
func (b *budgets) close() {
	b.mu.Lock()
	if b.awaited != nil {
		b.awaited = nil
		close(b.closing)
	}
	b.mu.Unlock()
	b.looks.Wait()
}

// occasion identifies a warning that is sent once.
type occasion struct {
	companyID string
	month     time.Time
	budget    model.Credits
	status    model.CompanySubscriptionStatus
}

// isTold reports whether there is no warning to send.
func (b *budgets) isTold(companyID string, s *model.CompanySubscription) bool {
	if s.Warning() == "" {
		return true
	}
	_, told := b.told.Load(occasion{companyID, s.PeriodStart, *s.Budget, s.Status()})
	return told
}

// warn logs the warning and writes it to the company's webhooks.
func (b *budgets) warn(ctx context.Context, companyID string, s *model.CompanySubscription) {
	if b.isTold(companyID, s) {
		return
	}
	now := occasion{companyID, s.PeriodStart, *s.Budget, s.Status()}
	if _, told := b.told.LoadOrStore(now, true); told {
		return
	}
	b.log.WarnContext(ctx, s.Warning(), "company", companyID, "used", s.CreditsUsed, "budget", *s.Budget)
	if err := b.tell(ctx, companyID, s); err != nil {
		b.told.Delete(now)
		b.log.WarnContext(ctx, "webhooks were not told of a budget", "company", companyID, "error", err)
	}
}
