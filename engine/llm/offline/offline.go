// Package offline is a [llm.Model] that needs no provider: a plain conversation by fixed rules. Newcomers meet it
// before they have a key, and demonstrations and tests speak with it. It asks for what a tool needs as a receptionist
// would, calls it, and tells the result. The same request always gets the same answer. What it can read in a text is
// in [read]. docs/reference/offline-model.md explains the rules to users.
package offline

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// wordsOfPiece is how many words a piece of an answer has.
const wordsOfPiece = 3

// Model answers by rules. It stores nothing of conversations, but remembers what it has read of recurring texts.
type Model struct {
	memory *memory
	pause  time.Duration
}

// New returns the offline model, which answers without waiting.
func New() Model { return Model{memory: newMemory()} }

// Paced returns the model with a pause between the pieces of an answer, so that it is seen to be written. It shares the
// memory of m.
func (m Model) Paced(pause time.Duration) Model { return Model{m.memory, pause} }

// Name is the name of the offline model.
const Name = "offline"

// Name is [Name].
func (Model) Name() string { return Name }

// Chat implements llm.Model. It streams pieces of three words, and fails only if ctx ends. Settings have no effect, and
// no tokens are counted.
func (m Model) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		reply := m.read(req).answer()
		for i, piece := range pieces(reply.text) {
			if err := m.wait(ctx, i); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if !yield(llm.Chunk{Text: piece}, nil) {
				return
			}
		}
		last := llm.Chunk{Finish: llm.FinishStop}
		if reply.tool != "" {
			arguments, _ := json.Marshal(reply.arguments) // texts and values from JSON always marshal
			last = llm.Chunk{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{{
				// This is unique in the conversation too, which grows with each answer.
				ID:        "offline_" + strconv.Itoa(len(req.Messages)),
				Name:      reply.tool,
				Arguments: string(arguments),
			}}}
		}
		yield(last, nil)
	}
}

// wait waits until the piece with the number, from 0, is due.
func (m Model) wait(ctx context.Context, number int) error {
	if m.pause == 0 || number == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(m.pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pieces returns the pieces of a text with their numbers. None is empty.
func pieces(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for number := 0; text != ""; number++ {
			end := 0
			for range wordsOfPiece {
				_, rest, isCut := strings.Cut(text[end:], " ")
				if end = len(text) - len(rest); !isCut {
					end = len(text)
				}
			}
			if !yield(number, text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

type reply struct {
	text      string
	tool      string
	arguments map[string]any
}

func say(parts ...string) reply {
	return reply{text: strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")}
}

// answer tries the rules in their order. The first that fits gives the reply.
func (c *conversation) answer() reply {
	if c.turn < 0 {
		return say(c.speak.greeting, c.speak.offer)
	}
	if made := c.calledNow(); len(made) > 0 && made[len(made)-1].at == c.lastCalling() {
		return c.afterCall(made[len(made)-1])
	}
	said := c.words
	if found := c.warning(c.beyondTools(read.ConceptsOf(said))); len(found) > 0 {
		return say(strings.Join(found, " "))
	}
	switch {
	case read.IsOptOut(said):
		return c.leave(c.speak.optOut, c.speak.optOutReason)
	case read.IsGoodbye(c.said(), said), c.wantsNothingElse(said):
		return c.leave(c.speak.goodbye, c.speak.goodbyeReason)
	case read.WantsHuman(said) && c.offersTransfer():
		return c.putThrough()
	}
	if next, ok := c.goOn(); ok {
		return next
	}
	return c.begin(said)
}

// begin answers a message that begins a new matter.
func (c *conversation) begin(said []string) reply {
	opening, said := read.CutGreeting(said)
	lead := c.lead()
	subject := read.Content(said)
	switch {
	case len(subject) == 0 && opening:
		return say(lead, c.speak.offer)
	case len(subject) == 0 && read.HasThanks(said):
		return say(c.speak.welcome)
	case read.Declines(c.said()):
		return say(lead, c.speak.dropped, c.speak.anythingElse)
	}
	if answer := c.small(true); answer != nil && !c.isChoice() {
		return *answer
	}
	if len(subject) == 0 && len(said) > 0 && !strings.Contains(c.said(), "?") && !read.HasDigits(c.said()) {
		return say(lead, c.speak.offer+c.speak.menu(c.tools))
	}
	if read.WantsHuman(said) {
		return say(lead, c.instead(tool{}))
	}
	next := c.serve(lead)
	if next == nil {
		next = c.small(false)
	}
	// A greeting and one more word that nothing is about is most likely a name.
	if next == nil && opening && len(subject) == 1 {
		return say(lead, c.speak.offer)
	}
	if asked, ok := c.askedBefore(c.turn); next == nil && ok && strings.Contains(c.said(), "?") {
		return say(lead, c.speak.lost, c.asking(asked))
	}
	if next == nil {
		return say(lead, c.speak.lost+c.speak.menu(c.tools))
	}
	return *next
}

// lead returns what begins a turn: a greeting in return, and the news that no human is available.
func (c *conversation) lead() string {
	var parts []string
	if opening, _ := read.CutGreeting(c.words); opening {
		parts = append(parts, c.speak.greeting)
	}
	if read.WantsHuman(c.words) && !c.offersTransfer() {
		parts = append(parts, c.speak.noTransfer)
	}
	return strings.Join(parts, " ")
}

// serve calls the tool that the message is about, or quotes what is known of it. If the message asks how things are, it
// prefers to quote, and calls a tool only if that fits very well. It returns nil if there is neither.
func (c *conversation) serve(lead string) *reply {
	subject := c.subject().words
	facts := c.asksForFacts() || c.isInDocuments(subject)
	quoted := func() *reply {
		found := c.relevant(subject)
		if len(found.sentences) == 0 {
			return nil
		}
		return new(say(lead, c.speak.quote(found), c.speak.more))
	}
	used := func() *reply {
		wanted, ok := c.goal()
		if !ok || facts && c.fit().score < 2*threshold {
			return nil
		}
		return new(c.pursue(wanted, lead))
	}
	rules := []func() *reply{used, quoted}
	if facts {
		slices.Reverse(rules)
	}
	for _, rule := range rules {
		if next := rule(); next != nil {
			return next
		}
	}
	return nil
}

// leave says goodbye, and ends the conversation if that is offered.
func (c *conversation) leave(text, reason string) reply {
	if !c.offers(llm.EndConversation) {
		return say(text)
	}
	return reply{text: text, tool: llm.EndConversation, arguments: map[string]any{"reason": reason}}
}

func (c *conversation) offers(name string) bool {
	return slices.ContainsFunc(c.req.Tools, func(t llm.Tool) bool { return t.Name == name })
}

func (c *conversation) offersTransfer() bool { return c.offers(llm.TransferCall) }

func (c *conversation) putThrough() reply {
	return reply{text: c.speak.transfer, tool: llm.TransferCall, arguments: map[string]any{
		"reason": fill(c.speak.transferReason, read.Shorten(c.said(), maxEchoed)),
	}}
}
