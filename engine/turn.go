package engine

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxReply bounds a reply, in bytes.
	maxReply = 256 << 10

	instruction = "\n\nYou are in a text conversation with a contact. Answer with nothing but what you say to the " +
		"contact. " +
		"Use the tool " + llm.EndConversation + " once there is nothing left to do, and say goodbye in the same answer."
	delegateInstruction = "\n\nAnother agent, which talks to the contact, asks you for help. " +
		"Answer with nothing but what that agent needs to know. It cannot answer questions."
)

// converse returns the conversation of the chat's agent. The last message is the contact's. mockedCalls counts the
// mocked calls of earlier turns by target.
func (t *turn) converse(s *Speaker, messages []llm.Message, mockedCalls map[string]int32) (*conversation, error) {
	c, err := t.conversation(s, t.variables, t.mocking, instruction)
	if err != nil {
		return nil, err
	}
	c.offer(&endTarget)
	c.mockedCalls, c.path, c.req.Messages = mockedCalls, []string{s.Agent.ID}, messages
	if c.endReason = t.transfer.doneReason(); c.endReason != nil {
		c.req.Tools = nil
	}
	return c, nil
}

// conversation returns a conversation without messages. The error is UNPROCESSABLE if the prompt is too long.
func (t *turn) conversation(s *Speaker, variables content.Values, mocking *model.ToolMocking,
	instruction string) (*conversation, error) {
	prompt, unknown, err := content.Render(s.Agent.Prompt, variables)
	if err != nil {
		return nil, err
	}
	chosen, err := t.chooseModel(s.Agent)
	if err != nil {
		return nil, err
	}
	c := &conversation{
		turn: t, model: chosen, targets: map[string]*target{}, variables: variables, unknown: unknown,
		channel:  s.Agent.Channel,
		language: s.Agent.Language,
		prompt:   prompt, instruction: instruction, req: llm.Request{System: prompt + instruction},
	}
	if tried := s.Agent.Tried.LlmSettings; tried != nil {
		c.req.Settings = settingsOf(tried)
	}
	if s.chat != nil {
		c.knowledge, c.req.Settings = &retrieval{chat: s.chat}, settingsOf(s.chat.LlmSettings.Input())
	}
	for _, target := range s.targets(mocking, t.effects.transfer != nil) {
		c.offer(target.sample(t.samples))
	}
	return c, nil
}

func (c *conversation) offer(t *target) {
	c.targets[t.TechnicalName] = t
	c.req.Tools = append(c.req.Tools, llm.Tool{Name: t.TechnicalName, Description: t.description,
		Parameters: t.parameters})
}

// events returns the events of the agent's answer. The sequence ends with the reply, or with an error: UPSTREAM_FAILED
// for any failure of the model, or ctx's error. Every call ends before the sequence does. After a real transfer there
// is a reply even if ctx ended, because the contact has left.
func (c *conversation) events(ctx context.Context) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		elapsed := c.stopwatch()
		emit := func(e event) bool {
			if e.text != "" && c.usage.FirstTokenMs == nil {
				c.usage.FirstTokenMs = new(elapsed())
			}
			return yield(e, nil)
		}
		reply, err := c.reply(ctx, emit)
		if err != nil && !errors.Is(err, errConsumerStopped) && c.transfer.happened() {
			c.endReason = c.transfer.doneReason()
			reply, err = c.endReply(err, emit)
		}
		if reply != nil {
			c.usage.TookMs = elapsed()
			reply.Usage = c.usage
		}
		if !errors.Is(err, errConsumerStopped) {
			yield(event{reply: reply}, err)
		}
	}
}

// stopwatch returns a function that returns the milliseconds since the call of stopwatch, including skipped delays.
func (t *turn) stopwatch() func() float64 {
	skipped := t.skippedDelay
	if skipped == nil {
		skipped = func() time.Duration { return 0 }
	}
	began, before := time.Now(), skipped()
	return func() float64 {
		return float64(time.Since(began)+skipped()-before) / float64(time.Millisecond)
	}
}

// errConsumerStopped is returned when the consumer of the events stops the turn.
var errConsumerStopped = errors.New("the consumer of the events stopped")

// reply asks the knowledge base, then the model until it has an answer, and carries out its calls. emit gets all events
// except the reply, one at a time, and returns whether it wants more. After a transfer or the end of the conversation,
// there is a reply even if the model fails, because neither must be repeated.
func (c *conversation) reply(ctx context.Context, emit func(event) bool) (*Reply, error) {
	if c.knowledge != nil && c.endReason == nil {
		if answer, err := c.searchKnowledge(ctx, emit); answer != nil || err != nil {
			return answer, err
		}
	}
	for asked := 1; asked <= c.limits.modelCalls; asked++ {
		calls, err := c.streamAnswer(ctx, emit)
		hasStopped := err != nil && (errors.Is(err, errConsumerStopped) || ctx.Err() != nil)
		switch {
		case c.endReason != nil && !hasStopped:
			return c.endReply(err, emit)
		case err != nil:
			return nil, err
		}
		isLast := asked == c.limits.modelCalls || c.modelRequests.Load() >= c.maxAsked()
		wanted := len(calls)
		if isLast {
			calls = c.finalCalls(calls)
		}
		if err := c.applyCalls(ctx, calls, emit); err != nil {
			return nil, err
		}
		text, citations := c.spoken()
		switch {
		case c.endReason != nil && (isLast || text != ""):
			return c.endReply(nil, emit)
		case wanted > 0:
		case text == "":
			return nil, c.fault("gave an empty answer")
		default:
			return &Reply{Text: text, citations: citations}, nil
		}
	}
	return nil, c.fault("gave no final answer to %d requests in one turn, the limit: raise "+
		"AGENTGRAPH_MAX_MODEL_CALLS, or change the prompt", c.limits.modelCalls)
}

