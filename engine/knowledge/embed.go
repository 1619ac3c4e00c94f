package knowledge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// embed computes the vectors of a document's chunks, if there is an embedding model.
func (b *Base) embed(ctx context.Context, d *model.Document, chunks []*model.Chunk) error {
	d.EmbeddingModel = nil
	if b.embedder == nil || len(chunks) == 0 {
		return nil
	}
	texts := model.Map(chunks, func(c *model.Chunk) string { return c.Content })
	vectors, err := b.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed a document: %w", err)
	}
	for i, vector := range vectors {
		chunks[i].Embedding = normalizeVector(vector)
	}
	d.EmbeddingModel = new(b.embedder.Name())
	return nil
}

// Refresh schedules indexing for all companies' documents that lack vectors of the current embedding model. Without a
// model, vectors are kept but not used.
func (b *Base) Refresh(ctx context.Context, store *db.Store) error {
	if b.embedder == nil {
		return nil
	}
	companies, err := store.Companies(ctx)
	if err != nil {
		return err
	}
	for _, company := range companies {
		if err := store.Tenant(company.ID).ReindexForModel(ctx, b.embedder.Name()); err != nil {
			return err
		}
	}
	return nil
}

// oneModel returns UNPROCESSABLE if there is more than one model, because their vectors cannot be compared.
func oneModel(models []string) error {
	models = slices.Compact(slices.Sorted(slices.Values(models)))
	if len(models) < 2 {
		return nil
	}
	return model.Errorf(model.Unprocessable, "the chat's datasets are embedded by different models (%s): index them again",
		strings.Join(models, ", "))
}

// embedQuestion returns the vector of the question. It is nil if there is no model, if the documents' vectors are from
// another model, or if embedding fails.
func (b *Base) embedQuestion(ctx context.Context, embeddingModel, question string) []float32 {
	if b.embedder == nil || b.embedder.Name() != embeddingModel {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	vectors, err := b.embedder.Embed(ctx, []string{question})
	if err != nil {
		b.log.WarnContext(ctx, "could not embed a question: only its words are searched", "error", err)
		return nil
	}
	return normalizeVector(vectors[0])
}

const questionTimeout = 10 * time.Second
