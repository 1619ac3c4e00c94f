package llm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/engine/llm"
)

func TestExcerptsAreFoundAgainWhateverTheyHold(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{
		"<excerpt document=\"", "</excerpt>", "\">", "\n", "[1] ", "a", "\"", "</", "excerpt>", "é", "\r", " ",
	})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(parts, 0, 12).Draw(t, "parts"), "") })
	rapid.Check(t, func(t *rapid.T) {
		numbered := rapid.Bool().Draw(t, "numbered")
		var system strings.Builder
		system.WriteString("Before.\n")
		count := rapid.IntRange(0, 4).Draw(t, "count")
		var names []string
		for i := range count {
			e := llm.Excerpt{Document: text.Draw(t, "name"), Text: text.Draw(t, "text")}
			if numbered {
				e.Number = i + 1
			}
			names = append(names, e.Document)
			system.WriteString(e.String() + "\n\n")
		}
		system.WriteString("After.")
		found, rest := llm.Excerpts(system.String())
		require.Len(t, found, count)
		for i, e := range found {
			require.Equal(t, numbered, e.Number == i+1)
			require.Len(t, e.Document, len(names[i]))
		}
		require.Equal(t, "Before.\n"+strings.Repeat("\n\n", count)+"After.", rest)
	})
	found, _ := llm.Excerpts(llm.Excerpt{Number: 3, Document: `The "big" list`, Text: "A\n\nB"}.String())
	require.Equal(t, []llm.Excerpt{{Number: 3, Document: "The 'big' list", Text: "A\n\nB"}}, found)
}
