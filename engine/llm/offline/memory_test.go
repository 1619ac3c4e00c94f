package offline

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
			briefs[i] = m.briefOf(fmt.Sprintf("You are agent %d.%s", i, rest), nil)
			estimated += briefs[i].bytes
		}
		require.Less(t, heap()-before, estimated)
		runtime.KeepAlive(briefs)
	}
}
