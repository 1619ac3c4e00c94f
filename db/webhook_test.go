package db_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// receiver records the messages that it receives.
type receiver struct {
	mu       sync.Mutex
	requests []db.WebhookRequest
	// status and err are its response.
	status int
	err    error
}

func (r *receiver) post(_ context.Context, p db.WebhookRequest) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, p)
	return r.status, r.err
}

// take returns the messages since the last call, as text.
func (r *receiver) take() (bodies []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.requests {
		bodies = append(bodies, string(p.Body))
	}
	r.requests = nil
	return bodies
}

func newWebhook(t *testing.T, tenant *db.Tenant, events ...model.WebhookEvent) (*model.Webhook, string) {
	t.Helper()
	made, secret, err := tenant.CreateWebhook(t.Context(), model.CreateWebhookInput{URL: "https://example.com/hook",
		Events: events})
	require.NoError(t, err)
	return made, secret
}

// deliveriesOf returns the deliveries of a webhook, oldest first.
func deliveriesOf(t *testing.T, tenant *db.Tenant, webhookID string) []*model.WebhookDelivery {
	t.Helper()
	found, err := dbtest.Pages[*model.WebhookDelivery](t.Context(), tenant, db.DeliveriesOfWebhooks, nil,
		[]string{webhookID}, model.PageArgs{First: 100})
	require.NoError(t, err)
	slices.Reverse(found)
	return found
}

// sentTo returns the types and the data of a webhook's messages, oldest first.
func sentTo(t *testing.T, tenant *db.Tenant, webhookID string) (types []string, data []map[string]any) {
	t.Helper()
	for _, d := range deliveriesOf(t, tenant, webhookID) {
		var message struct {
			Type, Timestamp string
			Data            map[string]any
		}
		require.NoError(t, json.Unmarshal(d.Payload, &message))
		require.Equal(t, d.Type, message.Type)
		_, err := time.Parse(time.RFC3339, message.Timestamp)
		require.NoError(t, err)
		types, data = append(types, message.Type), append(data, message.Data)
	}
	return types, data
}

func TestWebhooksReceiveExecutionEvents(t *testing.T) {
	t.Parallel()
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), dbtest.Options()))
	agent := newAgent(t, tenant)
	steady, falling := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID)
	both, _ := newWebhook(t, tenant, model.WebhookEventAgentTestExecutionEnded, model.WebhookEventAgentTestsTurnedRed)
	other, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	run := func(statuses ...model.AgentTestRunStatus) *model.AgentTestExecution {
		execution := start(t, tenant, steady.ID, falling.ID)
		for i, run := range runsOf(t, tenant, execution.ID) {
			require.NoError(t, finish(t, tenant, run.ID, statuses[i]))
		}
		return execution
	}
	const passed, failed, erred = model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed,
		model.AgentTestRunStatusError
	run(passed, passed)
	run(passed, erred) // an error is not a verdict, so the test stays green
	red := run(passed, failed)
	run(passed, failed) // the test is still red
	cancelled := start(t, tenant, steady.ID)
	_, err := cancel(t, tenant, cancelled.ID)
	require.NoError(t, err)

	types, data := sentTo(t, tenant, both.ID)
	const ended, turned = "agent_test_execution.ended", "agent_tests.turned_red"
	require.Equal(t, []string{ended, ended, ended, turned, ended, ended}, types)
	require.Equal(t, red.ID, data[3]["executionId"])
	require.Equal(t, []any{map[string]any{"id": falling.ID, "name": falling.Name}}, data[3]["tests"])
	require.Equal(t, agent.Name, data[2]["agentName"])
	require.Equal(t, map[string]any{"total": 2.0, "passed": 1.0, "failed": 1.0, "error": 0.0, "cancelled": 0.0,
		"skipped": 0.0}, data[2]["counts"])
	require.Equal(t, "Failed", data[2]["verdict"])
	require.Equal(t, data[3]["tests"], data[2]["failedTests"])
	require.Equal(t, "Cancelled", data[5]["status"])
	types, _ = sentTo(t, tenant, other.ID)
	require.Empty(t, types)

	// The end of a draft execution is reported, but not its failed test.
	_, err = tenant.UpdateWebhook(t.Context(), model.UpdateWebhookInput{WebhookID: both.ID, IsEnabled: new(false)})
	require.NoError(t, err)
	run(passed, passed)
	_, err = tenant.UpdateWebhook(t.Context(), model.UpdateWebhookInput{WebhookID: both.ID, IsEnabled: new(true)})
	require.NoError(t, err)
	draft, err := tenant.StartAgentTestExecution(t.Context(),
		model.StartAgentTestExecutionInput{TestIds: []string{falling.ID}, Repeats: 1, Concurrency: 1,
			Prompt: new("Be brief.")})
	require.NoError(t, err)
	require.NoError(t, finish(t, tenant, runsOf(t, tenant, draft.ID)[0].ID, failed))
	types, data = sentTo(t, tenant, both.ID)
	require.Len(t, types, 7, "no message was written while it was disabled")
	require.Equal(t, true, data[6]["isDraft"])
}

