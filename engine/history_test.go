package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestHistoryContainsCallsOfEarlierTurns(t *testing.T) {
	t.Parallel()
	message := func(sequence int32, role model.MessageRole, text string) *model.SimulationChatMessage {
		return &model.SimulationChatMessage{Sequence: sequence, Role: role, Text: text}
	}
	messages := []*model.SimulationChatMessage{
		message(1, model.MessageRoleAssistant, "Welcome"),
		message(2, model.MessageRoleUser, "Book"), message(3, model.MessageRoleAssistant, "Booked"),
		message(4, model.MessageRoleUser, "Look"), message(5, model.MessageRoleAssistant, "Looked"),
	}
	calls := []*model.ToolCall{
		{ID: "1", TargetID: ptr("a"), Kind: model.ToolCallKindTool, TechnicalName: "book",
			Arguments: model.JSONObject(`{"day":"x"}`), Error: ptr("no seats"), MessageSequence: 2, IsTurnKept: true,
			Mocked: true},
		{ID: "2", TargetID: ptr("a"), Kind: model.ToolCallKindTool, TechnicalName: "book", Result: ptr("ok"),
			MessageSequence: 2, IsTurnKept: true, Mocked: true},
		{ID: "3", TargetID: ptr("a"), Kind: model.ToolCallKindTool, TechnicalName: "book", Result: ptr("failed turn"),
			MessageSequence: 4, Mocked: true},
		{ID: "4", TargetID: ptr("b"), Kind: model.ToolCallKindSubAgent, TechnicalName: "ask", Result: ptr(""),
			MessageSequence: 4, IsTurnKept: true},
		{ID: "5", TargetID: ptr("c"), Kind: model.ToolCallKindTool, TechnicalName: "dig", Result: ptr("inside"),
			MessageSequence: 4, IsTurnKept: true, DelegationID: ptr("4")},
		{ID: "6", Kind: model.ToolCallKindRetrieval, TechnicalName: "knowledge", Result: ptr("text"), MessageSequence: 4,
			IsTurnKept: true},
		{ID: "7", Kind: model.ToolCallKindCallTransfer, TechnicalName: llm.TransferCall, Error: ptr("none"),
			MessageSequence: 4, IsTurnKept: true},
		{ID: "8", Kind: model.ToolCallKindTool, TechnicalName: "no such tool", Error: ptr("none"), MessageSequence: 4,
			IsTurnKept: true},
		{ID: "9", TargetID: ptr("a"), Kind: model.ToolCallKindTool, TechnicalName: "book", Result: ptr("booked"),
			MessageSequence: 6},
		{ID: "10", TargetID: ptr("b"), Kind: model.ToolCallKindSubAgent, TechnicalName: "ask", Error: ptr("not known"),
			IsOutcomeUnknown: true, MessageSequence: 6},
		{ID: "11", TargetID: ptr("a"), Kind: model.ToolCallKindTool, TechnicalName: "book",
			Error: ptr("the arguments are invalid"), MessageSequence: 6},
	}
	call := func(id, name, arguments string) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: id, Name: name, Arguments: arguments}}}
	}
	result := func(id, text string) llm.Message { return llm.Message{Role: llm.RoleTool, ToolCallID: id, Text: text} }
	got := history(append(messages, message(6, model.MessageRoleUser, "Well?")), calls)
	require.Empty(t, cmp.Diff([]llm.Message{
		{Role: llm.RoleAssistant, Text: "Welcome"},
		{Role: llm.RoleUser, Text: "Book"},
		call("1", "book", `{"day":"x"}`), result("1", "The call failed: no seats."),
		call("2", "book", `{}`), result("2", "ok"),
		{Role: llm.RoleAssistant, Text: "Booked"},
		{Role: llm.RoleUser, Text: "Look"},
		call("4", "ask", `{}`), result("4", ""),
		call("7", llm.TransferCall, `{}`), result("7", "The call failed: none."),
		{Role: llm.RoleAssistant, Text: "Looked"},
		{Role: llm.RoleUser, Text: "Well?"},
		call("9", "book", `{}`), result("9", "booked"),
		call("10", "ask", `{}`), result("10", "The call was started, and it is not known whether it succeeded. Do not repeat "+
			"it unless that does no harm."),
	}, got), "the model sees real calls even if their turn failed")
	requireAnswered(t, llm.Request{Messages: got})
	require.Equal(t, map[string]int32{"a": 2}, mockedBefore(calls))
}
