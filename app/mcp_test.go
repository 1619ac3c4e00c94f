package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/model"
)

// keyed sends an API key, as assistants do.
type keyed struct{ key string }

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// assistant connects the official client to a server.
func assistant(t testing.TB, url, key string, options *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url + "/mcp",
		HTTPClient: &http.Client{Transport: keyed{key}}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// callTool calls a tool, and returns its texts and whether it is an error.
func callTool(t testing.TB, s *sdk.ClientSession, name string, arguments map[string]any) (string, bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err, name)
	var texts []string
	for _, content := range result.Content {
		texts = append(texts, content.(*sdk.TextContent).Text)
	}
	return strings.Join(texts, "\n"), result.IsError
}

func listTools(t testing.TB, s *sdk.ClientSession) map[string]*sdk.Tool {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	tools := map[string]*sdk.Tool{}
	for _, one := range list.Tools {
		tools[one.Name] = one
	}
	return tools
}

// neededBy lists the scopes that each tool needs. It is written by hand, so that it does not repeat a mistake of the
// program.
var neededBy = map[string]string{
	"find_agents": "browse", "get_agent": "prompts", "create_agent": "write", "change_prompt": "write",
	"edit_prompt": "write", "list_prompt_versions": "prompts",
	"get_prompt_version": "prompts", "restore_prompt": "write", "find_tools": "browse", "create_tool": "write",
	"connect_tool": "write", "disconnect_tool": "write", "find_knowledge": "browse", "ask_knowledge": "browse",
	"add_document": "write", "start_chat": "simulate contacts", "send_message": "simulate", "get_chat": "contacts",
	"find_tests": "browse", "get_test": "contacts", "create_test": "write", "create_test_from_chat": "write",
	"update_test": "write", "delete_test": "write", "run_tests": "simulate", "get_results": "browse",
	"find_results": "browse", "get_run": "contacts", "explain_red_test": "prompts contacts",
	"search_cause": "simulate prompts contacts", "compare_results": "browse", "get_usage": "consumption",
	"search_schema": "browse", "validate": "browse", "query": "browse",
}

// TestMCPToolsNeedTheirScopes lists and calls every tool with a key of every set of scopes.
func TestMCPToolsNeedTheirScopes(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, admin := g.company(t, "Scopes")
	all := listTools(t, assistant(t, g.url, admin, nil))
	require.Len(t, all, len(neededBy))
	parts := []model.APIKeyScope{model.APIKeyScopeBrowse, model.APIKeyScopePrompts, model.APIKeyScopeContacts,
		model.APIKeyScopeConsumption, model.APIKeyScopeWrite, model.APIKeyScopeSimulate}
	sets := [][]model.APIKeyScope{{model.APIKeyScopeChat}, {model.APIKeyScopeRead}, {model.APIKeyScopeAdmin},
		{model.APIKeyScopeMutate}, {model.APIKeyScopeBrowse, model.APIKeyScopeMutate},
		{model.APIKeyScopeAdmin, model.APIKeyScopeMutate}}
	for mask := 1; mask < 1<<len(parts); mask++ {
		var set []model.APIKeyScope
		for i, scope := range parts {
			if mask>>i&1 == 1 {
				set = append(set, scope)
			}
		}
		sets = append(sets, set)
	}
	cells := 0
	for _, set := range sets {
		_, key := g.keyOf(t, companyIDOf(t, tenant), set...)
		s := assistant(t, g.url, key, nil)
		shown, principal := listTools(t, s), model.Principal{Scopes: set}
		if query := shown["query"]; query != nil {
			mutates := slices.Contains(set, model.APIKeyScopeMutate)
			require.Equal(t, mutates, !query.Annotations.ReadOnlyHint && *query.Annotations.DestructiveHint, "%v", set)
			require.Equal(t, mutates, !strings.Contains(query.Description, "Mutations are refused"), "%v", set)
		}
		for name := range all {
			may := true
			for _, scope := range strings.Fields(neededBy[name]) {
				may = may && principal.Can(model.APIKeyScope(scope))
			}
			require.Equal(t, may, shown[name] != nil, "%v: %s", set, name)
			text, failed := callTool(t, s, name, map[string]any{"unknown": true})
			require.True(t, failed, "%v: %s", set, name)
			wanted := "FORBIDDEN: the credential does not have the scope "
			if may {
				wanted = "BAD_INPUT: the arguments are invalid."
			}
			require.True(t, strings.HasPrefix(text, wanted), "%v: %s: %s", set, name, text)
			cells++
		}
	}
	require.Greater(t, cells, 2_000)
}

