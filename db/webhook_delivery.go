package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// courierEvery is how often a process looks for messages that are due.
	courierEvery = time.Second
	// couriers bounds the webhooks that a process delivers to at once, and couriersPerCompany those of one company: its
	// receivers may be slow, and nobody else is to wait for them.
	couriers, couriersPerCompany = 256, 4
	// courierTime bounds how long a courier goes on with one webhook, so that others have their turn.
	courierTime = 30 * time.Second
	// messageLease is how long a message is left to the process that delivers it, which is done before.
	messageLease = time.Minute
	// postTimeout bounds an attempt.
	postTimeout = 10 * time.Second
	// recordTimeout bounds the writing of what came of it.
	recordTimeout = 10 * time.Second
)

// Parcel is a message on its way to a webhook.
type Parcel struct {
	URL, ID string
	Body    []byte
	// Keys sign it: the current one, and for a while the one before.
	Keys [][]byte
	// IsOperators: the operator chose the address, which may be private.
	IsOperators bool
}

// Post makes one attempt to deliver a message. It returns the status of the answer, 0 without one, and an error unless
// that is 2xx, whose text is shown to whoever may see the webhook.
type Post func(ctx context.Context, p Parcel) (status int, err error)

type postOffice struct {
	store *Store
	post  Post
	audit AuditWebhook
	log   *slog.Logger

	mu sync.Mutex
	// underWay are the webhooks that have a courier, by company.
	underWay map[string]map[string]bool
	number   int
	couriers sync.WaitGroup
	// isAuditing is set while audit events are delivered.
	isAuditing atomic.Bool
}

// DeliverWebhooks delivers messages to webhooks until ctx ends; any number of processes may. A message is delivered at
// least once, under the same id each time: one whose attempt was not written down, because the process ended, is due
// again after a minute. Of one webhook a process delivers one message after the other. The operator's webhook is sent
// audit events.
func (s *Store) DeliverWebhooks(ctx context.Context, post Post, audit AuditWebhook, log *slog.Logger) {
	o := &postOffice{store: s, post: post, audit: audit, log: log, underWay: map[string]map[string]bool{}}
	defer o.couriers.Wait()
	tick := time.NewTicker(courierEvery)
	defer tick.Stop()
	for isFailing := false; ; {
		err := o.sendCouriers(ctx)
		if err != nil && ctx.Err() == nil && !isFailing {
			log.WarnContext(ctx, "messages to webhooks cannot be looked for; they will be delivered later", "error", err)
		}
		isFailing = err != nil
		o.sendAuditEvents(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sendCouriers sends a courier to each webhook that has messages which are due, as far as there are couriers.
func (o *postOffice) sendCouriers(ctx context.Context) error {
	companies, err := o.store.companiesWith(ctx,
		`SELECT 1 FROM webhooks AS w JOIN webhook_deliveries AS d ON d.company_id = w.company_id AND d.webhook_id = w.id
		WHERE w.company_id = ?TableAlias.id AND w.is_enabled AND d.status = 'Pending' AND d.due_at <= ?`, now())
	errs := []error{err}
	for _, companyID := range companies {
		t := o.store.Tenant(companyID)
		webhooks := []string{}
		if err := t.db.Select((*model.Webhook)(nil)).Column("id").Where("is_enabled").
			Where("EXISTS (?)", t.due().Column("id").Where("webhook_id = webhook.id")).OrderExpr("random()").
			Scan(ctx, &webhooks); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, id := range webhooks {
			o.send(ctx, t, id)
		}
	}
	return errors.Join(errs...)
}

// due are the messages whose next attempt is due.
func (t *Tenant) due() *bun.SelectQuery {
	return t.db.Select((*model.WebhookDelivery)(nil)).Where("status = ?", model.WebhookDeliveryStatusPending).
		Where("due_at <= ?", now())
}

// send has a courier deliver what is due to the webhook, unless one does already or there are too many.
func (o *postOffice) send(ctx context.Context, t *Tenant, webhookID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.underWay[t.CompanyID()]
	if of[webhookID] || len(of) >= couriersPerCompany || o.number >= couriers {
		return
	}
	if of == nil {
		of = map[string]bool{}
		o.underWay[t.CompanyID()] = of
	}
	of[webhookID] = true
	o.number++
	o.couriers.Go(func() {
		defer func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.number--
			if delete(of, webhookID); len(of) == 0 {
				delete(o.underWay, t.CompanyID())
			}
		}()
		if err := o.deliver(pg.WithParty(ctx, t.CompanyID()), t, webhookID); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "what came of messages to a webhook could not be written down", "company", t.CompanyID(),
				"webhook", webhookID, "error", err)
		}
	})
}

// deliver delivers what is due, oldest first, and forgets what is too much.
func (o *postOffice) deliver(ctx context.Context, t *Tenant, webhookID string) error {
	for begun := time.Now(); time.Since(begun) < courierTime && ctx.Err() == nil; {
		to, message, err := t.nextMessage(ctx, webhookID)
		if err != nil {
			return err
		}
		if message == nil {
			break
		}
		parcel, err := t.pack(to, message)
		var status int
		at := time.Now()
		if err == nil {
			posting, cancel := context.WithTimeout(ctx, postTimeout)
			status, err = o.post(posting, parcel)
			cancel()
		}
		if ctx.Err() != nil {
			return t.release(ctx, message)
		}
		if err := t.record(ctx, webhookID, message, attempted(at, status, err)); err != nil {
			return err
		}
	}
	return t.forgetDeliveries(ctx, webhookID)
}

