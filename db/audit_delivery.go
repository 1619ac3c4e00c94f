package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// deliveryLease is how long one process may deliver a company's events before another may. A delivery takes less time,
	// because of deliveryTimeout.
	deliveryLease = 30 * time.Second
	// deliveryTimeout bounds one delivery, including reading its events.
	deliveryTimeout = 10 * time.Second
	// eventsPerDelivery bounds the events in one message.
	eventsPerDelivery = 100
	// maxFailures is the number of failed deliveries after which a round ends.
	maxFailures = 3
	// longestRetry bounds the wait after a failure. The wait starts at a second and doubles with each failure.
	longestRetry = 15 * time.Minute
)

// AuditWebhook is the operator's webhook, which receives the audit events of all companies. There is none if the URL
// is empty.
type AuditWebhook struct {
	URL string
	// Key signs the messages.
	Key []byte
}

// auditEvents is the body of a message.
type auditEvents struct {
	CompanyID string              `json:"companyId"`
	Events    []*model.AuditEvent `json:"events"`
}

// sendAuditEvents delivers the audit events that are due, unless this process is already delivering.
func (o *webhookDispatcher) sendAuditEvents(ctx context.Context) {
	if o.audit.URL == "" || !o.isAuditing.CompareAndSwap(false, true) {
		return
	}
	o.workers.Go(func() {
		defer o.isAuditing.Store(false)
		if err := o.store.DeliverAuditEvents(ctx, o.postAuditEvents); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "could not deliver audit events; will retry", "error", err)
		}
	})
}

// postAuditEvents sends events of one company in one message. The ids of the first and the last event form the
// message's id.
func (o *webhookDispatcher) postAuditEvents(ctx context.Context, companyID string, events []*model.AuditEvent) error {
	body, err := json.Marshal(auditEvents{companyID, events})
	if err != nil {
		return err
	}
	id := events[0].ID + "-" + events[len(events)-1].ID
	message := WebhookRequest{URL: o.audit.URL, ID: id, Body: body, Keys: [][]byte{o.audit.Key}, IsOperatorChosen: true}
	_, err = o.post(ctx, message)
	return err
}

// Deliver sends events of one company to their target, oldest first. After an error it is called again with the same
// events, and with newer ones if there is room.
type Deliver func(ctx context.Context, companyID string, events []*model.AuditEvent) error

// DeliverAuditEvents passes undelivered events to the function deliver: the oldest of each company, unless the company
// waits after a failure. DeliverAuditEvents stops after maxFailures failures, and returns the last one. One process at
// a time delivers the events of a company. An event is delivered again if the process or the database fails before the
// delivery is recorded.
func (s *Store) DeliverAuditEvents(ctx context.Context, deliver Deliver) error {
	companies, err := s.companiesWith(ctx, (*model.AuditEvent)(nil), "delivered_at IS NULL AND NOT EXISTS (SELECT 1 "+
		"FROM audit_deliveries AS d WHERE d.company_id = ?TableAlias.company_id AND d.due_at > now())")
	failed := 0
	for _, id := range companies {
		if failure := s.Tenant(id).deliverAuditEvents(ctx, deliver); failure != nil {
			// The target is probably down. Each further company would wait for the timeout.
			if failed++; failed == maxFailures {
				return failure
			}
			err = failure
		}
	}
	return err
}

// deliverAuditEvents delivers the oldest events.
func (t *Tenant) deliverAuditEvents(ctx context.Context, deliver Deliver) error {
	limited, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	var failures int
	// This WHERE compares due_at with the current time. It computes the time from excluded.due_at, because Citus accepts
	// only immutable functions here.
	err := t.db.NewRaw(`INSERT INTO audit_deliveries AS d (company_id, target, failures, due_at) VALUES (?0, 'Webhook', 0,
			now() + ?1 * interval '1 microsecond')
		ON CONFLICT (company_id, target) DO UPDATE SET due_at = excluded.due_at WHERE d.due_at AT TIME ZONE 'UTC' <=
			excluded.due_at AT TIME ZONE 'UTC' - ?1 * interval '1 microsecond' RETURNING failures`,
		t.CompanyID(), deliveryLease.Microseconds()).Scan(limited, &failures)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // another process is delivering
	}
	if err != nil {
		return err
	}
	events := []*model.AuditEvent{}
	if err := t.db.Select(&events).Where("delivered_at IS NULL").Order("created_at", "id").Limit(eventsPerDelivery).
		Scan(limited); err != nil {
		return err
	}
	if len(events) > 0 {
		if err := deliver(limited, t.CompanyID(), events); err != nil {
			wait := min(time.Second<<min(failures, 20), longestRetry)
			return errors.Join(err, t.endDelivery(ctx, nil, failures+1, wait))
		}
	}
	return t.endDelivery(ctx, events, 0, 0)
}

// endDelivery records which events were delivered, and when the next delivery may start.
func (t *Tenant) endDelivery(ctx context.Context, delivered []*model.AuditEvent, failures int,
	wait time.Duration) error {
	// The record must be written even while the program is shutting down.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliveryTimeout)
	defer cancel()
	ids := idsOf(delivered)
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if len(ids) > 0 {
			if _, err := t.db.Update((*model.AuditEvent)(nil)).Set("delivered_at = now()").Where("id IN (?)", bun.List(ids)).
				Exec(ctx); err != nil {
				return err
			}
		}
		return exec(ctx, t.db.NewRaw("UPDATE audit_deliveries SET failures = ?, due_at = "+untilAfter+
			" WHERE company_id = ? AND target = 'Webhook'",
			failures, wait.Microseconds(), t.CompanyID()))
	})
}
