package app

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() {
	// It is for a process with one program. Here, the first test that serves one would have the collector run more often for all
	// others. The programs of cmd/agentgraph's tests tune themselves.
	tuneMemory = func() {}
}

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 3 << 20: 400, 4 << 20: 300, 6 << 20: 200, 12 << 20: 100, 16 << 20: 75, 24 << 20: 50, 1 << 30: 50} {
		require.Equal(t, want, percentFor(live), "%d bytes", live)
	}
}

func TestAfterEachCollection(t *testing.T) {
	t.Parallel()
	var collected atomic.Int32
	afterEachCollection(func() { collected.Add(1) })
	for collected.Load() < 3 {
		runtime.GC()
	}
}
