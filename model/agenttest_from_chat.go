package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ChatRecording is a simulated chat with everything recorded about it, and the current agent.
type ChatRecording struct {
	Chat      *SimulationChat
	Messages  []*SimulationChatMessage
	Calls     []*ToolCall
	Agent     *Agent
	Tools     []*Tool
	SubAgents []*SubAgent
}

// NewTestFromSimulationChat returns a simulation test that continues from a message of the chat. It also returns
// warnings about the parts of the chat that the test does not repeat. It returns BAD_INPUT with every bound that the
// input breaks, and UNPROCESSABLE if the chat breaks one.
func NewTestFromSimulationChat(in CreateTestFromSimulationChatInput, r ChatRecording,
	now time.Time) (*SimulationTest, []string, error) {
	last, outOfRange := r.lastMessage(in.UpToSequence)
	warnings := []string{}
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	name := in.Name
	if name == nil {
		chatName := "Chat of " + r.Chat.CreatedAt.UTC().Format("2006-01-02 15:04")
		name = &chatName
	}
	variables, err := r.Chat.Variables()
	if err != nil {
		return nil, nil, fmt.Errorf("read the data bag of chat %s: %w", r.Chat.ID, err)
	}
	r.checkVariables(variables, warn)
	recorder := mockRecorder{recording: &r, upTo: last, warn: warn}
	test, err := NewSimulationTest(CreateSimulationTestInput{
		AgentID: r.Chat.AgentID, FolderID: in.FolderID, Name: *name, Scenario: in.Scenario, Criteria: in.Criteria,
		Checks: in.Checks, MaxTurns: in.MaxTurns,
		ConversationContext: r.messages(last, warn), Variables: r.Chat.DataBag, ToolMocking: recorder.mocking(),
	}, now)
	return test, warnings, faultsOfChat(outOfRange, err)
}

// lastMessage returns the sequence of the last message before the test begins. It returns UNPROCESSABLE when the chat
// does not have this message or has too many messages. It returns BAD_INPUT when no test can begin after the message.
func (r *ChatRecording) lastMessage(upTo *int32) (int32, error) {
	var faults Fields
	last := r.Chat.LastSequence
	switch {
	case upTo == nil && last > maxStartingMessages:
		faults.Add("upToSequence", "must be given and be at most %d: the chat has %d messages, but a test starts from "+
			"at most %[1]d",
			maxStartingMessages, last)
	case upTo == nil:
		return last, nil
	case *upTo > last:
		faults.Add("upToSequence", "must be at most %d, the sequence of the chat's last message", last)
	default:
		faults.count("upToSequence", upTo, 0, maxStartingMessages)
		return *upTo, faults.Err()
	}
	return 0, faults.As(Unprocessable)
}

// messages returns the chat's messages up to the given sequence number, as starting messages of a test.
func (r *ChatRecording) messages(upTo int32, warn func(string, ...any)) []*TestMessage {
	messages := []*TestMessage{}
	for _, m := range r.Messages {
		if m.Sequence > upTo {
			break
		}
		text := []rune(m.Text)
		switch {
		case len(text) == 0:
			warn("message %d is empty and left out", m.Sequence)
			continue
		case len(text) > MaxTestMessageLength:
			warn("message %d has %d characters, but the test keeps only the first %d", m.Sequence, len(text),
				MaxTestMessageLength)
			text = text[:MaxTestMessageLength]
		}
		at := m.Timestamp
		messages = append(messages, &TestMessage{Role: m.Role, Text: string(text), Timestamp: &at})
		if m.Sequence == upTo && m.IsConversationEnded {
			warn("message %d ended the conversation, but in the test the contact continues after it. To test the end of "+
				"the conversation, give a lower upToSequence", upTo)
		}
	}
	return messages
}

// checkVariables warns where the chat's data bag does not match the agent's fields. The data bag is kept without
// changes.
func (r *ChatRecording) checkVariables(variables map[string]string, warn func(string, ...any)) {
	for _, field := range r.Agent.Fields {
		if field.IsMandatory && !field.IsSystem && strings.TrimSpace(variables[field.Name]) == "" {
			warn("the agent's field %q is mandatory, but the chat has no value for it. Add one to the test's variables: "+
				"without it, runs of the test fail", field.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !slices.ContainsFunc(r.Agent.Fields, func(f AgentField) bool { return f.Name == name }) {
			warn("the variable %q is not a field of the agent. It is kept, but check its name", name)
		}
	}
}

// faultsOfChat joins the fault of upToSequence and the faults of the test. The messages, variables and mocks of the
// test come from the chat, so their faults become faults of simulationChatId. It returns UNPROCESSABLE when all faults
// are the chat's.
func faultsOfChat(outOfRange, ofTest error) error {
	var faults Fields
	code := Unprocessable
	for _, err := range []error{outOfRange, ofTest} {
		var fault *Error
		switch {
		case err == nil:
			continue
		case !errors.As(err, &fault):
			return err
		}
		for _, path := range slices.Sorted(maps.Keys(fault.Fields)) {
			root, _, _ := strings.Cut(path, ".")
			for _, text := range fault.Fields[path] {
				switch root {
				case "conversationContext", "variables", "toolMocking":
					faults.Add("simulationChatId", "names a chat from which no test can be created: its %s %s", path, text)
				default:
					faults.Add(path, "%s", text)
					code = fault.Code
				}
			}
		}
	}
	return faults.As(code)
}
