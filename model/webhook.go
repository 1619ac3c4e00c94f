package model

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of webhooks.
const (
	// MaxWebhooks is the maximum number of webhooks of a company.
	MaxWebhooks = 20
	// MaxDeliveries is the maximum number of stored messages of a webhook that no longer wait, and MaxWaitingDeliveries of
	// those that wait. DeliveryDays is how long both are stored.
	MaxDeliveries        = 1_000
	MaxWaitingDeliveries = 100_000
	DeliveryDays         = 30
	// SecretOverlap is how long the previous secret also signs messages after a rotation.
	SecretOverlap = 24 * time.Hour

	savedAttempts = 20
	// maxFailing is how long a webhook may fail before it is disabled.
	maxFailing = 5 * 24 * time.Hour
)

// retries are the waits before further attempts, about three days in total.
var retries = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const typePing = "webhook.ping"

var messageTypes = map[WebhookEvent]string{
	WebhookEventAgentTestExecutionEnded: "agent_test_execution.ended",
	WebhookEventAgentTestsTurnedRed:     "agent_tests.turned_red",
	WebhookEventAgentTestScheduleFailed: "agent_test_schedule.failed",
	WebhookEventBudgetWarned:            "budget.warned",
	WebhookEventDocumentReady:           "document.ready",
	WebhookEventDocumentFailed:          "document.failed",
}

// Webhook is an address that receives messages about events.
type Webhook struct {
	bun.BaseModel `bun:"table:webhooks,alias:webhook"`
	Owned

	ID             string `bun:",pk"`
	URL            string `bun:"url"`
	Description    string
	Events         []WebhookEvent `bun:"type:jsonb"`
	IsEnabled      bool
	DisabledReason *string
	// FailingSince is the time of the first failed attempt after the last successful one. Nil if the last attempt
	// succeeded.
	FailingSince *time.Time
	// SealedSecret signs messages. Until PreviousSecretUntil, SealedPreviousSecret signs them as well. Both are encrypted.
	SealedSecret         []byte
	SealedPreviousSecret []byte
	PreviousSecretUntil  *time.Time
	CreatedAt            time.Time
	UpdatedAt            time.Time
}

// Cursor returns the position of this object among the company's webhooks.
func (w *Webhook) Cursor() Cursor { return Cursor{w.CreatedAt, w.ID} }

// NewWebhook returns the webhook that the input describes, with its secret. It returns BAD_INPUT with every bound that
// the input breaks.
func NewWebhook(in CreateWebhookInput, now time.Time, seal Seal) (*Webhook, string, error) {
	w := &Webhook{ID: NewID("webhook"), IsEnabled: true, CreatedAt: now}
	if err := w.Update(in.changes(), now); err != nil {
		return nil, "", err
	}
	secret, err := w.renewSecret(seal)
	return w, secret, err
}

