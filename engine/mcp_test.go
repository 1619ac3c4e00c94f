package engine_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// shop is an MCP server in the test's process, which a clinic has connected.
type shop struct {
	*clinic
	server    *mcp.Server
	connected *model.McpServer
	e         *engine.Engine
}

func newShop(t *testing.T, m actor) *shop {
	t.Helper()
	s := &shop{clinic: newClinic(t, nil), server: mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)}
	s.offer("price", `{"type":"object","properties":{"day":{"type":"string"}}}`)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.server }, nil)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret key" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
	t.Cleanup(func() {
		for session := range s.server.Sessions() {
			_ = session.Close()
		}
	})
	s.e = newEngine(m, engine.Options{Caller: loopback(t)})
	var err error
	s.connected, err = s.e.CreateMcpServer(t.Context(), s.tenant, model.CreateMcpServerInput{Name: "Shop",
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: address, TimeoutSeconds: 5,
			Headers: model.JSONObject(`{"X-Key":"secret key"}`)}})
	require.NoError(t, err)
	require.Nil(t, s.connected.RefreshError)
	require.NotNil(t, s.connected.RefreshedAt)
	return s
}

func (s *shop) offer(name, schema string) {
	s.server.AddTool(&mcp.Tool{Name: name, Description: "Says the " + name, InputSchema: json.RawMessage(schema)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + string(r.Params.Arguments)}}}, nil
		})
}

func (s *shop) connectPrice(t *testing.T) *model.Tool {
	t.Helper()
	name := "price"
	tool, err := s.tenant.CreateTool(t.Context(), model.CreateToolInput{Name: name, TechnicalName: name,
		McpServerID: &s.connected.ID, McpName: &name})
	require.NoError(t, err)
	_, err = s.tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: s.agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	return tool
}

func (s *shop) said(t *testing.T, chat *model.SimulationChat) string {
	t.Helper()
	_, messages, err := send(t.Context(), s.e, s.tenant, chat.ID, "How much?")
	require.NoError(t, err)
	return messages[1].Text
}

func TestAgentsCallToolsOfMcpServers(t *testing.T) {
	t.Parallel()
	s := newShop(t, once("price", `{"day":"Monday"}`))
	tool := s.connectPrice(t)
	chat := s.start(t, s.e, nil)
	require.Equal(t, `price{"day":"Monday"}`, s.said(t, chat))
	call := s.calls(t, chat.ID)[0]
	require.Equal(t, &tool.ID, call.TargetID)
	require.False(t, call.Mocked)
	require.Equal(t, `price{"day":"Monday"}`, *call.Result)

	// Mocks, denials and coverage work as for any other tool.
	mocked := s.start(t, s.e, &model.ToolMocking{MockAllTools: true})
	require.Contains(t, s.said(t, mocked), "success")
	refused := s.start(t, s.e, &model.ToolMocking{SideEffects: model.SideEffectsDeny})
	require.Contains(t, s.said(t, refused), "side effects are denied")
	coverage, err := s.e.Coverage(t.Context(), s.tenant, []*model.SimulationChat{chat, mocked, refused})
	require.NoError(t, err)
	for chatID, want := range map[string]model.CallEffect{chat.ID: model.CallEffectReal, mocked.ID: model.CallEffectMocked,
		refused.ID: model.CallEffectDenied} {
		require.Equal(t, want, coverage[chatID][0].Effect)
	}
	outcome, err := s.e.CallTool(t.Context(), s.tenant, model.CallToolInput{ToolID: tool.ID,
		Arguments: model.JSONObject(`{"day":"Friday"}`)})
	require.NoError(t, err)
	require.Equal(t, `price{"day":"Friday"}`, *outcome.Result)
	_, err = s.e.CallTool(t.Context(), s.tenant, model.CallToolInput{ToolID: tool.ID, Arguments: model.JSONObject(`{"day":1}`)})
	requireCode(t, model.BadInput, err)
}

