package engine_test

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// modelFunc is a model that is a function. It calls speak with its text, and returns how the answer ends.
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

func newEngine(m llm.Model, o engine.Options) *engine.Engine {
	o.Log = slog.New(slog.DiscardHandler)
	return engine.New(m, o)
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

func send(ctx context.Context, e *engine.Engine, tenant *db.Tenant, chatID,
	text string) (*model.SimulationChat, []*model.SimulationChatMessage, error) {
	return e.SendSimulationMessage(ctx, tenant, model.SendSimulationMessageInput{SimulationChatID: chatID, Text: text})
}

// requireCode requires an error with the code, and returns its text.
func requireCode(t *testing.T, want model.Code, err error) string {
	t.Helper()
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, want, known.Code, known.Message)
	return known.Error()
}

// requireUntouched requires that a chat has no trace of a message.
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

func TestStartedChatBeginsWithTheWelcomeMessage(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	stranger, _ := newTenant(t, store)
	welcome := "Welcome to {clinic}, {who}."
	agent := newAgent(t, tenant, func(in *model.CreateAgentInput) {
		in.InboundWelcomeMessage = &welcome
		in.IsCallTransferEnabled, in.Channel = true, model.ChannelPhone
	})
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "Book", TechnicalName: "book"})
	require.NoError(t, err)
	_, err = tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	e := newEngine(offline.New(), engine.Options{})

	chat, err := e.StartSimulationChat(t.Context(), tenant, model.StartSimulationChatInput{
		AgentID: agent.ID, DataBag: model.JSONObject(`{"clinic":"L'Orangerie ''\"\\","shoe":"38","it''s":"x"}`),
		ToolMocking: &model.ToolMocking{},
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		`the data bag has the value "it''s", which is not a field of the agent. The value is kept, but check its name`,
		`the data bag has the value "shoe", which is not a field of the agent. The value is kept, but check its name`,
		"the welcome message has the placeholder {who}, which has no value and is left unchanged",
	}, chat.Warnings)
	kept, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, `{"clinic":"L'Orangerie ''\"\\","shoe":"38","it''s":"x"}`, string(kept.DataBag))
	require.Equal(t, chat.Warnings, kept.Warnings)
	messages, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, messages, 1)
	require.Equal(t, `Welcome to L'Orangerie ''"\, {who}.`, messages[0].Text)
	require.Equal(t, model.MessageRoleAssistant, messages[0].Role)

	for name, test := range map[string]struct {
		tenant *db.Tenant
		in     model.StartSimulationChatInput
		code   model.Code
		text   string
	}{
		"no agent": {tenant, model.StartSimulationChatInput{AgentID: "agent_unknown"}, model.NotFound,
			"agent_unknown"},
		"another's agent": {stranger, model.StartSimulationChatInput{AgentID: agent.ID}, model.NotFound, agent.ID},
		"no agent id":     {tenant, model.StartSimulationChatInput{}, model.BadInput, "agentId"},
		"missing field":   {tenant, model.StartSimulationChatInput{AgentID: agent.ID}, model.Unprocessable, "clinic"},
		"number in data bag": {tenant, model.StartSimulationChatInput{AgentID: agent.ID,
			DataBag: model.JSONObject(`{"clinic":1}`)}, model.BadInput, "dataBag.clinic must be a string"},
		"null in data bag": {tenant, model.StartSimulationChatInput{AgentID: agent.ID,
			DataBag: model.JSONObject(`{"clinic":null}`)}, model.Unprocessable, "dataBag.clinic"},
		"empty name in data bag": {tenant, model.StartSimulationChatInput{AgentID: agent.ID, DataBag: model.JSONObject(`{"":"x"}`)},
			model.BadInput, "dataBag"},
		"a name too long": {tenant, model.StartSimulationChatInput{AgentID: agent.ID,
			DataBag: model.JSONObject(`{"` + strings.Repeat("x", 101) + `":"x"}`)}, model.BadInput, "dataBag"},
		"U+0000 in a name": {tenant, model.StartSimulationChatInput{AgentID: agent.ID,
			DataBag: model.JSONObject(`{"a\u0000":"x"}`)}, model.BadInput, "dataBag"},
		"a delay too long": {tenant, model.StartSimulationChatInput{AgentID: agent.ID,
			ToolMocking: &model.ToolMocking{
				MockedTools: []model.MockedTool{{ToolID: tool.ID, Mock: model.Mock{DelaySeconds: 61}}}}}, model.BadInput,
			"delaySeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.StartSimulationChat(t.Context(), test.tenant, test.in)
			require.Contains(t, requireCode(t, test.code, err), test.text)
		})
	}
	page, err := tenant.SimulationChats(t.Context(), model.PageArgs{First: 10}, nil, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1, "refused inputs created no chat")
}

func TestOfflineModelHoldsAConversation(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	e := newEngine(offline.New(), engine.Options{})
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
	ended, err := tenant.EndSimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, after.EndedAt, ended.EndedAt)
	all, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, all, 4)
}

func TestModelReceivesTheConversation(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	var asked llm.Request
	e := newEngine(modelFunc(func(_ context.Context, req llm.Request, speak func(string)) error {
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
		{Role: llm.RoleUser, Text: "one"}, {Role: llm.RoleAssistant, Text: "Answer to one"},
		{Role: llm.RoleUser, Text: "two"},
	}, asked.Messages)
	require.Len(t, asked.Tools, 1)
	require.Equal(t, llm.EndConversation, asked.Tools[0].Name)
}

func TestInvalidMessagesAreRefused(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	stranger, _ := newTenant(t, store)
	e := newEngine(offline.New(), engine.Options{})
	chat := start(t, e, tenant)
	for _, text := range []string{"", strings.Repeat("é", 4_001), "a\x00b"} {
		_, _, err := send(t.Context(), e, tenant, chat.ID, text)
		requireCode(t, model.BadInput, err)
	}
	_, _, err := send(t.Context(), e, stranger, chat.ID, "Hello")
	requireCode(t, model.NotFound, err)
	_, err = stranger.EndSimulationChat(t.Context(), chat.ID)
	requireCode(t, model.NotFound, err)
	requireUntouched(t, tenant, chat.ID)
	_, _, err = send(t.Context(), e, tenant, chat.ID, strings.Repeat("é", 4_000))
	require.NoError(t, err)
}
