package engine_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

const wish = `{"reason":"wants a human"}`

// broken is the failure of a provider.
var broken = &llm.Error{Cause: llm.Unavailable, Status: 500, Message: "the provider answered 500"}

func TestRealCallsAreRecordedBeforeTheyAreMade(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	expert := newAgent(t, c.tenant, nil)
	c.subAgent(t, c.agent, expert, "ask_expert")
	var chat *model.SimulationChat
	started := make(chan []*model.ToolCall, 1)
	c.tool(t, expert, "dig", serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls, err := c.tenant.ToolCallsOfChats(r.Context(), []string{chat.ID})
		if err != nil {
			calls = nil
		}
		started <- calls
		_, _ = io.WriteString(w, "gold")
	}))
	e := newEngine(actor(func(ctx context.Context, req llm.Request) (llm.Answer, error) {
		if req.Tools[0].Name == "dig" {
			return once("dig", "{}")(ctx, req)
		}
		return once("ask_expert", `{"request":"Dig"}`)(ctx, req)
	}), engine.Options{Caller: loopback(t)})
	chat = c.start(t, e, nil)
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, "Dig")
	require.NoError(t, err)
	require.Equal(t, "gold", messages[1].Text)
	seen := <-started
	require.Len(t, seen, 2, "the delegation and the call within")
	for _, call := range seen {
		require.True(t, call.IsOutcomeUnknown)
		require.False(t, call.IsTurnKept)
	}
	for i, call := range c.calls(t, chat.ID) {
		require.Equal(t, seen[i].ID, call.ID)
		require.Equal(t, "gold", *call.Result)
		require.True(t, call.IsTurnKept)
	}
}

func TestAgentRemembersCallsOfAFailedTurn(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	var booked atomic.Int32
	c.tool(t, c.agent, "book", serve(t, func(w http.ResponseWriter, _ *http.Request) {
		booked.Add(1)
		_, _ = io.WriteString(w, "booked")
	}))
	isBroken := true
	act := once("book", `{"day":"Monday"}`)
	e := newEngine(actor(func(ctx context.Context, req llm.Request) (llm.Answer, error) {
		if isBroken && len(results(req)) > 0 {
			return llm.Answer{}, broken
		}
		return act(ctx, req)
	}), engine.Options{Caller: loopback(t)})
	chat := c.start(t, e, nil)
	_, _, err := send(t.Context(), e, c.tenant, chat.ID, "Book Monday")
	requireCode(t, model.UpstreamFailed, err)
	requireUntouched(t, c.tenant, chat.ID)
	isBroken = false
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, "Book Monday")
	require.NoError(t, err)
	require.Equal(t, "booked", messages[1].Text)
	require.EqualValues(t, 1, booked.Load(), "it is not booked twice")
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 1)
	require.False(t, calls[0].IsTurnKept)
}

// transferring returns a clinic with a telephony provider, and the number of requests to the provider.
func transferring(t *testing.T, m llm.Model, meanwhile func()) (*clinic, *engine.Engine, *atomic.Int32) {
	t.Helper()
	c := newClinic(t, func(in *model.CreateAgentInput) { in.IsCallTransferEnabled, in.Channel = true, model.ChannelPhone })
	var asked atomic.Int32
	webhook := serve(t, func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		meanwhile()
	})
	return c, newEngine(m, engine.Options{Caller: loopback(t), TransferWebhook: webhook}), &asked
}

func TestTransferIsSavedAfterItsClientLeaves(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	c, e, asked := transferring(t, once(llm.TransferCall, wish), leave)
	chat := c.start(t, e, nil)
	after, messages, err := send(ctx, e, c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.Equal(t, "I am transferring you now.", messages[1].Text)
	require.Equal(t, "wants a human", *messages[1].EndReason)
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 1)
	require.NotNil(t, calls[0].Result)
	require.True(t, calls[0].IsTurnKept)
	_, _, err = send(t.Context(), e, c.tenant, chat.ID, "Hello?")
	requireCode(t, model.Conflict, err)
	require.EqualValues(t, 1, asked.Load())
}

