package app_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

func TestMCPRefusesCursorsOfNoList(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Cursors")
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		_, text := postMCP(t, g.url, key, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{"cursor":"bad"}}`, nil)
		require.Contains(t, text, `"id":7`, method)
		require.Contains(t, text, `"code":-32602`, method)
		require.NotContains(t, text, "after", method)
	}
}

// newRefunding serves a company with an agent whose tool needs approval, and returns the key and the agent's id.
func newRefunding(t *testing.T, log io.Writer) (*gatewayUnderTest, string, string) {
	t.Helper()
	store := startGateway(t).store
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"state": "refunded"}`)
	}))
	t.Cleanup(shop.Close)
	caller, err := endpoint.New(endpoint.Options{Allow: []string{"127.0.0.1"}})
	require.NoError(t, err)
	g := &gatewayUnderTest{store: store, url: serveApp(t, app.Options{Store: store, Plan: true,
		Engine: engine.New(offline.New(), engine.Options{Caller: caller}), Settings: gateway.DefaultSettings(),
		Log: slog.New(slog.NewTextHandler(log, nil))})}
	tenant, key := g.company(t, "Refunds")
	made, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Refunds", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", InboundWelcomeMessage: new("Welcome."),
		Prompt: "# Examples\nUser: refund me\nCall: refund\nAgent: It is <state>.\n"})
	require.NoError(t, err)
	ask := model.ToolApprovalAsk
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "Refund", TechnicalName: "refund",
		Approval: &ask, Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: shop.URL, TimeoutSeconds: 5,
			Headers: model.JSONObject(`{}`)}})
	require.NoError(t, err)
	g.must(t, key, `mutation ($a: ID!, $t: ID!) { connectTool(input: {agentId: $a, toolId: $t}) { agent { id } } }`,
		map[string]any{"a": made.ID, "t": tool.ID}, &struct{}{})
	return g, key, made.ID
}

// sharedBuffer is a buffer that several goroutines may use.
type sharedBuffer struct {
	mu      sync.Mutex
	content []byte
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.content = append(b.content, p...)
	return len(p), nil
}

func (b *sharedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.content)
}

func TestMCPAnswersWhileACallWaitsForAPerson(t *testing.T) {
	t.Parallel()
	log := &sharedBuffer{}
	g, key, agent := newRefunding(t, log)
	progress := make(chan string, 100)
	s := assistant(t, g.url, key, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *sdk.ProgressNotificationClientRequest) {
		progress <- r.Params.Message
	}})
	text, failed := callTool(t, s, "start_chat", map[string]any{"agentId": agent,
		"toolMocking": map[string]any{"sideEffects": "Allow"}})
	require.False(t, failed, text)
	chat := idsIn(text)[0]
	params := &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"chatId": chat, "text": "refund me",
		"waitSeconds": 3}}
	params.SetProgressToken("token")
	result, err := s.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.True(t, result.IsError)
	require.Contains(t, result.Content[0].(*sdk.TextContent).Text, "waits for a person's approval")
	require.Equal(t, "The agent has not answered yet", <-progress)
	require.Eventually(t, func() bool { return strings.Contains(log.text(), "operation=SendMessage") }, 5*time.Second,
		10*time.Millisecond)
	require.NotContains(t, log.text(), "operation=FindWaitingChats", "the client did not ask for it")

	text, failed = callTool(t, s, "send_message", map[string]any{"chatId": chat, "text": "Hello?"})
	require.True(t, failed, text)
	require.Contains(t, text, "waits for a person's approval")
	text, failed = callTool(t, s, "get_chat", map[string]any{"chatId": chat})
	require.False(t, failed, text)
	require.Contains(t, text, `"pendingApprovals":[{"technicalName":"refund"`)
}

func TestMCPQueriesBeyondALimitSayIt(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Limits")
	s := assistant(t, g.url, key, nil)
	nested := "{ agents { nodes { " + strings.Repeat("subAgents { delegateAgent { ", 20) + "id" +
		strings.Repeat("} }", 20) + " } } }"
	for name, document := range map[string]string{
		"bytes": "{ company { name } } #" + strings.Repeat("x", 200_000), "levels": nested,
		"cost": "{ agents(first: 100) { nodes { simulationChats(first: 100) { nodes { agent { simulationChats(first: 100) { nodes { messages { text } } } } } } } } }",
	} {
		text, failed := callTool(t, s, "query", map[string]any{"document": document})
		require.True(t, failed, name)
		require.Contains(t, text, "LIMIT_EXCEEDED: ", name)
		require.Contains(t, text, "\nAsk for less", name)
	}
}

