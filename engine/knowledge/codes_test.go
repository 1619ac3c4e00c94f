package knowledge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
)

func TestCodesAreExtracted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"the A-1234, or B.77/x and foo_2":          "a1234 b77x foo2",
		"call 06 12 34 56 78 or 06.12.34.56.78":    "0612345678 0612345678",
		"100 000 or 100,000 or 1.000.000":          "100000 1000000 100000",
		"on 2024-01-31 and 31.12.2024, 31/12/2024": "20240131 31122024 31122024",
		"FR76\u00a03000 6000 0112":                 "fr76300060000112",
		"B‑1234, C‐1234, D–1234, E—1234":           "b1234 c1234 d1234",
		"12,50 and 12.5, v1.2, 1/2 and 1 2, A1,B2": "",
		"and/or e-mail, sous-section":              "",
		"1 2 3 4 5 6 7 8 9 10":                     "",
		strings.Repeat("x", 40) + "-1 A1234":       "",
	} {
		require.ElementsMatch(t, strings.Fields(want), knowledge.Codes(text), text)
	}
}

func TestCodesAreFoundInEverySpelling(t *testing.T) {
	t.Parallel()
	for _, spellings := range [][]string{
		{"A-1234", "A1234", "a/1234", "A.1234", "A_1234"}, {"06 12 34 56 78", "06.12.34.56.78", "0612345678",
			"06-12-34-56-78"},
		{"100 000", "100,000", "100.000", "100000"}, {"V55-D2", "v55d2", "V55/D2"},
	} {
		for _, written := range spellings {
			l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{"the part B-1235\n\"the part " + written +
				"\"\nthe number 12.34 or 55 of them"})
			l.chat.PromptSettings.SimilarityThreshold = 0.5
			for _, asked := range spellings {
				found := l.ask(asked)
				require.NotEmpty(t, found, "%s: %s", written, asked)
				require.Equal(t, "the part "+written, texts(found)[0], asked)
				require.InDelta(t, 1.0, found[0].Score, 1e-9, "%s: %s", written, asked)
			}
		}
	}
}

func TestCodesOfRandomTextAreWords(t *testing.T) {
	t.Parallel()
	letters := rapid.SampledFrom([]rune("abé 0123456789 .,-_/日"))
	rapid.Check(t, func(t *rapid.T) {
		for _, code := range knowledge.Codes(string(rapid.SliceOf(letters).Draw(t, "letters"))) {
			require.Equal(t, []string{code}, knowledge.Folded(knowledge.WordsOf(code)), "a code is one word")
		}
	})
}
