package rules

import (
	"context"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// Who speaks in a conversation, and who or what ended it.
const (
	Agent   = "agent"
	Contact = "contact"
	Limit   = "limit"
)

// These bound the evidence of a verdict: the characters of a quote, and the entries.
const (
	MaxQuote    = 1_000
	MaxEvidence = 10
)

// Conversation is an ended conversation of a test, for checks and criteria.
type Conversation struct {
	messages []model.TestMessage
	calls    []*model.ToolCall
	// turns[i] is the turn of message i: fromTest for a message that the test supplies, and 0 for any other message
	// before the first turn.
	turns []int32
	count int32
	// endedBy is "agent", "contact", or "limit" if the test's limit of turns was reached.
	endedBy string
	// isMeasured is set if the values of duration and credits are known.
	isMeasured bool
	duration   time.Duration
	credits    model.Credits
	// Extracted has the extracted values; a nil value was not in the conversation. ExtractionError is why extraction
	// failed.
	Extracted       map[string]*string
	ExtractionError *string
	// Targets are the tools and sub-agents that the agent can call.
	Targets []Target
	// Tag asks the agent's classifier.
	Tag func(context.Context) (*string, error)
}

// Finding is the result of a check.
type Finding struct {
	Passed   bool
	Observed string
	Evidence []model.Evidence
}

// fromTest is the turn number of the messages that the test starts with.
const fromTest = -1

// NewConversation returns the conversation of a run. The number start says how many of the first messages are the
// test's own.
func NewConversation(run *model.AgentTestRun, start int, endedBy string) *Conversation {
	// Calls for answers that the test starts with do not count.
	conversation := &Conversation{messages: run.Messages, count: run.TurnCount, endedBy: endedBy}
	for _, call := range run.ToolCalls {
		if int(call.MessageSequence) >= start-1 {
			conversation.calls = append(conversation.calls, call)
		}
	}
	if kept := run.Held; kept != nil {
		conversation.isMeasured, conversation.credits = kept.IsMeasured, model.Credits(kept.SpentMicro)
		conversation.duration = time.Duration(kept.TookMs * float64(time.Millisecond))
	}
	turn := int32(0)
	if start > 0 && run.Messages[start-1].Role == model.MessageRoleUser {
		turn = 1
	}
	for i, m := range run.Messages {
		if i < start {
			conversation.turns = append(conversation.turns, fromTest)
			continue
		}
		if m.Role == model.MessageRoleUser {
			turn++
		}
		conversation.turns = append(conversation.turns, turn)
	}
	return conversation
}

// isIn reports whether a message of the run is in a turn. Nil means any turn.
func (c *Conversation) isIn(message int, turn *int32) bool {
	current := c.turns[message]
	switch {
	case current == fromTest:
		return false
	case turn == nil:
		return true
	case *turn < 0:
		return current > 0 && current == c.turns[len(c.turns)-1]+1+*turn
	}
	return current == *turn
}

// findInMessages returns what find finds in the messages of a role in a turn. A nil turn means any turn.
func (c *Conversation) findInMessages(
	role model.MessageRole, turn *int32, find func(text string) (string, bool, error),
) (cited []model.Evidence, err error) {
	for i, m := range c.messages {
		if m.Role != role || !c.isIn(i, turn) {
			continue
		}
		quote, found, err := find(m.Text)
		if err != nil {
			return nil, err
		}
		if found && len(cited) < MaxEvidence {
			cited = append(cited, c.quote(i, quote))
		}
	}
	return cited, nil
}

// quote returns evidence from the text of a message.
func (c *Conversation) quote(message int, text string) model.Evidence {
	return model.Evidence{
		MessageIndex: int32(message), Quote: content.Clip(text, MaxQuote), Speaker: &c.messages[message].Role,
		Kind: new(model.EvidenceKindSaid),
	}
}

// citeCalls returns one piece of evidence per call, for at most MaxEvidence calls. Each quotes the call's name and
// arguments, and points at the agent's message after the call.
func (c *Conversation) citeCalls(calls []*model.ToolCall) []model.Evidence {
	var cited []model.Evidence
	for _, call := range calls[:min(len(calls), MaxEvidence)] {
		cited = append(cited, model.Evidence{
			MessageIndex: min(call.MessageSequence+1, int32(len(c.messages)-1)),
			Quote:        content.Clip(call.TechnicalName+" "+content.Encode(call.Arguments), MaxQuote),
			ToolCallID:   &call.ID, Speaker: new(model.MessageRoleAssistant), Kind: new(model.EvidenceKindCalled),
		})
	}
	return cited
}

func (c *Conversation) lastMessage() []model.Evidence {
	if last := len(c.messages) - 1; last >= 0 {
		return c.lastOf(c.messages[last].Role)
	}
	return nil
}

func (c *Conversation) lastOf(role model.MessageRole) []model.Evidence {
	for i, m := range slices.Backward(c.messages) {
		if m.Role == role && c.turns[i] != fromTest {
			return []model.Evidence{c.quote(i, m.Text)}
		}
	}
	return nil
}

// quoteLast quotes the last message that contains a value, ignoring case and spacing.
func (c *Conversation) quoteLast(value string) []model.Evidence {
	for i, m := range slices.Backward(c.messages) {
		if quote := read.Find(m.Text, value); quote != "" {
			return []model.Evidence{c.quote(i, quote)}
		}
	}
	return nil
}
