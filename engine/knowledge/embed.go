package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// embed gives the chunks of a document their vectors, when there is a model for it.
func (b *Base) embed(ctx context.Context, d *model.Document, chunks []*model.Chunk) error {
	d.EmbeddingModel = nil
	if b.embedder == nil || len(chunks) == 0 {
		return nil
	}
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = c.Content
	}
	vectors, err := b.embedder.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("embed a document: %w", err)
	}
	for i, vector := range vectors {
		chunks[i].Embedding = unit(vector)
	}
	name := b.embedder.Name()
	d.EmbeddingModel = &name
	return nil
}

// Refresh has the documents of all companies indexed again whose vectors are not of the embedding model. Without a
// model vectors stay as they are, and unused.
func (b *Base) Refresh(ctx context.Context, store *db.Store) error {
	if b.embedder == nil {
		return nil
	}
	companies, err := store.Companies(ctx)
	if err != nil {
		return err
	}
	for _, company := range companies {
		if err := store.Tenant(company.ID).ReindexOtherModels(ctx, b.embedder.Name()); err != nil {
			return err
		}
	}
	return nil
}

// oneModel returns UNPROCESSABLE when there are several models: their vectors cannot be compared.
func oneModel(models []string) error {
	models = slices.Compact(slices.Sorted(slices.Values(models)))
	if len(models) < 2 {
		return nil
	}
	return model.Errorf(model.Unprocessable, "the chat's datasets are embedded by different models (%s): index them again",
		strings.Join(models, ", "))
}

// embedQuestion returns the question's vector, or nil when it cannot be had or compared with vectors of the model.
func (b *Base) embedQuestion(ctx context.Context, embeddingModel, question string) []float32 {
	if b.embedder == nil || b.embedder.Name() != embeddingModel {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	vectors, err := b.embedder.Embed(ctx, []string{question})
	if err != nil {
		b.log.WarnContext(ctx, "a question was not embedded: it is answered by its words alone", "error", err)
		return nil
	}
	return unit(vectors[0])
}

// questionTimeout is how long a question waits for its vector.
const questionTimeout = 10 * time.Second

// nearest compares the question with the chunks' vectors, and returns the chunks that are nearest to it. Of a set with
// too many vectors it compares those of the candidates alone.
func (s *search) nearest(ctx context.Context, candidates []string) ([]db.ChunkMatch, error) {
	var parts []*embedded
	if s.chunks <= s.base.limits.vectors {
		documents, err := s.tenant.EmbeddedDocuments(ctx, s.datasets)
		if err != nil {
			return nil, err
		}
		if parts, err = s.base.vectors.of(ctx, s.tenant, documents); err != nil {
			return nil, err
		}
	} else {
		chunks, err := s.tenant.VectorsByID(ctx, candidates)
		if err != nil {
			return nil, err
		}
		parts = []*embedded{{chunks}}
	}
	s.cosines = map[string]float64{}
	var nearest []db.ChunkMatch
	for _, part := range parts {
		for _, c := range part.chunks {
			s.cosines[c.ID] = cosine(s.question, c.Embedding)
			nearest = append(nearest, db.ChunkMatch{ID: c.ID, DocumentID: c.DocumentID, Position: c.Position})
		}
	}
	if s.chunks > s.base.limits.whole {
		slices.SortFunc(nearest, func(a, b db.ChunkMatch) int {
			return cmp.Or(cmp.Compare(s.cosines[b.ID], s.cosines[a.ID]), cmp.Compare(a.DocumentID, b.DocumentID), cmp.Compare(a.Position, b.Position))
		})
		nearest = nearest[:min(len(nearest), s.base.limits.window)]
	}
	return nearest, nil
}

// embedded are the chunks of a document with their vectors.
type embedded struct{ chunks []*model.Chunk }

func (e *embedded) size() int {
	size := 100
	for _, c := range e.chunks {
		size += 200 + 4*len(c.Embedding)
	}
	return size
}

// maxVectors bounds the vectors that are kept in memory, in bytes.
const maxVectors = 256 << 20

// indexing names what was made of a document at one time: it never changes.
type indexing struct {
	documentID string
	at         time.Time
}

// vectorCache keeps the vectors of the documents that were used last.
type vectorCache struct {
	mu    sync.Mutex
	parts *simplelru.LRU[indexing, *embedded]
	size  int
}

func newVectorCache() *vectorCache {
	// It is the size of the vectors that bounds it, not their number.
	parts, _ := simplelru.NewLRU[indexing, *embedded](math.MaxInt, nil)
	return &vectorCache{parts: parts}
}

func (c *vectorCache) get(key indexing) *embedded {
	c.mu.Lock()
	defer c.mu.Unlock()
	part, _ := c.parts.Get(key)
	return part
}

func (c *vectorCache) put(key indexing, part *embedded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts.Contains(key) {
		return
	}
	c.parts.Add(key, part)
	for c.size += part.size(); c.size > maxVectors; {
		_, oldest, _ := c.parts.RemoveOldest()
		c.size -= oldest.size()
	}
}

// of returns the vectors of the documents.
func (c *vectorCache) of(ctx context.Context, t *db.Tenant, documents []*model.Document) ([]*embedded, error) {
	parts := map[indexing]*embedded{}
	var missing []string
	for _, d := range documents {
		key := indexing{d.ID, *d.IndexedAt}
		if part := c.get(key); part != nil {
			parts[key] = part
		} else {
			parts[key] = &embedded{}
			missing = append(missing, d.ID)
		}
	}
	if len(missing) > 0 {
		chunks, err := t.VectorsOfDocuments(ctx, missing)
		if err != nil {
			return nil, err
		}
		byDocument := map[string][]*model.Chunk{}
		for _, chunk := range chunks {
			byDocument[chunk.DocumentID] = append(byDocument[chunk.DocumentID], chunk)
		}
		for key, part := range parts {
			if part.chunks == nil {
				part.chunks = byDocument[key.documentID]
				c.put(key, part)
			}
		}
	}
	all := make([]*embedded, 0, len(parts))
	for _, part := range parts {
		all = append(all, part)
	}
	return all, nil
}
