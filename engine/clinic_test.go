package engine_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// greets is a model that only says hello.
var greets = actor(func(context.Context, llm.Request) (llm.Answer, error) { return say("Hello") })

// actor is a model that is a function from the request to the answer.
type actor func(ctx context.Context, req llm.Request) (llm.Answer, error)

func (actor) Name() string { return "an actor" }

func (a actor) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		answer, err := a(ctx, req)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		yield(llm.Chunk{Text: answer.Text, Finish: llm.FinishStop, ToolCalls: answer.ToolCalls}, nil)
	}
}

func say(text string) (llm.Answer, error) { return llm.Answer{Text: text}, nil }

// do returns an answer that makes calls. Names and arguments alternate.
func do(namesAndArguments ...string) (llm.Answer, error) {
	var answer llm.Answer
	for i := 0; i < len(namesAndArguments); i += 2 {
		answer.ToolCalls = append(answer.ToolCalls, llm.ToolCall{
			ID: fmt.Sprint("c", i), Name: namesAndArguments[i], Arguments: namesAndArguments[i+1],
		})
	}
	return answer, nil
}

// results returns the results that the model sees after the contact's last message.
func results(req llm.Request) []string {
	var results []string
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleUser:
			results = nil
		case llm.RoleTool:
			results = append(results, m.Text)
		}
	}
	return results
}

// once is a model that makes the calls once in each turn, and then says their results.
func once(namesAndArguments ...string) actor {
	return func(_ context.Context, req llm.Request) (llm.Answer, error) {
		if told := results(req); len(told) > 0 {
			return say(strings.Join(told, " | "))
		}
		return do(namesAndArguments...)
	}
}

// reads counts the statements that read rows without locking them. It does not count notifications, whose number
// depends on timing. It also lets some statements fail.
type reads struct {
	atomic.Int64
	// broken is the prefix of statements that must fail. Nil means none.
	broken atomic.Pointer[string]
	// holding is a part of statements that must fail. Nil means none.
	holding atomic.Pointer[string]
}

func (r *reads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	broken, holding := r.broken.Load(), r.holding.Load()
	if broken != nil && strings.HasPrefix(query.SQL, *broken) || holding != nil && strings.Contains(query.SQL, *holding) {
		failed, cancel := context.WithCancel(ctx)
		cancel()
		return failed
	}
	if strings.HasPrefix(query.SQL, "SELECT") && strings.Contains(query.SQL, "FROM \"") &&
		!strings.Contains(query.SQL, "FOR UPDATE") {
		r.Add(1)
	}
	return ctx
}

func (*reads) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *reads) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, query := range data.Batch.QueuedQueries {
		ctx = r.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: query.SQL})
	}
	return ctx
}

func (*reads) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*reads) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// clinic is an agent with its company and store.
type clinic struct {
	store     *db.Store
	reads     *reads
	tenant    *db.Tenant
	companyID string
	address   string
	agent     *model.Agent
}

func newClinic(t *testing.T, change func(*model.CreateAgentInput)) *clinic {
	t.Helper()
	c := &clinic{reads: &reads{}, address: dbtest.URL(t)}
	c.store = dbtest.Open(t, c.address, db.Options{SecretKey: []byte(strings.Repeat("k", 32)), Tracer: c.reads})
	c.tenant, c.companyID = newTenant(t, c.store)
	c.agent = newAgent(t, c.tenant, change)
	return c
}

func (c *clinic) tool(t *testing.T, agent *model.Agent, name, address string) *model.Tool {
	t.Helper()
	in := model.CreateToolInput{
		Name: name, TechnicalName: name, Description: new("To " + name),
		Parameters: model.JSONObject(`{"type":"object","properties":{"day":{"type":"string"}}}`),
	}
	if address != "" {
		in.Endpoint = &model.ToolEndpointInput{
			Method: model.HTTPMethodPost, URL: address, TimeoutSeconds: 5,
			Headers: model.JSONObject(`{"X-Secret":"open sesame"}`),
		}
	}
	tool, err := c.tenant.CreateTool(t.Context(), in)
	require.NoError(t, err)
	_, err = c.tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	return tool
}

func (c *clinic) subAgent(t *testing.T, agent, delegate *model.Agent, name string) *model.SubAgent {
	t.Helper()
	sub, _, err := c.tenant.AddSubAgent(t.Context(), model.AddSubAgentInput{
		AgentID: agent.ID, DelegateAgentID: delegate.ID, Name: name, TechnicalName: name, Description: new("Knows"),
	})
	require.NoError(t, err)
	return sub
}

func (c *clinic) start(t *testing.T, e *engine.Engine, mocking *model.ToolMocking) *model.SimulationChat {
	t.Helper()
	chat, err := e.StartSimulationChat(t.Context(), c.tenant, model.StartSimulationChatInput{
		AgentID: c.agent.ID, DataBag: model.JSONObject(`{"clinic":"Lakeside"}`), ToolMocking: mocking,
	})
	require.NoError(t, err)
	return chat
}

func (c *clinic) calls(t *testing.T, chatID string) []*model.ToolCall {
	t.Helper()
	calls, err := c.tenant.ToolCallsOfChats(t.Context(), []string{chatID})
	require.NoError(t, err)
	return calls
}

// loopback returns a Caller that can reach the servers of tests.
func loopback(t testing.TB) *endpoint.Caller {
	t.Helper()
	caller, err := endpoint.New(endpoint.Options{Allow: []string{"127.0.0.1"}})
	require.NoError(t, err)
	t.Cleanup(caller.Close)
	return caller
}

func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// follow returns the events of a chat from now on, as the database sends them.
func (c *clinic) follow(t *testing.T, chatID string) <-chan model.SimulationChatEvent {
	t.Helper()
	events, err := c.tenant.FollowEvents(t.Context(), chatID)
	require.NoError(t, err)
	turn, err := c.tenant.BeginChatTurn(t.Context(), chatID, time.Minute)
	require.NoError(t, err)
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for heard := false; !heard; {
		select {
		case <-events:
			heard = true
		case <-ticks.C:
			turn.Write("la ")
		}
	}
	require.NoError(t, turn.Release(t.Context(), nil))
	return events
}

// next returns the next event other than text.
func next(events <-chan model.SimulationChatEvent) model.SimulationChatEvent {
	for event := range events {
		if _, ok := event.(model.MessageDelta); !ok {
			return event
		}
	}
	return nil
}
