package engine

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxModelCalls is how often the model is asked in one turn: the answer, one correction of a
	// wrong call, and the farewell of an answer that ended the conversation without a word.
	maxModelCalls = 3
	// maxReply, in bytes, bounds a reply.
	maxReply = 256 << 10

	instruction = "\n\nYou are in a text conversation with a contact. Answer with nothing but what you say to the contact. " +
		"Use the tool " + llm.EndConversation + " once there is nothing left to do, and say goodbye in the same answer."
)

var endConversation = llm.Tool{
	Name:        llm.EndConversation,
	Description: "Ends the conversation for good, after what you say in the same answer.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string",` +
		`"description":"Why the conversation ends, in your own words."}},"required":["reason"],"additionalProperties":false}`),
}

// event is one thing that happens in a turn.
type event struct {
	// text is the next piece of the reply.
	text string
	// reply is on the last event only.
	reply *reply
}

// reply is what the agent answers.
type reply struct {
	text string
	// endReason is why the agent ends the conversation with it; nil when it goes on.
	endReason *string
}

// turn is one reply in the making.
type turn struct {
	model llm.Model
	req   llm.Request
	said  strings.Builder
	// corrected is whether the model had its chance to repair a call.
	corrected bool
	endReason *string
}

// converse lets the model answer the last of the messages under the prompt, whose placeholders are
// filled. The sequence ends with the reply, or with an error: UPSTREAM_FAILED for whatever is the model's
// fault, or ctx's.
func converse(ctx context.Context, m llm.Model, prompt string, messages []llm.Message) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		t := &turn{model: m, req: llm.Request{
			System: prompt + instruction, Messages: messages, Tools: []llm.Tool{endConversation},
		}}
		for range maxModelCalls {
			calls, err := t.ask(ctx, func(text string) bool { return yield(event{text: text}, nil) })
			if errors.Is(err, errLeft) {
				return
			}
			if err == nil {
				err = t.obey(calls)
			}
			if err != nil {
				yield(event{}, err)
				return
			}
			text := strings.TrimSpace(t.said.String())
			if text != "" && (len(calls) == 0 || t.endReason != nil) {
				yield(event{reply: &reply{text: text, endReason: t.endReason}}, nil)
				return
			}
			if len(calls) == 0 {
				break
			}
		}
		yield(event{}, model.Errorf(model.UpstreamFailed, "the language model %s gave an empty answer", m.Name()))
	}
}

// errLeft says that nobody wants the rest of the turn.
var errLeft = errors.New("left")

// ask streams one answer of the model and returns the calls that it makes.
func (t *turn) ask(ctx context.Context, speak func(string) bool) ([]llm.ToolCall, error) {
	var calls []llm.ToolCall
	var text strings.Builder
	for chunk, err := range t.model.Chat(ctx, t.req) {
		if err != nil {
			return nil, upstream(ctx, t.model, err)
		}
		// Postgres cannot keep U+0000.
		piece := strings.ReplaceAll(strings.ToValidUTF8(chunk.Text, "\uFFFD"), "\x00", "")
		if piece != "" {
			if text.Len() == 0 && t.said.Len() > 0 {
				piece = "\n\n" + piece
			}
			text.WriteString(piece)
			t.said.WriteString(piece)
			if t.said.Len() > maxReply {
				return nil, model.Errorf(model.UpstreamFailed, "the language model %s gave an answer that is too long to keep", t.model.Name())
			}
			if !speak(piece) {
				return nil, errLeft
			}
		}
		calls = append(calls, chunk.ToolCalls...)
	}
	t.req.Messages = append(t.req.Messages[:len(t.req.Messages):len(t.req.Messages)],
		llm.Message{Role: llm.RoleAssistant, Text: text.String(), ToolCalls: calls})
	return calls, nil
}

// obey carries out the calls of an answer and lets the model know what came of them.
func (t *turn) obey(calls []llm.ToolCall) error {
	for _, call := range calls {
		if call.Name != llm.EndConversation {
			return model.Errorf(model.UpstreamFailed, "the language model %s called a tool that it was not offered", t.model.Name())
		}
		result := "The conversation ends. Say goodbye."
		if reason, ok := reasonOf(call.Arguments); ok {
			t.endReason = &reason
			t.req.Tools = nil
		} else if t.corrected {
			return model.Errorf(model.UpstreamFailed, "the language model %s called %s twice with wrong arguments", t.model.Name(), call.Name)
		} else {
			t.corrected = true
			result = `The call failed: its arguments must be a JSON object with a text "reason". Call it again; do not repeat what you said.`
		}
		t.req.Messages = append(t.req.Messages, llm.Message{Role: llm.RoleTool, ToolCallID: call.ID, Text: result})
	}
	return nil
}

// reasonOf reads the arguments of end_conversation; false when there is no reason in them.
func reasonOf(arguments string) (string, bool) {
	var given struct{ Reason string }
	if err := json.Unmarshal([]byte(arguments), &given); err != nil {
		return "", false
	}
	reason := strings.TrimSpace(strings.ReplaceAll(given.Reason, "\x00", ""))
	return reason, reason != ""
}

// upstream is how the model's failure is told to a client. The cause goes along for the log.
func upstream(ctx context.Context, m llm.Model, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failure *llm.Error
	if errors.As(err, &failure) {
		return errors.Join(model.Errorf(model.UpstreamFailed, "%s", failure.Message), err)
	}
	return errors.Join(model.Errorf(model.UpstreamFailed, "the language model %s failed", m.Name()), err)
}
