package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// problemDetails is the body that a REST client gets for a failure.
type problemDetails struct {
	Detail, Instance string
	Errors           map[string][]string
}

// text sends a request and returns the body of the answer.
func (g *gatewayUnderTest) text(t *testing.T, method, path, key, sent string) string {
	t.Helper()
	response := g.do(t, method, path, key, sent)
	defer func() { require.NoError(t, response.Body.Close()) }()
	return body(t, response)
}

func (g *gatewayUnderTest) problem(t *testing.T, method, path, key, sent string) (int, problemDetails) {
	t.Helper()
	response := g.do(t, method, path, key, sent)
	text := body(t, response)
	var p problemDetails
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	return response.StatusCode, p
}

func TestNumberErrorsNameTheirBounds(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Bounds")
	agent := manyAgents(t, tenant, 1)
	var page struct{ Data []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(g.text(t, "GET", "/KnowledgeBaseChat", key, "")), &page))
	expecting := func(expect, more string) string {
		return `{"agentId":"` + agent + `","name":"T","scenario":"S","criteria":["C"],"checks":[{"expect":{` + expect + `}` +
			more + `}]}`
	}
	for _, test := range []struct{ method, path, body, field, bound string }{
		{"POST", "/AgentTest/simulation", `{"agentId":"` + agent +
			`","name":"T","scenario":"S","criteria":["C"],"criteriaWeights":[-1e15]}`, "criteriaWeights.0",
			"must be between 1 and 100"},
		{"POST", "/AgentTest/simulation", expecting(`"turnsAtMost":1e15`, ``), "checks.0.expect.turnsAtMost",
			"must be between 1 and 30"},
		{"POST", "/AgentTest/simulation", expecting(`"turnsAtMost":1`, `,"weight":1e15`), "checks.0.weight",
			"must be between 1 and 100"},
		{"POST", "/AgentTest/simulation", expecting(`"called":{"kind":"Tool","min":1e15}`, ``), "checks.0.expect.called.min",
			"must be between 1 and 1000"},
		{"POST", "/AgentTest/simulation", expecting(`"called":{"kind":"Tool","max":1e15}`, ``), "checks.0.expect.called.max",
			"must be between 1 and 1000"},
		{"POST", "/AgentTest/simulation", expecting(`"says":{"text":"a","turn":1e15}`, ``), "checks.0.expect.says.turn",
			"must be between -30 and 30"},
		{"POST", "/AgentTest/simulation", `{"agentId":"` + agent +
			`","name":"T","scenario":"S","criteria":["C"],"maxTurns":1e15}`, "maxTurns", "must be between 1 and 30"},
		{"POST", "/AgentTest/simulation", `{"agentId":"` + agent +
			`","name":"T","scenario":"S","criteria":["C"],"persona":{"patience":1e15}}`, "persona.patience",
			"must be between 1 and 10"},
		{"POST", "/AgentTestExecution", `{"testIds":["t"],"repeats":-99999999999}`, "repeats", "must be between 1 and 20"},
		{"POST", "/AgentTestExecution", `{"testIds":["t"],"concurrency":99999999999}`, "concurrency",
			"must be between 1 and 50"},
		{"POST", "/Dataset", `{"name":"D","parserConfig":{"chunkTokenNum":99999999999,"taskPageSize":-99999999999}}`,
			"parserConfig.chunkTokenNum", "must be between 1 and 2048"},
		{"POST", "/Dataset", `{"name":"D","parserConfig":{"taskPageSize":99999999999}}`, "parserConfig.taskPageSize",
			"must be between 1 and 1000"},
		{"PATCH", "/KnowledgeBaseChat/" + page.Data[0].ID, `{"promptSettings":{"topN":99999999999}}`, "promptSettings.topN",
			"must be between 1 and 100"},
	} {
		status, p := g.problem(t, test.method, test.path, key, test.body)
		require.Equal(t, 400, status, test.body)
		require.Equal(t, []string{test.bound}, p.Errors[test.field], "%s: %v", test.body, p)
		require.Contains(t, p.Detail, test.field+" "+test.bound)
	}
}