func TestMCPToolsAreDescribed(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Described")
	s := assistant(t, g.url, key, nil)
	require.NotEmpty(t, s.InitializeResult().Instructions)
	size := 0
	for name, one := range listTools(t, s) {
		text, err := json.Marshal(one)
		require.NoError(t, err)
		size += len(text)
		require.NotContains(t, string(text), "$ref", "some assistants do not follow references: %s", name)
		require.NotEmpty(t, one.Title, name)
		require.Greater(t, len(one.Description), 40, name)
		isLosing := slices.Contains([]string{"delete_test", "disconnect_tool", "update_test"}, name)
		require.Equal(t, isLosing, *one.Annotations.DestructiveHint, name)
		require.Equal(t, one.Annotations.ReadOnlyHint || name == "connect_tool", one.Annotations.IdempotentHint, name)
		input := one.InputSchema.(map[string]any)
		require.Equal(t, "object", input["type"], name)
		properties, _ := input["properties"].(map[string]any)
		for property, schema := range properties {
			require.NotEmpty(t, schema.(map[string]any)["description"], "%s: %s", name, property)
		}
	}
	require.Less(t, size, 120_000, "an assistant reads this at its start")
}

func TestMCPReadOnlyHasNoChanges(t *testing.T) {
	t.Parallel()
	store := startGateway(t).store
	g := &gatewayUnderTest{store: store, url: serveApp(t, app.Options{Store: store, MCPReadOnly: true, Plan: true,
		Engine: engine.New(offline.New(), engine.Options{}), Settings: gateway.DefaultSettings()})}
	tenant, _ := g.company(t, "Read only")
	_, key := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeAdmin, model.APIKeyScopeMutate)
	s := assistant(t, g.url, key, nil)
	tools := listTools(t, s)
	require.Contains(t, tools, "get_results")
	for name, one := range tools {
		require.True(t, one.Annotations.ReadOnlyHint, name)
	}
	for _, name := range []string{"change_prompt", "edit_prompt", "run_tests", "start_chat", "create_test",
		"search_cause"} {
		require.NotContains(t, tools, name)
		_, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: map[string]any{}})
		require.ErrorContains(t, err, "unknown tool")
	}
	text, failed := callTool(t, s, "query", map[string]any{
		"document": `mutation { createTool(input: {name: "a", technicalName: "a"}) { tool { id } } }`})
	require.True(t, failed)
	require.Contains(t, text, "only queries are allowed here, because this server is read-only for assistants")
	two := map[string]any{"document": "query A { company { id } } query B { company { name } }"}
	text, failed = callTool(t, s, "query", two)
	require.True(t, failed)
	require.Contains(t, text, "Choose one with operationName: A, B.")
	text, _ = callTool(t, s, "validate", two)
	require.Contains(t, text, `"isValid":false`)
	two["operationName"] = "B"
	text, failed = callTool(t, s, "query", two)
	require.False(t, failed, text)
	require.Contains(t, text, `"name"`)
	text, failed = callTool(t, s, "query", map[string]any{"document": "{ compny { name } }"})
	require.True(t, failed)
	require.Contains(t, text, "\nFind types and fields with search_schema")
	text, failed = callTool(t, s, "query", map[string]any{"document": "subscription { documentUpdated(datasetId: 1) { id } }"})
	require.True(t, failed)
	require.Contains(t, text, "only queries are allowed")
}

