package db_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestMessagesAreDeliveredOnce(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	tenant, _ := newCompany(t, store)
	hook, secret := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	sent := map[string]bool{}
	for range 20 {
		ping, err := tenant.SendTestWebhook(t.Context(), hook.ID)
		require.NoError(t, err)
		sent[ping.ID] = true
	}
	to := &receiver{status: http.StatusNoContent}
	var processes sync.WaitGroup
	for range 3 {
		processes.Go(func() {
			if err := db.DeliverOnce(context.Background(), store, to.post); err != nil {
				t.Error(err)
			}
		})
	}
	processes.Wait()
	require.Len(t, to.requests, len(sent))
	for _, p := range to.requests {
		require.True(t, sent[p.ID])
		delete(sent, p.ID)
		require.Equal(t, hook.URL, p.URL)
		require.Equal(t, [][]byte{key}, p.Keys)
	}
	for _, d := range deliveriesOf(t, tenant, hook.ID) {
		require.Equal(t, model.WebhookDeliveryStatusDelivered, d.Status)
		require.Nil(t, d.NextAttemptAt)
		require.Len(t, d.Attempts, 1)
		require.EqualValues(t, http.StatusNoContent, *d.Attempts[0].Status)
		require.Nil(t, d.Attempts[0].Error)
	}
	to.take()

	// Only this message is delivered again.
	one := deliveriesOf(t, tenant, hook.ID)[3]
	_, err = tenant.RedeliverWebhook(t.Context(), one.ID)
	require.NoError(t, err)
	require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
	require.Len(t, to.requests, 1)
	require.Equal(t, one.ID, to.requests[0].ID)
	to.take()

	// Both secrets are valid for a day.
	rotation := model.RotateWebhookSecretInput{WebhookID: hook.ID}
	_, next, err := tenant.RotateWebhookSecret(t.Context(), rotation)
	require.NoError(t, err)
	require.NotEqual(t, secret, next)
	_, _, err = tenant.RotateWebhookSecret(t.Context(), rotation)
	require.Contains(t, fails(t, err, model.Conflict), "end it now with replacePrevious: true")
	_, err = tenant.SendTestWebhook(t.Context(), hook.ID)
	require.NoError(t, err)
	require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
	require.Len(t, to.requests[0].Keys, 2)
	require.Equal(t, key, to.requests[0].Keys[1])
	to.take()
	_, err = db.Raw(tenant).ExecContext(t.Context(), "UPDATE webhooks SET previous_secret_until = now() WHERE "+
		"company_id = '"+tenant.CompanyID()+"'")
	require.NoError(t, err)
	_, err = tenant.SendTestWebhook(t.Context(), hook.ID)
	require.NoError(t, err)
	require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
	require.Len(t, to.requests[0].Keys, 1)
	_, _, err = tenant.RotateWebhookSecret(t.Context(), rotation)
	require.NoError(t, err)
	rotation.ReplacePrevious = true
	_, _, err = tenant.RotateWebhookSecret(t.Context(), rotation)
	require.NoError(t, err)
}

