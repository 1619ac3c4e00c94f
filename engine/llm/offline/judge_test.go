package offline_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

func TestTheJudgeNeverGuesses(t *testing.T) {
	t.Parallel()
	asked := llm.Request{Messages: []llm.Message{
		{Role: llm.RoleUser, Text: `{"transcript":{"messages":[]},"criterion":"Is polite"}`}}}
	_, err := llm.Collect(offline.Judge().Chat(t.Context(), asked))
	var failure *llm.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, llm.Rejected, failure.Cause)
	require.False(t, failure.Retryable())
	require.Equal(t, `model offline-judge: the criterion "Is polite" has none of the forms that can be judged without a language model; configure one to judge it`, failure.Message)
}

func TestSingleRolesRefuseOtherRequests(t *testing.T) {
	t.Parallel()
	for _, model := range []llm.Model{offline.Judge(), offline.Contact(), offline.Classifier()} {
		require.Contains(t, model.Name(), "offline-")
		_, err := llm.Collect(
			model.Chat(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello"}}}))
		require.ErrorContains(t, err, model.Name()+": it only")

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = llm.Collect(model.Chat(ended, llm.Request{}))
		require.ErrorIs(t, err, context.Canceled)
	}
}