func TestWebhooksReceiveDocumentAndBudgetEvents(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	tenant, _ := newCompany(t, store)
	hook, _ := newWebhook(t, tenant, model.WebhookEventDocumentReady, model.WebhookEventDocumentFailed,
		model.WebhookEventBudgetWarned)
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Manuals"})
	require.NoError(t, err)
	for _, isReady := range []bool{true, false} {
		document, err := tenant.ClaimDocument(t.Context(), addDocument(t, tenant, dataset.ID, "A text.").IndexingID, 1)
		require.NoError(t, err)
		if isReady {
			require.NoError(t, tenant.FinishDocument(t.Context(), document,
				[]*model.Chunk{{Content: "A text.", Words: wordsOf("a text")}}))
			continue
		}
		document.Error = new("it has no text")
		require.NoError(t, tenant.FailDocument(t.Context(), document))
	}
	setBudget(t, tenant, model.Credits(10_000_000))
	recordNow(t, tenant, model.Credits(8_000_000))
	recordNow(t, tenant, model.Credits(1))
	store.Close()

	// The same happens in another process.
	again := dbtest.Open(t, address, dbtest.Options())
	tenant = again.Tenant(tenant.CompanyID())
	recordNow(t, tenant, model.Credits(1))
	again.Close()

	tenant = dbtest.Open(t, address, dbtest.Options()).Tenant(tenant.CompanyID())
	types, data := sentTo(t, tenant, hook.ID)
	require.Equal(t, []string{"document.ready", "document.failed", "budget.warned"}, types)
	require.Equal(t, 1.0, data[0]["chunkCount"])
	require.Equal(t, "it has no text", data[1]["error"])
	require.Equal(t, false, data[2]["isExhausted"])
}

