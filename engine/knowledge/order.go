package knowledge

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// orderWindow is the number of best chunks that are ordered by how often they contain the question's words, and by
	// their length.
	orderWindow = 100
	// longQuestion is the maximum number of tokens in a question for which the contained words alone order chunks. Long
	// chunks contain some words of longer questions by chance.
	longQuestion = 32
	// maxFrequencies bounds the tokens whose occurrences are counted: those with the highest weights.
	maxFrequencies = 62
	// frequencyBound and lengthShare are k1 and b of BM25: the saturation of a word's occurrences, and the influence of
	// a chunk's length.
	frequencyBound, lengthShare = 1.2, 0.75
)

// order sorts the best chunks of a long question like BM25. For other questions, it sorts only chunks with equal scores
// that way.
func (s *search) order(ctx context.Context, best []*model.RetrievedChunk, matches []db.ChunkMatch,
	settings model.PromptSettings) error {
	isLong := len(s.tokens) > longQuestion
	best = best[:min(len(best), orderWindow)]
	asked := best
	switch {
	case !isLong && s.question != nil:
		return nil // with vectors, equal scores are rare
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

// tied returns the groups of chunks with equal scores that include some of the first chunks, whose number is given. The
// chunks must be sorted.
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

// rank weighs the tokens of each chunk by their occurrences in it and by its length.
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
