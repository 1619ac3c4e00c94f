package evaluation

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// player is a model that answers from a list or by a function, and remembers its requests.
type player struct {
	// lines are the answers in order. The last one repeats.
	lines []line
	// answer, if it is set, answers instead of lines.
	answer func(llm.Request) line

	mutex sync.Mutex
	asked []llm.Request
}

// line is one answer. Its text comes before its error.
type line struct {
	text  string
	calls []llm.ToolCall
	err   error
	// hook runs before the answer.
	hook func(context.Context)
}

func (*player) Name() string { return "played" }

func (p *player) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		p.mutex.Lock()
		n := len(p.asked)
		p.asked = append(p.asked, req)
		p.mutex.Unlock()
		var due line
		if p.answer != nil {
			due = p.answer(req)
		} else {
			due = p.lines[min(n, len(p.lines)-1)]
		}
		if due.hook != nil {
			due.hook(ctx)
		}
		if ctx.Err() != nil {
			due.err = ctx.Err()
		}
		if due.err != nil {
			if due.text == "" || yield(llm.Chunk{Text: due.text}, nil) {
				yield(llm.Chunk{}, due.err)
			}
			return
		}
		if due.text != "" && !yield(llm.Chunk{Text: due.text}, nil) {
			return
		}
		finish := llm.FinishStop
		if len(due.calls) > 0 {
			finish = llm.FinishToolCalls
		}
		yield(llm.Chunk{Finish: finish, ToolCalls: due.calls}, nil)
	}
}

func lines(texts ...string) *player {
	p := &player{}
	for _, text := range texts {
		p.lines = append(p.lines, line{text: text})
	}
	return p
}

// leave returns a line that ends the conversation.
func leave(text, reason string) line {
	return line{text: text,
		calls: []llm.ToolCall{{ID: "c", Name: llm.EndConversation,
			Arguments: content.Encode(map[string]any{"reason": reason})}}}
}

// as returns a role that the model plays in a test run. cause is the cause of its errors.
func as(m llm.Model, cause model.RunErrorCause) modelRole {
	return modelRole{Model: m, name: "the " + string(cause), cause: cause, timeout: time.Minute}
}

func written(role model.MessageRole, text string) model.TestMessage {
	return model.TestMessage{Role: role, Text: text}
}

// requireRunFault requires that an error is the fault of the role with this cause, and returns the error's text.
func requireRunFault(t *testing.T, err error, cause model.RunErrorCause) string {
	t.Helper()
	var fault *rules.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, cause, fault.Cause)
	require.NotEmpty(t, fault.Message)
	return fault.Message
}

// lastOf returns the last message in the model's request with that number.
func (p *player) lastOf(number int) string {
	messages := p.asked[number].Messages
	return messages[len(messages)-1].Text
}

func textsOf(messages []model.TestMessage) []string {
	texts := []string{}
	for m := range slices.Values(messages) {
		texts = append(texts, string(m.Role)+": "+m.Text)
	}
	return texts
}