func TestMessagesAreRetriedUntilTheWebhookIsDisabled(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	tenant, _ := newCompany(t, store)
	conn := connect(t, address)
	hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	_, err := tenant.SendTestWebhook(t.Context(), hook.ID)
	require.NoError(t, err)
	to := &receiver{status: http.StatusInternalServerError, err: errors.New("the webhook answered 500")}
	to.err = later{to.err}
	waited := time.Duration(0)
	for n := range 10 {
		require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
		require.NoError(t, db.DeliverOnce(t.Context(), store, to.post), "nothing is due")
		require.Len(t, to.take(), 1)
		d := deliveriesOf(t, tenant, hook.ID)[0]
		require.Equal(t, model.WebhookDeliveryStatusPending, d.Status)
		wait := time.Until(*d.NextAttemptAt)
		require.Greater(t, wait, time.Second)
		if n == 0 {
			require.Greater(t, wait, 10*time.Minute, "the receiver asked for it")
			to.err = errors.New("the webhook answered 500")
		}
		waited += wait
		_, err := conn.Exec(t.Context(), "UPDATE webhook_deliveries SET due_at = now()")
		require.NoError(t, err)
	}
	require.Greater(t, waited, 60*time.Hour)
	require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
	d := deliveriesOf(t, tenant, hook.ID)[0]
	require.Equal(t, model.WebhookDeliveryStatusFailed, d.Status)
	require.Len(t, d.Attempts, 11)
	require.Equal(t, "the webhook answered 500", *d.Attempts[10].Error)
	stored, err := tenant.Webhook(t.Context(), hook.ID)
	require.NoError(t, err)
	require.True(t, stored.IsEnabled)
	require.NotNil(t, stored.FailingSince)

	_, err = conn.Exec(t.Context(), "UPDATE webhooks SET failing_since = now() - interval '5 days'")
	require.NoError(t, err)
	_, err = tenant.RedeliverWebhook(t.Context(), d.ID)
	require.NoError(t, err)
	require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
	stored, err = tenant.Webhook(t.Context(), hook.ID)
	require.NoError(t, err)
	require.False(t, stored.IsEnabled)
	require.Contains(t, *stored.DisabledReason, "the webhook answered 500")
	_, err = tenant.RedeliverWebhook(t.Context(), d.ID)
	require.Contains(t, fails(t, err, model.Unprocessable), "is disabled")
	_, err = tenant.SendTestWebhook(t.Context(), hook.ID)
	fails(t, err, model.Unprocessable)

	// When it is enabled again, it delivers the waiting messages. A success clears the failures.
	_, err = tenant.UpdateWebhook(t.Context(), model.UpdateWebhookInput{WebhookID: hook.ID, IsEnabled: new(true)})
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE webhook_deliveries SET due_at = now()")
	require.NoError(t, err)
	to.status, to.err = http.StatusOK, nil
	require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
	stored, err = tenant.Webhook(t.Context(), hook.ID)
	require.NoError(t, err)
	require.Nil(t, stored.FailingSince)

	// Status 410 means that the receiver wants no more messages.
	_, err = tenant.SendTestWebhook(t.Context(), hook.ID)
	require.NoError(t, err)
	to.status, to.err = http.StatusGone, errors.New("the webhook answered 410 Gone")
	require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
	stored, err = tenant.Webhook(t.Context(), hook.ID)
	require.NoError(t, err)
	require.False(t, stored.IsEnabled)
}

// A receiver that rejects some messages gets the others at once.
func TestRejectedMessagesDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	tenant, _ := newCompany(t, store)
	hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	for range 5 {
		_, err := tenant.SendTestWebhook(t.Context(), hook.ID)
		require.NoError(t, err)
	}
	for _, test := range []struct {
		status int
		err    error
		most   int
	}{
		{http.StatusTooManyRequests, errors.New("the webhook answered 429"), 1},
		{http.StatusForbidden, later{errors.New("the webhook answered 403")}, 1},
		{http.StatusServiceUnavailable, errors.New("the webhook answered 503"), 1},
		{0, errors.New("the webhook did not answer"), 1},
		{http.StatusBadRequest, errors.New("the webhook answered 400"), 5},
	} {
		_, err := db.Raw(tenant).ExecContext(t.Context(), "UPDATE webhook_deliveries SET due_at = now() WHERE "+
			"company_id = '"+tenant.CompanyID()+"'")
		require.NoError(t, err)
		to := &receiver{status: test.status, err: test.err}
		require.NoError(t, db.DeliverOnce(t.Context(), store, to.post))
		require.Len(t, to.take(), test.most, test.status)
	}
}

// later is the error of a receiver that asks for a pause.
type later struct{ error }

func (later) RetryAfter() time.Duration { return 15 * time.Minute }

