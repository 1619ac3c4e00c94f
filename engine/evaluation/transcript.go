package evaluation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxShown bounds the part of a call's result that the judge sees, in bytes.
	maxShown = 8_000
	// maxTranscript bounds the part of a conversation that contact and judge see, in bytes. It is about 40,000 tokens,
	// which fit into the context windows of current models. If a conversation is longer, they see maxText bytes of each
	// message, and maxOfCall bytes of each result.
	maxTranscript = 160_000
	maxText       = 8_000
	maxOfCall     = 1_000
)

// transcript is the judge's JSON input for a run.
type transcript struct {
	judgeContext
	Messages []transcriptMessage `json:"messages"`
	Ending   ending              `json:"ending"`
	// Variables are the facts that the agent knows about the contact.
	Variables map[string]string `json:"variables,omitempty"`
	// values fill the placeholders of criteria.
	values content.Values
}

// transcriptMessage is a message of the run. Quotes refer to it and its calls by its index.
type transcriptMessage struct {
	// LeftOutBefore is the number of messages left out before this one.
	LeftOutBefore int `json:"leftOutBefore,omitempty"`
	// MessageIndex is the index of the message in the run.
	MessageIndex int `json:"messageIndex"`
	// Speaker is "agent" or "contact".
	Speaker string `json:"speaker"`
	// IsGiven is true for the test's own messages. The agent did not write them in the run.
	IsGiven bool `json:"isGiven,omitempty"`
	// Calls are the calls that the agent made before it wrote the message.
	Calls []transcriptCall `json:"calls,omitempty"`
	Text  string           `json:"text"`
	// pieces are the shown parts of the text; nil means all of it.
	pieces []string
}

// isOwn reports whether the agent wrote the message in the run.
func (m transcriptMessage) isOwn() bool { return m.Speaker == rules.Agent && !m.IsGiven }

// role returns the speaker, as clients see it.
func (m transcriptMessage) role() *model.MessageRole {
	if m.Speaker == rules.Agent {
		return new(model.MessageRoleAssistant)
	}
	return new(model.MessageRoleUser)
}

type transcriptCall struct {
	Name      string           `json:"name"`
	Arguments model.JSONObject `json:"arguments"`
	// Within names the delegation in which the call was made.
	Within string `json:"within,omitempty"`
	// Result is absent if the call failed. Then Error says why.
	Result *string `json:"result,omitempty"`
	Error  *string `json:"error,omitempty"`
	id     string
	// excerpts are the whole chunks of a retrieval, which can be quoted.
	excerpts []string
}

type ending struct {
	// By is "agent", "contact", or "limit" if the test's limit of turns was reached.
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// transcriptOf returns the transcript of a run. givenCount is the number of the first messages that come from the test.
// A call belongs to the answer that it was made for.
func transcriptOf(run *model.AgentTestRun, givenCount int, end ending) transcript {
	names := map[string]string{}
	made := map[int][]transcriptCall{}
	for _, call := range run.ToolCalls {
		names[call.ID] = call.TechnicalName
		shown := transcriptCall{
			id: call.ID, Name: call.TechnicalName, Arguments: call.Arguments, Result: shorten(call.Result),
			Error: shorten(call.Error),
		}
		for _, chunk := range engine.RetrievedBy(call) {
			shown.excerpts = append(shown.excerpts, chunk.Content)
		}
		if call.DelegationID != nil {
			shown.Within = names[*call.DelegationID]
		}
		answer := int(call.MessageSequence) + 1
		made[answer] = append(made[answer], shown)
	}
	t := transcript{Messages: make([]transcriptMessage, 0, len(run.Messages)), Ending: end}
	for i, m := range run.Messages {
		shown := transcriptMessage{MessageIndex: i, Speaker: rules.Contact, IsGiven: i < givenCount, Text: m.Text}
		if m.Role == model.MessageRoleAssistant {
			shown.Speaker, shown.Calls = rules.Agent, made[i]
		}
		t.Messages = append(t.Messages, shown)
	}
	return t
}

// bounded returns the transcript that the judge sees. If its JSON has more bytes than the limit, bounded shortens
// texts. If that is not enough, it leaves out messages in the middle: the beginning has the topic and the end the
// outcome.
func (t transcript) bounded(limit int) transcript {
	// The material has its own bounds.
	if len(content.Encode(t)) <= limit+len(content.Encode(t.judgeContext)) {
		return t
	}
	shown := t
	shown.Messages = make([]transcriptMessage, len(t.Messages))
	for i, m := range t.Messages {
		shown.Messages[i] = m.shortened()
	}
	head, tail := ends(shown.Messages, limit, func(m transcriptMessage) int { return len(content.Encode(m)) })
	if head < tail {
		shown.Messages[tail].LeftOutBefore = tail - head
		shown.Messages = slices.Delete(shown.Messages, head, tail)
	}
	return shown
}

func (m transcriptMessage) shortened() transcriptMessage {
	m.Text, m.pieces = shortenMiddle(m.Text, maxText)
	m.Calls = slices.Clone(m.Calls)
	for i, call := range m.Calls {
		if call.Result != nil && len(*call.Result) > maxOfCall {
			m.Calls[i].Result, m.Calls[i].excerpts = new(content.Cut(*call.Result, maxOfCall)), nil
		}
		if len(call.Arguments) > maxText {
			m.Calls[i].Arguments = model.JSONObject(`{"leftOut":"They are too long to be shown."}`)
		}
	}
	return m
}

// ends returns which messages to keep: messages[:head] and messages[tail:]. The limit bounds their total size
// roughly, in bytes, with a quarter of it at the beginning. The first and the last message are always kept.
func ends[T any](messages []T, limit int, size func(T) int) (head, tail int) {
	tail = len(messages)
	for used := 0; head < tail; head++ {
		if used += size(messages[head]); head > 0 && used > limit/4 {
			break
		}
	}
	for used := limit / 4; tail > head; tail-- {
		if used += size(messages[tail-1]); tail < len(messages) && used > limit {
			break
		}
	}
	return head, tail
}

// shortenMiddle leaves out the middle of a text with more bytes than the limit. pieces has the remaining parts,
// nil for all.
func shortenMiddle(text string, limit int) (short string, pieces []string) {
	if len(text) <= limit {
		return text, nil
	}
	pieces = []string{strings.ToValidUTF8(text[:limit/2], ""), strings.ToValidUTF8(text[len(text)-limit/2:], "")}
	return fmt.Sprintf("%s … (%d characters are left out) … %s", pieces[0],
		utf8.RuneCountInString(text)-utf8.RuneCountInString(pieces[0])-utf8.RuneCountInString(pieces[1]), pieces[1]), pieces
}

// messageAt returns the message with an index, or nil if it is not shown.
func (t transcript) messageAt(index int) *transcriptMessage {
	at, found := slices.BinarySearchFunc(t.Messages, index,
		func(m transcriptMessage, index int) int { return cmp.Compare(m.MessageIndex, index) })
	if !found {
		return nil
	}
	return &t.Messages[at]
}

func shorten(text *string) *string {
	if text == nil {
		return nil
	}
	return new(content.Cut(*text, maxShown))
}