func TestTransferIsNotRepeatedAfterAFailedSave(t *testing.T) {
	t.Parallel()
	c, e, asked := transferring(t, once(llm.TransferCall, wish), func() {})
	chat := c.start(t, e, nil)
	c.reads.broken.Store(new(`INSERT INTO "simulation_chat_messages"`))
	_, _, err := send(t.Context(), e, c.tenant, chat.ID, "A human, please")
	require.Error(t, err)
	c.reads.broken.Store(nil)
	requireUntouched(t, c.tenant, chat.ID)
	after, messages, err := send(t.Context(), e, c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status(), "the contact was transferred")
	require.Equal(t, "wants a human", *messages[1].EndReason)
	require.EqualValues(t, 1, asked.Load())
}

func TestCallThatCannotBeRecordedIsNotMade(t *testing.T) {
	t.Parallel()
	c, e, asked := transferring(t, once(llm.TransferCall, wish), func() {})
	chat := c.start(t, e, nil)
	c.reads.broken.Store(new(`INSERT INTO "tool_calls"`))
	_, _, err := send(t.Context(), e, c.tenant, chat.ID, "A human, please")
	require.Error(t, err)
	require.Zero(t, asked.Load())
}

// dieDuringTransfer leaves a chat as if a process had died while it transferred the contact.
func (c *clinic) dieDuringTransfer(t *testing.T, chatID string, result *string) {
	t.Helper()
	dead, err := c.tenant.BeginChatTurn(t.Context(), chatID, time.Microsecond)
	require.NoError(t, err)
	call := &model.ToolCall{
		ID: model.NewID("call"), Kind: model.ToolCallKindCallTransfer, TechnicalName: llm.TransferCall,
		Arguments: model.JSONObject(wish), StartedAt: time.Now(),
	}
	require.NoError(t, dead.BeginCall(t.Context(), call))
	if result != nil {
		call.Result = result
		require.NoError(t, dead.EndCall(t.Context(), call))
	}
}

func TestTransferOfDeadProcessHasUnknownOutcome(t *testing.T) {
	t.Parallel()
	// This agent tries again immediately. A real agent sees the earlier call and may act differently.
	c, e, asked := transferring(t, actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		told := results(req)
		if len(told) == 1 {
			return do(llm.TransferCall, wish)
		}
		return say(told[0] + " | " + told[1])
	}), func() {})
	chat := c.start(t, e, nil)
	c.dieDuringTransfer(t, chat.ID, nil)
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 1, "the started call is visible")
	require.True(t, calls[0].IsOutcomeUnknown)
	require.False(t, calls[0].IsTurnKept)

	after, messages, err := send(t.Context(), e, c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.Equal(t, "The call was started, and it is not known whether it succeeded. Do not repeat it unless that does "+
		"no harm. | "+
		"The call failed: an earlier transfer may have happened, so it is not repeated.", messages[1].Text)
	require.Equal(t, model.SimulationChatStatusOpen, after.Status())
	require.Zero(t, asked.Load())
}

func TestTransferOfDeadProcessIsNotRepeated(t *testing.T) {
	t.Parallel()
	c, e, asked := transferring(t, once(llm.TransferCall, wish), func() {})
	chat := c.start(t, e, nil)
	c.dieDuringTransfer(t, chat.ID, new("The contact is being transferred."))
	after, messages, err := send(t.Context(), e, c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.Equal(t, "The contact is being transferred.", messages[1].Text)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status(), "the contact was transferred")
	require.Equal(t, "wants a human", *messages[1].EndReason)
	require.Zero(t, asked.Load())
	require.Len(t, c.calls(t, chat.ID), 1)

	chat = c.start(t, e, nil)
	c.dieDuringTransfer(t, chat.ID, new("The contact is being transferred."))
	after, _, err = send(t.Context(), newEngine(offline.New(), engine.Options{}), c.tenant, chat.ID, "A human, please")
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
}

