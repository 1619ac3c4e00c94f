package knowledge

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentgraph/agentgraph/db"
)

const (
	// maxRare bounds the tokens of which all chunks are looked at, and maxShared those that are only looked for together
	// with others.
	maxRare, maxShared = 24, 8
	// weightUnit is the weight that counts as 1 in the database, which adds up whole numbers.
	weightUnit = 1e6
)

// likely returns the chunks of a large set whose tokens weigh most, at most as many as the window takes. Without
// vectors chunks are left out that cannot be among as many of the best as needed. Unless isWhole they may hold tokens
// that the matches do not tell of.
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
			// All weights are known. More that have the same are not put in order.
			chunks = chunks[:min(len(chunks), max(needed, orderWindow))]
		}
	}
	matches = make([]db.ChunkMatch, len(chunks))
	for i, c := range chunks {
		matches[i] = r.match(c, len(s.tokens))
	}
	return matches, r.left == 0 && !found.IsCut, nil
}

// rarest is how a large set is searched for the tokens of a question: for the rarest, as long as they are not in too
// many chunks together, and then for frequent ones, which only count for chunks that hold another one too.
type rarest struct {
	searched []db.WeighedToken
	// tokens are the places of those that are searched among the question's.
	tokens []int
	// other is a frequent token for which the window is filled with chunks that hold no other, if the rare ones do not
	// fill it.
	other *token
	// place is that of other.
	place int
	// left is what the tokens that are not searched weigh together.
	left int64
}

// terms are those of the other token.
func (r rarest) terms() []string {
	if r.other == nil {
		return nil
	}
	return r.other.Terms
}

// weight is what the searched tokens of a chunk weigh together.
func (r rarest) weight(c db.LikelyChunk) int64 {
	if c.Tokens == 0 {
		return int64(weightOf(*r.other))
	}
	return c.Weight
}

// match returns which of the tokens the chunk holds.
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
	// How many chunks are looked at, how many hold the tokens so far, and about how many hold a frequent one and another.
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

// byRarity returns the places of the tokens that chunks hold, stop words last.
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
