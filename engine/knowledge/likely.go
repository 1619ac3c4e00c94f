package knowledge

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentgraph/agentgraph/db"
)

const (
	// maxRare bounds the tokens whose chunks are all read. maxShared bounds the tokens that only count in chunks with
	// another token.
	maxRare, maxShared = 64, 8
	// minWindow is the window for short questions. It grows by windowPerToken with each token of a longer one.
	minWindow, windowPerToken = 150, 10
	// weightUnit is the integer in the database for a weight of 1.
	weightUnit = 1e6
)

// likely returns the ids of the chunks with the highest total weight of the question's tokens, up to the window. If all
// is true, it adds chunks without a token.
func (s *search) likely(ctx context.Context, all bool) ([]string, error) {
	// window is how many chunks are scored, and visits how many are read. Long questions need more, because the words that
	// a chunk contains decide less about its score.
	window := min(s.base.window, max(minWindow, windowPerToken*len(s.tokens)))
	visits := s.base.visits * window / s.base.window
	searched, other := s.planSearch(window, visits)
	switch {
	case all:
		other = nil
	case len(searched)+len(other) == 0:
		return nil, nil
	}
	return s.tenant.LikelyChunks(ctx, s.datasets, searched, other, visits, window)
}

// planSearch plans the search for a question's tokens. It searches the rarest tokens, until their chunks are too many
// together. Then it searches frequent tokens, which count only for chunks that also contain another token. other has
// the terms of a frequent token. Chunks that contain only this token are added if the rare tokens do not fill the
// window.
func (s *search) planSearch(window, most int) (searched []db.WeighedToken, other []string) {
	other = []string{}
	add := func(t token, with []string) {
		weight := int32(t.weight * t.credit * weightUnit)
		searched = append(searched, db.WeighedToken{Terms: t.Terms, With: with, Weight: weight})
	}
	var rare, frequent []int
	// visits counts the chunks to read, and held the chunks with a token so far. shared estimates the chunks with a
	// frequent token and another token.
	visits, held, shared := 0, 0, 0
	for _, i := range s.byRarity() {
		t := s.tokens[i]
		both := int(float64(t.Chunks) * min(1, float64(held)/float64(s.chunks)))
		switch {
		case len(searched) < maxRare && visits+t.Chunks <= most:
			visits += t.Chunks
			rare = append(rare, i)
			add(t, nil)
		case held == 0 || !t.isStop() && len(frequent) < maxShared && shared+both <= most:
			shared += both
			frequent = append(frequent, i)
		default:
			continue
		}
		held += t.Chunks
	}
	if len(frequent) > 0 && visits < window {
		other = s.tokens[frequent[0]].Terms
	}
	lists := slices.Concat(rare, frequent)
	for _, i := range frequent {
		var with []string
		for _, j := range lists {
			if j != i {
				with = append(with, s.tokens[j].Terms...)
			}
		}
		if len(with) > 0 {
			add(s.tokens[i], with)
		}
	}
	return searched, other
}

// byRarity returns the indexes of the tokens that occur in chunks, stop words last.
func (s *search) byRarity() []int {
	var places []int
	for i, t := range s.tokens {
		if t.Chunks > 0 {
			places = append(places, i)
		}
	}
	lightness := func(t token) int {
		if t.isStop() {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(places, func(i, j int) int {
		a, b := s.tokens[i], s.tokens[j]
		return cmp.Or(cmp.Compare(lightness(a), lightness(b)), cmp.Compare(a.Chunks, b.Chunks))
	})
	return places
}
