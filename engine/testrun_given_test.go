package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestCallsBeforeASimulationAreToldAndDoNotCount(t *testing.T) {
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
	require.NotNil(t, messages[1].ToolCalls, "others may have been given the same")
	s := &speaker{tools: []*model.Tool{{ID: "tool_1", TechnicalName: "find"}}}
	s.recognize(calls)
	require.Equal(t, "tool_1", *calls[0].TargetID)
	require.EqualValues(t, 2, mockedBefore(calls)["tool_1"], "rules of mocks that count calls go on")
	chat := []*model.SimulationChatMessage{}
	for i, m := range start {
		chat = append(chat, &model.SimulationChatMessage{Sequence: int32(i), Role: m.Role, Text: m.Text})
	}
	told := history(chat, calls)
	require.Len(t, told, 7, "a call of what the agent does not have is not told")
	require.Equal(t, `{"day":"Monday"}`, told[1].ToolCalls[0].Arguments)
	require.Equal(t, llm.Message{Role: llm.RoleTool, ToolCallID: calls[0].ID, Text: "free"}, told[2])

	run := &model.AgentTestRun{Messages: start, ToolCalls: append(calls, &model.ToolCall{TechnicalName: "book", MessageSequence: 2})}
	held := heldBy(run, 3, ending{})
	require.Len(t, held.calls, 1)
	require.Equal(t, "book", held.calls[0].TechnicalName)
}
