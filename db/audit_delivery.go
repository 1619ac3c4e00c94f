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
	// deliveryLease is how long a company's events are left to the process that delivers them, which is done before.
	deliveryLease = 30 * time.Second
	// deliveryTimeout bounds one delivery, with the reading of its events.
	deliveryTimeout = 10 * time.Second
	// eventsPerDelivery bounds the events that are delivered together.
	eventsPerDelivery = 100
	// mostFailures ends a round.
	mostFailures = 3
	// longestRetry bounds the wait after failures, which doubles with each from a second on.
	longestRetry = 15 * time.Minute
)

// AuditWebhook is the operator's webhook, which is sent the audit events of all companies. Without a URL there is none.
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

// sendAuditEvents delivers the audit events that are due, unless this process does so already.
func (o *postOffice) sendAuditEvents(ctx context.Context) {
	if o.audit.URL == "" || !o.isAuditing.CompareAndSwap(false, true) {
		return
	}
	o.couriers.Go(func() {
		defer o.isAuditing.Store(false)
		if err := o.store.DeliverAuditEvents(ctx, o.postAuditEvents); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "audit events could not be delivered; they will be, later", "error", err)
		}
	})
}

// postAuditEvents sends events of one company in one message. Its id is that of the first and the last event.
func (o *postOffice) postAuditEvents(ctx context.Context, companyID string, events []*model.AuditEvent) error {
	body, err := json.Marshal(auditEvents{companyID, events})
	if err != nil {
		return err
	}
	id := events[0].ID + "-" + events[len(events)-1].ID
	message := Parcel{URL: o.audit.URL, ID: id, Body: body, Keys: [][]byte{o.audit.Key}, IsOperators: true}
	_, err = o.post(ctx, message)
	return err
}

// Deliver takes events of one company, oldest first, to their target. After an error it is called with them again.
type Deliver func(ctx context.Context, companyID string, events []*model.AuditEvent) error

// DeliverAuditEvents gives events that were not delivered yet to deliver: of each company the oldest, unless it has to
// wait after a failure. Of all processes one at a time does so for a company. It returns the last failure, and ends
// early after some. An event is delivered again when its process ends, or the database fails, before that was written
// down.
func (s *Store) DeliverAuditEvents(ctx context.Context, deliver Deliver) error {
	var companies []string
	err := s.db.Program().NewSelect().Model((*model.Company)(nil)).Column("id").
		Where("EXISTS (SELECT 1 FROM audit_events AS e WHERE e.company_id = ?TableAlias.id AND e.delivered_at IS NULL)").
		Where("NOT EXISTS (SELECT 1 FROM audit_deliveries AS d WHERE d.company_id = ?TableAlias.id AND d.due_at > now())").
		Scan(ctx, &companies)
	if err != nil {
		return err
	}
	failed := 0
	for _, id := range companies {
		if failure := s.Tenant(id).deliverAuditEvents(ctx, deliver); failure != nil {
			// The target is away, and would take as long to say so for each of the others.
			if failed++; failed == mostFailures {
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
	err := t.db.NewRaw(`INSERT INTO audit_deliveries AS d (company_id, target, failures, due_at) VALUES (?, 'Webhook', 0, `+untilAfter+`)
		ON CONFLICT (company_id, target) DO UPDATE SET due_at = excluded.due_at WHERE d.due_at <= now() RETURNING failures`,
		t.CompanyID(), deliveryLease.Microseconds()).Scan(limited, &failures)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // another process does
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

// endDelivery notes which events were delivered, and when the next may be.
func (t *Tenant) endDelivery(ctx context.Context, delivered []*model.AuditEvent, failures int,
	wait time.Duration) error {
	// What was delivered is written down even if the program has to end.
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