// A mutation through query needs the scope mutate, and the scopes of the mutation.
func TestMCPQueryMutatesIfTheKeyAllowsIt(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, _ := g.company(t, "Mutations")
	const created = `{"createTool":{"tool":{"name":"a"}}}`
	for _, test := range []struct {
		name, document, wanted string
		scopes                 []model.APIKeyScope
	}{
		{"not granted", "a", "FORBIDDEN: only queries are allowed here, because the credential does not have the scope mutate",
			[]model.APIKeyScope{model.APIKeyScopeWrite}},
		{"admin does not include it", "a", "does not have the scope mutate", []model.APIKeyScope{model.APIKeyScopeAdmin}},
		{"no other scope", "a", "FORBIDDEN: the credential does not have the scope write",
			[]model.APIKeyScope{model.APIKeyScopeRead, model.APIKeyScopeMutate}},
		{"granted", "a", created, []model.APIKeyScope{model.APIKeyScopeWrite, model.APIKeyScopeMutate}},
		{"granted with admin", "b", created, []model.APIKeyScope{model.APIKeyScopeAdmin, model.APIKeyScopeMutate}},
	} {
		_, key := g.keyOf(t, companyIDOf(t, tenant), test.scopes...)
		text, failed := callTool(t, assistant(t, g.url, key, nil), "query", map[string]any{
			"document":  `mutation ($id: String!) { createTool(input: {name: "a", technicalName: $id}) { tool { name } } }`,
			"variables": map[string]any{"id": test.document}})
		require.Contains(t, text, test.wanted, test.name)
		require.Equal(t, test.wanted != created, failed, test.name)
		require.NotContains(t, text, "Done:", test.name)
	}

	// The answer names the changes that were made before the error, so that nobody repeats them.
	_, key := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeWrite, model.APIKeyScopeMutate)
	text, failed := callTool(t, assistant(t, g.url, key, nil), "query", map[string]any{"document": `mutation {
		one: createTool(input: {name: "c", technicalName: "c"}) { tool { name } }
		two: createTool(input: {name: "c", technicalName: "c"}) { tool { name } }
	}`})
	require.True(t, failed)
	require.Contains(t, text, `Done: {"one":{"tool":{"name":"c"}},"two":null}`)
}

// postMCP sends a message without a client, and returns the status and the body.
func postMCP(t testing.TB, url, key, body string, header map[string]string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("X-Api-Key", key)
	for name, value := range header {
		if request.Header.Set(name, value); name == "Host" {
			request.Host = value
		}
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestMCPChecksRequestsLikeOtherTransports(t *testing.T) {
	t.Parallel()
	store := startGateway(t).store
	settings := gateway.DefaultSettings()
	settings.RateLimit, settings.BodyBytes, settings.CORSOrigins = 40, 4_000, []string{"https://ide.example.com"}
	g := &gatewayUnderTest{store: store, url: serveWith(t, store, settings)}
	tenant, key := g.company(t, "Door")
	for name, test := range map[string]struct {
		key, body string
		header    map[string]string
		status    int
		says      string
	}{
		"works":                   {key, ping, nil, 200, `"result":{}`},
		"no key":                  {"", ping, nil, 401, `"code":"UNAUTHENTICATED"`},
		"bad key":                 {"ag_bad", ping, nil, 401, `"code":"UNAUTHENTICATED"`},
		"list":                    {key, "[" + ping + "]", nil, 400, "must be one message"},
		"too large":               {key, `{"x":"` + strings.Repeat("x", 4_000) + `"}`, nil, 413, "limit of 4000 bytes"},
		"page of another name":    {key, ping, map[string]string{"Host": "evil.example", "Origin": "http://evil.example"}, 403, "origin"},
		"page of another server":  {key, ping, map[string]string{"Origin": "https://evil.example"}, 403, "origin"},
		"allowed page":            {key, ping, map[string]string{"Origin": "https://ide.example.com"}, 200, `"result":{}`},
		"page on the same host":   {key, ping, map[string]string{"Origin": "http://localhost:6274"}, 200, `"result":{}`},
		"proxy without an origin": {key, ping, map[string]string{"Host": "agents.example.com"}, 200, `"result":{}`},
		"idempotency key":         {key, ping, map[string]string{"Idempotency-Key": "a"}, 400, "leave it out"},
		"another protocol version": {key, ping, map[string]string{"Mcp-Protocol-Version": "1999-01-01"}, 400,
			"Unsupported protocol version"},
	} {
		status, text := postMCP(t, g.url, test.key, test.body, test.header)
		require.Equal(t, test.status, status, "%s: %s", name, text)
		require.Contains(t, text, test.says, name)
	}
	response := g.do(t, http.MethodGet, "/mcp", key, "")
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode, "there are no sessions")

	_, other := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeBrowse)
	for range 40 {
		status, _ := postMCP(t, g.url, other, ping, nil)
		require.Equal(t, http.StatusOK, status)
	}
	status, text := postMCP(t, g.url, other, ping, nil)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, text, "40 requests per minute")
}

