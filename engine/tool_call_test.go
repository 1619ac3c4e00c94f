package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestToolsAreCalledOverHTTP(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/fail" {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Secret"), body)
	})
	c.tool(t, c.agent, "book", address+"/book")
	c.tool(t, c.agent, "fail", address+"/fail")
	c.tool(t, c.agent, "nowhere", "")
	e := newEngine(once("book", `{"day":"Monday"}`, "fail", "{}", "nowhere", "{}"), engine.Options{Caller: loopback(t)})
	chat := c.start(t, e, nil)
	require.Equal(t, model.SideEffectsAllow, chat.ToolMocking.SideEffects)
	before := c.reads.Load()
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
	require.NoError(t, err)
	require.EqualValues(t, 6, c.reads.Load()-before, "messages, calls, agent, tools, sub-agents, knowledge base chat: "+
		"in one round trip")
	want := []string{
		`POST [hidden] {"day":"Monday"}`,
		"The call failed: the tool answered 503 Service Unavailable: out of order.",
		"The call failed: the tool has no endpoint, so it cannot be called.",
	}
	require.Equal(t, strings.Join(want, " | "), messages[1].Text)

	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 3)
	for i, call := range calls {
		require.Equal(t, int32(1), call.MessageSequence)
		require.Equal(t, int32(i), call.Position)
		require.Equal(t, chat.ID, call.ChatID)
		require.True(t, call.IsTurnKept)
		require.False(t, call.Mocked)
	}
	require.Equal(t, want[0], *calls[0].Result)
	require.Equal(t, "the tool answered 503 Service Unavailable: out of order", *calls[1].Error)
	require.JSONEq(t, `{"day":"Monday"}`, string(calls[0].Arguments))

	// By default, an engine cannot reach loopback addresses.
	before = c.reads.Load()
	_, messages, err = send(t.Context(), newEngine(once("book", "{}"), engine.Options{}), c.tenant, chat.ID, "Again")
	require.NoError(t, err)
	require.Contains(t, messages[1].Text, "a network that may not be reached")
	require.EqualValues(t, 6, c.reads.Load()-before)
}

func TestAgentRemembersItsCalls(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	book := c.tool(t, c.agent, "book", "")
	var asked []llm.Request
	act := once("book", `{"day":"Monday"}`)
	e := newEngine(actor(func(ctx context.Context, req llm.Request) (llm.Answer, error) {
		asked = append(asked, req)
		return act(ctx, req)
	}), engine.Options{})
	second := int32(1)
	template, rule := "{day} at {clinic}", "rule"
	chat := c.start(t, e, &model.ToolMocking{MockedTools: []model.MockedTool{{ToolID: book.ID, Mock: model.Mock{
		ResultTemplate: &template, Rules: []model.MockRule{{CallIndex: &second, ResultTemplate: &rule}},
	}}}})
	for _, want := range []string{"Monday at Lakeside", "rule", "Monday at Lakeside"} {
		_, messages, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
		require.NoError(t, err)
		require.Equal(t, want, messages[1].Text)
	}
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 3)
	require.Equal(t, []int32{1, 3, 5}, []int32{calls[0].MessageSequence, calls[1].MessageSequence,
		calls[2].MessageSequence})
	require.Nil(t, calls[0].MockRule)
	require.Equal(t, int32(0), *calls[1].MockRule)
	require.True(t, calls[0].Mocked)
	require.Equal(t, []llm.Message{
		{Role: llm.RoleUser, Text: "Book"},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: calls[0].ID, Name: "book", Arguments: `{"day":"Monday"}`}}},
		{Role: llm.RoleTool, ToolCallID: calls[0].ID, Text: "Monday at Lakeside"},
		{Role: llm.RoleAssistant, Text: "Monday at Lakeside"},
		{Role: llm.RoleUser, Text: "Book"},
	}, asked[2].Messages)
}

func TestDelegationRunsTheStoredSubAgent(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	expert := newAgent(t, c.tenant, func(in *model.CreateAgentInput) { in.Prompt = "You are the expert of {clinic}." })
	c.subAgent(t, c.agent, expert, "ask_expert")
	c.subAgent(t, expert, c.agent, "ask_reception")
	c.tool(t, expert, "dig", serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "gold") }))
	e := newEngine(actor(func(ctx context.Context, req llm.Request) (llm.Answer, error) {
		if strings.HasPrefix(req.System, "You are the expert of Lakeside.") {
			return once("dig", "{}", "ask_reception", `{"request":"?"}`)(ctx, req)
		}
		return once("ask_expert", `{"request":"Dig"}`)(ctx, req)
	}), engine.Options{Caller: loopback(t)})
	chat := c.start(t, e, &model.ToolMocking{MockAllTools: true})
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, "Dig")
	require.NoError(t, err)
	const circle = "the agent behind it is already waiting for this answer, so asking it would never end"
	require.Equal(t, "gold | The call failed: "+circle+".", messages[1].Text)
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 3)
	require.Equal(t, []string{"ask_expert", "dig", "ask_reception"},
		[]string{calls[0].TechnicalName, calls[1].TechnicalName, calls[2].TechnicalName})
	require.Equal(t, calls[0].ID, *calls[1].DelegationID)
	require.Equal(t, "gold", *calls[1].Result)
	require.Equal(t, circle, *calls[2].Error)
}

