package knowledge_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	reading "github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// tokensOf returns the tokens of words with one term each.
func tokensOf(words ...string) []knowledge.Token {
	tokens := make([]db.Token, len(words))
	for i, word := range words {
		tokens[i] = db.Token{Word: word, Terms: []string{word}, IsStopWord: word == "the"}
	}
	return knowledge.TokensOf(tokens, model.UnknownLanguages, 0)
}

func TestClosestWordsBeginWithTheSameLetter(t *testing.T) {
	t.Parallel()
	// The first letters of both have the same first byte.
	known := append(slices.Repeat([]string{"осел"}, 16), "пост")
	require.Equal(t, "пост", knowledge.Closest("пест", known)[0])
}

// chunkOf returns a chunk of words.
func chunkOf(terms []string, words ...string) db.ChunkTerms {
	c := db.ChunkTerms{Length: int32(len(words))}
	for i, term := range terms {
		held := db.HeldTerm{Place: i}
		for at, word := range words {
			if word == term {
				held.Positions = append(held.Positions, uint16(at+1))
			}
		}
		if len(held.Positions) > 0 {
			c.Held = append(c.Held, held)
		}
	}
	return c
}

func TestScoresFollowFrequencyLengthPlaceAndNeighbors(t *testing.T) {
	t.Parallel()
	terms := []string{"kettle", "boiler"} // both have the same weight
	tokens := tokensOf(terms...)
	padding := func(n int) []string { return slices.Repeat([]string{"padding"}, n) }
	once := chunkOf(terms, slices.Concat(padding(20), []string{"kettle"}, padding(19))...)
	score := func(c db.ChunkTerms) float64 {
		scorer := knowledge.NewScorer(tokens, knowledge.NeighborsOf([]string{"boiler", "kettle"}, tokens), terms,
			[]db.ChunkTerms{{Length: 40}})
		return scorer.Score(c)
	}
	require.InDelta(t, 0.5, score(once), 1e-12, "half of the weight, in a chunk of average length")
	twice := chunkOf(terms, slices.Concat(padding(20), []string{"kettle", "kettle"}, padding(18))...)
	require.InDelta(t, 0.5*2*2.2/(2+1.2), score(twice), 1e-12)
	long := chunkOf(terms, slices.Concat(padding(20), []string{"kettle"}, padding(59))...)
	require.InDelta(t, 0.5*2.2/(1+1.2*(0.25+0.75*2)), score(long), 1e-12)
	early := chunkOf(terms, slices.Concat([]string{"kettle"}, padding(39))...)
	require.InDelta(t, 0.5*(1+0.2), score(early), 1e-12)
	both := chunkOf(terms, slices.Concat(padding(20), []string{"kettle", "boiler"}, padding(18))...)
	require.InDelta(t, 1, score(both), 1e-12, "in another order than in the question")
	neighbors := chunkOf(terms, slices.Concat(padding(20), []string{"boiler", "padding", "kettle"}, padding(17))...)
	require.InDelta(t, 1+0.2, score(neighbors), 1e-12)
	require.Zero(t, score(chunkOf(terms, padding(40)...)))
	unplaced := db.ChunkTerms{Length: 40, Held: []db.HeldTerm{{Place: 0}}}
	require.InDelta(t, 0.5, score(unplaced), 1e-12, "a term without places counts once")
}

func TestMoreWordsNeverLowerAScore(t *testing.T) {
	t.Parallel()
	terms := []string{"the", "delivery", "order", "a1234", "remboursement"}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom(terms)).Draw(t, "words")
		tokens := tokensOf(words...)
		c := chunkOf(terms, rapid.SliceOfN(rapid.SampledFrom(terms), 1, 9).Draw(t, "chunk")...)
		score := func(held []db.HeldTerm) float64 {
			c.Held = held
			return knowledge.NewScorer(tokens, knowledge.NeighborsOf(words, tokens), terms, []db.ChunkTerms{c}).Score(c)
		}
		all := c.Held
		for i := range all {
			require.LessOrEqual(t, score(all[:i]), score(all[:i+1]))
		}
		require.Zero(t, score(nil))
	})
}

func TestBlendStaysBetweenItsParts(t *testing.T) {
	t.Parallel()
	share := rapid.Float64Range(0, 1)
	rapid.Check(t, func(t *rapid.T) {
		term, vector, weight := share.Draw(t, "term"), share.Draw(t, "vector"), share.Draw(t, "weight")
		got := knowledge.Blend(term, vector, weight)
		require.InDelta(t, weight*term+(1-weight)*vector, got, 1e-12)
		require.GreaterOrEqual(t, got+1e-12, min(term, vector))
		require.LessOrEqual(t, got-1e-12, max(term, vector))
	})
}