// A message that waits is never deleted, however many are newer. Above a bound, the oldest fail.
func TestWaitingMessagesAreStored(t *testing.T) {
	t.Parallel()
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), dbtest.Options()))
	hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	add := func(status string, first, last int) {
		t.Helper()
		_, err := db.Raw(tenant).ExecContext(t.Context(), fmt.Sprintf(
			`INSERT INTO webhook_deliveries (company_id, id, webhook_id, type, payload, status, attempts, failures, claim,
				created_at, due_at)
			SELECT '%s', 'msg_' || n, '%s', 'webhook.ping', '{}', '%[3]s', '[]', 0, 0, now() - n * interval '1 second',
				CASE '%[3]s' WHEN 'Pending' THEN now() END FROM generate_series(%d, %d) AS n`,
			tenant.CompanyID(), hook.ID, status, first, last))
		require.NoError(t, err)
	}
	forget := func(dropped, waiting, failed, delivered int) {
		t.Helper()
		count, err := db.ForgetDeliveries(t.Context(), tenant, hook.ID)
		require.NoError(t, err)
		require.EqualValues(t, dropped, count)
		for status, stored := range map[model.WebhookDeliveryStatus]int{model.WebhookDeliveryStatusPending: waiting,
			model.WebhookDeliveryStatusFailed: failed, model.WebhookDeliveryStatusDelivered: delivered} {
			total, err := tenant.Count(t.Context(), db.DeliveriesOfWebhooks, db.DeliveriesWithStatus(&status),
				[]string{hook.ID})
			require.NoError(t, err)
			require.EqualValues(t, stored, total[hook.ID], status)
		}
	}
	add("Delivered", 1, 1_100)
	add("Pending", 1_101, 3_100)
	forget(0, 2_000, 0, model.MaxDeliveries)
	add("Pending", 3_101, 1_100+model.MaxWaitingDeliveries+7)
	_, err := db.Raw(tenant).ExecContext(t.Context(), "DELETE FROM webhook_deliveries WHERE company_id = '"+
		tenant.CompanyID()+"' AND status = 'Delivered'")
	require.NoError(t, err)
	forget(7, model.MaxWaitingDeliveries, 7, 0)
	forget(0, model.MaxWaitingDeliveries, 7, 0)
}

func TestWebhooksAreBounded(t *testing.T) {
	t.Parallel()
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), dbtest.Options()))
	hook, _ := newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	_, err := db.Raw(tenant).
		ExecContext(t.Context(),
			`INSERT INTO webhook_deliveries (company_id, id, webhook_id, type, payload, status, attempts, failures, claim,
				created_at)
		SELECT '`+tenant.CompanyID()+`', 'msg_' || n, '`+hook.ID+`', 'webhook.ping', '{}', 'Delivered', '[]', 0, 0, now() - n * interval '20 minutes'
		FROM generate_series(1, 1100) AS n`)
	require.NoError(t, err)
	dropped, err := db.ForgetDeliveries(t.Context(), tenant, hook.ID)
	require.NoError(t, err)
	require.Zero(t, dropped)
	count, err := tenant.Count(t.Context(), db.DeliveriesOfWebhooks, nil, []string{hook.ID})
	require.NoError(t, err)
	require.EqualValues(t, model.MaxDeliveries, count[hook.ID])
	_, err = db.Raw(tenant).ExecContext(t.Context(), "UPDATE webhook_deliveries SET created_at = now() - interval '31 "+
		"days' WHERE company_id = '"+tenant.CompanyID()+"' AND id <> 'msg_1'")
	require.NoError(t, err)
	_, err = db.ForgetDeliveries(t.Context(), tenant, hook.ID)
	require.NoError(t, err)
	require.Len(t, deliveriesOf(t, tenant, hook.ID), 1)

	for range model.MaxWebhooks - 1 {
		newWebhook(t, tenant, model.WebhookEventBudgetWarned)
	}
	_, _, err = tenant.CreateWebhook(t.Context(), model.CreateWebhookInput{URL: "https://example.com",
		Events: []model.WebhookEvent{model.WebhookEventBudgetWarned}})
	require.Contains(t, fails(t, err, model.Unprocessable), "has 20 webhooks, the maximum")
	_, _, err = tenant.CreateWebhook(t.Context(), model.CreateWebhookInput{URL: "https://example.com:99999"})
	faults(t, err, model.BadInput, "url", "must have a port from 0 to 65535")
	_, _, err = tenant.CreateWebhook(t.Context(), model.CreateWebhookInput{URL: "ftp://example.com"})
	require.Contains(t, fails(t, err, model.BadInput), "events must have at least one event; url must be an absolute "+
		"http or https address")
	require.NoError(t, tenant.DeleteWebhook(t.Context(), hook.ID))
	require.Empty(t, deliveriesOf(t, tenant, hook.ID))
}
