package db

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// dispatchInterval is the interval at which a process looks for due messages.
	dispatchInterval = time.Second
	// maxWebhookWorkers bounds the webhooks that a process delivers to at once, and maxFailingWorkers the failing ones of
	// one company. Failing receivers must not delay others, of any company.
	maxWebhookWorkers, maxFailingWorkers = 1_024, 4
	// workerTimeout bounds how long a worker delivers to one webhook. After that, other webhooks get their turn.
	workerTimeout = 30 * time.Second
	// messageLease is how long one process may deliver a message before another may. An attempt takes less time, because
	// of postTimeout and recordTimeout.
	messageLease = time.Minute
	// postTimeout bounds one attempt.
	postTimeout = 10 * time.Second
	// recordTimeout bounds the writing of an attempt's result.
	recordTimeout = 10 * time.Second
	// forgetInterval is the average number of workers between two deletions of a failing webhook's excess messages. Such a
	// worker makes one attempt. A deletion reads all messages that wait.
	forgetInterval = 60
)

// WebhookRequest is a message to deliver to a webhook.
type WebhookRequest struct {
	URL, ID string
	Body    []byte
	// Keys sign the message: the current one and, for a while, the previous one.
	Keys [][]byte
	// IsOperatorChosen is set if the operator chose the address, which may then be private.
	IsOperatorChosen bool
}

// Post makes one attempt to deliver a message. It returns the status of the response, or 0 without a response, and an
// error unless the status is 2xx. Users who may see the webhook can read the error's text. The error may have a method
// RetryAfter, which returns how long the receiver wants no further attempt.
type Post func(ctx context.Context, p WebhookRequest) (status int, err error)

type webhookDispatcher struct {
	store *Store
	post  Post
	audit AuditWebhook
	log   *slog.Logger

	mu sync.Mutex
	// inProgress lists the webhooks that a worker is delivering to, by company, and whether they were failing.
	inProgress  map[string]map[string]bool
	workerCount int
	workers     sync.WaitGroup
	// isAuditing is set while audit events are delivered.
	isAuditing atomic.Bool
}