// endReply returns the last reply of an ended conversation. If the model said nothing, endReply emits a farewell.
func (c *conversation) endReply(failure error, emit func(event) bool) (*Reply, error) {
	text, citations := c.spoken()
	if text == "" {
		text = farewell(c.language, c.transfer.doneReason() != nil)
		if !emit(event{text: text}) {
			return nil, errConsumerStopped
		}
	}
	return &Reply{Text: text, EndReason: c.endReason, failure: failure, citations: citations}, nil
}

// spoken returns the agent's text so far, with its citations.
func (c *conversation) spoken() (string, []model.Citation) {
	text, citations := c.replyText.String(), []model.Citation(nil)
	if c.knowledge != nil {
		text, citations = c.cite(text)
	}
	return strings.TrimSpace(text), citations
}

// farewell returns the text for an agent that ends a conversation without a word, in French or English.
func farewell(language string, isTransferred bool) string {
	isFrench := strings.HasPrefix(language, "fr")
	switch {
	case isFrench && isTransferred:
		return "Je vous transfère."
	case isFrench:
		return "Au revoir."
	case isTransferred:
		return "I am transferring you now."
	}
	return "Goodbye."
}

// errTooSlow is the cause when an answer takes longer than ReplyTimeout.
var errTooSlow = errors.New("the answer takes too long")

// streamAnswer streams one answer of the model and returns its calls.
func (c *conversation) streamAnswer(ctx context.Context, emit func(event) bool) ([]llm.ToolCall, error) {
	// Nested delegations would multiply the bound of one conversation.
	if most := c.maxAsked(); c.modelRequests.Add(1) > most {
		return nil, c.fault("gave no final answer to %d requests in one turn, the limit including sub-agents: raise "+
			"AGENTGRAPH_MAX_MODEL_CALLS, or change the prompts", most)
	}
	if c.callBytes.Load() > maxAllCalls {
		return nil, c.fault("made calls with more than %d KiB of arguments and results in one turn, the limit: let the "+
			"tools return less, or change the prompt", maxAllCalls>>10)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.limits.replyTimeout, errTooSlow)
	defer cancel()
	var calls []llm.ToolCall
	var text strings.Builder
	for chunk, err := range c.model.Chat(limited, c.req) {
		if err != nil {
			return nil, c.upstream(ctx, limited, err)
		}
		if piece := content.Clean(chunk.Text); piece != "" {
			if text.Len() == 0 && c.replyText.Len() > 0 {
				piece = "\n\n" + piece
			}
			if c.replyText.Len()+len(piece) > maxReply {
				return nil, c.fault("gave an answer of more than %d KiB, the limit: change the prompt, or ask for less",
					maxReply>>10)
			}
			text.WriteString(piece)
			c.replyText.WriteString(piece)
			if !emit(event{text: piece}) {
				return nil, errConsumerStopped
			}
		}
		calls = append(calls, chunk.ToolCalls...)
		if chunk.Finish != "" {
			c.usage.Model, c.usage.IsFallback = new(cmp.Or(chunk.Model, c.model.Name())), chunk.Model != ""
		}
	}
	c.req.Messages = append(c.req.Messages[:len(c.req.Messages):len(c.req.Messages)],
		llm.Message{Role: llm.RoleAssistant, Text: text.String(), ToolCalls: calls})
	return calls, nil
}

// maxAsked bounds the requests to the model in one turn, delegations included.
func (t *turn) maxAsked() int64 { return int64(t.limits.modelCalls * t.limits.depth) }

// fault returns the error for a mistake of the model. It does not name the model.
func (t *turn) fault(format string, args ...any) error {
	return model.Errorf(model.UpstreamFailed, "the language model "+format, args...)
}

// upstream returns the model's failure as clients see it. It wraps the cause for the log.
func (t *turn) upstream(ctx, limited context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(context.Cause(limited), errTooSlow) {
		return errors.Join(t.fault("did not finish its reply within %s", t.limits.replyTimeout), err)
	}
	if failure, ok := errors.AsType[*llm.Error](err); ok {
		return upstreamError{model.Errorf(model.UpstreamFailed, "%s", failure.Message), failure}
	}
	return errors.Join(t.fault("failed"), err)
}

// upstreamError is the model's failure as clients see it. It wraps the failure, which has the same text.
type upstreamError struct{ shown, failure error }

func (e upstreamError) Error() string   { return e.shown.Error() }
func (e upstreamError) Unwrap() []error { return []error{e.shown, e.failure} }
