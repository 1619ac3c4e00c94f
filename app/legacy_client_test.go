package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
)

// problemDetails is what a REST client is told of a failure.
type problemDetails struct {
	Detail, Instance string
	Errors           map[string][]string
}

func (g *gatewayUnderTest) problem(t *testing.T, method, path, key, sent string) (int, problemDetails) {
	t.Helper()
	response := g.do(t, method, path, key, sent)
	var p problemDetails
	require.NoError(t, json.Unmarshal([]byte(body(t, response)), &p))
	return response.StatusCode, p
}

func TestNumbersTellTheirOwnBounds(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Bounds")
	agent := manyAgents(t, tenant, 1)
	var page struct{ Data []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(body(t, g.do(t, "GET", "/KnowledgeBaseChat", key, ""))), &page))
	for _, test := range []struct{ method, path, body, field, bound string }{
		{"POST", "/AgentTest/simulation", `{"agentId":"` + agent + `","name":"T","scenario":"S","criteria":["C"],"maxTurns":1e15}`, "maxTurns", "must be between 1 and 30"},
		{"POST", "/AgentTestExecution", `{"testIds":["t"],"repeats":-99999999999}`, "repeats", "must be between 1 and 5"},
		{"POST", "/AgentTestExecution", `{"testIds":["t"],"concurrency":99999999999}`, "concurrency", "must be between 1 and 50"},
		{"POST", "/Dataset", `{"name":"D","parserConfig":{"chunkTokenNum":99999999999,"taskPageSize":-99999999999}}`, "parserConfig.chunkTokenNum", "must be between 1 and 2048"},
		{"POST", "/Dataset", `{"name":"D","parserConfig":{"taskPageSize":99999999999}}`, "parserConfig.taskPageSize", "must be between 1 and 1000"},
		{"PATCH", "/KnowledgeBaseChat/" + page.Data[0].ID, `{"promptSettings":{"topN":99999999999}}`, "promptSettings.topN", "must be between 1 and 100"},
	} {
		status, p := g.problem(t, test.method, test.path, key, test.body)
		require.Equal(t, 400, status, test.body)
		require.Equal(t, []string{test.bound}, p.Errors[test.field], "%s: %v", test.body, p)
		require.Contains(t, p.Detail, test.field+" "+test.bound)
	}
}

// What v1's clients send, and its server took.
func TestTestsAsV1ClientsSendThem(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Legacy")
	agent := manyAgents(t, tenant, 1)
	var folder, made struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(body(t, g.do(t, "POST", "/v1/AgentTestFolder", key, `{"agentId":"`+agent+`","name":"F"}`))), &folder))
	response := g.do(t, "POST", "/v1/AgentTest/simulation", key, "\uFEFF"+`{"AgentId":"`+agent+`","name":"T","scenario":"S","criteria":["C"],"maxTurns":"7",
		"folderId":"`+folder.ID+`","conversationMessages":[{"role":"Assistant","text":"Hi","timestamp":"2026-03-01T09:30+0100"}],
		"variables":{"age":41,"customer":{"name":"Ann","tags":["a",null]},"none":null}}`)
	text := body(t, response)
	require.Equal(t, 200, response.StatusCode, text)
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	for _, part := range []string{
		`"maxTurns":7`, `"variables":{"age":41,"customer":{"name":"Ann","tags":["a",null]}}`, `"folderId":"` + folder.ID + `"`,
		`"conversationMessages":[{"role":"assistant","text":"Hi","timestamp":"2026-03-01T08:30:00.000Z"}]`,
	} {
		require.Contains(t, text, part)
	}
	text = body(t, g.do(t, "PATCH", "/AgentTest/"+made.ID, key, `{"folderId":null,"conversationContext":[{"role":"user","text":"Ho"}]}`))
	require.Contains(t, text, `"folderId":null`)
	require.Contains(t, text, `"conversationMessages":[{"role":"user","text":"Ho","timestamp":null}]`)
	status, p := g.problem(t, "PATCH", "/AgentTest/"+made.ID, key, `{"variables":{"deep":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`},"name":""}`)
	require.Equal(t, 400, status)
	require.Equal(t, "name must not be empty; variables.deep must not be nested more than 32 levels deep", p.Detail)
	status, p = g.problem(t, "POST", "/SimulationChat/start", key, `{"agentId":"`+agent+`","dataBag":{"a":null,"b":{"c":1}}}`)
	require.Equal(t, 422, status)
	require.Equal(t, map[string][]string{"dataBag.b": {"must be a text"}}, p.Errors)
}

func TestABasePath(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.BasePath = "/agents"
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	_, key := g.company(t, "Behind a proxy")
	for _, base := range []string{"/agents", "", "/agents/v1"} {
		response := g.do(t, "POST", base+"/Dataset", key, `{"name":"D"}`)
		require.Equal(t, 200, response.StatusCode, base)
		require.Regexp(t, "^/agents/Dataset/dataset_", response.Header.Get("Location"))
		require.NoError(t, response.Body.Close())
		_, p := g.problem(t, "GET", base+"/Dataset/unknown%20one", key, "")
		require.Equal(t, "/agents"+strings.TrimPrefix(base, "/agents")+"/Dataset/unknown%20one", p.Instance)
	}
	for path, want := range map[string]int{"/agents/healthz": 200, "/healthz": 200, "/agentsx/healthz": 404, "/agents/agents/healthz": 404} {
		response := g.do(t, http.MethodGet, path, key, "")
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, path)
	}
	require.Empty(t, g.query(t, key, "{ __typename }", nil).Errors)
}
