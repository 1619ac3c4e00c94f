package evaluation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

func TestCallsBeforeASimulationDoNotCount(t *testing.T) {
	t.Parallel()
	messages := []model.TestMessage{
		{Role: model.MessageRoleUser, Text: "Is Monday free?"},
		{Role: model.MessageRoleAssistant, Text: "Yes.", ToolCalls: []model.TestMessageCall{
			{TechnicalName: "find", Arguments: model.JSONObject(`{"day":"Monday"}`), Result: new("free")},
			{TechnicalName: "find", Error: new("the line is busy")}, {TechnicalName: "gone", Result: new("x")},
		}},
		{Role: model.MessageRoleUser, Text: "Book it."},
	}
	start, calls := startOf(messages, time.Now())
	require.Nil(t, start[1].ToolCalls)
	require.NotNil(t, messages[1].ToolCalls, "startOf does not change its argument, which other runs may share")
	require.Len(t, calls, 3)
	require.True(t, calls[0].Mocked && calls[0].IsTurnKept)
	require.EqualValues(t, 0, calls[0].MessageSequence, "it helped to answer the first message")

	run := &model.AgentTestRun{Messages: start,
		ToolCalls: append(calls, &model.ToolCall{TechnicalName: "book", MessageSequence: 2})}
	held := rules.NewConversation(run, 3, "")
	for name, counts := range map[string]bool{"book": true, "find": false} {
		found, err := rules.NewChecker().Check(t.Context(), &model.TestExpectation{Called: calling(name)}, held)
		require.NoError(t, err)
		require.Equal(t, counts, found.Passed, name)
	}
}