// DeliverWebhooks delivers messages to webhooks until ctx ends. Any number of processes may call it. A message can be
// delivered more than once, always under the same id. After too many failures, it is not delivered. If the delivering
// process ends before it records the attempt, the message is due again after a minute. A process delivers the messages
// of one webhook in sequence. Audit events go to the operator's webhook.
func (s *Store) DeliverWebhooks(ctx context.Context, post Post, audit AuditWebhook, log *slog.Logger) {
	dispatcher := &webhookDispatcher{store: s, post: post, audit: audit, log: log,
		inProgress: map[string]map[string]bool{}}
	defer dispatcher.workers.Wait()
	tick := time.NewTicker(dispatchInterval)
	defer tick.Stop()
	for isFailing := false; ; {
		err := dispatcher.startWorkers(ctx)
		if err != nil && ctx.Err() == nil && !isFailing {
			log.WarnContext(ctx, "could not read due webhook messages; will retry", "error", err)
		}
		isFailing = err != nil
		dispatcher.sendAuditEvents(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// startWorkers starts a worker for each enabled webhook with due messages, within the limits.
func (o *webhookDispatcher) startWorkers(ctx context.Context) error {
	companies, err := o.store.companiesWith(ctx, (*model.WebhookDelivery)(nil),
		`status = 'Pending' AND due_at <= ? AND EXISTS (SELECT 1 FROM webhooks AS w
			WHERE w.company_id = ?TableAlias.company_id AND w.id = ?TableAlias.webhook_id AND w.is_enabled)`, now())
	errs := []error{err}
	for _, companyID := range companies {
		t := o.store.Tenant(companyID)
		webhooks := []*model.Webhook{}
		if err := t.db.Select(&webhooks).Column("id", "failing_since").Where("is_enabled").
			Where("EXISTS (?)", t.dueDeliveries().Column("id").Where("webhook_id = webhook.id")).OrderExpr("random()").
			Scan(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, w := range webhooks {
			o.startWorker(ctx, t, w.ID, w.FailingSince != nil)
		}
	}
	return errors.Join(errs...)
}

// dueDeliveries selects the messages whose next attempt is due.
func (t *Tenant) dueDeliveries() *bun.SelectQuery {
	return t.db.Select((*model.WebhookDelivery)(nil)).Where("status = ?", model.WebhookDeliveryStatusPending).
		Where("due_at <= ?", now())
}

// startWorker starts a worker that delivers the webhook's due messages, unless there is one already or there are too
// many.
func (o *webhookDispatcher) startWorker(ctx context.Context, t *Tenant, webhookID string, isFailing bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	active, failing := o.inProgress[t.CompanyID()], 0
	for _, isFailing := range active {
		if isFailing {
			failing++
		}
	}
	if _, isActive := active[webhookID]; isActive || isFailing && failing >= maxFailingWorkers ||
		o.workerCount >= maxWebhookWorkers {
		return
	}
	if active == nil {
		active = map[string]bool{}
		o.inProgress[t.CompanyID()] = active
	}
	active[webhookID] = isFailing
	o.workerCount++
	o.workers.Go(func() {
		defer func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.workerCount--
			if delete(active, webhookID); len(active) == 0 {
				delete(o.inProgress, t.CompanyID())
			}
		}()
		if err := o.deliver(pg.WithConnectionsOf(ctx, t.CompanyID()), t, webhookID); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "could not save the outcome of webhook messages", "company", t.CompanyID(),
				"webhook", webhookID, "error", err)
		}
	})
}

// deliver delivers due messages, the longest overdue first, until the receiver fails. It also deletes excess messages.
func (o *webhookDispatcher) deliver(ctx context.Context, t *Tenant, webhookID string) error {
	isDown := false
	for start := time.Now(); !isDown && time.Since(start) < workerTimeout && ctx.Err() == nil; {
		to, message, err := t.nextMessage(ctx, webhookID)
		if err != nil {
			return err
		}
		if message == nil {
			break
		}
		var status int
		at := time.Now()
		request, failure := t.requestTo(to, message)
		if failure == nil {
			posting, cancel := context.WithTimeout(ctx, postTimeout)
			status, failure = o.post(posting, request)
			cancel()
		}
		if ctx.Err() != nil {
			return t.release(ctx, message)
		}
		if err := t.record(ctx, webhookID, message, attemptOf(at, status, failure), retryAfter(failure)); err != nil {
			return err
		}
		isDown = failure != nil && !isRejection(status, failure)
	}
	if isDown && rand.IntN(forgetInterval) > 0 {
		return nil
	}
	dropped, err := t.forgetDeliveries(ctx, webhookID)
	if dropped > 0 {
		o.log.WarnContext(ctx, "too many webhook messages wait; the oldest have failed", "company", t.CompanyID(),
			"webhook", webhookID, "messages", dropped)
	}
	return err
}

// isRejection reports whether the receiver works, but does not want this message. It may accept the next one.
func isRejection(status int, failure error) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests && retryAfter(failure) == 0
}

// retryAfter returns how long the receiver wants no further attempt.
func retryAfter(failure error) time.Duration {
	if later, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](failure); ok {
		return later.RetryAfter()
	}
	return 0
}

// attemptOf returns the record of an attempt.
func attemptOf(at time.Time, status int, err error) model.WebhookAttempt {
	attempt := model.WebhookAttempt{At: at.UTC(), DurationMs: int32(time.Since(at).Milliseconds())}
	if status != 0 {
		attempt.Status = new(int32(status))
	}
	if err != nil {
		attempt.Error = new(err.Error())
	}
	return attempt
}

// nextMessage returns the longest overdue message of an enabled webhook and reserves it for messageLease. It returns
// nil when there is none.
func (t *Tenant) nextMessage(ctx context.Context, webhookID string) (*model.Webhook, *model.WebhookDelivery, error) {
	to, messages := []*model.Webhook{}, []*model.WebhookDelivery{}
	if err := t.db.Select(&to).Where("id = ?", webhookID).Where("is_enabled").Scan(ctx); err != nil || len(to) == 0 {
		return nil, nil, err
	}
	next := t.dueDeliveries().Column("id").Where("webhook_id = ?", webhookID).Order("due_at").Limit(1).
		For("UPDATE SKIP LOCKED")
	err := t.db.Update((*model.WebhookDelivery)(nil)).Set("claim = claim + 1").Set("due_at = ?", now().Add(messageLease)).
		Where("id = (?)", next).Returning("*").Scan(ctx, &messages)
	if err != nil || len(messages) == 0 {
		return nil, nil, err
	}
	return to[0], messages[0], nil
}

