// Package knowledge turns documents into chunks, and finds the chunks that help to answer a question. Start reading at
// [Base]: Index writes chunks, and Retrieve finds them.
package knowledge

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// Options tune a Base. The zero value works.
type Options struct {
	// Embedder makes the vectors of chunks and questions. Nil means that only words are compared.
	Embedder llm.Embedder
	// Reranker reorders the found chunks, for chats that name one of its models.
	Reranker Reranker
	// OCR recognizes text in pictures. The zero value does not.
	OCR OCR
	// Log receives failures with the causes that clients do not see. Nil means slog.Default().
	Log *slog.Logger
	// Observe is called before a retrieval. The retrieval uses the returned context. The returned function is called
	// after the retrieval. Observe may be nil.
	Observe func(ctx context.Context) (context.Context, func(found int, err error))
}

// Base is the knowledge base of all companies. It is safe for concurrent use.
type Base struct {
	embedder llm.Embedder
	rerank   Reranker
	log      *slog.Logger
	// window is how many chunks are scored for their terms, and how many for their vectors. visits bounds the chunks that
	// each kind of term search reads.
	window, visits int
	vectors        *cache.Cache[indexing, []*model.Chunk]
	vocabularies   *vocabularyCache
	outage         *atomic.Pointer[outage]
	// files limits the files that are read and cut at a time: each takes a core and many times its size in memory.
	files *fair.Gate
	// guesses limits the questions whose unknown words are compared with all known words: each uses a processor.
	guesses *fair.Gate
	// large is locked while a text of largeText or more is indexed.
	large *sync.Mutex
	// pictures reads files without text. It is nil without an OCR program.
	pictures *recognizer
	observe  func(context.Context) (context.Context, func(int, error))
}

// EmbeddingModel returns the name of the embedding model, or nil if there is none.
func (b *Base) EmbeddingModel() *string {
	if b.embedder == nil {
		return nil
	}
	return new(b.embedder.Name())
}

// New returns a Base.
func New(o Options) *Base {
	b := &Base{embedder: o.Embedder, rerank: o.Reranker, log: cmp.Or(o.Log, slog.Default()), window: 300, visits: 1_000,
		vectors: newVectorCache(), vocabularies: newVocabularyCache(), outage: &atomic.Pointer[outage]{}, observe: o.Observe,
		files: fair.New(maxConcurrentFiles, maxFilesPerCompany), large: &sync.Mutex{},
		guesses:  fair.New(2*runtime.GOMAXPROCS(0), runtime.GOMAXPROCS(0)),
		pictures: newRecognizer(o.OCR)}
	if b.observe == nil {
		b.observe = func(ctx context.Context) (context.Context, func(int, error)) { return ctx, func(int, error) {} }
	}
	return b
}