func TestToolsThatDisappearAreNoticed(t *testing.T) {
	t.Parallel()
	s := newShop(t, once("price", `{"day":"Monday"}`))
	tool := s.connectPrice(t)
	s.offer("stock", `{"type":"object"}`)
	_, changes, err := s.e.RefreshMcpServer(t.Context(), s.tenant, s.connected.ID)
	require.NoError(t, err)
	require.Equal(t, []*model.McpChange{{Name: "stock", Kind: model.McpChangeKindAdded, ToolIds: []string{}}}, changes)

	// The server changes the schema. A refresh stores the new one.
	s.offer("price", `{"type":"object","properties":{"day":{"type":"integer"}}}`)
	_, changes, err = s.e.RefreshMcpServer(t.Context(), s.tenant, s.connected.ID)
	require.NoError(t, err)
	require.Equal(t, []*model.McpChange{{Name: "price", Kind: model.McpChangeKindChanged,
		ToolIds: []string{tool.ID}}}, changes)
	_, err = s.e.CallTool(t.Context(), s.tenant, model.CallToolInput{ToolID: tool.ID,
		Arguments: model.JSONObject(`{"day":"Monday"}`)})
	requireCode(t, model.BadInput, err)

	// The server drops the tool. The first call that fails marks the tool as missing.
	s.server.RemoveTools("price")
	call := model.CallToolInput{ToolID: tool.ID, Arguments: model.JSONObject(`{"day":1}`)}
	outcome, err := s.e.CallTool(t.Context(), s.tenant, call)
	require.NoError(t, err)
	require.Contains(t, *outcome.Error, "the MCP server refused")
	missing, err := s.tenant.Tool(t.Context(), tool.ID)
	require.NoError(t, err)
	require.NotNil(t, missing.MissingSince)
	_, err = s.e.CallTool(t.Context(), s.tenant, call)
	requireCode(t, model.Unprocessable, err)
	coverage, err := s.e.CoverageOfAgents(t.Context(), s.tenant, []string{s.agent.ID}, nil)
	require.NoError(t, err)
	require.Equal(t, model.CallEffectUnavailable, coverage[s.agent.ID][0].Effect)

	// An unavailable server changes nothing.
	_, err = s.tenant.UpdateMcpServer(t.Context(), model.UpdateMcpServerInput{McpServerID: s.connected.ID,
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: serve(t, http.NotFound), TimeoutSeconds: 5,
			Headers: model.JSONObject(`{}`)}})
	require.NoError(t, err)
	away, changes, err := s.e.RefreshMcpServer(t.Context(), s.tenant, s.connected.ID)
	require.NoError(t, err)
	require.Empty(t, changes)
	require.Equal(t, "the MCP server answered 404 Not Found: 404 page not found", *away.RefreshError)
	require.Len(t, away.Offers, 1)
}

func TestCallsReadAnOutdatedListAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, once("price", `{"day":"Monday"}`))
	tool := s.connectPrice(t)
	s.offer("stock", `{"type":"object"}`)
	outdate := s.age(t, "11 minutes")
	offered := func() int {
		_, err := s.e.CallTool(t.Context(), s.tenant, model.CallToolInput{ToolID: tool.ID,
			Arguments: model.JSONObject(`{"day":"Monday"}`)})
		require.NoError(t, err)
		server, err := s.tenant.McpServer(t.Context(), s.connected.ID)
		require.NoError(t, err)
		return len(server.Offers)
	}
	require.Equal(t, 1, offered(), "the stored list is recent, so the call does not refresh it")
	outdate()
	require.Equal(t, 2, offered())
}

// age returns a function that sets the age of the stored list of the shop's tools.
func (s *shop) age(t *testing.T, age string) func() {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return func() {
		_, err := conn.Exec(t.Context(), "UPDATE mcp_servers SET refreshed_at = now() - $1::interval", age)
		require.NoError(t, err)
	}
}

