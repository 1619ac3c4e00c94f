package llm_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/engine/llm"
)

func TestExcerptsAreFoundInTheirText(t *testing.T) {
	t.Parallel()
	parts := rapid.SampledFrom([]string{
		"<excerpt document=\"", "</excerpt>", "\">", "\n", "[1] ", "a", "\"", "</", "excerpt>", "é", "\r", " ",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(parts, 0, 12).Draw(t, "parts"),
			"")
	})
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
		requireAsWritten(t, text.Draw(t, "first")+text.Draw(t, "second"))
	})
	found, _ := llm.Excerpts(llm.Excerpt{Number: 3, Document: `The "big" list`, Text: "A\n\nB"}.String())
	require.Equal(t, []llm.Excerpt{{Number: 3, Document: "The 'big' list", Text: "A\n\nB"}}, found)
}

// written matches an excerpt in instructions.
var written = regexp.MustCompile(`(?s)(?:\[(\d{1,4})\] )?<excerpt document="([^"\n]*)">\n(.*?)\n</excerpt>`)

func FuzzExcerpts(f *testing.F) {
	for _, seed := range []string{
		"", "[1] <excerpt document=\"a\">\nb\n</excerpt>", "[12345] <excerpt document=\"\">\n\n</excerpt>",
		"[] <excerpt document=\"a\">\n</excerpt>",
		"[1] <excerpt document=\"a\nb\">\n[2] <excerpt document=\"c\">\nd\n</excerpt>e[03] <excerpt " +
			"document=\"f\">\ng\n</excerpt>\n</excerpt>",
		"<excerpt document=\"a\"> [1] <excerpt document=\"b\">\n\n\n</excerpt>[2] [3] <excerpt document=\"c\">\nd",
		"[[7] <excerpt document=\"\xff\">\n\xff\n</excerpt>", "[٣] <excerpt document=\"a\">\nb\n</excerpt>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, system string) { requireAsWritten(t, system) })
}

// requireAsWritten requires that Excerpts cuts instructions where an expression finds excerpts.
func requireAsWritten(t require.TestingT, system string) {
	var want []llm.Excerpt
	for _, found := range written.FindAllStringSubmatch(system, -1) {
		number, _ := strconv.Atoi(found[1])
		want = append(want, llm.Excerpt{Number: number, Document: found[2], Text: found[3]})
	}
	found, rest := llm.Excerpts(system)
	require.Equal(t, want, found)
	require.Equal(t, written.ReplaceAllString(system, ""), rest)
}
