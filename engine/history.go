package engine

import (
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// history returns the messages of a chat, with the calls that its agent made before each answer. The calls appear one
// by one in the order of their starts, each followed by its result, because concurrency is not recorded.
func history(messages []*model.SimulationChatMessage, calls []*model.ToolCall) []llm.Message {
	callsByMessage := map[int32][]*model.ToolCall{}
	for _, call := range calls {
		if remembered(call) {
			callsByMessage[call.MessageSequence] = append(callsByMessage[call.MessageSequence], call)
		}
	}
	conversation := make([]llm.Message, 0, len(messages)+2*len(calls)+1)
	for _, m := range messages {
		if m.Role != model.MessageRoleUser {
			conversation = append(conversation, llm.Message{Role: llm.RoleAssistant, Text: m.Text})
			continue
		}
		conversation = append(conversation, llm.Message{Role: llm.RoleUser, Text: m.Text})
		for _, call := range callsByMessage[m.Sequence] {
			arguments, _ := call.Arguments.MarshalJSON()
			conversation = append(conversation,
				llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{
					ID: call.ID, Name: call.TechnicalName, Arguments: string(arguments),
				}}},
				llm.Message{Role: llm.RoleTool, ToolCallID: call.ID, Text: resultOf(call)})
		}
	}
	return conversation
}

// remembered reports whether the model sees a call of an earlier turn. It sees calls of the chat's own agent if the
// turn was kept, which means that it did not fail. It also sees calls that had, or may have had, a real effect, because
// they must not be repeated. It does not see retrievals, nor calls whose target does not exist, because a provider may
// reject the name.
func remembered(call *model.ToolCall) bool {
	isUnknown := call.Kind == model.ToolCallKindTool && call.TargetID == nil
	isDone := !call.Mocked && (call.Error == nil || call.MayHaveHappened())
	return (call.IsTurnKept || isDone) && call.DelegationID == nil && call.Kind != model.ToolCallKindRetrieval &&
		!isUnknown
}

func resultOf(call *model.ToolCall) string {
	switch {
	case call.Error == nil:
		return *call.Result
	case call.MayHaveHappened():
		return "The call was started, and it is not known whether it succeeded. Do not repeat it unless that does no harm."
	}
	return failureMessage(*call.Error)
}

// mockedBefore counts the calls of each mocked target in the turns that were kept. Wrong calls do not count, because
// their records do not say that they are mocked.
func mockedBefore(calls []*model.ToolCall) map[string]int32 {
	made := map[string]int32{}
	for _, call := range calls {
		if remembered(call) && call.Mocked && call.TargetID != nil {
			made[*call.TargetID]++
		}
	}
	return made
}
