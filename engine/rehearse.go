package engine

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// rehearse is a tester's reply: it lets the agent answer in a test as it would in a chat. It also returns the calls,
// even if it fails. A turn can be used only once.
func (t *turn) rehearse(ctx context.Context, s *speaker, at situation) (*reply, []*model.ToolCall, error) {
	messages := make([]*model.SimulationChatMessage, len(at.messages))
	for i, m := range at.messages {
		messages[i] = &model.SimulationChatMessage{Sequence: int32(i), Role: m.Role, Text: m.Text}
	}
	s.recognize(at.calls)
	c, err := t.converse(s, history(messages, at.calls), mockedBefore(at.calls))
	if err != nil {
		return nil, nil, err
	}
	var said *reply
	var calls []*model.ToolCall
	for event, err := range c.events(ctx) {
		switch {
		case err != nil:
			return nil, calls, err
		case event.reply != nil:
			said = event.reply
		case event.started != nil:
			calls = append(calls, event.started)
		case event.finished != nil:
			for i, call := range calls {
				if call.ID == event.finished.call.ID {
					calls[i] = &event.finished.call
				}
			}
		}
	}
	return said, calls, nil
}

// recognize gives calls that a test starts from the targets that they have today. Without one a call is not told again.
func (s *speaker) recognize(calls []*model.ToolCall) {
	for _, call := range calls {
		if call.TargetID != nil || call.Kind != model.ToolCallKindTool {
			continue
		}
		for _, tool := range s.tools {
			if tool.TechnicalName == call.TechnicalName {
				call.TargetID = &tool.ID
			}
		}
		for _, subAgent := range s.subAgents {
			if subAgent.TechnicalName == call.TechnicalName {
				call.Kind, call.TargetID = model.ToolCallKindSubAgent, &subAgent.ID
			}
		}
	}
}