func (in CreateWebhookInput) changes() UpdateWebhookInput {
	return UpdateWebhookInput{URL: &in.URL, Description: &in.Description, Events: in.Events}
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in CreateWebhookInput) Validate() error { return new(Webhook).Update(in.changes(), time.Time{}) }

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the webhook would break a
// bound.
func (w *Webhook) Update(in UpdateWebhookInput, now time.Time) error {
	defer touch(&w.UpdatedAt, NextUpdatedAt(w.UpdatedAt, now), w, *w)
	setIfGiven(&w.URL, in.URL)
	setIfGiven(&w.Description, in.Description)
	if in.Events != nil || w.Events == nil {
		w.Events = Unique(in.Events)
	}
	if setIfGiven(&w.IsEnabled, in.IsEnabled); in.IsEnabled != nil {
		w.DisabledReason, w.FailingSince = nil, nil
	}
	var faults Fields
	faults.text("url", w.URL, 1, 2_000)
	if u, err := url.Parse(w.URL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil {
		faults.Add("url", "must be an absolute http or https address without credentials")
	} else if _, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && err != nil {
		faults.Add("url", "must have a port from 0 to 65535")
	}
	faults.text("description", w.Description, 0, 500)
	if len(w.Events) == 0 {
		faults.Add("events", "must have at least one event")
	}
	return faults.Err()
}

// Rotate sets a new secret and returns it. The previous secret remains valid for SecretOverlap. It returns CONFLICT
// while an earlier secret is still valid, unless the input ends that one.
func (w *Webhook) Rotate(in RotateWebhookSecretInput, now time.Time, seal Seal) (string, error) {
	if until := w.PreviousSecretUntil; until != nil && now.Before(*until) && !in.ReplacePrevious {
		return "", Errorf(Conflict, "the previous secret of webhook %q is valid until %s: rotate the secret after that, or "+
			"end it now with replacePrevious: true", w.ID, until.UTC().Format(time.RFC3339))
	}
	before := w.SealedSecret
	secret, err := w.renewSecret(seal)
	if err != nil {
		return "", err
	}
	w.SealedPreviousSecret, w.PreviousSecretUntil, w.UpdatedAt = before, new(now.Add(SecretOverlap)),
		NextUpdatedAt(w.UpdatedAt, now)
	return secret, nil
}

// renewSecret sets and returns a new secret: 32 random bytes in the format of Standard Webhooks.
func (w *Webhook) renewSecret(seal Seal) (string, error) {
	var key [32]byte
	_, _ = rand.Read(key[:])
	sealed, err := seal(w.ID, key[:])
	if err != nil {
		return "", err
	}
	w.SealedSecret = sealed
	return "whsec_" + base64.StdEncoding.EncodeToString(key[:]), nil
}

// WebhookDelivery is a message to a webhook. It is Pending until it is delivered, or until all attempts have failed.
type WebhookDelivery struct {
	bun.BaseModel `bun:"table:webhook_deliveries,alias:webhook_delivery"`
	Owned

	// ID is the id of the message.
	ID        string `bun:",pk"`
	WebhookID string
	Type      string
	Payload   JSONObject `bun:"type:json"`
	// Occasion is the deduplication key: a webhook gets one message per occasion. Nil means that no other process can
	// create the same message.
	Occasion *string
	Status   WebhookDeliveryStatus
	Attempts []WebhookAttempt `bun:"type:json"`
	// Failures counts the failed attempts since the message last became Pending.
	Failures int32
	// Claim fences the attempts. It grows with each attempt, and only the latest may be recorded.
	Claim int32
	// NextAttemptAt is nil unless the message is Pending.
	NextAttemptAt *time.Time `bun:"due_at"`
	CreatedAt     time.Time
}

// WebhookAttempt is an attempt to deliver a message.
type WebhookAttempt struct {
	At         time.Time `json:"at"`
	Status     *int32    `json:"status,omitempty"`
	DurationMs int32     `json:"durationMs"`
	Error      *string   `json:"error,omitempty"`
}

// Cursor returns the position of this object in a list of deliveries.
func (d *WebhookDelivery) Cursor() Cursor { return Cursor{d.CreatedAt, d.ID} }

type (
	// WebhookDeliveryConnection is a page of deliveries.
	WebhookDeliveryConnection = Page[*WebhookDelivery]
	// WebhookDeliveryEdge is a delivery in a page.
	WebhookDeliveryEdge = Edge[*WebhookDelivery]
)

// NewDeliveries returns the message of an event, once for each of the webhooks. occasion is the deduplication key of
// the message, or nil.
func NewDeliveries(webhookIDs []string, event WebhookEvent, occasion *string, data any,
	now time.Time) ([]*WebhookDelivery, error) {
	deliveries := make([]*WebhookDelivery, len(webhookIDs))
	for i, id := range webhookIDs {
		delivery, err := newDelivery(id, messageTypes[event], data, now)
		if err != nil {
			return nil, err
		}
		delivery.Occasion = occasion
		deliveries[i] = delivery
	}
	return deliveries, nil
}

// NewPing returns a message that tests a webhook.
func NewPing(w *Webhook, now time.Time) (*WebhookDelivery, error) {
	return newDelivery(w.ID, typePing, struct {
		WebhookID string `json:"webhookId"`
	}{w.ID}, now)
}

func newDelivery(webhookID, messageType string, data any, now time.Time) (*WebhookDelivery, error) {
	payload, err := json.Marshal(struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{messageType, now.UTC().Format(dateTimeLayout), data})
	return &WebhookDelivery{
		ID: NewID("msg"), WebhookID: webhookID, Type: messageType, Payload: payload, Attempts: []WebhookAttempt{},
		Status: WebhookDeliveryStatusPending, NextAttemptAt: &now, CreatedAt: now,
	}, err
}

// Again makes the message Pending again.
func (d *WebhookDelivery) Again(now time.Time) {
	d.Status, d.Failures, d.NextAttemptAt = WebhookDeliveryStatusPending, 0, &now
}

// Record records an attempt, and its effect on the webhook. After a failure it schedules the next attempt, if there is
// one, in retryAfter at the earliest. spread is a random number from 0 to 1 that spreads the attempts of many messages.
func (d *WebhookDelivery) Record(w *Webhook, a WebhookAttempt, retryAfter time.Duration, spread float64,
	now time.Time) {
	if d.Attempts = append(d.Attempts, a); len(d.Attempts) > savedAttempts {
		d.Attempts = d.Attempts[len(d.Attempts)-savedAttempts:]
	}
	if a.Error == nil {
		d.Status, d.NextAttemptAt, w.FailingSince = WebhookDeliveryStatusDelivered, nil, nil
		return
	}
	if int(d.Failures) < len(retries) {
		wait := retries[d.Failures]
		wait += -wait/10 + time.Duration(spread*float64(wait/5))
		d.NextAttemptAt = new(now.Add(max(wait, min(retryAfter, retries[len(retries)-1]))))
	} else {
		d.Status, d.NextAttemptAt = WebhookDeliveryStatusFailed, nil
	}
	d.Failures++
	if w.FailingSince == nil {
		w.FailingSince = &now
	}
	switch {
	case a.Status != nil && *a.Status == http.StatusGone:
		w.disable("it answered 410 Gone", now)
	case now.Sub(*w.FailingSince) >= maxFailing:
		w.disable("every attempt since "+w.FailingSince.UTC().Format(time.DateOnly)+" has failed, the last one because "+
			*a.Error, now)
	}
}

func (w *Webhook) disable(reason string, now time.Time) {
	w.IsEnabled, w.DisabledReason, w.UpdatedAt = false, &reason, NextUpdatedAt(w.UpdatedAt, now)
}

// DeliveriesStoredSince returns the time from which messages are stored.
func DeliveriesStoredSince(now time.Time) time.Time { return now.AddDate(0, 0, -DeliveryDays) }
