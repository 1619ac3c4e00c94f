// Package offline is a [llm.Model] that needs no provider. Newcomers use it before they have a key, and demonstrations
// and tests run on it. It finds the example in the agent's instructions that is nearest to the contact's message, asks
// for missing arguments, calls the tool and reports the result. The same request always gets the same answer. Package
// read recognizes names, numbers and times in texts. docs/reference/offline-model.md explains the model to users.
package offline

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/engine/llm"
)

// wordsPerPiece is the number of words in a piece of an answer.
const wordsPerPiece = 3

const (
	// maxBriefs and maxRepertoires bound the model's memory, in bytes.
	maxBriefs, maxRepertoires = 16 << 20, 64 << 20
	// A brief takes bytesPerBrief, and bytesPerByte for each byte of instructions and tools.
	bytesPerBrief, bytesPerByte = 8 << 10, 10
	// A repertoire takes bytesPerRepertoire, most of it for the small talk, and bytesPerExample for each byte of examples.
	bytesPerRepertoire, bytesPerExample = 600 << 10, 100
)

// memory caches parsed instructions, tools and examples, which come with every message. The keys are hashes of the
// texts, so entries are never stale.
type memory struct {
	briefs      *cache.Cache[[sha256.Size]byte, *brief]
	repertoires *cache.Cache[[sha256.Size]byte, *repertoire]
}

// Model answers by examples. It stores no conversations. It caches parsed instructions and tools.
type Model struct {
	memory *memory
	pause  time.Duration
}

// New returns the offline model, which answers without waiting.
func New() Model {
	return Model{memory: &memory{
		cache.New(maxBriefs, func(_ [sha256.Size]byte, b *brief) int { return b.bytes }),
		cache.New(maxRepertoires, func(_ [sha256.Size]byte, r *repertoire) int { return r.bytes }),
	}}
}

// Paced returns the model with a pause between the pieces of an answer, so that people see it being written. It shares
// the memory of m.
func (m Model) Paced(pause time.Duration) Model { return Model{m.memory, pause} }

// Name is the name of the offline model.
const Name = "offline"

// Name is [Name].
func (Model) Name() string { return Name }

// Chat implements llm.Model. It streams pieces of three words, and fails only if ctx ends. Settings have no effect, and
// no tokens are counted.
func (m Model) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		reply := m.readRequest(req).answer()
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
				// The id is unique within the conversation, because each answer makes the conversation longer.
				ID:        "offline_" + strconv.Itoa(len(req.Messages)),
				Name:      reply.tool,
				Arguments: string(arguments),
			}}}
		}
		yield(last, nil)
	}
}

// wait waits until it is time for the piece with the given number, from 0.
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
			for range wordsPerPiece {
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
