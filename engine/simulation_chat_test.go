package engine_test

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// modelFunc is a model as a function: it speaks, and returns how the answer ends.
type modelFunc func(ctx context.Context, req llm.Request, speak func(string)) error

func (modelFunc) Name() string { return "a model" }

func (f modelFunc) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		left := false
		err := f(ctx, req, func(text string) { left = left || !yield(llm.Chunk{Text: text}, nil) })
		switch {
		case left:
		case err != nil:
			yield(llm.Chunk{}, err)
		default:
			yield(llm.Chunk{Finish: llm.FinishStop}, nil)
		}
	}
}

func newEngine(store *db.Store, m llm.Model, o engine.Options) *engine.Engine {
	o.Log = slog.New(slog.DiscardHandler)
	return engine.New(store, m, o)
}

func newTenant(t *testing.T, store *db.Store) (*db.Tenant, string) {
	t.Helper()
	company, err := store.CreateCompany(t.Context(), t.Name())
	require.NoError(t, err)
	return store.Tenant(company.ID), company.ID
}

func newAgent(t *testing.T, tenant *db.Tenant, change func(*model.CreateAgentInput)) *model.Agent {
	t.Helper()
	in := model.CreateAgentInput{
		Name: "Reception", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt: "You are the receptionist of {clinic}.\nThe clinic opens at eight.",
		Fields: []*model.AgentField{{Name: "clinic", IsMandatory: true}},
	}
	if change != nil {
		change(&in)
	}
	agent, err := tenant.CreateAgent(t.Context(), in)
	require.NoError(t, err)
	return agent
}

func start(t *testing.T, e *engine.Engine, tenant *db.Tenant) *model.SimulationChat {
	t.Helper()
	chat, err := e.StartSimulationChat(t.Context(), tenant, model.StartSimulationChatInput{
		AgentID: newAgent(t, tenant, nil).ID, DataBag: model.JSONObject(`{"clinic":"Lakeside"}`),
	})
	require.NoError(t, err)
	return chat
}

func send(ctx context.Context, e *engine.Engine, tenant *db.Tenant, chatID, text string) (*model.SimulationChat, []*model.SimulationChatMessage, error) {
	return e.SendSimulationMessage(ctx, tenant, model.SendSimulationMessageInput{SimulationChatID: chatID, Text: text})
}

// requireCode holds an error to a code and returns its text.
func requireCode(t *testing.T, want model.Code, err error) string {
	t.Helper()
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, want, known.Code, known.Message)
	return known.Error()
}

// requireUntouched holds a chat to be as if nothing had been sent to it.
func requireUntouched(t *testing.T, tenant *db.Tenant, chatID string) {
	t.Helper()
	chat, err := tenant.SimulationChat(t.Context(), chatID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusOpen, chat.State)
	require.Nil(t, chat.ReplyID)
	messages, err := tenant.MessagesAfter(t.Context(), chatID, 0)
	require.NoError(t, err)
	require.Empty(t, messages)
}

