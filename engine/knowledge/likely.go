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
	maxRare, maxShared = 24, 8
	// weightUnit is the integer in the database for a weight of 1.
	weightUnit = 1e6
)

// likely returns the chunks of a large set with the highest weights, up to the window. Without vectors, it omits chunks
// that cannot be among the best. The caller needs the given number of these. Unless isWhole, the chunks may contain
// tokens that are missing in the matches.
func (s *search) likely(ctx context.Context, needed int) (matches []db.ChunkMatch, isWhole bool, err error) {
	r := s.rarest()
	found, err := s.tenant.LikelyChunks(ctx, s.datasets, r.searched, r.terms(), s.base.limits.visits, s.base.limits.window)
	if err != nil {
		return nil, false, err
	}
	chunks := found.Chunks
	if len(s.tokens) > longQuestion {
		needed = max(needed, orderWindow)
	}
	if s.question == nil {
		slices.SortStableFunc(chunks, func(a, b db.LikelyChunk) int { return cmp.Compare(r.weight(b), r.weight(a)) })
		if needed < len(chunks) {
			least := r.weight(chunks[needed-1]) - r.left
			chunks = slices.DeleteFunc(chunks, func(c db.LikelyChunk) bool { return r.weight(c) < least })
		}
		if r.left == 0 {
			// All weights are known. Chunks beyond the bound with the same weight are not ordered.
			chunks = chunks[:min(len(chunks), max(needed, orderWindow))]
		}
	}
	matches = make([]db.ChunkMatch, len(chunks))
	for i, c := range chunks {
		matches[i] = r.match(c, len(s.tokens))
	}
	return matches, r.left == 0 && !found.IsCut, nil
}

// rarest plans the search of a large set for a question's tokens. It searches the rarest tokens, until their chunks are
// too many together. Then it searches frequent tokens, which only count for chunks that contain another token, too.
type rarest struct {
	searched []db.WeighedToken
	// tokens are the indexes of the searched tokens in the question's.
	tokens []int
	// other has a frequent token. If the rare tokens do not fill the window, chunks that contain only this token do.
	other *token
	// place is the index of the token other in the question's tokens.
	place int
	// left has the total weight of the tokens that are not searched.
	left int64
}

// terms returns the terms of other, if any.
func (r rarest) terms() []string {
	if r.other == nil {
		return nil
	}
	return r.other.Terms
}

// weight returns the total weight of a chunk's searched tokens.
func (r rarest) weight(c db.LikelyChunk) int64 {
	if c.Tokens == 0 {
		return int64(weightOf(*r.other))
	}
	return c.Weight
}

// match returns the tokens in the chunk.
func (r rarest) match(c db.LikelyChunk, tokens int) db.ChunkMatch {
	match := c.Match(tokens)
	if c.Tokens == 0 {
		match.Add(r.place)
	}
	for i, token := range r.tokens {
		if c.Tokens>>i&1 == 1 {
			match.Add(token)
		}
	}
	return match
}

func (s *search) rarest() (r rarest) {
	var frequent []int
	// visits counts the chunks to read, and held those with a token so far. shared estimates the chunks with a frequent
	// token and another.
	visits, held, shared := 0, 0, 0
	for _, i := range s.byRarity() {
		t := s.tokens[i]
		both := int(float64(t.Chunks) * min(1, float64(held)/float64(s.chunks)))
		switch {
		case len(r.searched) < maxRare && visits+t.Chunks <= s.base.limits.visits:
			visits += t.Chunks
			r.add(i, t, nil)
		case held == 0 || !t.isStop() && len(frequent) < maxShared && shared+both <= s.base.limits.visits:
			shared += both
			frequent = append(frequent, i)
		default:
			r.left += int64(weightOf(t))
			continue
		}
		held += t.Chunks
	}
	if len(frequent) > 0 && visits < s.base.limits.window {
		r.place, r.other = frequent[0], &s.tokens[frequent[0]]
	}
	lists := slices.Concat(r.tokens, frequent)
	for _, i := range frequent {
		var with []string
		for _, other := range lists {
			if other != i {
				with = append(with, s.tokens[other].Terms...)
			}
		}
		if len(with) > 0 {
			r.add(i, s.tokens[i], with)
		}
	}
	return r
}

func (r *rarest) add(place int, t token, with []string) {
	r.searched = append(r.searched, db.WeighedToken{Terms: t.Terms, With: with, Weight: weightOf(t)})
	r.tokens = append(r.tokens, place)
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

func weightOf(t token) int32 { return int32(t.weight * t.credit * weightUnit) }
