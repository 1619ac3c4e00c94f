package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// listener is a model that records its requests.
type listener struct{ asked []llm.Request }

func (l *listener) model() modelFunc {
	return func(_ context.Context, req llm.Request, speak func(string)) error {
		l.asked = append(l.asked, req)
		speak("I see.")
		return nil
	}
}

func given(role model.MessageRole, text string) *model.TestMessage {
	return &model.TestMessage{Role: role, Text: text}
}

func TestDraftChatContinuesFromGivenMessages(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	tenant, companyID := newTenant(t, store)
	agent := newAgent(t, tenant, func(in *model.CreateAgentInput) { in.InboundWelcomeMessage = new("Welcome.") })
	heard := &listener{}
	e := newEngine(heard.model(), engine.Options{})
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	begin := []*model.TestMessage{given(model.MessageRoleUser, "Is {it} open?"),
		{Role: model.MessageRoleAssistant, Text: "No.", Timestamp: &at}}
	chat, err := e.StartSimulationChat(ctx, tenant, model.StartSimulationChatInput{
		AgentID: agent.ID, DataBag: model.JSONObject(`{"clinic":"Lakeside"}`), Prompt: new("Try {clinic} and {what}."),
		Messages: begin,
	})
	require.NoError(t, err)
	require.True(t, chat.IsDraft)
	require.Contains(t, chat.Warnings, "the prompt has the placeholder {what}, which has no value and is left unchanged")
	messages, err := tenant.MessagesAfter(ctx, chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, messages, 2, "and no welcome")
	require.Equal(t, []string{"Is {it} open?", "No."}, []string{messages[0].Text, messages[1].Text})
	require.Equal(t, chat.CreatedAt, messages[0].Timestamp.UTC())
	require.Equal(t, at, messages[1].Timestamp.UTC())

	// The process that answers dies. Another process continues with the same draft.
	_, err = tenant.BeginChatTurn(ctx, chat.ID, time.Microsecond)
	require.NoError(t, err)
	other := dbtest.Open(t, address, db.Options{}).Tenant(companyID)
	after, _, err := send(ctx, newEngine(heard.model(), engine.Options{}), other, chat.ID, "And today?")
	require.NoError(t, err)
	require.EqualValues(t, 4, after.LastSequence)
	require.Len(t, heard.asked, 1)
	require.True(t, strings.HasPrefix(heard.asked[0].System, "Try Lakeside and {what}."))
	require.Equal(t, []llm.Message{
		{Role: llm.RoleUser, Text: "Is {it} open?"}, {Role: llm.RoleAssistant, Text: "No."},
		{Role: llm.RoleUser, Text: "And today?"},
	}, heard.asked[0].Messages)

	instructions, err := e.InstructionsOfChats(ctx, tenant, []string{chat.ID})
	require.NoError(t, err)
	require.NoError(t, instructions[chat.ID].Err)
	require.Equal(t, heard.asked[0].System, *instructions[chat.ID].Text)

	kept, err := tenant.Agent(ctx, agent.ID)
	require.NoError(t, err)
	require.Equal(t, agent.Prompt, kept.Prompt)
	require.EqualValues(t, 1, kept.PromptVersion)
}

