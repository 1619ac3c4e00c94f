// Package knowledge turns documents into chunks, and finds the chunks that help to answer a question.
package knowledge

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/engine/llm"
)

// Options tune a Base. The zero value works.
type Options struct {
	// Embedder makes the vectors of chunks and questions. Nil means that only words are compared.
	Embedder llm.Embedder
	// Reranker reorders the chunks found, for chats that name one of its models.
	Reranker Reranker
	// OCR recognises writing in pictures. Its zero value reads none.
	OCR OCR
	// Log receives failures with the causes that clients are not told. Nil means slog.Default().
	Log *slog.Logger
	// Observe is called when a retrieval begins, and the function that it returns when the retrieval ends. The retrieval
	// uses the returned context. Observe may be nil.
	Observe func(ctx context.Context) (context.Context, func(found int, err error))
}

// Base is the knowledge of all companies. It is safe for concurrent use.
type Base struct {
	embedder     llm.Embedder
	rerank       Reranker
	log          *slog.Logger
	limits       limits
	vectors      vectorCache
	vocabularies *vocabularyCache
	outage       *atomic.Pointer[outage]
	// files are the places of files that are read and cut: each takes a core and many times its size.
	files *fair.Gate
	// pictures reads those files that hold no text; nil if nobody does.
	pictures *recogniser
	observe  func(context.Context) (context.Context, func(int, error))
}

// EmbeddingModel returns the name of the model that makes vectors; nil without one.
func (b *Base) EmbeddingModel() *string {
	if b.embedder == nil {
		return nil
	}
	return new(b.embedder.Name())
}

// New returns a Base.
func New(o Options) *Base {
	b := &Base{embedder: o.Embedder, rerank: o.Reranker, log: cmp.Or(o.Log, slog.Default()), limits: defaultLimits,
		vectors: newVectorCache(), vocabularies: newVocabularyCache(), outage: &atomic.Pointer[outage]{}, observe: o.Observe,
		files: fair.New(filesAtATime, filesOfOne), pictures: newRecogniser(o.OCR)}
	if b.observe == nil {
		b.observe = func(ctx context.Context) (context.Context, func(int, error)) { return ctx, func(int, error) {} }
	}
	return b
}
