package knowledge

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// nearMargin is the number of additional chunks to request from the database. The database sums inner products in
// another order, so chunks with nearly equal products can change places.
const nearMargin = 50

// nearest returns the ids of the chunks of a large set nearest to the question: up to the window, and nearMargin more
// from the database. Every vector is compared: in the database if it can compare vectors, otherwise in this process.
func (s *search) nearest(ctx context.Context) ([]string, error) {
	ids, ok, err := s.tenant.NearestChunks(ctx, s.datasets, s.questionVector, s.base.window+nearMargin)
	if ok || err != nil {
		return ids, err
	}
	best := nearestFirst{limit: s.base.window}
	for c, err := range s.base.allChunks(ctx, s.tenant, s.datasets) {
		if err != nil {
			return nil, err
		}
		best.addChunk(cosine(s.questionVector, c.Embedding), c)
	}
	return best.ids(), nil
}

// compare computes the cosines of the found and the near chunks. It returns the nearest of the near chunks, up to the
// window. Chunks with a cosine of 0 or less are dropped.
func (s *search) compare(ctx context.Context, found, near []string) ([]string, error) {
	chunks, err := s.tenant.VectorsOfChunks(ctx, model.Unique(slices.Concat(found, near)))
	if err != nil {
		return nil, err
	}
	isNear := model.MapOf(near, func(id string) (string, bool) { return id, true })
	best := nearestFirst{limit: s.base.window}
	s.cosines = make(map[string]float64, len(chunks))
	for _, c := range chunks {
		s.cosines[c.ID] = cosine(s.questionVector, c.Embedding)
		if isNear[c.ID] {
			best.addChunk(s.cosines[c.ID], c)
		}
	}
	return best.ids(), nil
}

type near struct {
	cosine float64
	chunk  *model.Chunk
}

// nearestFirst has the chunks with the largest cosines above 0. Equal cosines are ordered by document and position.
type nearestFirst struct {
	limit int
	// kept has the best chunks so far, and some newer ones that are not sorted yet.
	kept []near
	// least is the smallest cosine after the last sort, or 0 before the first one.
	least float64
}

func (f *nearestFirst) addChunk(cosine float64, chunk *model.Chunk) {
	if cosine <= 0 || cosine < f.least {
		return
	}
	if f.kept = append(f.kept, near{cosine, chunk}); len(f.kept) >= 4*f.limit {
		f.sort()
		f.least = f.kept[len(f.kept)-1].cosine
	}
}

// sort keeps only the best chunks.
func (f *nearestFirst) sort() {
	slices.SortFunc(f.kept, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.chunk.DocumentID, b.chunk.DocumentID),
			cmp.Compare(a.chunk.Position, b.chunk.Position))
	})
	f.kept = f.kept[:min(len(f.kept), f.limit)]
}

func (f *nearestFirst) ids() []string {
	f.sort()
	return model.Map(f.kept, func(n near) string { return n.chunk.ID })
}

// sizeOf returns the memory of chunks with their vectors, in bytes.
func sizeOf(chunks ...*model.Chunk) (size int) {
	for _, c := range chunks {
		size += 400 + 4*len(c.Embedding)
	}
	return size
}

// maxVectors bounds the cached vectors, in bytes.
const maxVectors = 256 << 20

// indexing identifies the result of indexing a document once. The result never changes.
type indexing struct {
	documentID string
	at         time.Time
}

func newVectorCache() *cache.Cache[indexing, []*model.Chunk] {
	return cache.New(maxVectors, func(_ indexing, part []*model.Chunk) int { return sizeOf(part...) })
}

// allChunks yields every chunk of the datasets that has a vector, up to the first error. It reads missing ones from the
// database, and caches them if the vectors of all the datasets fit.
func (b *Base) allChunks(ctx context.Context, t *db.Tenant, datasets []string) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		documents, err := t.EmbeddedDocuments(ctx, datasets)
		if err != nil {
			yield(nil, err)
			return
		}
		// read has the chunks of each document that is not cached, or is nil if they are too many to cache. size is the
		// memory of the chunks of all documents.
		read, size := map[string][]*model.Chunk{}, 0
		for _, d := range documents {
			part, isCached := b.vectors.Get(indexing{d.ID, *d.IndexedAt})
			if !isCached {
				read[d.ID] = nil
				continue
			}
			size += sizeOf(part...)
			for _, chunk := range part {
				if !yield(chunk, nil) {
					return
				}
			}
		}
		if len(read) == 0 {
			return
		}
		for chunk, err := range t.VectorsOfDocuments(ctx, datasets, slices.Collect(maps.Keys(read))) {
			if !yield(chunk, err) || err != nil {
				return
			}
			if size += sizeOf(chunk); size > maxVectors {
				read = nil
			} else {
				read[chunk.DocumentID] = append(read[chunk.DocumentID], chunk)
			}
		}
		for _, d := range documents {
			if part, isRead := read[d.ID]; isRead {
				b.vectors.Add(indexing{d.ID, *d.IndexedAt}, part)
			}
		}
	}
}
