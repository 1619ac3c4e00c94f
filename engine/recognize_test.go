package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestTranscriptIncludesCallsBeforeTheSimulation(t *testing.T) {
	t.Parallel()
	given := func(name string) *model.ToolCall {
		return &model.ToolCall{ID: "call_" + name, Kind: model.ToolCallKindTool, TechnicalName: name, Mocked: true,
			IsTurnKept: true}
	}
	calls := []*model.ToolCall{given("find"), given("find"), given("gone")}
	calls[0].Arguments, calls[0].Result = model.JSONObject(`{"day":"Monday"}`), new("free")
	calls[1].Error, calls[2].Result = new("the line is busy"), new("x")
	start := []model.TestMessage{{Role: model.MessageRoleUser, Text: "Is Monday free?"},
		{Role: model.MessageRoleAssistant, Text: "Yes."}, {Role: model.MessageRoleUser, Text: "Book it."}}
	s := &Speaker{Tools: []*model.Tool{{ID: "tool_1", TechnicalName: "find"}}}
	s.recognize(calls)
	require.Equal(t, "tool_1", *calls[0].TargetID)
	require.EqualValues(t, 2, mockedBefore(calls)["tool_1"], "mocks count the calls of the starting messages")
	chat := []*model.SimulationChatMessage{}
	for i, m := range start {
		chat = append(chat, &model.SimulationChatMessage{Sequence: int32(i), Role: m.Role, Text: m.Text})
	}
	told := history(chat, calls)
	require.Len(t, told, 7, "the model does not see a call whose target the agent lacks")
	require.Equal(t, `{"day":"Monday"}`, told[1].ToolCalls[0].Arguments)
	require.Equal(t, llm.Message{Role: llm.RoleTool, ToolCallID: calls[0].ID, Text: "free"}, told[2])
}
