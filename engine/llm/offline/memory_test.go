package offline

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// TestBriefsTakeNoMoreMemoryThanEstimated measures the heap, so it does not run in parallel.
func TestBriefsTakeNoMoreMemoryThanEstimated(t *testing.T) { //nolint:paralleltest // see above
	const count = 10
	heap := func() int {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	var examples strings.Builder
	examples.WriteString("\n\n## Examples\n\n")
	for i := range 1_000 {
		word := fmt.Sprintf("%x", 7_919_000_017*(i+1))
		fmt.Fprintf(&examples, "User: %s\nAgent: %s it is.\n\n", word, word)
	}
	m := New()
	for _, rest := range []string{"", examples.String()} {
		briefs, estimated, before := make([]*brief, count), 0, heap()
		for i := range briefs {
			briefs[i] = m.briefOf(fmt.Sprintf("You are agent %d.%s", i, rest), []llm.Tool{{Name: fmt.Sprint("tool", i)}})
			estimated += briefs[i].bytes + briefs[i].repertoire.bytes
		}
		require.Less(t, heap()-before, estimated)
		runtime.KeepAlive(briefs)
	}
}

func TestChatsShareParsedExamples(t *testing.T) {
	t.Parallel()
	m := New()
	const examples = "\n\n# Examples\n\nUser: hello there\nAgent: Hello."
	ana, bo := m.briefOf("You talk with Ana."+examples, nil), m.briefOf("You talk with Bo."+examples, nil)
	require.NotSame(t, ana, bo)
	require.Same(t, ana.repertoire, bo.repertoire)
	require.NotSame(t, ana.repertoire, m.briefOf("You talk with Ana."+examples+" You?", nil).repertoire)
}
