package read

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQuotesAreCited(t *testing.T) {
	t.Parallel()
	for _, pair := range [][3]string{
		{"1. Press <b>Start</b>\n2. Wait", "Press Start Wait", "Press <b>Start</b>\n2. Wait"},
		{"See [our terms](https://a.example/x). R&amp;D pays.", "See our terms. R&D pays.",
			"See [our terms](https://a.example/x). R&amp;D pays."},
		{"It costs 1 234,50 € today.", "costs 1234,50€", "costs 1 234,50 €"},
		{"We deliver on Monday between 8 and 10, never by van.", "We deliver on Monday … by van.", ""},
		{"We deliver on Monday between 8 and 10, by van.", "We deliver on Monday … by van.",
			"We deliver on Monday between 8 and 10, by van."},
		{"已拆封的商品不可以退款", "可以退款", ""},
		{"I don't think we can", "we can", ""},
		{"It takes ~5 days", "5 days", ""},
		{"It takes 5 days", "takes 5", ""},
		{"Das geht leider nicht.", "Das geht", ""},
		{"返品はできません。", "返品はでき", ""},
		{"", "Monday", ""},
		{"B", "B.", "B"},
		{"Answer B, please.", "b", "B"},
		{"я", "я", "я"},
		{"É.", "é", "É"},
		{"Because", "B", ""},
		{"It's B's, l'agent can't", "s", ""},
		{"It's B's, l'agent can't", "t", ""},
		{"It's B's, l'agent can't", "l", ""},
		{"A. B", ".", ""},
		{"A–B", "–", ""},
	} {
		require.Equal(t, pair[2], Cite(pair[0], pair[1]), pair[1])
	}
}

func TestEveryTextCanBeCited(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"1. ", "<b>", "</b>", "&amp;", "[a](b)",
		"\\\"", "~5", "1 234", "不", "can't", "l'agent",
		"…", "\n", " ", "word", "−5", "€", "ﬁ", "é", "["})
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOf(pieces).Draw(t, "source"), "") + rapid.String().Draw(t, "more")
		quote := strings.Join(rapid.SliceOf(pieces).Draw(t, "quote"), "")
		if found := Cite(source, quote); !strings.Contains(source, found) {
			t.Fatalf("%q is not in %q", found, source)
		}
	})
}

// A repetitive text has many places where a quote almost matches.
func TestCiteComparisonsAreBounded(t *testing.T) {
	t.Parallel()
	for text, quote := range map[string]string{
		strings.Repeat("可", 50_000):    strings.Repeat("可", 4_000) + "以",
		strings.Repeat("a b ", 20_000): strings.Repeat("a b … ", 600) + "c d",
	} {
		in := lexemesOf(text)
		require.Empty(t, in.cite(quote))
		require.LessOrEqual(t, in.compared, maxWordsCompared+maxLeftOut)
	}
}
