package app_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// startLimited returns a gateway with small limits, which refill too slowly to matter during a test.
func startLimited(t *testing.T, requests, modelDriven int) *gatewayUnderTest {
	t.Helper()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.RateLimit, settings.ModelRateLimit = requests, modelDriven
	return &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
}

func (g *gatewayUnderTest) answer(t *testing.T, method, path, key, body string) (head, string) {
	t.Helper()
	response := g.do(t, method, path, key, body)
	defer func() { require.NoError(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return head{response.StatusCode, response.Header}, string(text)
}

func TestModelOperationsHaveTheirOwnLimit(t *testing.T) {
	t.Parallel()
	g := startLimited(t, 0, 3)
	tenant, key := g.company(t, "Limited")
	agentID := manyAgents(t, tenant, 1)
	start := `{"query":"mutation { startSimulationChat(input: {agentId: \"` + agentID +
		`\"}) { simulationChat { id } } }"}`
	for _, left := range []string{"2", "1"} {
		response, text := g.answer(t, http.MethodPost, "/graphql", key, start)
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		require.NotContains(t, text, "errors")
		require.Equal(t, "3", response.Header.Get("RateLimit-Limit"))
		require.Equal(t, left, response.Header.Get("RateLimit-Remaining"))
	}
	// Each field counts, whatever its alias. Skipped fields do not count.
	two := `{"query":"mutation ($no: Boolean = false) { a: startSimulationChat(input: {agentId: \"` + agentID +
		`\"}) { simulationChat { id } } ` +
		`...B } fragment B on Mutation { b: startSimulationChat(input: {agentId: \"` + agentID +
		`\"}) @skip(if: $no) { simulationChat { id } } }"`
	response, text := g.answer(t, http.MethodPost, "/graphql", key, two+"}")
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode, text)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.Equal(t, "1", response.Header.Get("RateLimit-Remaining"), "refused requests do not count")
	require.Contains(t, text, `"code":"RATE_LIMITED"`)
	require.NotContains(t, text, `"data"`)
	response, text = g.answer(t, http.MethodPost, "/graphql", key, two+`,"variables":{"no":true}}`)
	require.Equal(t, http.StatusOK, response.StatusCode, text)

	response, text = g.answer(t, http.MethodPost, "/SimulationChat/start", key, `{"agentId":"`+agentID+`"}`)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode, text)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.Equal(t, "0", response.Header.Get("RateLimit-Remaining"))
	require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
	require.Contains(t, text, `"code":"RATE_LIMITED"`)
	require.Contains(t, text, `"status":429`)

	for _, free := range []string{"/Agent/" + agentID, "/AgentTest"} {
		response, text = g.answer(t, http.MethodGet, free, key, "")
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		require.Empty(t, response.Header.Values("RateLimit-Limit"))
	}
	_, other := g.keyOf(t, companyIDOf(t, tenant), "simulate")
	response, text = g.answer(t, http.MethodPost, "/graphql", other, start)
	require.Equal(t, http.StatusOK, response.StatusCode, text)

	four := `{"query":"mutation { `
	for _, alias := range []string{"a", "b", "c", "d"} {
		four += alias + `: startSimulationChat(input: {agentId: \"` + agentID + `\"}) { simulationChat { id } } `
	}
	response, text = g.answer(t, http.MethodPost, "/graphql", other, four+`}"}`)
	require.Equal(t, http.StatusBadRequest, response.StatusCode, "waiting would not help: %s", text)
	require.Contains(t, text, `"code":"LIMIT_EXCEEDED"`)
}

// A company's keys share a limit of model operations, in the ratio of the limits of requests.
func TestModelOperationsHaveALimitPerCompany(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.RateLimit, settings.CompanyRateLimit, settings.ModelRateLimit = 20, 30, 2
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	tenant, first := g.company(t, "Limited")
	_, second := g.keyOf(t, companyIDOf(t, tenant), "simulate")
	start := `{"query":"mutation { startSimulationChat(input: {agentId: \"` + manyAgents(t, tenant, 1) +
		`\"}) { simulationChat { id } } }"}`
	for _, key := range []string{first, first, second} {
		response, text := g.answer(t, http.MethodPost, "/graphql", key, start)
		require.Equal(t, http.StatusOK, response.StatusCode, text)
		require.NotContains(t, text, "errors")
		require.Equal(t, "2", response.Header.Get("RateLimit-Limit"), "the header has the key's limit")
	}
	response, text := g.answer(t, http.MethodPost, "/graphql", second, start)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode, text)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	require.Contains(t, text, "the company reached its limit of 3 operations that use a model per minute")
	response, text = g.answer(t, http.MethodPost, "/graphql", second, `{"query":"{ company { name } }"}`)
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	other, key := g.company(t, "Other")
	response, text = g.answer(t, http.MethodPost, "/graphql", key, `{"query":"mutation { startSimulationChat(input: `+
		`{agentId: \"`+manyAgents(t, other, 1)+`\"}) { simulationChat { id } } }"}`)
	require.Equal(t, http.StatusOK, response.StatusCode, text)
}