// The bodies are what v1 clients send and the v1 server accepted.
func TestV1TestBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Legacy")
	agent := manyAgents(t, tenant, 1)
	var folder, made struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(g.text(t, "POST", "/v1/AgentTestFolder", key, `{"agentId":"`+agent+
		`","name":"F"}`)), &folder))
	response := g.do(t, "POST", "/v1/AgentTest/simulation", key, "\uFEFF"+`{"AgentId":"`+agent+
		`","name":"T","scenario":"S","criteria":["C"],"maxTurns":"7",
		"folderId":"`+folder.ID+`","conversationMessages":[{"role":"Assistant","text":"Hi","timestamp":"2026-03-01T09:30+0100"}],
		"variables":{"age":41,"customer":{"name":"Ann","tags":["a",null]},"none":null}}`)
	text := body(t, response)
	require.Equal(t, 200, response.StatusCode, text)
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	for _, part := range []string{
		`"maxTurns":7`, `"variables":{"age":41,"customer":{"name":"Ann","tags":["a",null]}}`, `"folderId":"` + folder.ID +
			`"`,
		`"conversationMessages":[{"role":"assistant","text":"Hi","timestamp":"2026-03-01T08:30:00.000Z"}]`,
	} {
		require.Contains(t, text, part)
	}
	text = g.text(t, "PATCH", "/AgentTest/"+made.ID, key,
		`{"folderId":null,"conversationContext":[{"role":"user","text":"Ho"}]}`)
	require.Contains(t, text, `"folderId":null`)
	require.Contains(t, text, `"conversationMessages":[{"role":"user","text":"Ho","timestamp":null}]`)
	status, p := g.problem(t, "PATCH", "/AgentTest/"+made.ID, key, `{"variables":{"deep":`+strings.Repeat("[", 40)+
		strings.Repeat("]", 40)+`,"large":[1e309]},"name":""}`)
	require.Equal(t, 400, status)
	require.Equal(t, "name must not be empty; variables.deep must not be nested more than 32 levels deep; "+
		"variables.large must be a number from -1.79e308 to 1.79e308, with an exponent from -400 to 400", p.Detail)
	deepest := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	status, p = g.problem(t, "PATCH", "/AgentTest/"+made.ID, key, `{"name":`+deepest+`}`)
	require.Equal(t, 400, status)
	require.Contains(t, p.Detail, "nested more than 64 levels deep")
	require.Contains(t, g.text(t, "POST", "/graphql", key, `{"query":"{ company { id } }","variables":{"deep":`+deepest+
		`}}`), "nested more than 64 levels deep")
	status, p = g.problem(t, "POST", "/SimulationChat/start", key, `{"agentId":"`+agent+
		`","dataBag":{"a":null,"b":{"c":1}}}`)
	require.Equal(t, 422, status)
	require.Equal(t, map[string][]string{"dataBag.b": {"must be a string"}}, p.Errors)
}

func TestBasePathPrefixesEveryRoute(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.BasePath = "/agents"
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	_, key := g.company(t, "Behind a proxy")
	for _, base := range []string{"/agents", "", "/agents/v1"} {
		response := g.do(t, "POST", base+"/Dataset", key, `{"name":"D"}`)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 200, response.StatusCode, base)
		require.Regexp(t, "^/agents/Dataset/dataset_", response.Header.Get("Location"))
		_, p := g.problem(t, "GET", base+"/Dataset/unknown%20one", key, "")
		require.Equal(t, "/agents"+strings.TrimPrefix(base, "/agents")+"/Dataset/unknown%20one", p.Instance)
	}
	for path, want := range map[string]int{"/agents/healthz": 200, "/healthz": 200, "/agentsx/healthz": 404,
		"/agents/agents/healthz": 404} {
		response := g.do(t, http.MethodGet, path, key, "")
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode, path)
	}
	require.Empty(t, g.query(t, key, "{ __typename }", nil).Errors)
}

// conditional sends a request and returns the status and the ETag of the answer. If the condition is not empty, it is
// sent as If-Match.
func (g *gatewayUnderTest) conditional(ctx context.Context, method, path, key, sent,
	condition string) (status int, tag string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, g.url+path, strings.NewReader(sent))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	if condition != "" {
		r.Header.Set("If-Match", condition)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	return response.StatusCode, response.Header.Get("ETag"), response.Body.Close()
}