// Instructions and prompts name only tools that the server lists for the credential.
func TestMCPInstructionsNameListedTools(t *testing.T) {
	t.Parallel()
	store := startGateway(t).store
	hidden := gateway.DefaultSettings()
	hidden.Introspection = false
	names := slices.Collect(maps.Keys(neededBy))
	for name, test := range map[string]struct {
		options app.Options
		scopes  []model.APIKeyScope
		prompts int
	}{
		"all":              {app.Options{Settings: gateway.DefaultSettings()}, []model.APIKeyScope{model.APIKeyScopeAdmin}, 2},
		"no introspection": {app.Options{Settings: hidden}, []model.APIKeyScope{model.APIKeyScopeAdmin}, 2},
		"read only": {app.Options{Settings: gateway.DefaultSettings(), MCPReadOnly: true},
			[]model.APIKeyScope{model.APIKeyScopeAdmin}, 0},
		"browse": {app.Options{Settings: gateway.DefaultSettings()}, []model.APIKeyScope{model.APIKeyScopeBrowse}, 0},
		"chat":   {app.Options{Settings: gateway.DefaultSettings()}, []model.APIKeyScope{model.APIKeyScopeSimulate}, 0},
	} {
		o := test.options
		o.Store, o.Engine, o.Plan = store, engine.New(offline.New(), engine.Options{}), true
		g := &gatewayUnderTest{store: store, url: serveApp(t, o)}
		tenant, _ := g.company(t, name)
		_, key := g.keyOf(t, companyIDOf(t, tenant), test.scopes...)
		s := assistant(t, g.url, key, nil)
		listed, said := listTools(t, s), s.InitializeResult().Instructions
		require.Contains(t, said, "agentgraph runs conversational agents", name)
		for _, word := range strings.FieldsFunc(said, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) }) {
			require.False(t, slices.Contains(names, word) && listed[word] == nil, "%s: %s", name, word)
		}
		shown, err := s.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, shown.Prompts, test.prompts, name)
	}
}

// Every refusal of a message is a JSON-RPC error, with the message's id as it was sent.
func TestMCPRefusesMessagesInJSONRPC(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Messages")
	for body, want := range map[string]string{
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}": `"code":-32700,"message":"the request is not UTF-8"`,
		`{"jsonrpc":`:    `"code":-32700,"message":"the request is not valid JSON"`,
		`[` + ping + `]`: `"code":-32600,"message":"the body must be one message, not a list"`,
		`"text"`:         `"code":-32600,"message":"the body must be a JSON-RPC message, which is an object"`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`: `"code":-32600,"message":"the id must be a string, or a whole number of at most 53 bits"`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:              `"data":{"code":"BAD_INPUT"}},"id":1.5`,
		`{"jsonrpc":"2.0","id":"a","method":"nothing"}`:           `"code":-32601,"message":"method not found: \"nothing\""},"id":"a"`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call"}`:          `"code":-32600,"message":"invalid request: missing required \"params\""},"id":5`,
	} {
		status, text := postMCP(t, g.url, key, body, nil)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.True(t, json.Valid([]byte(text)), text)
		require.Contains(t, text, want, body)
	}
	for _, id := range []string{`9007199254740991`, `-5`, `"9007199254740993"`} {
		_, text := postMCP(t, g.url, key, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, nil)
		require.Contains(t, text, `"id":`+id+`,`)
	}
	_, text := postMCP(t, g.url, key, `{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, nil)
	require.Contains(t, text, `"id":1,`, "some clients write whole numbers so")
}

// Answers repeat these parts of a message, some of them in each notification of progress.
func TestMCPBoundsWhatItRepeats(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Repeats")
	long := strings.Repeat("a", 1_001)
	for name, body := range map[string]string{
		"id":            `{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`,
		"method":        `{"jsonrpc":"2.0","id":7,"method":"` + long + `"}`,
		"name":          `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + long + `"}}`,
		"uri":           `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"` + long + `"}}`,
		"progressToken": `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":"` + long + `"}}}`,
		"io.modelcontextprotocol/protocolVersion": `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":` +
			`{"io.modelcontextprotocol/protocolVersion":"` + long + `"}}}`,
	} {
		status, text := postMCP(t, g.url, key, body, nil)
		require.Equal(t, http.StatusBadRequest, status, name)
		id := "7"
		if name == "id" {
			id = "null"
		}
		require.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32600,"message":"`+name+
			` must have at most 1000 bytes","data":{"code":"BAD_INPUT"}}}`, text)
	}
	_, text := postMCP(t, g.url, key, `{"jsonrpc":"2.0","id":"`+long[:998]+`","method":"ping"}`, nil)
	require.Contains(t, text, long[:998])
}