func TestAccessTokensShareTheLimitOfTheirKey(t *testing.T) {
	t.Parallel()
	g := startLimited(t, 3, 0)
	_, key := g.company(t, "Limited")
	first, _ := g.token(t, key, "read")
	second, _ := g.token(t, key, "read")
	response, text := g.sendWithToken(t, "/graphql", first, `{"query":"{ company { name } }"}`)
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	for _, token := range []string{first, second} {
		response, text = g.sendWithToken(t, "/Subscription", token, "")
		require.Equal(t, http.StatusTooManyRequests, response.StatusCode, text)
		require.Contains(t, text, `"code":"RATE_LIMITED"`)
	}
}

// A visitor takes at most a tenth of the key's limits, however often the visitor's token is renewed.
func TestVisitorsShareTheLimitsOfTheKey(t *testing.T) {
	t.Parallel()
	g := startLimited(t, 60, 20)
	tenant, key := g.company(t, "Limited")
	start := `{"query":"mutation { startSimulationChat(input: {agentId: \"` + manyAgents(t, tenant, 1) +
		`\"}) { simulationChat { id } } }"}`
	token := func(visitor string) string {
		var made struct{ CreateAccessToken struct{ Token string } }
		g.must(t, key, `mutation ($visitor: String) { createAccessToken(input: {scopes: [chat],
			visitor: $visitor}) { token } }`, map[string]any{"visitor": visitor}, &made)
		return made.CreateAccessToken.Token
	}
	ask := func(token, body string) head {
		response, text := g.sendWithToken(t, "/graphql", token, body)
		require.Equal(t, response.StatusCode == http.StatusTooManyRequests, strings.Contains(text, `"code":"RATE_LIMITED"`),
			text)
		return response
	}
	greedy, again, other := token("greedy"), token("greedy"), token("other")
	for _, left := range []string{"1", "0"} {
		response := ask(greedy, start)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "2", response.Header.Get("RateLimit-Limit"))
		require.Equal(t, left, response.Header.Get("RateLimit-Remaining"))
	}
	for range 30 {
		require.Equal(t, http.StatusTooManyRequests, ask(greedy, start).StatusCode)
		require.Equal(t, http.StatusTooManyRequests, ask(again, start).StatusCode)
	}
	require.Equal(t, http.StatusOK, ask(other, start).StatusCode)

	plain := `{"query":"{ __typename }"}`
	response := ask(other, plain)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "6", response.Header.Get("RateLimit-Limit"))
	refused := ask(greedy, plain)
	require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	response, text := g.answer(t, http.MethodPost, "/graphql", key, `{"query":"{ company { name } }"}`)
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	require.Equal(t, "60", response.Header.Get("RateLimit-Limit"))
	left, err := strconv.Atoi(response.Header.Get("RateLimit-Remaining"))
	require.NoError(t, err)
	require.Greater(t, left, 40, "three tokens were created, and two visitors were admitted eight times")
}

// Each event of a subscription that selects an expensive field counts as a request. Other events are free.
func TestExpensiveEventsCountAsRequests(t *testing.T) {
	t.Parallel()
	const limit, items = 10, 20
	g := startLimited(t, limit, 0)
	company, err := g.store.CreateCompany(t.Context(), "Followers")
	require.NoError(t, err)
	tenant, plain := g.keyOf(t, company.ID, model.APIKeyScopeRead)
	_, dear := g.keyOf(t, company.ID, model.APIKeyScopeRead)
	campaign, _ := runningCampaign(t, tenant, items)
	follow := func(key, selection string) (events int, last frame) {
		f := g.follow(t, key, `subscription ($id: ID!) { campaignItemUpdated(campaignId: $id) { version `+selection+` } }`,
			map[string]any{"id": campaign.ID})
		for events < items {
			if last = f.receive(); last.Type != "next" {
				return events, last
			}
			events++
		}
		return events, last
	}
	for range 3 {
		events, last := follow(plain, "campaign { counts { total } }")
		require.Equal(t, items, events, string(last.Payload))
	}
	events, last := follow(dear, "campaign { a: counts { total } b: counts { total } c: counts { total } d: counts { "+
		"total } e: counts { total } }")
	require.Less(t, events, limit)
	require.Positive(t, events)
	require.Equal(t, "error", last.Type)
	require.Contains(t, string(last.Payload), `"RATE_LIMITED"`)
	_, text := g.answer(t, http.MethodPost, "/graphql", dear, `{"query":"{ company { name } }"}`)
	require.Contains(t, text, `"RATE_LIMITED"`, "one limit for both")
}

func TestModelDrivenOperationsAreMarked(t *testing.T) {
	t.Parallel()
	var marked []string
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		for _, field := range root.Fields {
			if field.Directives.ForName("modelDriven") != nil {
				marked = append(marked, field.Name)
			}
		}
	}
	require.ElementsMatch(t, []string{"startSimulationChat", "sendSimulationMessage", "startAgentTestExecution",
		"retryAgentTestExecution", "rejudgeAgentTestExecution", "startBlame", "draftLabelledQuestions",
		"callTool", "createMcpServer", "refreshMcpServer"}, marked)
}