func TestChangesBasedOnOutdatedVersionsAreRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Lost updates")
	agent := manyAgents(t, tenant, 1)
	send := func(method, path, sent, condition string) (int, string) {
		status, tag, err := g.conditional(t.Context(), method, path, key, sent, condition)
		require.NoError(t, err)
		return status, tag
	}
	read := func(path string) string {
		status, tag := send("GET", path, "", "")
		require.Equal(t, 200, status)
		require.NotEmpty(t, tag)
		return tag
	}
	created := func(path, sent string) string {
		var made struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(g.text(t, "POST", path, key, sent)), &made))
		return made.ID
	}
	other, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Other"})
	require.NoError(t, err)
	first, err := tenant.Agent(t.Context(), agent)
	require.NoError(t, err)
	chat := *first.KnowledgeBaseChatID
	test := "/AgentTest/" + created("/AgentTest/simulation", `{"agentId":"`+agent+
		`","name":"T","scenario":"S","criteria":["C"]}`)
	for _, change := range []struct{ method, path, read, first, second string }{
		{"PUT", "/Agent/" + agent + "/prompt", "/Agent/" + agent, `{"prompt":"one"}`, `{"prompt":"two"}`},
		{"PUT", "/Agent/" + agent + "/chat", "/Agent/" + agent + "/chat", `{"chatId":"` + other.ID + `"}`, `{"chatId":"` +
			chat + `"}`},
		{"PATCH", test, test, `{"name":"one"}`, `{"name":"two"}`},
		{"PATCH", "/KnowledgeBaseChat/" + chat, "", `{"name":"one"}`, `{"name":"two"}`},
		{"PATCH", "/Dataset/" + created("/Dataset", `{"name":"D"}`), "", `{"name":"one"}`, `{"name":"two"}`},
		{"PATCH", "/AgentTestFolder/" + created("/AgentTestFolder", `{"agentId":"`+agent+`","name":"F"}`), "",
			`{"name":"one"}`, `{"name":"two"}`},
	} {
		if change.read == "" {
			change.read = change.path
		}
		before := read(change.read)
		status, tag := send(change.method, change.path, change.first, before)
		require.Equal(t, 200, status, change.path)
		after := read(change.read)
		require.NotEqual(t, before, after, change.path)
		if change.read == change.path {
			require.Equal(t, after, tag, "%s: it answers what a GET does", change.path)
		}
		status, _ = send(change.method, change.path, change.second, before)
		require.Equal(t, 412, status, change.path)
		require.Equal(t, after, read(change.read), "%s: nothing changed", change.path)
		status, _ = send(change.method, change.path, change.second, after)
		require.Equal(t, 200, status, change.path)
	}
	status, _ := send("PATCH", "/Dataset/unknown", `{}`, `"x"`)
	require.Equal(t, 404, status)
}

// When two clients change the version that both have read, one change is refused.
func TestConcurrentConditionalChangesConflict(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Race")
	var made struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(g.text(t, "POST", "/Dataset", key, `{"name":"D"}`)), &made))
	for round := range 10 {
		_, tag, err := g.conditional(t.Context(), http.MethodGet, "/Dataset/"+made.ID, key, "", "")
		require.NoError(t, err)
		statuses := make(chan int, 4)
		for n := range cap(statuses) {
			go func() {
				status, _, _ := g.conditional(t.Context(), http.MethodPatch, "/Dataset/"+made.ID, key,
					fmt.Sprintf(`{"name":"%d of %d"}`, n, round), tag)
				statuses <- status
			}()
		}
		taken := map[int]int{}
		for range cap(statuses) {
			taken[<-statuses]++
		}
		require.Equal(t, map[int]int{200: 1, 412: cap(statuses) - 1}, taken)
	}
}

// v1 scripts create the same test repeatedly. Tests with checks need no criteria.
func TestRESTAllowsRepeatedTestNames(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Scripts")
	agent, _ := newAgentWithTest(t, tenant)
	body := `{"agentId":"` + agent +
		`","name":"Nightly","scenario":"S","checks":[{"expect":{"turnsAtMost":3},"weight":2}]}`
	var created struct {
		ID       string
		Criteria []string
		Warnings []string
	}
	for range 2 {
		require.NoError(t, json.Unmarshal([]byte(g.text(t, "POST", "/AgentTest/simulation", key, body)), &created))
		require.Empty(t, created.Criteria)
		require.Len(t, created.Warnings, 1)
		require.Contains(t, created.Warnings[0], "the weights have no effect")
	}
	for range 2 {
		g.text(t, "POST", "/AgentTest/classification", key, `{"agentId":"`+agent+
			`","name":"Mood","tagExpected":"A","conversationContext":{"messages":[{"role":"user","text":"Hi"}]}}`)
	}
	g.text(t, "PATCH", "/AgentTest/"+created.ID, key, `{"name":"Nightly","scenario":"Another"}`)
	// REST may also rename a test to a name in use. GraphQL needs mayRepeatName for that.
	rename := func(name string) string {
		response := g.do(t, "PATCH", "/AgentTest/"+created.ID, key, `{"name":"`+name+`"}`)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode, "%s", text)
		return string(text)
	}
	rename("Other")
	refusedName := g.query(t, key,
		`mutation ($t: ID!) { updateAgentTest(input: {testId: $t, name: "Nightly"}) { agentTest { name } } }`,
		map[string]any{"t": created.ID})
	require.Equal(t, []string{"UNPROCESSABLE"}, refusedName.codes())
	require.Contains(t, rename("Nightly"), `"name":"Nightly"`)
	const create = `mutation ($a: ID!, $n: String!, $r: Boolean! = false) { createSimulationTest(input: {agentId: $a,
		name: $n, scenario: "S", checks: [{expect: {turnsAtMost: 1}}], mayRepeatName: $r}) { agentTest { criteria } } }`
	refused := g.query(t, key, create, map[string]any{"a": agent, "n": "Nightly"})
	require.Equal(t, []string{"UNPROCESSABLE"}, refused.codes())
	g.must(t, key, create, map[string]any{"a": agent, "n": "Nightly", "r": true}, nil)
	g.must(t, key, create, map[string]any{"a": agent, "n": "Checks alone"}, nil)
}
