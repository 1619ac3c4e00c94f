// Package offline is a llm.Model without a network and without a language model: fixed rules that
// hold a plain conversation, for a run without a key, for demonstrations and for tests. The same
// request always gets the same answer. docs/offline-model.md tells the rules to users.
package offline

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// Model answers by rules. Its zero value is ready for use, and has no state.
type Model struct{}

// New returns the offline model.
func New() Model { return Model{} }

// Name is "offline".
func (Model) Name() string { return "offline" }

// Chat is llm.Model's. It streams word by word, without waiting, and fails only when ctx ends.
// Settings have no effect, and no tokens are counted.
func (Model) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		text, last := answer(req)
		for word := range strings.SplitAfterSeq(text, " ") {
			if ctx.Err() != nil {
				yield(llm.Chunk{}, ctx.Err())
				return
			}
			if !yield(llm.Chunk{Text: word}, nil) {
				return
			}
		}
		yield(last, nil)
	}
}

// answer is the rules in their order: the first that fits gives the reply.
func answer(req llm.Request) (string, llm.Chunk) {
	stop := llm.Chunk{Finish: llm.FinishStop}
	speak := phrases[languageOf(req)]
	message, spoken := lastOf(req.Messages)
	if !spoken {
		return speak.greeting + " " + speak.offer, stop
	}
	said := wordsOf(message)
	if isGoodbye(message, said) {
		return speak.goodbye, end(req, speak.goodbyeReason)
	}
	opening, said := cutGreeting(said)
	subject := contentOf(said)
	switch {
	case len(subject) == 0 && opening:
		return speak.greeting + " " + speak.offer, stop
	case len(subject) == 0 && hasThanks(said):
		return speak.welcome, stop
	}

	reply := ""
	if opening {
		reply = speak.greeting + " "
	}
	if found := relevant(req.System, subject); len(found) > 0 {
		return reply + speak.quote(found) + " " + speak.more, stop
	}
	// A greeting and one more word, which the instructions do not know: most likely a name.
	if opening && len(subject) == 1 {
		return reply + speak.offer, stop
	}
	return reply + speak.unknown(message), stop
}

// lastOf is the contact's latest message; false when the agent is to speak first.
func lastOf(messages []llm.Message) (string, bool) {
	for _, message := range slices.Backward(messages) {
		if message.Role == llm.RoleUser {
			return message.Text, true
		}
	}
	return "", false
}

// end is a last chunk that calls end_conversation where it is offered.
func end(req llm.Request, reason string) llm.Chunk {
	offered := slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == llm.EndConversation })
	if !offered {
		return llm.Chunk{Finish: llm.FinishStop}
	}
	arguments, _ := json.Marshal(map[string]string{"reason": reason}) // strings always marshal
	return llm.Chunk{
		Finish: llm.FinishToolCalls,
		ToolCalls: []llm.ToolCall{{
			// Unique in the conversation too: the conversation grows with each answer.
			ID:        "offline_" + strconv.Itoa(len(req.Messages)),
			Name:      llm.EndConversation,
			Arguments: string(arguments),
		}},
	}
}