func TestTransferPostsToTheWebhook(t *testing.T) {
	t.Parallel()
	c := newClinic(t, func(in *model.CreateAgentInput) { in.IsCallTransferEnabled, in.Channel = true, model.ChannelPhone })
	posted := make(chan map[string]string, 1)
	webhook := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		var body map[string]string
		_ = json.NewDecoder(r.Body).Decode(&body)
		posted <- body
	})
	m := once(llm.TransferCall, `{"reason":"wants a human"}`)
	with := newEngine(m, engine.Options{Caller: loopback(t), TransferWebhook: webhook})
	without := newEngine(m, engine.Options{})

	chat := c.start(t, without, nil)
	after, messages, err := send(t.Context(), without, c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.Equal(t, "The call failed: no telephony provider is configured, so the call cannot be transferred.",
		messages[1].Text)
	require.Equal(t, model.SimulationChatStatusOpen, after.Status())

	after, messages, err = send(t.Context(), with, c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.True(t, messages[1].IsConversationEnded)
	require.Equal(t, "wants a human", *messages[1].EndReason)
	require.Equal(t, map[string]string{"conversationId": chat.ID, "agentId": c.agent.ID, "reason": "wants a human"},
		<-posted)
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 2)
	require.Equal(t, model.ToolCallKindCallTransfer, calls[1].Kind)
	require.Nil(t, calls[1].TargetID)
}

func TestTransferIsSavedAfterAModelFailure(t *testing.T) {
	t.Parallel()
	c := newClinic(t, func(in *model.CreateAgentInput) {
		in.IsCallTransferEnabled, in.Channel, in.Language = true, model.ChannelPhone, "fr"
	})
	e := newEngine(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		if len(results(req)) > 0 {
			return llm.Answer{}, &llm.Error{Cause: llm.Unavailable, Status: 500, Message: "the provider answered 500"}
		}
		return do("cook", `{"b":1,"a":2}`, llm.TransferCall, `{"reason":"wants a human"}`)
	}), engine.Options{Caller: loopback(t), TransferWebhook: serve(t, func(http.ResponseWriter, *http.Request) {})})
	chat := c.start(t, e, nil)
	after, messages, err := send(t.Context(), e, c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.Equal(t, "Je vous transfère.", messages[1].Text)
	require.Equal(t, "wants a human", *messages[1].EndReason)
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 2)
	require.Equal(t, "cook", calls[0].TechnicalName)
	require.Nil(t, calls[0].TargetID)
	require.Equal(t, `{"b":1,"a":2}`, string(calls[0].Arguments))
	require.Contains(t, *calls[0].Error, `there is no tool "cook"`)
	require.True(t, calls[1].IsTurnKept)
}

func TestCallsOfAFailedTurnAreKept(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	c.tool(t, c.agent, "book", "")
	var told [][]llm.Message
	e := newEngine(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		told = append(told, req.Messages)
		if len(results(req)) > 0 {
			return llm.Answer{}, &llm.Error{Cause: llm.Unavailable, Status: 500, Message: "the provider answered 500"}
		}
		return do("book", "{}")
	}), engine.Options{})
	chat := c.start(t, e, &model.ToolMocking{MockAllTools: true})
	for range 2 {
		_, _, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
		require.Contains(t, requireCode(t, model.UpstreamFailed, err), "the provider answered 500")
		requireUntouched(t, c.tenant, chat.ID)
	}
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 2)
	for _, call := range calls {
		require.False(t, call.IsTurnKept)
		require.NotNil(t, call.Result)
		require.Equal(t, int32(1), call.MessageSequence)
	}
	require.Equal(t, told[0], told[2], "the agent does not remember a turn that failed")
}