func TestCosineOfUnitVectors(t *testing.T) {
	t.Parallel()
	number := rapid.Float32Range(-1e6, 1e6)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		a := rapid.SliceOfN(number, n, n).Draw(t, "a")
		b := rapid.SliceOfN(number, n, n).Draw(t, "b")
		var dot, aa, bb float64
		for i := range a {
			dot += float64(a[i]) * float64(b[i])
			aa += float64(a[i]) * float64(a[i])
			bb += float64(b[i]) * float64(b[i])
		}
		want := 0.0
		if aa > 0 && bb > 0 {
			want = min(max(dot/math.Sqrt(aa*bb), 0), 1)
		}
		require.InDelta(t, want, knowledge.Cosine(knowledge.Unit(a), knowledge.Unit(b)), 1e-4)
	})
	require.Zero(t, knowledge.Cosine([]float32{1}, []float32{1, 0}), "of different lengths")
	require.Equal(t, []float32{0, 0}, knowledge.Unit([]float32{0, 0}))
}

func TestDistanceCountsTypingErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     int
	}{
		{"refund", "refund", 0}, {"refund", "refnud", 1}, {"refund", "refun", 1}, {"refund", "refunds", 1},
		{"refund", "rafund", 1},
		{"remboursement", "rembousrmeent", 2}, {"delivery", "delvery", 1}, {"élan", "elan", 1},
	} {
		require.Equal(t, c.want, reading.Distance(c.from, c.to, 2), "%s %s", c.from, c.to)
	}
	word := rapid.StringMatching(`[a-d]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := reading.Distance(a, b, 8)
		require.Equal(t, d, reading.Distance(b, a, 8))
		require.Equal(t, d == 0, a == b)
		require.LessOrEqual(t, d, max(len(a), len(b)))
		require.Greater(t, reading.Distance(a, b, d-1), d-1)
	})
}

func TestWeightsDependOnTheWord(t *testing.T) {
	t.Parallel()
	weights := map[string]float64{}
	for _, token := range tokensOf("the", "quelles", "order", "express", "a1234") {
		weights[token.Word] = token.Weight()
	}
	require.InDelta(t, 0.1, weights["the"], 0)
	require.InDelta(t, 0.1, weights["quelles"], 0)
	require.InDelta(t, math.Log2(6), weights["order"], 1e-12)
	require.InDelta(t, 3, weights["express"], 1e-12)
	require.InDelta(t, 1.5*math.Log2(6), weights["a1234"], 1e-12)
}

// A word that no chunk contains gets the mean rarity of the others. So only its letters decide how much it lowers
// scores.
func TestWeightsGrowWithRarity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.IntRange(1, 1_000_000).Draw(t, "chunks")
		count := rapid.IntRange(1, chunks+1) // another count may be slightly older
		rare, frequent := count.Draw(t, "rare"), count.Draw(t, "frequent")
		if rare > frequent {
			rare, frequent = frequent, rare
		}
		weights := map[string]float64{}
		for _, token := range knowledge.TokensOf([]db.Token{
			{Word: "blue", Terms: []string{"blue"}, Chunks: rare}, {Word: "gray", Terms: []string{"gray"}, Chunks: frequent},
			{Word: "lost", Terms: []string{"lost"}},
		}, nil, chunks) {
			weights[token.Word] = token.Weight()
		}
		require.Positive(t, weights["gray"])
		require.GreaterOrEqual(t, weights["blue"], weights["gray"])
		require.InEpsilon(t, (weights["blue"]+weights["gray"])/2, weights["lost"], 1e-9)
	})
}

func TestHeaviestTokensRemain(t *testing.T) {
	t.Parallel()
	var words []db.Token
	for i := range 668 {
		word := strings.Repeat("a", i+1)
		words = append(words, db.Token{Word: word, Terms: []string{word}, Chunks: 5})
	}
	for i := range 40 {
		word := strings.Repeat("b", 700+i)
		words = append(words, db.Token{Word: word, Terms: []string{word}})
	}
	tokens := knowledge.TokensOf(words, model.UnknownLanguages, 100)
	require.Len(t, tokens, db.MaxSearchTokens)
	require.Equal(t, strings.Repeat("b", 739), tokens[0].Word)
	require.Equal(t, strings.Repeat("b", 708), tokens[31].Word, "no chunk holds it: so many of these are compared with "+
		"other words")
	require.Equal(t, strings.Repeat("a", 668), tokens[32].Word)
	require.Equal(t, strings.Repeat("a", 201), tokens[db.MaxSearchTokens-1].Word)
}

func TestNearestWordsAreClosestInSpelling(t *testing.T) {
	t.Parallel()
	nearest := func(asked string, known ...string) ([]string, float64) { return tokensOf(asked)[0].Nearest(known) }
	words, credit := nearest("delivrey", "deliver", "delivery", "livery")
	require.Equal(t, []string{"delivery"}, words, "deliver has two typos")
	require.InDelta(t, 1-1.0/8, credit, 1e-9)
	words, credit = nearest("hause", "house", "mouse", "hose")
	require.Equal(t, []string{"house"}, words)
	require.InDelta(t, 1-1.0/5, credit, 1e-9)
	words, _ = nearest("zebra", "house")
	require.Empty(t, words)
}