func TestConversationWarningsAreSaved(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	book := c.tool(t, c.agent, "book", "")
	c.subAgent(t, c.agent, newAgent(t, c.tenant, func(in *model.CreateAgentInput) { in.Prompt = "Know {mood}." }),
		"ask_expert")
	isBroken := true
	e := newEngine(actor(func(ctx context.Context, req llm.Request) (llm.Answer, error) {
		switch {
		case len(req.Tools) == 0:
			return say("42")
		case isBroken && len(results(req)) > 0:
			return llm.Answer{}, broken
		}
		return once("book", "{}", "ask_expert", `{"request":"?"}`)(ctx, req)
	}), engine.Options{})
	chat := c.start(t, e, &model.ToolMocking{
		MockedTools: []model.MockedTool{{ToolID: book.ID, Mock: model.Mock{ResultTemplate: new("{day} {shoe}")}}}})
	const end = "}, which has no value and is left unchanged"
	require.Equal(t, []string{"the mock of book has the placeholder {shoe" + end}, chat.Warnings)

	want := []string{
		"the mock of book has the placeholder {shoe" + end, "the mock of book has the placeholder {day" + end,
		"the sub-agent ask_expert answers without values for mood, because the data bag has none",
	}
	_, _, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
	requireCode(t, model.UpstreamFailed, err)
	kept, err := c.tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.ElementsMatch(t, want, kept.Warnings, "also when the turn fails")
	isBroken = false
	for range 2 {
		after, _, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
		require.NoError(t, err)
		require.Equal(t, kept.Warnings, after.Warnings, "each once")
	}
}

// Arguments that are not JSON differ from no arguments.
func TestUnreadableArgumentsAreAnnouncedAsNull(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	c.tool(t, c.agent, "book", "")
	release := make(chan struct{})
	e := newEngine(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		if len(results(req)) == 0 {
			return do("book", `{"day":`)
		}
		<-release // after the turn, a follower may get the messages instead of TurnStarted
		return say("Sorry.")
	}), engine.Options{})
	chat := c.start(t, e, nil)
	events := c.follow(t, chat.ID)
	sent := make(chan error, 1)
	go func() {
		_, _, err := send(t.Context(), e, c.tenant, chat.ID, "Book")
		sent <- err
	}()
	require.IsType(t, model.TurnStarted{}, next(events))
	require.Nil(t, next(events).(model.ToolCallStarted).Arguments)
	require.NotNil(t, next(events).(model.ToolCallFinished).Error)
	close(release)
	require.NoError(t, <-sent)
	require.JSONEq(t, "{}", string(c.calls(t, chat.ID)[0].Arguments))
}

func TestTurnThatFailsIsAnnouncedAndLogged(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	book := c.tool(t, c.agent, "book", "https://127.0.0.1:1")
	var log bytes.Buffer
	type trace struct{}
	e := engine.New(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		if len(results(req)) == 0 {
			return do("book", "{}")
		}
		return llm.Answer{}, broken
	}), engine.Options{
		Log:     slog.New(slog.NewTextHandler(&log, nil)),
		TraceID: func(ctx context.Context) string { id, _ := ctx.Value(trace{}).(string); return id },
	})
	chat := c.start(t, e, nil)
	events := c.follow(t, chat.ID)
	_, _, err := send(context.WithValue(t.Context(), trace{}, "trace-7"), e, c.tenant, chat.ID, "Book")
	requireCode(t, model.UpstreamFailed, err)
	require.Contains(t, log.String(), `msg="turn failed" chat=`+chat.ID)
	require.Contains(t, log.String(), `msg="call failed" chat=`+chat.ID)
	require.Equal(t, 2, bytes.Count(log.Bytes(), []byte("traceId=trace-7\n")))
	turn := next(events).(model.TurnStarted)
	require.Equal(t, model.TurnStarted{TurnID: turn.TurnID, MessageSequence: 1, Text: "Book"}, turn)
	started := next(events).(model.ToolCallStarted)
	finished := next(events).(model.ToolCallFinished)
	require.Equal(t, &book.ID, finished.TargetID)
	require.Equal(t, started.ID, finished.ID)
	require.Nil(t, finished.MockRule)
	failed := next(events).(model.TurnFailed)
	require.Equal(t, "the provider answered 500", failed.Reason)
	require.False(t, failed.IsSuspended)
	require.Equal(t, int32(1), failed.MessageSequence)
	require.Equal(t, turn.TurnID, failed.TurnID)

	ctx, leave := context.WithCancel(t.Context())
	e = newEngine(actor(func(context.Context, llm.Request) (llm.Answer, error) {
		leave()
		return llm.Answer{}, ctx.Err()
	}), engine.Options{})
	_, _, err = send(ctx, e, c.tenant, chat.ID, "Book")
	require.ErrorIs(t, err, context.Canceled)
	require.IsType(t, model.TurnStarted{}, next(events))
	left := next(events).(model.TurnFailed)
	require.Equal(t, "the client disconnected before the agent answered", left.Reason)
	require.NotEqual(t, failed.TurnID, left.TurnID)
}
