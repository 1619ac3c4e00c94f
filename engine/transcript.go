package engine

import (
	"encoding/json"
	"slices"

	"github.com/agentgraph/agentgraph/model"
)

// maxShown bounds how much of a call's result the judge sees, in bytes.
const maxShown = 8_000

// transcript is a run as the judge reads it, in JSON.
type transcript struct {
	Messages []transcriptMessage `json:"messages"`
	Ending   ending              `json:"ending"`
}

// transcriptMessage is a message of the run. Its index cites it and its calls.
type transcriptMessage struct {
	// MessageIndex counts the messages of the run from 0.
	MessageIndex int `json:"messageIndex"`
	// Speaker is "agent" or "contact".
	Speaker string `json:"speaker"`
	// IsGiven is true for messages that the test starts from. The agent did not write them in the run.
	IsGiven bool `json:"isGiven,omitempty"`
	// Calls are the calls that the agent made before it wrote the message.
	Calls []transcriptCall `json:"calls,omitempty"`
	Text  string           `json:"text"`
}

// isOwn is true of what the agent wrote and called in the run.
func (m transcriptMessage) isOwn() bool { return m.Speaker == speakerAgent && !m.IsGiven }

func (t transcript) hasOwn() bool { return slices.ContainsFunc(t.Messages, transcriptMessage.isOwn) }

// transcriptCall is a call of the agent, or of one that it delegated to.
type transcriptCall struct {
	Name      string           `json:"name"`
	Arguments model.JSONObject `json:"arguments"`
	// Within is the name of the delegation in whose conversation the call was made.
	Within string `json:"within,omitempty"`
	// Result is absent if the call failed, for the reason in Error.
	Result *string `json:"result,omitempty"`
	Error  *string `json:"error,omitempty"`
	// id is that of the call.
	id string
	// excerpts are the whole chunks that a retrieval found, which can be quoted.
	excerpts []string
}

// ending says how the conversation ended.
type ending struct {
	// By is "agent", "contact", or "limit" if the turns of the test were used up.
	By     string `json:"by"`
	Reason string `json:"reason"`
}

const (
	speakerAgent   = "agent"
	speakerContact = "contact"
	endedByLimit   = "limit"
)

// transcriptOf returns the transcript of a run. given is the number of its messages that the test started from. A call
// belongs to the message after the one that it helped to answer.
func transcriptOf(run *model.AgentTestRun, given int, end ending) transcript {
	names := map[string]string{}
	made := map[int][]transcriptCall{}
	for _, call := range run.ToolCalls {
		names[call.ID] = call.TechnicalName
		shown := transcriptCall{
			id: call.ID, Name: call.TechnicalName, Arguments: call.Arguments, Result: shorten(call.Result), Error: shorten(call.Error),
		}
		if call.Kind == model.ToolCallKindRetrieval {
			shown.excerpts = excerptsOf(call)
		}
		if call.DelegationID != nil {
			shown.Within = names[*call.DelegationID]
		}
		answer := int(call.MessageSequence) + 1
		made[answer] = append(made[answer], shown)
	}
	t := transcript{Messages: make([]transcriptMessage, 0, len(run.Messages)), Ending: end}
	for i, m := range run.Messages {
		shown := transcriptMessage{MessageIndex: i, Speaker: speakerContact, IsGiven: i < given, Text: m.Text}
		if m.Role == model.MessageRoleAssistant {
			shown.Speaker, shown.Calls = speakerAgent, made[i]
		}
		t.Messages = append(t.Messages, shown)
	}
	return t
}

// excerptsOf returns the texts that a retrieval found.
func excerptsOf(call *model.ToolCall) []string {
	var found retrievalResult
	if call.Result == nil || json.Unmarshal([]byte(*call.Result), &found) != nil {
		return nil
	}
	texts := make([]string, len(found.Chunks))
	for i, chunk := range found.Chunks {
		texts[i] = chunk.Content
	}
	return texts
}

func shorten(text *string) *string {
	if text == nil {
		return nil
	}
	short := cut(*text, maxShown)
	return &short
}
