package db

import (
	"context"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const (
	webhook         = "webhook"
	webhookDelivery = "webhook delivery"
)

// WebhookRows are webhooks of a company by their ids, and DeliveriesOfWebhooks the messages sent to webhooks.
var (
	WebhookRows          = pg.Rows{Type: webhook, Model: (*model.Webhook)(nil), Key: pg.ByID}
	DeliveriesOfWebhooks = pg.List{Model: (*model.WebhookDelivery)(nil), Of: "?TableAlias.webhook_id = ?1",
		Order: pg.NewestFirst}
)

// DeliveriesWithStatus narrows a list to the deliveries in the state. A nil status adds no condition.
func DeliveriesWithStatus(status *model.WebhookDeliveryStatus) pg.Filter {
	return pg.Equal(nil, "status", status)
}

// Webhooks returns every webhook of the company, newest first.
func (t *Tenant) Webhooks(ctx context.Context) ([]*model.Webhook, error) {
	webhooks := []*model.Webhook{}
	err := t.db.Select(&webhooks).OrderExpr("created_at DESC, id DESC").Scan(ctx)
	return pg.JoinBatch(webhooks), err
}

// Webhook returns one webhook, or NOT_FOUND.
func (t *Tenant) Webhook(ctx context.Context, id string) (*model.Webhook, error) {
	found := &model.Webhook{}
	return found, t.db.One(ctx, webhook, id, found)
}

// CreateWebhook makes a webhook and returns it with its secret, which is not shown again. It returns UNPROCESSABLE
// when the company has model.MaxWebhooks webhooks, or when the Store has no secret key.
func (t *Tenant) CreateWebhook(ctx context.Context, in model.CreateWebhookInput) (*model.Webhook, string, error) {
	made, secret, err := model.NewWebhook(in, now(), t.seal)
	if err != nil {
		return nil, "", err
	}
	return made, secret, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.checkRowLimit(ctx, (*model.Webhook)(nil), model.MaxWebhooks, "webhooks"); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, made); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateWebhook, made.ID)
	})
}

// checkRowLimit returns UNPROCESSABLE when the company already has the maximum number of rows. Concurrent requests that
// add rows wait here, so that each counts the rows of the others.
func (t tenantTx) checkRowLimit(ctx context.Context, nilRow any, limit int64, name string) error {
	if _, err := t.db.NewRaw("SELECT 1 FROM companies WHERE id = ? FOR NO KEY UPDATE", t.CompanyID()).
		Exec(ctx); err != nil {
		return err
	}
	count, err := t.db.Select(nilRow).Count(ctx)
	if err != nil {
		return err
	}
	if count >= limit {
		return model.Errorf(model.Unprocessable, "the company has %d %s, the maximum: delete some first", count, name)
	}
	return nil
}

// changeWebhook locks and changes a webhook.
func (t *Tenant) changeWebhook(ctx context.Context, id string, action model.AuditAction,
	change func(*model.Webhook) error) (*model.Webhook, error) {
	changed := &model.Webhook{}
	return changed, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, webhook, id, changed, forUpdate); err != nil {
			return err
		}
		if err := change(changed); err != nil {
			return err
		}
		if _, err := t.db.Update(changed).WherePK().Exec(ctx); err != nil {
			return err
		}
		return t.audit(ctx, action, id)
	})
}

// UpdateWebhook changes the fields that the input sets.
func (t *Tenant) UpdateWebhook(ctx context.Context, in model.UpdateWebhookInput) (*model.Webhook, error) {
	return t.changeWebhook(ctx, in.WebhookID, model.AuditActionUpdateWebhook,
		func(w *model.Webhook) error { return w.Update(in, now()) })
}

// RotateWebhookSecret gives a webhook a new secret, which is not shown again. It returns CONFLICT while an earlier
// secret is still valid, unless the input ends that one.
func (t *Tenant) RotateWebhookSecret(ctx context.Context,
	in model.RotateWebhookSecretInput) (rotated *model.Webhook, secret string, err error) {
	rotated, err = t.changeWebhook(ctx, in.WebhookID, model.AuditActionRotateWebhookSecret,
		func(w *model.Webhook) (err error) {
			secret, err = w.Rotate(in, now(), t.seal)
			return err
		})
	return rotated, secret, err
}

// DeleteWebhook deletes a webhook with its deliveries.
func (t *Tenant) DeleteWebhook(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		return t.delete(ctx, webhook, id, (*model.Webhook)(nil))
	})
}

// SendTestWebhook enqueues a test message to the webhook. It returns UNPROCESSABLE when the webhook is disabled.
func (t *Tenant) SendTestWebhook(ctx context.Context, id string) (*model.WebhookDelivery, error) {
	var ping *model.WebhookDelivery
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		tried, err := t.enabledWebhook(ctx, id)
		if err != nil {
			return err
		}
		if ping, err = model.NewPing(tried, now()); err != nil {
			return err
		}
		return pg.Insert(ctx, t.db, ping)
	})
	return ping, err
}

// RedeliverWebhook enqueues a message once more. It returns UNPROCESSABLE when its webhook is disabled.
func (t *Tenant) RedeliverWebhook(ctx context.Context, id string) (*model.WebhookDelivery, error) {
	again := &model.WebhookDelivery{}
	return again, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Every transaction locks webhooks before their deliveries.
		if err := t.db.One(ctx, webhookDelivery, id, again); err != nil {
			return err
		}
		if _, err := t.enabledWebhook(ctx, again.WebhookID); err != nil {
			return err
		}
		if err := t.lock(ctx, webhookDelivery, id, again, forUpdate); err != nil {
			return err
		}
		again.Again(now())
		return exec(ctx, t.db.Update(again).Column("status", "failures", "due_at").WherePK())
	})
}

// enabledWebhook locks an enabled webhook against deletion and returns it.
func (t tenantTx) enabledWebhook(ctx context.Context, id string) (*model.Webhook, error) {
	found := &model.Webhook{}
	if err := t.lock(ctx, webhook, id, found, forReference); err != nil {
		return nil, err
	}
	if !found.IsEnabled {
		return nil, model.Errorf(model.Unprocessable, "webhook %q is disabled: enable it first", id)
	}
	return found, nil
}
