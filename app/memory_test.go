package app

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func init() {
	// tuneMemory is for a process with one gateway. Without this line, it would change the collector for all tests of
	// the process.
	tuneMemory = func() {}
}

func TestGCPercentFallsAsTheHeapGrows(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 3 << 20: 400, 4 << 20: 300, 6 << 20: 200, 12 << 20: 100,
		16 << 20: 75, 24 << 20: 50, 1 << 30: 50} {
		require.Equal(t, want, percentFor(live), "%d bytes", live)
	}
}

func TestHookRunsAfterEachCollection(t *testing.T) {
	t.Parallel()
	var collected atomic.Int32
	afterEachCollection(func() { collected.Add(1) })
	for collected.Load() < 3 {
		runtime.GC()
	}
}

// This test must not run in parallel with tests that allocate.
func TestIdleProcessReturnsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var responses atomic.Int64
		go releaseMemory(ctx, responses.Load)
		returned := func(within time.Duration) uint32 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			<-time.After(within)
			synctest.Wait()
			runtime.ReadMemStats(&after)
			return after.NumForcedGC - before.NumForcedGC
		}
		<-time.After(time.Second)
		require.EqualValues(t, 1, returned(firstReleaseDelay), "what the start needed")
		require.EqualValues(t, 1, returned(releaseInterval))
		require.EqualValues(t, 3, returned(3*releaseInterval), "it is idle")
		busy := make([]byte, idleBytes)
		require.Zero(t, returned(releaseInterval), "it is not")
		require.EqualValues(t, 1, returned(releaseInterval))
		runtime.KeepAlive(busy)
		large := make([]byte, settledLive)
		require.Zero(t, returned(releaseInterval))
		runtime.GC()
		require.Zero(t, returned(2*releaseInterval), "it is idle, and large")
		runtime.KeepAlive(large)
		responses.Store(largeResponses)
		require.Zero(t, returned(2*responsesEvery), "clients have not taken large responses")
		responses.Store(largeResponses/4 - 1)
		require.EqualValues(t, 1, returned(2*responsesEvery), "they have")
		end()
	})
}