// TestMCPHasNoSessions sends the messages of one client to two replicas in turn.
func TestMCPHasNoSessions(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Replicas")
	servers, turn := []string{g.url, serveStore(t, g.store)}, 0
	both := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		turn++
		request, _ := http.NewRequestWithContext(r.Context(), r.Method, servers[turn%2]+r.URL.Path, bytes.NewReader(body))
		request.Header = r.Header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = response.Body.Close() }()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(both.Close)
	s := assistant(t, both.URL, key, nil)
	for range 4 {
		require.Len(t, listTools(t, s), len(neededBy))
		text, failed := callTool(t, s, "find_agents", nil)
		require.False(t, failed, text)
	}
	require.Greater(t, turn, 8)
}

// An assistant of one company finds nothing of another company, even if it knows the ids.
func TestMCPKeepsCompaniesApart(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	shown, other := g.demo(t)
	mine, theirs := assistant(t, g.url, shown, nil), assistant(t, g.url, other, nil)
	for _, find := range []string{"find_agents", "find_tests", "find_tools", "find_knowledge", "find_results"} {
		text, _ := callTool(t, mine, find, map[string]any{"first": 100})
		foreign, _ := callTool(t, theirs, find, map[string]any{"first": 100})
		for _, id := range idsIn(text) {
			require.NotContains(t, foreign, id, find)
			for tool, argument := range map[string]string{"get_agent": "agentId", "get_test": "testId", "get_run": "runId",
				"get_results": "executionId", "explain_red_test": "testId", "ask_knowledge": "knowledgeBaseChatId"} {
				arguments := map[string]any{argument: id}
				if tool == "ask_knowledge" {
					arguments["question"] = "Where?"
				}
				answer, failed := callTool(t, theirs, tool, arguments)
				require.True(t, failed, "%s %s", tool, answer)
				require.Contains(t, answer, "NOT_FOUND", tool)
			}
		}
	}
}