func TestInstructionsFollowTheAgentsPrompt(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newClinic(t, nil)
	heard := &listener{}
	e := newEngine(heard.model(), engine.Options{})
	one, two := c.start(t, e, nil), c.start(t, e, nil)
	_, err := c.tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: c.agent.ID,
		Prompt: "New at {clinic}."})
	require.NoError(t, err)
	_, _, err = send(ctx, e, c.tenant, one.ID, "Hello")
	require.NoError(t, err)
	before := c.reads.Load()
	instructions, err := e.InstructionsOfChats(ctx, c.tenant, []string{one.ID, two.ID, "simchat_none"})
	require.NoError(t, err)
	require.EqualValues(t, 2, c.reads.Load()-before)
	require.Len(t, instructions, 2)
	require.Equal(t, heard.asked[0].System, *instructions[one.ID].Text)
	require.Equal(t, instructions[one.ID], instructions[two.ID])

	begin := func(clinic string, draft *string) string {
		chat, err := e.StartSimulationChat(ctx, c.tenant, model.StartSimulationChatInput{
			AgentID: c.agent.ID, DataBag: model.JSONObject(`{"clinic":"` + clinic + `"}`), Prompt: draft,
		})
		require.NoError(t, err)
		return chat.ID
	}
	long, draft := begin(strings.Repeat("x", 1_000), nil), begin("Lakeside", new("Short."))
	_, err = c.tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: c.agent.ID,
		Prompt: strings.Repeat("{clinic}", 6_000)})
	require.NoError(t, err)
	instructions, err = e.InstructionsOfChats(ctx, c.tenant, []string{long, draft})
	require.NoError(t, err)
	requireCode(t, model.Unprocessable, instructions[long].Err)
	require.Contains(t, *instructions[draft].Text, "Short.")
}

func TestInvalidStartingMessagesAreRefused(t *testing.T) {
	t.Parallel()
	tenant, _ := newTenant(t, dbtest.New(t))
	agent := newAgent(t, tenant, nil)
	const user, assistant = model.MessageRoleUser, model.MessageRoleAssistant
	many := func(count int, text string) (all []*model.TestMessage) {
		for i := range count {
			all = append(all, given([]model.MessageRole{user, assistant}[i%2], text))
		}
		return all
	}
	for name, test := range map[string]struct {
		in    model.StartSimulationChatInput
		fault string
	}{
		"two contact messages in a row": {model.StartSimulationChatInput{Messages: []*model.TestMessage{given(user, "a"),
			given(user, "b"), given(assistant, "c")}}, "messages.1.role"},
		"two agent messages in a row": {model.StartSimulationChatInput{Messages: []*model.TestMessage{given(assistant, "a"),
			given(assistant, "b")}}, "messages.1.role"},
		"the contact last": {model.StartSimulationChatInput{Messages: many(3, "a")}, "messages.2.role"},
		"an empty message": {model.StartSimulationChatInput{Messages: many(2, "")}, "messages.0.text"},
		"a message that is too long": {model.StartSimulationChatInput{Messages: many(2, strings.Repeat("x", 10_001))},
			"messages.0.text"},
		"too many":           {model.StartSimulationChatInput{Messages: many(102, "a")}, "messages"},
		"too many bytes":     {model.StartSimulationChatInput{Messages: many(28, strings.Repeat("x", 9_500))}, "messages"},
		"an empty prompt":    {model.StartSimulationChatInput{Prompt: new("")}, "prompt"},
		"a prompt too long":  {model.StartSimulationChatInput{Prompt: new(strings.Repeat("x", 50_001))}, "prompt"},
		"no text but U+0000": {model.StartSimulationChatInput{Prompt: new("\x00")}, "prompt"},
	} {
		test.in.AgentID, test.in.DataBag = agent.ID, model.JSONObject(`{"clinic":"x"}`)
		_, err := newEngine(greets, engine.Options{}).StartSimulationChat(t.Context(), tenant, test.in)
		var known *model.Error
		require.ErrorAs(t, err, &known, name)
		require.Equal(t, model.BadInput, known.Code)
		require.Contains(t, known.Fields, test.fault, name)
	}
	for _, in := range []model.StartSimulationChatInput{
		{Messages: many(100, "a")}, {Messages: many(26, strings.Repeat("x", 10_000))},
		{Prompt: new(strings.Repeat("é", 50_000))}, {Messages: []*model.TestMessage{}},
	} {
		in.AgentID, in.DataBag = agent.ID, model.JSONObject(`{"clinic":"x"}`)
		_, err := newEngine(greets, engine.Options{}).StartSimulationChat(t.Context(), tenant, in)
		require.NoError(t, err)
	}
}