func TestCallsOfAnEndedChatAreKept(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	var e *engine.Engine
	var chat *model.SimulationChat
	c.tool(t, c.agent, "book", serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "booked")
		_, _ = c.tenant.EndSimulationChat(context.Background(), chat.ID)
	}))
	e = newEngine(once("book", "{}"), engine.Options{Caller: loopback(t)})
	chat = c.start(t, e, nil)
	_, _, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
	require.Contains(t, requireCode(t, model.Conflict, err), "has ended")
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 1)
	require.False(t, calls[0].IsTurnKept)
}

func TestDelayEndsWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	book := c.tool(t, c.agent, "book", "")
	e := newEngine(once("book", "{}"), engine.Options{})
	chat := c.start(t, e, &model.ToolMocking{
		MockedTools: []model.MockedTool{{ToolID: book.ID, Mock: model.Mock{DelaySeconds: 60}}}})
	events := c.follow(t, chat.ID)
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() {
		_, _, err := send(ctx, e, c.tenant, chat.ID, "Book")
		sent <- err
	}()
	require.IsType(t, model.TurnStarted{}, next(events))
	require.IsType(t, model.ToolCallStarted{}, next(events))
	cancel()
	require.ErrorIs(t, <-sent, context.Canceled)
	requireUntouched(t, c.tenant, chat.ID)
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 1)
	require.Equal(t, "the turn ended before the call did", *calls[0].Error)
	require.Less(t, calls[0].DurationMs, int32(time.Minute.Milliseconds()))
}

func TestCallsAreAnnounced(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	book := c.tool(t, c.agent, "book", "")
	e := newEngine(once("book", `{"day":"Monday"}`), engine.Options{})
	chat := c.start(t, e, &model.ToolMocking{MockedTools: []model.MockedTool{{ToolID: book.ID, Mock: model.Mock{
		Rules: []model.MockRule{{CallIndex: new(int32)}},
	}}}})
	events := c.follow(t, chat.ID)
	_, _, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
	require.NoError(t, err)
	// A follower that reads the rows itself may see the messages before the announcement of the calls.
	call := c.calls(t, chat.ID)[0]
	var started model.ToolCallStarted
	var finished model.ToolCallFinished
	for finished.ID == "" {
		switch event := next(events).(type) {
		case model.ToolCallStarted:
			require.Empty(t, finished.ID)
			started = event
		case model.ToolCallFinished:
			finished = event
		}
	}
	require.Equal(t, model.ToolCallStarted{
		ID: call.ID, Kind: model.ToolCallKindTool, TargetID: &book.ID, TechnicalName: "book",
		Arguments: model.JSONObject(`{"day":"Monday"}`), MessageSequence: 1,
	}, started)
	require.Equal(t, model.ToolCallFinished{
		ID: call.ID, Kind: model.ToolCallKindTool, TargetID: &book.ID, TechnicalName: "book", MessageSequence: 1,
		Result: call.Result, Mocked: true, MockRule: new(int32), DurationMs: call.DurationMs,
	}, finished)
}

func TestMocksAreValidatedAtStart(t *testing.T) {
	t.Parallel()
	c := newClinic(t, func(in *model.CreateAgentInput) { in.IsCallTransferEnabled, in.Channel = true, model.ChannelPhone })
	book := c.tool(t, c.agent, "book", "")
	expert := newAgent(t, c.tenant, nil)
	dig := c.tool(t, expert, "dig", "")
	ask := c.subAgent(t, c.agent, expert, "ask_expert")
	e := newEngine(greets, engine.Options{})

	template := "{day} {shoe}"
	mocking := &model.ToolMocking{
		MockedTools:     []model.MockedTool{{ToolID: book.ID, Mock: model.Mock{ResultTemplate: &template}}},
		MockAllTools:    true,
		MockedSubAgents: []model.MockedSubAgent{{SubAgentID: ask.ID, Mock: model.Mock{DelaySeconds: 1.5}}},
		SideEffects:     model.SideEffectsDeny,
	}
	chat := c.start(t, e, mocking)
	kept, err := c.tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, *mocking, kept.ToolMocking)
	require.Equal(t, []string{"the mock of book has the placeholder {shoe}, which has no value and is left unchanged"},
		kept.Warnings)

	_, err = e.StartSimulationChat(t.Context(), c.tenant, model.StartSimulationChatInput{
		AgentID: c.agent.ID, DataBag: model.JSONObject(`{"clinic":"Lakeside"}`),
		ToolMocking: &model.ToolMocking{MockedTools: []model.MockedTool{{ToolID: dig.ID}}},
	})
	text := requireCode(t, model.Unprocessable, err)
	require.Contains(t, text, "toolMocking.mockedTools.0.toolId")
	require.Contains(t, text, book.ID+" (book)")
}