// requestTo returns the request that delivers a message, with the secrets that sign it.
func (t *Tenant) requestTo(to *model.Webhook, message *model.WebhookDelivery) (WebhookRequest, error) {
	sealed := [][]byte{to.SealedSecret}
	if to.PreviousSecretUntil != nil && now().Before(*to.PreviousSecretUntil) {
		sealed = append(sealed, to.SealedPreviousSecret)
	}
	p := WebhookRequest{URL: to.URL, ID: message.ID, Body: message.Payload}
	for _, secret := range sealed {
		key, err := t.store.sealer.Open(t.CompanyID()+"/"+to.ID, secret)
		if err != nil {
			return p, errors.New("the webhook's secret cannot be decrypted with this server's secret key: rotate the " +
				"webhook's secret")
		}
		p.Keys = append(p.Keys, key)
	}
	return p, nil
}

// record saves an attempt at a message, unless another process has the message by now, or it was deleted.
func (t *Tenant) record(ctx context.Context, webhookID string, message *model.WebhookDelivery,
	attempt model.WebhookAttempt, wait time.Duration) error {
	// The record must be written even while the program is shutting down.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		to, stored := &model.Webhook{}, &model.WebhookDelivery{}
		err := t.lock(ctx, webhook, webhookID, to, forUpdate)
		if err == nil {
			err = t.lock(ctx, webhookDelivery, message.ID, stored, forUpdate)
		}
		if pg.IsMissing(err) || err == nil && stored.Claim != message.Claim {
			return nil // deleted, or taken by another process
		}
		if err != nil {
			return err
		}
		failing, isEnabled := to.FailingSince, to.IsEnabled
		stored.Record(to, attempt, wait, rand.Float64(), now())
		if _, err := t.db.Update(stored).Column("status", "attempts", "failures", "due_at").WherePK().Exec(ctx); err != nil {
			return err
		}
		if failing == to.FailingSince && isEnabled == to.IsEnabled {
			return nil
		}
		return exec(ctx, t.db.Update(to).Column("failing_since", "is_enabled", "disabled_reason", "updated_at").WherePK())
	})
}

// release makes a message due again because the program is shutting down. The message may have been delivered.
func (t *Tenant) release(ctx context.Context, message *model.WebhookDelivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return exec(ctx, t.db.Update((*model.WebhookDelivery)(nil)).Set("due_at = ?", now()).Where("id = ?", message.ID).
		Where("claim = ?", message.Claim).Where("status = ?", model.WebhookDeliveryStatusPending))
}

// forgetDeliveries deletes expired messages of a webhook, and all but the last that no longer wait. If too many wait,
// the oldest fail. It returns their number.
func (t *Tenant) forgetDeliveries(ctx context.Context, webhookID string) (dropped int64, err error) {
	// excess is the condition of messages that are older than the last ones in a state.
	excess := func(state string, most int64) (string, *bun.SelectQuery) {
		return state + " AND (created_at, id) <= (?)", t.db.Select((*model.WebhookDelivery)(nil)).
			Column("created_at", "id").Where("webhook_id = ?", webhookID).Where(state).
			OrderExpr("created_at DESC, id DESC").Offset(most).Limit(1)
	}
	condition, last := excess("status = 'Pending'", model.MaxWaitingDeliveries)
	result, err := t.db.Update((*model.WebhookDelivery)(nil)).Set("status = ?", model.WebhookDeliveryStatusFailed).
		Set("due_at = NULL").Where("webhook_id = ?", webhookID).Where(condition, last).Exec(ctx)
	if err != nil {
		return 0, err
	}
	if dropped, err = result.RowsAffected(); err != nil {
		return 0, err
	}
	condition, last = excess("status <> 'Pending'", model.MaxDeliveries)
	return dropped, exec(ctx, t.db.Delete((*model.WebhookDelivery)(nil)).Where("webhook_id = ?", webhookID).
		Where("created_at < ? OR "+condition, model.DeliveriesStoredSince(now()), last))
}
