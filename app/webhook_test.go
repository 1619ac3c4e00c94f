package app_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// docs/guides/webhooks.md shows the receiver of webhook_receiver_test.go, unchanged.
func TestDocumentedReceiverIsTheTestedOne(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("webhook_receiver_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "\n)\n\n")
	require.True(t, found)
	document, err := os.ReadFile("../docs/guides/webhooks.md")
	require.NoError(t, err)
	require.Contains(t, string(document), "```go\n"+code+"```\n")
}

func TestWebhookDeliversSignedMessages(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	caller, err := endpoint.New(endpoint.Options{Allow: []string{"127.0.0.1"}})
	require.NoError(t, err)
	t.Cleanup(caller.Close)
	e := engine.New(offline.New(), engine.Options{Caller: caller})
	g := &gatewayUnderTest{url: serveEngine(t, store, e, nil), store: store}
	tenant, key := g.company(t, "Clinic")

	type received struct{ id, kind string }
	got := make(chan received, 10)
	var secret string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		receiver(secret, func(id string, m message) error {
			got <- received{id, m.Type}
			return nil
		})(w, r)
	}))
	t.Cleanup(server.Close)

	type hook struct{ ID, URL string }
	var made struct {
		CreateWebhook struct {
			Webhook hook
			Secret  string
		}
	}
	g.must(t, key, `mutation ($url: String!) { createWebhook(input: {url: $url, description: "CI",
		events: [AgentTestExecutionEnded]}) { webhook { id url } secret } }`,
		map[string]any{"url": server.URL}, &made)
	for _, private := range []string{"http://10.0.0.1/", "http://169.254.169.254/"} {
		refused := g.query(t, key,
			`mutation ($url: String!) { createWebhook(input: {url: $url, events: [AgentTestExecutionEnded]}) { secret } }`,
			map[string]any{"url": private})
		require.Contains(t, refused.Errors[0].Extensions.Fields["url"][0], "AGENTGRAPH_TOOL_ALLOW")
		refused = g.query(t, key,
			`mutation ($id: ID!, $url: String!) { updateWebhook(input: {webhookId: $id, url: $url}) { webhook { id } } }`,
			map[string]any{"id": made.CreateWebhook.Webhook.ID, "url": private})
		require.Contains(t, refused.Errors[0].Extensions.Fields["url"][0], "AGENTGRAPH_TOOL_ALLOW")
		refused = g.query(t, key,
			`mutation ($url: String!) { createTool(input: {name: "T", technicalName: "t", endpoint: {url: $url,
				method: GET}}) { tool { id } } }`,
			map[string]any{"url": private})
		require.Contains(t, refused.Errors[0].Extensions.Fields["endpoint.url"][0], "AGENTGRAPH_TOOL_ALLOW")
	}
	secret = made.CreateWebhook.Secret
	id := map[string]any{"id": made.CreateWebhook.Webhook.ID}
	go store.DeliverWebhooks(t.Context(), e.PostWebhook, db.AuditWebhook{}, slog.New(slog.DiscardHandler))
	var sent struct {
		SendTestWebhook struct{ Delivery struct{ ID, Status string } }
	}
	g.must(t, key, `mutation ($id: ID!) { sendTestWebhook(input: {webhookId: $id}) { delivery { id status } } }`, id,
		&sent)
	require.Equal(t, "Pending", sent.SendTestWebhook.Delivery.Status)
	require.Equal(t, received{sent.SendTestWebhook.Delivery.ID, "webhook.ping"}, dbtest.Receive(t, got))

	// The previous secret still works.
	g.must(t, key, `mutation ($id: ID!) { rotateWebhookSecret(input: {webhookId: $id}) { secret webhook {
		previousSecretUntil } } }`, id, nil)
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "Help."})
	require.NoError(t, err)
	var test struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) { createSimulationTest(input: {agentId: $id, name: "T", scenario: "S",
		criteria: ["C"]}) { agentTest { id } } }`, map[string]any{"id": agent.ID}, &test)
	execution, err := tenant.StartAgentTestExecution(t.Context(),
		model.StartAgentTestExecutionInput{TestIds: []string{test.CreateSimulationTest.AgentTest.ID}, Repeats: 1,
			Concurrency: 1})
	require.NoError(t, err)
	_, err = tenant.CancelAgentTestExecution(t.Context(), model.CancelAgentTestExecutionInput{ExecutionID: execution.ID})
	require.NoError(t, err)
	require.Equal(t, "agent_test_execution.ended", dbtest.Receive(t, got).kind)

	var read struct {
		Webhook struct {
			Deliveries struct {
				TotalCount int
				Nodes      []struct {
					Type    string
					Payload struct {
						Data struct{ ExecutionID string }
					}
				}
			}
		}
	}
	g.must(t, key, `query ($id: ID!) { webhook(id: $id) { deliveries { totalCount nodes { type payload } } } }`, id, &read)
	require.Equal(t, 2, read.Webhook.Deliveries.TotalCount)
	require.Equal(t, execution.ID, read.Webhook.Deliveries.Nodes[0].Payload.Data.ExecutionID)

	// The secret cannot be read again, and only keys with the scope admin can read webhooks.
	all := g.query(t, key, `{ webhooks { id url events isEnabled disabledReason failingSince deliveries { nodes { payload
		attempts { at } } } } auditEvents { nodes { action } } }`, nil)
	require.Empty(t, all.Errors)
	require.NotContains(t, string(all.Data), "whsec_")
	require.Contains(t, string(all.Data), "RotateWebhookSecret")
	_, less := g.keyOf(t, tenant.CompanyID(), model.APIKeyScopeRead, model.APIKeyScopeWrite, model.APIKeyScopeSimulate)
	require.Equal(t, []string{"FORBIDDEN"}, g.query(t, less, `{ webhooks { id } }`, nil).codes())
	require.Equal(t, []string{"FORBIDDEN"}, g.query(t, less, `query ($id: ID!) { webhook(id: $id) { url } }`, id).codes())
	var token struct{ CreateAccessToken struct{ Token string } }
	g.must(t, key, `mutation { createAccessToken(input: {scopes: [admin]}) { token } }`, nil, &token)
	for _, mutation := range []string{`rotateWebhookSecret(input: {webhookId: $id}) { secret }`,
		`updateWebhook(input: {webhookId: $id, url: "https://example.com"}) { webhook { id } }`} {
		require.Contains(t, post(t, g.url, token.CreateAccessToken.Token, `mutation ($id: ID! = "`+
			made.CreateWebhook.Webhook.ID+`") { `+mutation+` }`, false), "FORBIDDEN")
	}
}