// attempted describes an attempt.
func attempted(at time.Time, status int, err error) model.WebhookAttempt {
	attempt := model.WebhookAttempt{At: at.UTC(), DurationMs: int32(time.Since(at).Milliseconds())}
	if status != 0 {
		attempt.Status = new(int32(status))
	}
	if err != nil {
		attempt.Error = new(err.Error())
	}
	return attempt
}

// nextMessage returns the oldest message of an enabled webhook that is due, which is left to the caller for some time;
// nil when there is none.
func (t *Tenant) nextMessage(ctx context.Context, webhookID string) (*model.Webhook, *model.WebhookDelivery, error) {
	to, messages := []*model.Webhook{}, []*model.WebhookDelivery{}
	if err := t.db.Select(&to).Where("id = ?", webhookID).Where("is_enabled").Scan(ctx); err != nil || len(to) == 0 {
		return nil, nil, err
	}
	next := t.due().Column("id").Where("webhook_id = ?", webhookID).Order("due_at", "id").Limit(1).
		For("UPDATE SKIP LOCKED")
	err := t.db.Update((*model.WebhookDelivery)(nil)).Set("claim = claim + 1").Set("due_at = ?", now().Add(messageLease)).
		Where("id = (?)", next).Returning("*").Scan(ctx, &messages)
	if err != nil || len(messages) == 0 {
		return nil, nil, err
	}
	return to[0], messages[0], nil
}

func (t *Tenant) pack(to *model.Webhook, message *model.WebhookDelivery) (Parcel, error) {
	sealed := [][]byte{to.SealedSecret}
	if to.PreviousSecretUntil != nil && now().Before(*to.PreviousSecretUntil) {
		sealed = append(sealed, to.SealedPreviousSecret)
	}
	p := Parcel{URL: to.URL, ID: message.ID, Body: message.Payload}
	for _, secret := range sealed {
		key, err := t.store.sealer.Open(t.CompanyID()+"/"+to.ID, secret)
		if err != nil {
			return p, errors.New("the webhook's secret cannot be read with this server's secret key: rotate it")
		}
		p.Keys = append(p.Keys, key)
	}
	return p, nil
}

// record writes down an attempt at a message, unless somebody else has it by now.
func (t *Tenant) record(ctx context.Context, webhookID string, message *model.WebhookDelivery,
	attempt model.WebhookAttempt) error {
	// What was delivered is written down even if the program has to end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		to, stored := &model.Webhook{}, &model.WebhookDelivery{}
		err := t.lock(ctx, webhook, webhookID, to, forUpdate)
		if err == nil {
			err = t.lock(ctx, webhookDelivery, message.ID, stored, forUpdate)
		}
		if pg.IsMissing(err) || err == nil && stored.Claim != message.Claim {
			return nil // it was deleted, or is another process's
		}
		if err != nil {
			return err
		}
		failing, isEnabled := to.FailingSince, to.IsEnabled
		stored.Record(to, attempt, rand.Float64(), now())
		if _, err := t.db.Update(stored).Column("status", "attempts", "failures", "due_at").WherePK().Exec(ctx); err != nil {
			return err
		}
		if failing == to.FailingSince && isEnabled == to.IsEnabled {
			return nil
		}
		return exec(ctx, t.db.Update(to).Column("failing_since", "is_enabled", "disabled_reason", "updated_at").WherePK())
	})
}

// release gives back a message that was not delivered because the program ends.
func (t *Tenant) release(ctx context.Context, message *model.WebhookDelivery) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return exec(ctx, t.db.Update((*model.WebhookDelivery)(nil)).Set("due_at = ?", now()).Where("id = ?", message.ID).
		Where("claim = ?", message.Claim).Where("status = ?", model.WebhookDeliveryStatusPending))
}

// forgetDeliveries deletes the messages of a webhook that are too many, and those that are too old.
func (t *Tenant) forgetDeliveries(ctx context.Context, webhookID string) error {
	of := func() *bun.SelectQuery {
		return t.db.Select((*model.WebhookDelivery)(nil)).Where("webhook_id = ?", webhookID)
	}
	last := of().Column("created_at", "id").OrderExpr("created_at DESC, id DESC").Offset(model.MaxDeliveries).Limit(1)
	return exec(ctx, t.db.Delete((*model.WebhookDelivery)(nil)).Where("webhook_id = ?", webhookID).
		Where("created_at < ? OR (created_at, id) <= (?)", model.DeliveriesKeptSince(now()), last))
}

// forgetOldDeliveries deletes what all webhooks were told too long ago, a part at a time.
func (s *Store) forgetOldDeliveries(ctx context.Context) error {
	before := model.DeliveriesKeptSince(now())
	companies, err := s.companiesWith(ctx, "SELECT 1 FROM webhook_deliveries AS d WHERE d.company_id = ?TableAlias.id "+
		"AND d.created_at < ?", before)
	errs := []error{err}
	for _, id := range companies {
		t := s.Tenant(id)
		oldest := t.db.Select((*model.WebhookDelivery)(nil)).Column("id").Where("created_at < ?", before).Order("created_at").
			Limit(eventsPerRead)
		if _, err := t.db.Delete((*model.WebhookDelivery)(nil)).Where("id IN (?)", oldest).Exec(ctx); err != nil {
			errs = append(errs, fmt.Errorf("forget deliveries of company %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}
