package offline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// The work for an answer must not grow with the conversation.
func TestAnswerGoesThroughLastMessagesOnly(t *testing.T) {
	t.Parallel()
	const examples = "You are a clinic.\n\n# Examples\n" +
		"Urgent: my chest hurts\nAgent: Dial 999.\nUser: *\nAgent: Dial 999 now.\n"
	answerAfter := func(later int) string {
		messages := []llm.Message{{Role: llm.RoleUser, Text: "my chest hurts"}}
		for range later {
			messages = append(messages, llm.Message{Role: llm.RoleAssistant, Text: "Dial 999 now."},
				llm.Message{Role: llm.RoleUser, Text: "the weather is fine"})
		}
		var said string
		for chunk, err := range New().Chat(t.Context(), llm.Request{System: examples, Messages: messages}) {
			require.NoError(t, err)
			said += chunk.Text
		}
		return said
	}
	require.Equal(t, "Dial 999 now.", answerAfter(maxReplayed-1))
	require.NotEqual(t, "Dial 999 now.", answerAfter(maxReplayed))
}
