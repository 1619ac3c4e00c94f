package model

import (
	"fmt"
	"slices"
)

// Bounds of the messages that a test starts from.
const (
	maxStartingMessages  = 200
	MaxTestMessageLength = 10_000
	maxMessageCalls      = 20
	maxStartingCalls     = 100
)

// startingMessages records the faults of messages that a simulation starts from, with their calls.
func (f *Fields) startingMessages(path string, messages []TestMessage) {
	bare, calls := slices.Clone(messages), 0
	for i, m := range messages {
		bare[i].ToolCalls = nil
		at := fmt.Sprintf("%s.%d.toolCalls", path, i)
		if len(m.ToolCalls) > 0 && (m.Role != MessageRoleAssistant || i == 0 || messages[i-1].Role != MessageRoleUser) {
			f.Add(at, "can be given only in a message of the agent that follows a message of the contact")
		}
		if f.list(at, len(m.ToolCalls), maxMessageCalls) {
			for n, call := range m.ToolCalls {
				f.startingCall(fmt.Sprintf("%s.%d", at, n), call)
			}
		}
		calls += len(m.ToolCalls)
	}
	if calls > maxStartingCalls {
		f.Add(path, "must have at most %d calls, not %d", maxStartingCalls, calls)
	}
	f.messages(path, bare)
}

func (f *Fields) startingCall(path string, call TestMessageCall) {
	f.text(path+".technicalName", call.TechnicalName, 1, 64)
	f.optional(path+".result", call.Result, MaxTestMessageLength)
	f.optional(path+".error", call.Error, MaxTestMessageLength)
	f.oneOfTwo(path+".result", "error", call.Result != nil, call.Error != nil)
	if n := len(call.Arguments); n > MaxTestMessageLength {
		f.Add(path+".arguments", "must have at most %d bytes of JSON, not %d", MaxTestMessageLength, n)
	}
	f.values(path+".arguments", call.Arguments)
}

func (f *Fields) messages(path string, messages []TestMessage) {
	if !f.list(path, len(messages), maxStartingMessages) {
		return
	}
	for i, m := range messages {
		f.text(fmt.Sprintf("%s.%d.text", path, i), m.Text, 1, MaxTestMessageLength)
		if !m.Role.IsValid() {
			f.Add(fmt.Sprintf("%s.%d.role", path, i), "must be one of assistant, user")
		}
		if len(m.ToolCalls) > 0 {
			f.Add(fmt.Sprintf("%s.%d.toolCalls", path, i), "can be given only in messages that a simulation test starts from")
		}
	}
}
