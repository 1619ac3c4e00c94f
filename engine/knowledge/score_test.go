package knowledge_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/engine/knowledge"
)

func question(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"How long does the delivery of order A1234 take?", "Puis-je être remboursé de ma commande ?", "the the the", "returns returned returning",
	}).Draw(t, "question") + rapid.String().Draw(t, "more")
}

func TestTermSimilarityIsAShareOfTheWeight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tokens := knowledge.TokensOf(question(t))
		held := rapid.SliceOfN(rapid.Bool(), len(tokens), len(tokens)).Draw(t, "held")
		var all, some float64
		for i, token := range tokens {
			all += token.Weight()
			if held[i] {
				some += token.Weight()
			}
		}
		got := knowledge.TermSimilarity(tokens, func(i int) bool { return held[i] })
		if all == 0 {
			require.Zero(t, got)
			return
		}
		require.InDelta(t, some/all, got, 1e-12)
		require.Equal(t, 1.0, knowledge.TermSimilarity(tokens, func(int) bool { return true }))
		require.Zero(t, knowledge.TermSimilarity(tokens, func(int) bool { return false }))
		for i := range held {
			more := knowledge.TermSimilarity(tokens, func(j int) bool { return held[j] || i == j })
			require.GreaterOrEqual(t, more, got, "another token never harms")
		}
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
		{"refund", "refund", 0}, {"refund", "refnud", 1}, {"refund", "refun", 1}, {"refund", "refunds", 1}, {"refund", "rafund", 1},
		{"remboursement", "rembousrmeent", 2}, {"delivery", "delvery", 1}, {"élan", "elan", 1},
	} {
		require.Equal(t, c.want, knowledge.Distance(c.from, c.to, 2), "%s %s", c.from, c.to)
	}
	word := rapid.StringMatching(`[a-d]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := knowledge.Distance(a, b, 8)
		require.Equal(t, d, knowledge.Distance(b, a, 8))
		require.Equal(t, d == 0, a == b)
		require.LessOrEqual(t, d, max(len(a), len(b)))
		require.Greater(t, knowledge.Distance(a, b, d-1), d-1)
	})
}

func TestTokensAreOneForAWordsForms(t *testing.T) {
	t.Parallel()
	words := func(question string) (words []string) {
		for _, token := range knowledge.TokensOf(question) {
			words = append(words, token.Word())
		}
		return words
	}
	require.Len(t, words("return returned RETURNS"), 1)
	require.Equal(t, words("What is a remboursement?"), words("what a remboursement is"))
	require.LessOrEqual(t, len(words("a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc dd ee ff gg hh ii jj kk ll mm nn oo pp qq rr ss tt uu vv ww xx yy zz "+
		"aab bbc ccd dde eef ffg ggh hhi iij jjk kkl llm mmn nno oop ppq qqr rrs sst ttu uuv vvw")), 62)
}

func TestQuestionsFindEitherLanguage(t *testing.T) {
	t.Parallel()
	for text, asked := range map[string]string{
		"Les remboursements sont effectués sous dix jours.": "remboursé", "Returned goods are refunded.": "returns",
		"Les qualités générales": "generale", "Nos cafés": "café", "l'été": "ete", "deliveries": "Delivery",
	} {
		held := knowledge.TermsOf(text)
		tokens := knowledge.TokensOf(asked)
		require.Len(t, tokens, 1)
		terms, credit := tokens[0].Near(nil)
		require.Equal(t, 1.0, credit)
		require.True(t, slices.ContainsFunc(terms, func(term string) bool { return slices.Contains(held, term) }), "%s: %v %v", asked, terms, held)
	}
}

func TestNearWords(t *testing.T) {
	t.Parallel()
	near := func(asked string, known ...string) ([]string, float64) {
		return knowledge.TokensOf(asked)[0].Near(known)
	}
	terms, credit := near("delivrey", "delivery", "deliver", "livery")
	require.Contains(t, terms, "delivery")
	require.NotContains(t, terms, "livery")
	require.InDelta(t, 1-1.0/8, credit, 1e-9)
	_, credit = near("hause", "house", "mouse", "hose")
	require.InDelta(t, 1-1.0/5, credit, 1e-9)
	terms, credit = near("zebra", "house")
	require.Equal(t, 1.0, credit)
	require.Contains(t, terms, "zebra")
}