func TestCallsFindMissingToolsAgain(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*shop, *model.Tool) string{
		"chat": func(s *shop, _ *model.Tool) string {
			chat := s.start(t, s.e, nil)
			s.said(t, chat)
			if call := s.calls(t, chat.ID)[0]; call.Error != nil {
				return *call.Error
			}
			return "called"
		},
		"trial": func(s *shop, tool *model.Tool) string {
			_, err := s.e.CallTool(t.Context(), s.tenant, model.CallToolInput{ToolID: tool.ID,
				Arguments: model.JSONObject(`{"day":"Monday"}`)})
			if err != nil {
				return err.Error()
			}
			return "called"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, once("price", `{"day":"Monday"}`))
			tool, outdate, renew := s.connectPrice(t), s.age(t, "11 seconds"), s.age(t, "-1 minute")
			s.server.RemoveTools("price")
			_, _, err := s.e.RefreshMcpServer(t.Context(), s.tenant, s.connected.ID)
			require.NoError(t, err)
			outdate()
			require.Contains(t, call(s, tool), "no longer offers", "the call read the list, which has no such tool")
			s.offer("price", `{"type":"object","properties":{"day":{"type":"string"}}}`)
			renew()
			require.Contains(t, call(s, tool), "no longer offers", "the list is recent")
			outdate()
			require.Equal(t, "called", call(s, tool))
			back, err := s.tenant.Tool(t.Context(), tool.ID)
			require.NoError(t, err)
			require.Nil(t, back.MissingSince)
		})
	}
}

func TestCallsFindAChangedSchema(t *testing.T) {
	t.Parallel()
	const changed = `{"type":"object","properties":{"week":{"type":"integer"}},"required":["week"]}`
	week := model.JSONObject(`{"week":1}`)
	var schema string
	s := newShop(t, actor(func(ctx context.Context, req llm.Request) (llm.Answer, error) {
		schema = string(req.Tools[0].Parameters)
		return once("price", string(week))(ctx, req)
	}))
	s.offer("price", `{"type":"object","properties":{"day":{"type":"string"}},"additionalProperties":false}`)
	_, _, err := s.e.RefreshMcpServer(t.Context(), s.tenant, s.connected.ID)
	require.NoError(t, err)
	tool, outdate, renew := s.connectPrice(t), s.age(t, "11 seconds"), s.age(t, "-1 minute")
	s.offer("price", changed)
	renew()
	_, err = s.e.CallTool(t.Context(), s.tenant, model.CallToolInput{ToolID: tool.ID, Arguments: week})
	requireCode(t, model.BadInput, err)
	outdate()
	outcome, err := s.e.CallTool(t.Context(), s.tenant, model.CallToolInput{ToolID: tool.ID, Arguments: week})
	require.NoError(t, err)
	require.Equal(t, `price{"week":1}`, *outcome.Result)

	// In a chat, the stored schema refuses what the server accepts.
	s.offer("price", `{"type":"object","properties":{"week":{"type":"string"}}}`)
	_, _, err = s.e.RefreshMcpServer(t.Context(), s.tenant, s.connected.ID)
	require.NoError(t, err)
	s.offer("price", changed)
	outdate()
	require.Equal(t, `price{"week":1}`, s.said(t, s.start(t, s.e, nil)))
	require.JSONEq(t, changed, schema, "the model sees the new schema")
}

// Calls with wrong arguments read a server's tools again, but not once for each call if the server fails.
func TestWrongCallsAskAFailingServerOnce(t *testing.T) {
	t.Parallel()
	var calls []llm.ToolCall
	for range 8 {
		calls = append(calls, llm.ToolCall{ID: model.NewID("c"), Name: "price", Arguments: `{"day":1}`})
	}
	var asked, requests atomic.Int32
	s := newShop(t, func(context.Context, llm.Request) (llm.Answer, error) {
		if asked.Add(1) == 1 {
			return llm.Answer{ToolCalls: calls}, nil
		}
		return say("I do not know.")
	})
	s.connectPrice(t)
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	_, err := s.tenant.UpdateMcpServer(t.Context(), model.UpdateMcpServerInput{McpServerID: s.connected.ID,
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: address, TimeoutSeconds: 5,
			Headers: model.JSONObject("{}")}})
	require.NoError(t, err)
	s.age(t, "11 seconds")()
	require.Equal(t, "I do not know.", s.said(t, s.start(t, s.e, nil)))
	require.LessOrEqual(t, requests.Load(), int32(2), "one attempt by each version of the protocol")
}
