package knowledge

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// orderWindow is how many of the best chunks are put in order by how often they say the question's words, and their
	// length.
	orderWindow = 100
	// longQuestion is the largest number of tokens of a question that orders chunks by which of its words they hold. Long
	// chunks hold some words of a longer question by chance.
	longQuestion = 32
	// maxFrequencies bounds the tokens, the weightiest, whose occurrences are counted.
	maxFrequencies = 62
	// frequencyBound and lengthShare are k1 and b of BM25: how soon another occurrence of a word stops to count, and how
	// much a chunk's length does.
	frequencyBound, lengthShare = 1.2, 0.75
)

// order sorts the best chunks of a long question as BM25 does, and so those of other questions that have the same
// score.
func (s *search) order(ctx context.Context, best []*model.RetrievedChunk, matches []db.ChunkMatch,
	settings model.PromptSettings) error {
	isLong := len(s.tokens) > longQuestion
	best = best[:min(len(best), orderWindow)]
	asked := best
	switch {
	case !isLong && s.question != nil:
		return nil // vectors hardly leave two with the same score
	case !isLong:
		asked = tied(best, int(settings.TopN))
	}
	if len(asked) == 0 {
		return nil
	}
	rank, err := s.rank(ctx, asked, matches)
	if err != nil {
		return err
	}
	if !isLong {
		slices.SortStableFunc(best, func(a, b *model.RetrievedChunk) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(rank[b.ID], rank[a.ID]))
		})
		return nil
	}
	for _, c := range asked {
		if c.VectorSimilarity != nil {
			rank[c.ID] = blend(rank[c.ID], *c.VectorSimilarity, settings.KeywordsSimilarityWeight)
		}
	}
	slices.SortStableFunc(best, func(a, b *model.RetrievedChunk) int { return cmp.Compare(rank[b.ID], rank[a.ID]) })
	return nil
}

// tied returns the chunks that share their score with a neighbour, as far as that decides which are the first few. They
// are sorted.
func tied(chunks []*model.RetrievedChunk, first int) []*model.RetrievedChunk {
	var found []*model.RetrievedChunk
	for from := 0; from < min(first, len(chunks)); {
		to := from + 1
		for to < len(chunks) && chunks[to].Score == chunks[from].Score {
			to++
		}
		if to > from+1 {
			found = append(found, chunks[from:to]...)
		}
		from = to
	}
	return found
}

// rank weighs the tokens of each chunk by how often it says them and by its length.
func (s *search) rank(ctx context.Context, chunks []*model.RetrievedChunk,
	matches []db.ChunkMatch) (map[string]float64, error) {
	ids := make([]string, len(chunks))
	for i, c := range chunks {
		ids[i] = c.ID
	}
	frequencies, err := s.tenant.Frequencies(ctx, ids, s.queries()[:min(len(s.tokens), maxFrequencies)])
	if err != nil {
		return nil, err
	}
	mean, matched := 0.0, make(map[string]db.ChunkMatch, len(matches))
	for _, m := range matches {
		matched[m.ID] = m
	}
	for _, f := range frequencies {
		mean += float64(f.Length) / float64(len(frequencies))
	}
	all, rank := fullWeight(s.tokens), make(map[string]float64, len(chunks))
	for _, f := range frequencies {
		match := matched[f.ID]
		length := (frequencyBound + 1) / (1 + frequencyBound*(1-lengthShare+lengthShare*float64(f.Length)/mean))
		for i, t := range s.tokens {
			switch {
			case !match.Has(i):
			case i < len(f.Said):
				rank[f.ID] += t.weight * t.credit / all * length * max(f.Said[i], 1)
			default:
				rank[f.ID] += t.weight * t.credit / all * length
			}
		}
	}
	return rank, nil
}