// Assistants see where a tool comes from and whether it can be called, and create one from an offer.
func TestMCPShowsToolsOfMcpServers(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Shop")
	server, err := tenant.CreateMcpServer(t.Context(), model.CreateMcpServerInput{Name: "Shop server",
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://mcp.invalid", TimeoutSeconds: 1}})
	require.NoError(t, err)
	offers := []model.McpOffer{model.NewMcpOffer("stock.count", "Counts.", []byte(`{"type":"object"}`))}
	_, _, err = tenant.RefreshMcpServer(t.Context(), server.ID, offers, nil)
	require.NoError(t, err)
	s := assistant(t, g.url, key, nil)
	arguments := map[string]any{"name": "Stock", "technicalName": "stock", "mcpServerId": server.ID, "mcpName": "stock",
		"approval": "Ask"}
	text, failed := callTool(t, s, "create_tool", arguments)
	require.True(t, failed, text)
	require.Contains(t, text, `must be the name of a tool that the server offers, not "stock"; it offers "stock.count"`)
	arguments["mcpName"] = "stock.count"
	text, failed = callTool(t, s, "create_tool", arguments)
	require.False(t, failed, text)
	_, _, err = tenant.RefreshMcpServer(t.Context(), server.ID, nil, nil)
	require.NoError(t, err)
	text, failed = callTool(t, s, "find_tools", map[string]any{"first": 5})
	require.False(t, failed, text)
	require.Contains(t, text, `"mcpServer":{"id":"`+server.ID+`","name":"Shop server"},"mcpName":"stock.count",`+
		`"missingSince":"20`)
	require.Contains(t, text, `"approval":"Ask"`)
	for tool, arguments := range map[string]map[string]any{"get_chat": {"chatId": "simchat_x"},
		"send_message": {"chatId": "simchat_x", "text": "Hello"}} {
		text, failed = callTool(t, s, tool, arguments)
		require.True(t, failed)
		require.Contains(t, text, "NOT_FOUND", tool)
		require.Contains(t, text, "The id of a chat is in the answer of start_chat.", tool)
	}
	first, err := json.Marshal(listTools(t, s)["find_tools"].InputSchema)
	require.NoError(t, err)
	require.Contains(t, string(first), `"maximum":100`)
}

// idsIn returns some ids of each kind in a text.
func idsIn(text string) []string {
	var ids []string
	kinds := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == '"' || r == '\\' }) {
		if kind, rest, ok := strings.Cut(word, "_"); ok && len(rest) == 26 && kinds[kind] < 2 {
			kinds[kind]++
			ids = append(ids, word)
		}
	}
	return ids
}

func TestMCPResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	shown, _ := g.demo(t)
	s := assistant(t, g.url, shown, nil)
	list, err := s.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.NotEmpty(t, list.Resources)
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, templates.ResourceTemplates, 4)
	read := func(uri string) string {
		result, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		require.NoError(t, err)
		return result.Contents[0].Text
	}
	require.Contains(t, read(list.Resources[0].URI), `"prompt":"`)
	version := idsIn(read(list.Resources[0].URI + "/prompts"))[0]
	require.Contains(t, read("agentgraph://prompts/"+version), `"prompt":"`)
	_, err = s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "agentgraph://runs/run_none"})
	require.ErrorContains(t, err, "not found")

	prompts, err := s.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, prompts.Prompts, 2)
	got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "repair_red_test",
		Arguments: map[string]string{"test": "Says where to park"}})
	require.NoError(t, err)
	require.Contains(t, got.Messages[0].Content.(*sdk.TextContent).Text, `"Says where to park"`)
	_, err = s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "repair_red_test"})
	require.ErrorContains(t, err, "must have 1 to 1000 characters")
	for length, is := range map[int]require.ErrorAssertionFunc{1_000: require.NoError, 1_001: require.Error} {
		_, err = s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "repair_red_test",
			Arguments: map[string]string{"test": strings.Repeat("é", length)}})
		is(t, err)
	}

	// A key that may not read prompts sees no agents as resources, because these contain prompts.
	companies, err := g.store.Companies(t.Context())
	require.NoError(t, err)
	_, browse := g.keyOf(t, companies[0].ID, model.APIKeyScopeBrowse)
	s = assistant(t, g.url, browse, nil)
	hidden, err := s.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, hidden.Resources)
	_, err = s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: list.Resources[0].URI})
	require.ErrorContains(t, err, "does not have the scope prompts")
}

// startWorking serves a store with a console, and runs its jobs.
func startWorking(t *testing.T, settings gateway.Settings) *gatewayUnderTest {
	t.Helper()
	store := startGateway(t).store
	e, v := workOffline(t, store)
	url := serveApp(t, app.Options{Store: store, Engine: e, Evaluator: v, Settings: settings, Plan: true,
		Console: console.New(nil)})
	return &gatewayUnderTest{store: store, url: url}
}