// A process is killed, or stops, during a delivery.
func TestMessagesOfAnEndedProcessAreDelivered(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	tenant, _ := newCompany(t, store)
	hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	ping, err := tenant.SendTestWebhook(t.Context(), hook.ID)
	require.NoError(t, err)
	ending, end := context.WithCancel(t.Context())
	require.NoError(t, db.DeliverOnce(ending, store, func(ctx context.Context, _ db.WebhookRequest) (int, error) {
		end()
		return 0, ctx.Err()
	}))
	to := &receiver{status: http.StatusOK}
	var late []string
	require.NoError(t, db.DeliverOnce(t.Context(), store, func(ctx context.Context, p db.WebhookRequest) (int, error) {
		late = append(late, p.ID)
		// Another process has considered this one lost and delivered the message.
		_, err := db.Raw(tenant).ExecContext(ctx, "UPDATE webhook_deliveries SET due_at = now() WHERE company_id = '"+
			tenant.CompanyID()+"'")
		if err == nil {
			err = db.DeliverOnce(ctx, store, to.post)
		}
		return 0, errors.Join(errors.New("it did not answer in time"), err)
	}))
	require.Equal(t, []string{ping.ID}, late)
	require.Len(t, to.take(), 1)
	d := deliveriesOf(t, tenant, hook.ID)[0]
	require.Equal(t, model.WebhookDeliveryStatusDelivered, d.Status)
	require.Len(t, d.Attempts, 1, "a late process saves nothing")
}

// A process that is killed during a delivery leaves only its claim.
func TestMessagesOfAKilledProcessAreDelivered(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, dbtest.Options()))
	hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	ping, err := tenant.SendTestWebhook(t.Context(), hook.ID)
	require.NoError(t, err)
	claimed, err := db.ClaimMessage(t.Context(), tenant, hook.ID)
	require.NoError(t, err)
	require.Equal(t, ping.ID, claimed)

	other, to := dbtest.Open(t, address, dbtest.Options()), &receiver{status: http.StatusOK}
	require.NoError(t, db.DeliverOnce(t.Context(), other, to.post))
	require.Empty(t, to.take(), "its delivery may still be in progress")
	_, err = db.Raw(tenant).ExecContext(t.Context(), "UPDATE webhook_deliveries SET due_at = due_at - interval '1 "+
		"minute' WHERE company_id = '"+tenant.CompanyID()+"'")
	require.NoError(t, err)
	require.NoError(t, db.DeliverOnce(t.Context(), other, to.post))
	require.Len(t, to.take(), 1)
	require.NoError(t, db.DeliverOnce(t.Context(), other, to.post))
	require.Empty(t, to.take())
	d := deliveriesOf(t, tenant, hook.ID)[0]
	require.Equal(t, ping.ID, d.ID)
	require.Equal(t, model.WebhookDeliveryStatusDelivered, d.Status)
	require.Len(t, d.Attempts, 1)
}

// Webhooks whose receivers do not answer delay only each other.
func TestFailingWebhooksDelayOnlyEachOther(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	good := sync.WaitGroup{}
	isGood := map[string]bool{}
	var mu sync.Mutex
	attempts := 0
	post := func(ctx context.Context, p db.WebhookRequest) (int, error) {
		mu.Lock()
		attempts++
		mu.Unlock()
		if isGood[p.ID] {
			good.Done()
			return http.StatusOK, nil
		}
		delivered := make(chan struct{})
		go func() { good.Wait(); close(delivered) }()
		select {
		case <-delivered:
		case <-ctx.Done():
			t.Error("the other webhooks wait for this one")
		}
		return 0, errors.New("it did not answer in time")
	}
	send := func(tenant *db.Tenant, id string) string {
		ping, err := tenant.SendTestWebhook(t.Context(), id)
		require.NoError(t, err)
		return ping.ID
	}
	for range 6 {
		hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
		for range 3 {
			send(tenant, hook.ID)
		}
	}
	for _, tenant := range []*db.Tenant{tenant, other} {
		hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
		isGood[send(tenant, hook.ID)] = true
	}
	good.Add(len(isGood))
	require.NoError(t, db.DeliverOnce(t.Context(), store, post))
	failing, err := tenant.Webhooks(t.Context())
	require.NoError(t, err)
	failing = slices.DeleteFunc(failing, func(w *model.Webhook) bool { return w.FailingSince == nil })
	require.Len(t, failing, 6, "each had one attempt, and none of the others waited for its further messages")

	hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	isGood[send(tenant, hook.ID)] = true
	good.Add(1)
	before := attempts
	require.NoError(t, db.DeliverOnce(t.Context(), store, post))
	require.Equal(t, 4+1, attempts-before, "four failing ones, and the good one")
}