func TestMCPQueriesNameTheWrongVariable(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Variables")
	s := assistant(t, g.url, key, nil)
	input := map[string]any{"document": "query ($first: Int) { agents(first: $first) { nodes { id } } }",
		"variables": map[string]any{"first": "many"}}
	const wanted = `Variable "$first" got invalid value; Int cannot represent`
	text, failed := callTool(t, s, "query", input)
	require.True(t, failed)
	require.Contains(t, text, wanted)
	text, _ = callTool(t, s, "validate", input)
	require.Contains(t, strings.ReplaceAll(text, `\"`, `"`), wanted)
}

func TestMCPChecksArguments(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Waits")
	s := assistant(t, g.url, key, nil)
	tools := listTools(t, s)
	for _, name := range []string{"run_tests", "get_results", "search_cause", "send_message"} {
		wait := tools[name].InputSchema.(map[string]any)["properties"].(map[string]any)["waitSeconds"].(map[string]any)
		require.InDelta(t, 0, wait["minimum"], 0, name)
		require.InDelta(t, 50, wait["maximum"], 0, name)
	}
	_, text := postMCP(t, g.url, key,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_results","arguments":[1]}}`, nil)
	require.Contains(t, text, `- arguments: must be an object`)
	for _, seconds := range []int{-1, 51, 600} {
		text, failed := callTool(t, s, "get_results", map[string]any{"executionId": "x", "waitSeconds": seconds})
		require.True(t, failed)
		require.Contains(t, text, "waitSeconds: must be 0 to 50")
	}
}

func TestMCPDescribesFailedAndLargeDocuments(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Documents")
	tools := listTools(t, assistant(t, g.url, key, nil))
	output, err := json.Marshal(tools["find_knowledge"].OutputSchema)
	require.NoError(t, err)
	require.Contains(t, string(output), `"error":`)
	require.Contains(t, tools["add_document"].Description, "uploaded as a file")
}

// A message to a chat that waits for approval is refused, however many other chats wait. Otherwise the message would
// give up the waiting call.
func TestMCPFindsTheWaitingChatAmongMany(t *testing.T) {
	t.Parallel()
	g, key, agent := newRefunding(t, io.Discard)
	s := assistant(t, g.url, key, nil)
	var first string
	for i := range 101 {
		text, failed := callTool(t, s, "start_chat", map[string]any{"agentId": agent,
			"toolMocking": map[string]any{"sideEffects": "Allow"}})
		require.False(t, failed, text)
		chat := idsIn(text)[0]
		if i == 0 {
			first = chat
		}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			_, _ = s.CallTool(ctx, &sdk.CallToolParams{Name: "send_message",
				Arguments: map[string]any{"chatId": chat, "text": "refund me"}})
		}()
		require.Eventually(t, func() bool {
			text, _ := callTool(t, s, "get_chat", map[string]any{"chatId": chat})
			return strings.Contains(text, `"pendingApprovals":[{`)
		}, 10*time.Second, 10*time.Millisecond)
		leave()
		<-left
	}
	text, failed := callTool(t, s, "send_message", map[string]any{"chatId": first, "text": "Hello?"})
	require.True(t, failed, text)
	require.Contains(t, text, "waits for a person's approval")
}
