package knowledge

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentgraph/agentgraph/db"
)

const (
	// maxRare bounds the tokens of which all chunks are looked at, and maxShared those that are only looked for together with others.
	maxRare, maxShared = 24, 8
	// weightUnit is the weight that counts as 1 in the database, which adds up whole numbers.
	weightUnit = 1e6
)

// likely returns the chunks of a large set whose tokens weigh most, at most as many as the window takes. Without vectors chunks are
// left out that cannot be among as many of the best as needed.
func (s *search) likely(ctx context.Context, needed int) ([]string, error) {
	tokens, alone, left := s.rarest()
	chunks, err := s.tenant.LikelyChunks(ctx, s.datasets, tokens, s.base.limits.window)
	if err != nil {
		return nil, err
	}
	if len(s.tokens) > longQuestion {
		needed = max(needed, orderWindow)
	}
	if s.question == nil {
		slices.SortStableFunc(chunks, func(a, b db.WeighedChunk) int { return cmp.Compare(cmp.Or(b.Weight, alone), cmp.Or(a.Weight, alone)) })
		if needed < len(chunks) {
			least := cmp.Or(chunks[needed-1].Weight, alone) - left
			chunks = slices.DeleteFunc(chunks, func(c db.WeighedChunk) bool { return cmp.Or(c.Weight, alone) < least })
		}
		if left == 0 {
			// All weights are known. More that have the same are not put in order.
			chunks = chunks[:min(len(chunks), max(needed, orderWindow))]
		}
	}
	ids := make([]string, len(chunks))
	for i, c := range chunks {
		ids[i] = c.ID
	}
	return ids, nil
}

// rarest returns the tokens for searching a large set: the rarest, as long as they are not in too many chunks together, and then frequent
// ones, which only count for chunks that hold another one too. If the rare ones do not fill the window, the first of the frequent ones
// comes once more, without a weight; alone is the weight of this one, and left what the tokens that are not searched weigh together.
func (s *search) rarest() (searched []db.WeighedToken, alone, left int64) {
	var frequent []token
	// How many chunks are looked at, how many hold the tokens so far, and about how many hold a frequent one and another.
	visits, held, shared := 0, 0, 0
	for _, t := range s.byRarity() {
		both := int(float64(t.Chunks) * min(1, float64(held)/float64(s.chunks)))
		switch {
		case len(searched) < maxRare && visits+t.Chunks <= s.base.limits.visits:
			visits += t.Chunks
			searched = append(searched, db.WeighedToken{Terms: t.Terms, Weight: weightOf(t), Limit: s.base.limits.visits})
		case held == 0 || !t.isStop() && len(frequent) < maxShared && shared+both <= s.base.limits.visits:
			shared += both
			frequent = append(frequent, t)
		default:
			left += int64(weightOf(t))
			continue
		}
		held += t.Chunks
	}
	if len(frequent) == 0 {
		return searched, 0, left
	}
	lists := searched
	for i, t := range frequent {
		var with []string
		for _, other := range lists {
			with = append(with, other.Terms...)
		}
		for _, other := range slices.Concat(frequent[:i], frequent[i+1:]) {
			with = append(with, other.Terms...)
		}
		if len(with) > 0 {
			searched = append(searched, db.WeighedToken{Terms: t.Terms, With: with, Weight: weightOf(t), Limit: s.base.limits.visits})
		}
	}
	if visits < s.base.limits.window {
		searched = append(searched, db.WeighedToken{Terms: frequent[0].Terms, Limit: s.base.limits.window})
	}
	return searched, int64(weightOf(frequent[0])), left
}

// byRarity returns the tokens that chunks hold, stop words last.
func (s *search) byRarity() []token {
	tokens := slices.DeleteFunc(slices.Clone(s.tokens), func(t token) bool { return t.Chunks == 0 })
	lightness := func(t token) int {
		if t.isStop() {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(tokens, func(a, b token) int {
		return cmp.Or(cmp.Compare(lightness(a), lightness(b)), cmp.Compare(a.Chunks, b.Chunks))
	})
	return tokens
}

func weightOf(t token) int32 { return int32(t.weight * t.credit * weightUnit) }
