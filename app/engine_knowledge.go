package app

import (
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/engine/llm/static"
)

func (o EngineOptions) knowledge() (*knowledge.Base, error) {
	o.Reranker.Around, o.Reranker.Observe = o.Observer.WrapTransport(), o.Observer.Reranks()
	options := knowledge.Options{Reranker: o.Reranker, OCR: o.OCR, Log: o.Log, Observe: o.Observer.Retrievals()}
	var err error
	switch {
	case strings.IndexAny(o.Embedder.Model, "/.") == 0:
		var embedder *static.Model
		if embedder, err = static.Open(o.Embedder.Model); err == nil {
			options.Embedder = o.Observer.Embedder(embedder, "static")
		}
	case o.Embedder.Model != "":
		config := o.withProviderDefaults(o.Embedder)
		config.Timeout, config.Around = embeddingTimeout, o.Observer.WrapTransport()
		var embedder *provider.Embedder
		if embedder, err = provider.NewEmbedder(config); err == nil {
			options.Embedder = o.Observer.Embedder(embedder, providerNames[provider.Completions])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("choose the embedding model (--embedding-model): %w", err)
	}
	return knowledge.New(options), nil
}
