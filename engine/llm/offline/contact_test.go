package offline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

// play lets the contact of a scenario answer these messages in turn, until it leaves. A farewell that leaves is marked
// with "…".
func play(t *testing.T, scenario string, heard ...string) []string {
	t.Helper()
	var said []string
	req := llm.Request{System: "Play.\n\n# Scenario\n" + scenario}
	for _, text := range heard {
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Text: text})
		answer, err := llm.Collect(offline.Contact().Chat(t.Context(), req))
		require.NoError(t, err)
		if len(answer.ToolCalls) > 0 {
			require.Equal(t, llm.FinishToolCalls, answer.Finish)
			require.Equal(t, llm.EndConversation, answer.ToolCalls[0].Name)
			require.JSONEq(t, `{"reason":"Nothing is left to say."}`, answer.ToolCalls[0].Arguments)
			return append(said, answer.Text+"…")
		}
		said = append(said, answer.Text)
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: answer.Text})
	}
	return said
}

func TestContact(t *testing.T) {
	t.Parallel()
	anna := "You are Anna Berg, a patient. You want to cancel your appointment on Friday.\n" +
		"Your customer number is 4711. Do not reveal it unless you are asked.\nThe clinic sent a letter to you."
	for name, test := range map[string]struct {
		scenario string
		heard    []string
		want     []string
	}{
		"quotes are said in order": {
			`Says “Hello there” first, then "Is it open on Monday?" and then « Merci ».`,
			[]string{"Hi", "What is your name?", "Yes", "Bye"},
			[]string{"Hello there", "Is it open on Monday?", "Merci", "…"},
		},
		"lines after says and asks": {
			"A tired person.\nSays: I lost my card\nasks: Can I get a new one?\nThen she says: \"Yes\"\nShe says: Yes",
			[]string{"Hi", "How?", "Sure?", "Really?", "Done"},
			[]string{"I lost my card", "Can I get a new one?", "Yes", "Yes", "…"},
		},
		"states its intent, answers with facts, and leaves": {
			anna,
			[]string{"Welcome!", "What is your name?", "What is your customer number?", "Did you get a letter?",
				"It is cancelled.", "Bye"},
			[]string{
				"I want to cancel my appointment on Friday.", "I do not know.", "My customer number is 4711.",
				"The clinic sent a letter to me.", "That is all, thank you. Goodbye.…",
			},
		},
		"a question without an answer is not asked a third time": {
			anna,
			[]string{"Hello", "Which color?", "Which size?"},
			[]string{"I want to cancel my appointment on Friday.", "I do not know.", "That is all, thank you. Goodbye.…"},
		},
		"wants nothing else": {
			anna,
			[]string{"Hello", "It is cancelled. Anything else?"},
			[]string{"I want to cancel my appointment on Friday.", "That is all, thank you. Goodbye.…"},
		},
		"several wishes come before the farewell": {
			"The caller wants to book a table. She needs a chair for a child. Her name is Ana.",
			[]string{"Hello", "Fine.", "Please tell me your name.", "Done."},
			[]string{"I want to book a table.", "I need a chair for a child.", "My name is Ana.",
				"That is all, thank you. Goodbye.…"},
		},
		"French": {
			"Vous êtes Marie. Vous voulez annuler votre rendez-vous. Votre numéro est 12.",
			[]string{"Bonjour", "Quel est votre numéro ?"},
			[]string{"Je veux annuler mon rendez-vous.", "Mon numéro est 12."},
		},
		"nothing but a statement": {"Opening hours", []string{"Hello", "Nine to five."},
			[]string{"Opening hours.", "That is all, thank you. Goodbye.…"}},
		"nothing": {"…", []string{"Hello"}, []string{"That is all, thank you. Goodbye.…"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, cmp.Diff(test.want, play(t, test.scenario, test.heard...)))
			require.Equal(t, play(t, test.scenario, test.heard...), play(t, test.scenario, test.heard...))
		})
	}
}