func TestStartSimulationChat(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	stranger, _ := newTenant(t, store)
	welcome := "Welcome to {clinic}, {who}."
	agent := newAgent(t, tenant, func(in *model.CreateAgentInput) {
		in.InboundWelcomeMessage = &welcome
		in.IsCallTransferEnabled = true
	})
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "Book", TechnicalName: "book"})
	require.NoError(t, err)
	_, err = tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	e := newEngine(store, offline.New(), engine.Options{})

	chat, err := e.StartSimulationChat(t.Context(), tenant, model.StartSimulationChatInput{
		AgentID: agent.ID, DataBag: model.JSONObject(`{"clinic":"Lakeside","shoe":"38"}`), ToolMocking: &model.ToolMocking{},
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		`the data bag's "shoe" is not a field of the agent; it is kept`,
		"the welcome message has the placeholder {who}, for which there is no value; it stays as it is",
		"the agent has tools, call transfer, which simulated chats do not use yet",
	}, chat.Warnings)
	kept, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"clinic":"Lakeside","shoe":"38"}`, string(kept.DataBag))
	require.Equal(t, chat.Warnings, kept.Warnings)
	messages, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, messages, 1)
	require.Equal(t, "Welcome to Lakeside, {who}.", messages[0].Text)
	require.Equal(t, model.MessageRoleAssistant, messages[0].Role)

	for name, test := range map[string]struct {
		tenant *db.Tenant
		in     model.StartSimulationChatInput
		code   model.Code
		text   string
	}{
		"no agent":         {tenant, model.StartSimulationChatInput{AgentID: "agent_unknown"}, model.NotFound, "agent_unknown"},
		"another's agent":  {stranger, model.StartSimulationChatInput{AgentID: agent.ID}, model.NotFound, agent.ID},
		"no agent id":      {tenant, model.StartSimulationChatInput{}, model.BadInput, "agentId"},
		"missing field":    {tenant, model.StartSimulationChatInput{AgentID: agent.ID}, model.Unprocessable, "clinic"},
		"number in bag":    {tenant, model.StartSimulationChatInput{AgentID: agent.ID, DataBag: model.JSONObject(`{"clinic":1}`)}, model.BadInput, "dataBag"},
		"nothing in bag":   {tenant, model.StartSimulationChatInput{AgentID: agent.ID, DataBag: model.JSONObject(`{"clinic":null}`)}, model.BadInput, "dataBag"},
		"mocked transfer":  {tenant, model.StartSimulationChatInput{AgentID: agent.ID, ToolMocking: &model.ToolMocking{MockCallTransfer: true}}, model.Unprocessable, "toolMocking"},
		"mocked tools":     {tenant, model.StartSimulationChatInput{AgentID: agent.ID, ToolMocking: &model.ToolMocking{MockAllTools: true}}, model.Unprocessable, "toolMocking"},
		"a delay too long": {tenant, model.StartSimulationChatInput{AgentID: agent.ID, ToolMocking: &model.ToolMocking{MockedTools: []model.MockedTool{{ToolID: tool.ID, DelaySeconds: 61}}}}, model.BadInput, "delaySeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.StartSimulationChat(t.Context(), test.tenant, test.in)
			require.Contains(t, requireCode(t, test.code, err), test.text)
		})
	}
	page, err := tenant.SimulationChats(t.Context(), model.PageArgs{First: 10}, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1, "what was refused left nothing")
}

func TestConversationWithTheOfflineModel(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	e := newEngine(store, offline.New(), engine.Options{})
	chat := start(t, e, tenant)

	after, messages, err := send(t.Context(), e, tenant, chat.ID, "When do you open?")
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusOpen, after.Status())
	require.Len(t, messages, 2)
	require.Equal(t, "When do you open?", messages[0].Text)
	require.Equal(t, []int32{1, 2}, []int32{messages[0].Sequence, messages[1].Sequence})
	require.Contains(t, messages[1].Text, "The clinic opens at eight.")
	require.False(t, messages[1].Timestamp.Before(messages[0].Timestamp))

	after, messages, err = send(t.Context(), e, tenant, chat.ID, "Goodbye")
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.True(t, messages[1].IsConversationEnded)
	require.Equal(t, "The contact said goodbye.", *messages[1].EndReason)

	_, _, err = send(t.Context(), e, tenant, chat.ID, "One more thing")
	requireCode(t, model.Conflict, err)
	ended, err := e.EndSimulationChat(t.Context(), tenant, model.EndSimulationChatInput{SimulationChatID: chat.ID})
	require.NoError(t, err)
	require.Equal(t, after.EndedAt, ended.EndedAt)
	all, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, all, 4)
}

func TestWhatTheModelIsAsked(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	var asked llm.Request
	e := newEngine(store, modelFunc(func(_ context.Context, req llm.Request, speak func(string)) error {
		asked = req
		speak("Answer to " + req.Messages[len(req.Messages)-1].Text)
		return nil
	}), engine.Options{})
	chat := start(t, e, tenant)
	for _, text := range []string{"one", "two"} {
		_, _, err := send(t.Context(), e, tenant, chat.ID, text)
		require.NoError(t, err)
	}
	require.True(t, strings.HasPrefix(asked.System, "You are the receptionist of Lakeside.\n"), asked.System)
	require.Equal(t, []llm.Message{
		{Role: llm.RoleUser, Text: "one"}, {Role: llm.RoleAssistant, Text: "Answer to one"}, {Role: llm.RoleUser, Text: "two"},
	}, asked.Messages)
	require.Len(t, asked.Tools, 1)
	require.Equal(t, llm.EndConversation, asked.Tools[0].Name)
}

func TestMessageOutOfBounds(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	stranger, _ := newTenant(t, store)
	e := newEngine(store, offline.New(), engine.Options{})
	chat := start(t, e, tenant)
	for _, text := range []string{"", strings.Repeat("é", 4_001), "a\x00b"} {
		_, _, err := send(t.Context(), e, tenant, chat.ID, text)
		requireCode(t, model.BadInput, err)
	}
	_, _, err := send(t.Context(), e, stranger, chat.ID, "Hello")
	requireCode(t, model.NotFound, err)
	_, err = e.EndSimulationChat(t.Context(), stranger, model.EndSimulationChatInput{SimulationChatID: chat.ID})
	requireCode(t, model.NotFound, err)
	requireUntouched(t, tenant, chat.ID)
	_, _, err = send(t.Context(), e, tenant, chat.ID, strings.Repeat("é", 4_000))
	require.NoError(t, err)
}

func TestModelThatFailsKeepsNothing(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	for name, test := range map[string]struct {
		model modelFunc
		text  string
	}{
		"refused": {func(context.Context, llm.Request, func(string)) error {
			return &llm.Error{Cause: llm.RateLimited, Status: 429, Message: "the provider answered 429"}
		}, "the provider answered 429"},
		"cut off": {func(_ context.Context, _ llm.Request, speak func(string)) error {
			speak("Good mor")
			return &llm.Error{Cause: llm.CutOff, Status: 200, Message: "the provider's answer was cut off"}
		}, "the provider's answer was cut off"},
		"empty": {func(context.Context, llm.Request, func(string)) error { return nil }, "empty answer"},
		"too slow": {func(ctx context.Context, _ llm.Request, speak func(string)) error {
			speak("Good mor")
			<-ctx.Done()
			return ctx.Err()
		}, "did not finish its reply within 20ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(store, test.model, engine.Options{ReplyTimeout: 20 * time.Millisecond})
			chat := start(t, e, tenant)
			_, _, err := send(t.Context(), e, tenant, chat.ID, "Hello")
			require.Contains(t, requireCode(t, model.UpstreamFailed, err), test.text)
			requireUntouched(t, tenant, chat.ID)
			_, messages, err := send(t.Context(), newEngine(store, offline.New(), engine.Options{}), tenant, chat.ID, "Hello")
			require.NoError(t, err)
			require.Equal(t, int32(1), messages[0].Sequence)
		})
	}
}

func TestClientThatLeavesInMidReply(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	e := newEngine(store, modelFunc(func(ctx context.Context, _ llm.Request, speak func(string)) error {
		speak("Good mor")
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}), engine.Options{})
	chat := start(t, e, tenant)
	_, _, err := send(ctx, e, tenant, chat.ID, "Hello")
	require.ErrorIs(t, err, context.Canceled)
	requireUntouched(t, tenant, chat.ID)
}

func TestTwoSendsAtOnce(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, companyID := newTenant(t, store)
	release := make(chan struct{})
	slow := modelFunc(func(_ context.Context, _ llm.Request, speak func(string)) error {
		<-release
		speak("Good morning")
		return nil
	})
	one, other := newEngine(store, slow, engine.Options{}), newEngine(store, slow, engine.Options{})
	elsewhere := dbtest.Again(t, store).Tenant(companyID)
	chat := start(t, one, tenant)

	const sends = 8
	errs := make(chan error, sends)
	for i := range sends {
		e, from := one, tenant
		if i%2 == 1 {
			e, from = other, elsewhere
		}
		go func() {
			_, _, err := send(context.Background(), e, from, chat.ID, "Hello")
			errs <- err
		}()
	}
	for range sends - 1 {
		requireCode(t, model.Conflict, <-errs)
	}
	close(release)
	require.NoError(t, <-errs)
	messages, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, messages, 2)
}

func TestChatThatIsEndedInMidReply(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, companyID := newTenant(t, store)
	elsewhere := dbtest.Again(t, store).Tenant(companyID)
	var e *engine.Engine
	var chat *model.SimulationChat
	e = newEngine(store, modelFunc(func(ctx context.Context, _ llm.Request, speak func(string)) error {
		speak("Good mor")
		if _, err := e.EndSimulationChat(ctx, elsewhere, model.EndSimulationChatInput{SimulationChatID: chat.ID}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}), engine.Options{})
	chat = start(t, e, tenant)
	_, _, err := send(t.Context(), e, tenant, chat.ID, "Hello")
	require.Contains(t, requireCode(t, model.Conflict, err), "has ended")
	after, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.Zero(t, after.LastSequence)
}

func TestReplicaThatDiesInMidReply(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	e := newEngine(store, offline.New(), engine.Options{})
	chat := start(t, e, tenant)
	_, err := tenant.BeginTurn(t.Context(), chat.ID, time.Microsecond)
	require.NoError(t, err)
	_, messages, err := send(t.Context(), e, tenant, chat.ID, "When do you open?")
	require.NoError(t, err)
	require.Equal(t, int32(1), messages[0].Sequence)
}

func TestTextIsSeenElsewhereWhileItIsGenerated(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, companyID := newTenant(t, store)
	pieces := make(chan string)
	e := newEngine(store, modelFunc(func(_ context.Context, _ llm.Request, speak func(string)) error {
		for piece := range pieces {
			speak(piece)
		}
		return nil
	}), engine.Options{})
	chat := start(t, e, tenant)
	events, err := dbtest.Again(t, store).Tenant(companyID).FollowEvents(t.Context(), chat.ID)
	require.NoError(t, err)
	sent := make(chan error, 1)
	go func() {
		_, _, err := send(context.Background(), e, tenant, chat.ID, "Hello")
		sent <- err
	}()
	// Text that is generated before the other replica listens is lost.
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for seen := false; !seen; {
		select {
		case event := <-events:
			delta, ok := event.(model.MessageDelta)
			require.True(t, ok, "%T", event)
			require.Equal(t, int32(2), delta.Sequence)
			seen = true
		case <-ticks.C:
			pieces <- "la "
		}
	}
	close(pieces)
	require.NoError(t, <-sent)
}

func TestManyChatsAtOnce(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	const chats = 100
	// Every turn waits until all of them are under way: none waits for another's model.
	var together sync.WaitGroup
	together.Add(chats)
	e := newEngine(store, modelFunc(func(_ context.Context, _ llm.Request, speak func(string)) error {
		together.Done()
		together.Wait()
		speak("Good morning")
		return nil
	}), engine.Options{})
	agent := newAgent(t, tenant, nil)
	errs := make(chan error, chats)
	for range chats {
		chat, err := e.StartSimulationChat(t.Context(), tenant, model.StartSimulationChatInput{
			AgentID: agent.ID, DataBag: model.JSONObject(`{"clinic":"Lakeside"}`),
		})
		require.NoError(t, err)
		go func() {
			_, _, err := send(context.Background(), e, tenant, chat.ID, "Hello")
			errs <- err
		}()
	}
	for range chats {
		require.NoError(t, <-errs)
	}
}
