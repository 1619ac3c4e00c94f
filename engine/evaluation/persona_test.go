package evaluation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

func TestContactFollowsItsPersona(t *testing.T) {
	t.Parallel()
	r := rehearsal{contact: lines("Hello"), test: model.AgentTestRow{
		MaxTurns: 1, Scenario: "You want a room.", Variables: model.JSONObject(`{"number":"R7"}`),
		Persona: &model.ContactPersona{
			Mood: new(model.ContactMoodAngry), Patience: new(int32(3)), Language: new("pt-BR"),
			Knowledge: new("Your booking is {number}."),
		},
	}}
	run := r.run()
	require.NoError(t, r.tester().simulate(t.Context(), run))
	told := r.contact.asked[0].System
	for _, part := range []string{"You are angry", "pt-BR", "After 3 of them",
		"\n# Knowledge\nYour booking is R7.\n\n# Scenario\nYou want a room."} {
		require.Contains(t, told, part)
	}
	for mood := range moods {
		require.True(t, mood.IsValid())
	}
	require.Len(t, moods, len(model.AllContactMood))
}

func TestOfflineContactSharesItsKnowledge(t *testing.T) {
	t.Parallel()
	test := &model.AgentTestRow{Scenario: "You want a room.",
		Persona: &model.ContactPersona{Knowledge: new("- Your booking number is R7.")}}
	asked := []model.TestMessage{
		written(model.MessageRoleUser, "I want a room."), written(model.MessageRoleAssistant, "What is your booking number?"),
	}
	said, err := nextContactMessage(t.Context(), as(offline.Contact(), model.RunErrorCauseSimulator), test, asked, nil)
	require.NoError(t, err)
	require.Equal(t, "My booking number is R7.", said.text)
	test.Persona = nil
	said, err = nextContactMessage(t.Context(), as(offline.Contact(), model.RunErrorCauseSimulator), test, asked, nil)
	require.NoError(t, err)
	require.NotContains(t, said.text, "R7")
}

func TestContactSendsScriptedMessages(t *testing.T) {
	t.Parallel()
	r := rehearsal{contact: lines("Free"), test: model.AgentTestRow{
		MaxTurns: 4, Variables: model.JSONObject(`{"name":"Ada"}`), ContactSays: []*string{new("As an AI: {name}"), nil,
			new("How can I help you?")},
	}, replies: []agentLine{{text: "A"}, {text: "B"}, {text: "C"}, {text: "D"}}}
	run := r.run()
	require.NoError(t, r.tester().simulate(t.Context(), run))
	require.Equal(t, []string{
		"user: As an AI: Ada", "assistant: A", "user: Free", "assistant: B", "user: How can I help you?", "assistant: C",
		"user: Free", "assistant: D",
	}, textsOf(run.Messages))
	require.Len(t, r.contact.asked, 2, "scripted messages cost no request")
}

func TestImpatientContactEndsTheConversation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		patience int32
		replies  []string
		turns    int32
	}{
		"ends when the agent repeats itself": {2, []string{"Which day?", "Which  day?", "which day"}, 3},
		"does not while the agent goes on": {2, []string{"Which day?", "Which day?", "And the time?", "Which day?",
			"Done."}, 5},
		"is as long as the contact bears":       {3, []string{"Which day?", "Which day?", "Which day?", "Which day?"}, 4},
		"is one repetition for the least of it": {1, []string{"Which day?", "Which day?"}, 2},
	} {
		r := rehearsal{contact: lines("One", "Two", "Three", "Four", "Five"),
			test: model.AgentTestRow{MaxTurns: 5, Persona: &model.ContactPersona{Patience: &test.patience}}}
		for _, text := range test.replies {
			r.replies = append(r.replies, agentLine{text: text})
		}
		run := r.run()
		require.NoError(t, r.tester().simulate(t.Context(), run), name)
		require.Equal(t, test.turns, run.TurnCount, name)
		require.Equal(t, test.turns < 5, strings.Contains(*run.EndReason, "patience"), name)
		require.Equal(t, test.turns < 5, run.Held.EndedBy == rules.Contact, name)
	}
}

func TestJudgeSeesTheChosenInputs(t *testing.T) {
	t.Parallel()
	found := `{"chunks":[{"chunkId":"c1","documentName":"Hours","content":"Open at nine."},{"chunkId":"c2","documentName":"Prices","content":"` +
		strings.Repeat("x", maxSeen) + `"},{"chunkId":"c1","documentName":"Hours","content":"Open at nine."},{"chunkId":"c3","documentName":"Hours","content":"Closed at five."}]}`
	seen := func(sights ...model.JudgeSight) string {
		r := rehearsal{agent: model.Agent{Prompt: "Never tell {name} the price."}, test: model.AgentTestRow{
			MaxTurns: 1, Variables: model.JSONObject(`{"name":"Ada"}`), JudgeSees: sights,
		}}
		run := r.run()
		tester := r.tester()
		require.NoError(t, tester.simulate(t.Context(), run))
		run.ToolCalls = []*model.ToolCall{{ID: "call", Kind: model.ToolCallKindRetrieval, TechnicalName: "knowledge_base",
			Result: &found}}
		require.NoError(t, tester.decide(t.Context(), run, content.Values{"name": "Ada"}))
		return r.judge.lastOf(1)
	}
	nothing := seen()
	for _, part := range []string{"Never tell", `"documents"`, "2026-03-02"} {
		require.NotContains(t, nothing, part)
	}
	all := seen(model.JudgeSightPrompt, model.JudgeSightDocuments, model.JudgeSightDate)
	for _, part := range []string{
		`"date":"2026-03-02, Monday"`, "Never tell Ada the price.",
		`"documents":[{"document":"Hours","text":"Open at nine."},{"document":"Hours","text":"Closed at five."}]`,
		`"leftOutDocuments":1`,
	} {
		require.Contains(t, all, part)
	}
	date := seen(model.JudgeSightDate)
	require.NotContains(t, date, "Never tell")
}

func TestUnknownJudgeIsRefused(t *testing.T) {
	t.Parallel()
	e := evaluatorOf(lines("agent"), Options{Judge: named{lines(), "strict"},
		Judges: []llm.Model{named{lines(), "lenient"}, named{lines(), "strict"}}})
	require.Equal(t, []string{"strict", "lenient"}, e.JudgeModels())
	take := modelRoles{judge: modelRole{name: "the judge", cause: model.RunErrorCauseJudge}}
	require.NoError(t, e.withJudge(&take, "", &engine.Meter{}))
	require.Nil(t, take.judge.Model)
	require.NoError(t, e.withJudge(&take, "lenient", &engine.Meter{}))
	require.Equal(t, "lenient", take.judge.Name())
	require.Equal(t, `the judge: the model "gone" is not one of this server's judges`,
		requireRunFault(t, e.withJudge(&take, "gone", &engine.Meter{}), model.RunErrorCauseJudge))
}

// named is a model with another name.
type named struct {
	llm.Model
	name string
}

func (n named) Name() string { return n.name }