func TestMCPSendsProgressAndLinks(t *testing.T) {
	t.Parallel()
	settings := gateway.DefaultSettings()
	settings.BasePath = "/agents"
	g := startWorking(t, settings)
	url := g.url
	shown, _ := g.demo(t)
	progress := make(chan float64, 100)
	s := assistant(t, url+"/agents", shown, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *sdk.ProgressNotificationClientRequest) {
		progress <- r.Params.Progress / r.Params.Total
	}})
	text, _ := callTool(t, s, "find_agents", map[string]any{"nameContains": "Clinic"})
	agent := idsIn(text)[0]
	params := &sdk.CallToolParams{Name: "run_tests", Arguments: map[string]any{"agentId": agent}}
	params.SetProgressToken("token")
	result, err := s.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.False(t, result.IsError)
	var answer struct {
		Status, ExecutionID string
		Counts              struct{ Total, Queued, Running int }
	}
	structured, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(structured, &answer))
	require.Equal(t, "Completed", answer.Status)
	require.Positive(t, answer.Counts.Total)
	require.Eventually(t, func() bool {
		select {
		case at := <-progress:
			return at == 1
		default:
			return false
		}
	}, 10*time.Second, 10*time.Millisecond)
	last := result.Content[len(result.Content)-1].(*sdk.TextContent).Text
	require.Equal(t, "In the console: "+url+"/agents/console/tests?agent="+agent+"&execution="+answer.ExecutionID, last)

	text, failed := callTool(t, s, "run_tests", map[string]any{"agentId": agent, "waitSeconds": 0})
	require.False(t, failed)
	require.Contains(t, text, "It is still in progress: call get_results")
}

// When a server stops, it answers tool calls that are still waiting, instead of cutting them off.
func TestMCPStopsWaitingWhenTheServerStops(t *testing.T) {
	t.Parallel()
	store := startGateway(t).store
	g := &gatewayUnderTest{store: store}
	shown, _ := g.demo(t)
	program, err := app.New(app.Options{Store: store, Engine: engine.New(offline.New(), engine.Options{}), Plan: true,
		Settings: gateway.DefaultSettings(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- program.Serve(ctx, listener) }()
	waiting := make(chan struct{}, 100)
	s := assistant(t, "http://"+listener.Addr().String(), shown, &sdk.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { waiting <- struct{}{} }})
	text, _ := callTool(t, s, "find_agents", map[string]any{"nameContains": "Clinic"})
	params := &sdk.CallToolParams{Name: "run_tests", Arguments: map[string]any{"agentId": idsIn(text)[0]}}
	params.SetProgressToken("token")
	go func() { // no worker runs the jobs
		<-waiting
		end()
	}()
	result, err := s.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.Contains(t, result.Content[1].(*sdk.TextContent).Text, "It is still in progress")
	require.NoError(t, <-ended)
}

func TestMCPOffersQueriesOnlyWhereClientsMaySendThem(t *testing.T) {
	t.Parallel()
	store := startGateway(t).store
	hidden := gateway.DefaultSettings()
	hidden.Introspection = false
	for name, test := range map[string]struct {
		options app.Options
		without []string
	}{
		"trusted documents": {app.Options{Settings: gateway.DefaultSettings(), TrustedDocuments: fstest.MapFS{
			"a.graphql": {Data: []byte("{ company { name } }")}}}, []string{"query"}},
		"no introspection": {app.Options{Settings: hidden}, []string{"query", "search_schema", "validate"}},
	} {
		o := test.options
		o.Store, o.Engine, o.Plan = store, engine.New(offline.New(), engine.Options{}), true
		g := &gatewayUnderTest{store: store, url: serveApp(t, o)}
		_, key := g.company(t, name)
		tools := listTools(t, assistant(t, g.url, key, nil))
		require.Len(t, tools, len(neededBy)-len(test.without), name)
		for _, tool := range test.without {
			require.NotContains(t, tools, tool, name)
		}
	}
}

// Each word of a search is compared with every entry of the schema, so the words are bounded.
func TestMCPBoundsSearches(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Searches")
	session := assistant(t, g.url, key, nil)
	text, isError := callTool(t, session, "search_schema", map[string]any{"words": strings.Repeat("é ", 100)})
	require.False(t, isError, text)
	text, isError = callTool(t, session, "search_schema", map[string]any{"words": strings.Repeat("a ", 101)})
	require.True(t, isError)
	require.Contains(t, text, "words: must have at most 200 characters")
}
