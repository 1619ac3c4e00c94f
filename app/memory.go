package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// headroom is how much the heap grows between collections, in bytes: at least minPercent and at most maxPercent of
	// the live heap. Go's default growth of 100% would collect a heap of a few MB all the time.
	headroom   = 12 << 20
	minPercent = 50
	maxPercent = 400

	// limitRatio is the share of the container's memory for Go. The rest is for the PDF reader and the system.
	limitRatio = 0.8
)

const (
	// Memory is always returned to the system twice: firstReleaseDelay after the start, and again releaseInterval later,
	// when the first jobs have run.
	firstReleaseDelay = 3 * time.Second
	releaseInterval   = 20 * time.Second
	// idleBytes is the most that an idle process allocates in releaseInterval. An idle process takes minutes to allocate
	// as many bytes as headroom. Until then, the collector leaves its garbage in memory.
	idleBytes = 4 << 20
	// settledLive is the largest live heap, in bytes, that is collected when the process is idle. A larger heap takes too
	// long to scan for so little garbage.
	settledLive = 64 << 20
	// responsesEvery is the interval at which releaseMemory reads how many bytes of responses wait for clients. If they
	// fall from largeResponses to less than a quarter of it, releaseMemory returns their memory to the system.
	responsesEvery = 2 * time.Second
	largeResponses = 32 << 20
)

// tuneMemory tunes the collector for a server, once. GOGC and GOMEMLIMIT override it.
var tuneMemory = sync.OnceFunc(func() {
	if _, set := os.LookupEnv("GOGC"); !set {
		afterEachCollection(leaveHeadroom)
	}
	// Set respects GOMEMLIMIT. It fails on systems without containers, which have no limit either.
	_, _ = memlimit.Set(memlimit.WithRatio(limitRatio))
})

// afterEachCollection calls f after each garbage collection.
func afterEachCollection(f func()) {
	// The cleanup runs after the collection that frees watched. A smaller object could share an allocation with others,
	// which would keep it alive.
	watched := new([64]byte)
	runtime.AddCleanup(watched, func(f func()) {
		f()
		afterEachCollection(f)
	}, f)
}

// gcPercent is the current GC percentage.
var gcPercent atomic.Int64

// leaveHeadroom sets the GC percentage so that the heap grows by headroom.
func leaveHeadroom() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := int64(percentFor(live[0].Value.Uint64()))
	// Setting the percentage stops the world briefly.
	if gcPercent.Swap(percent) != percent {
		debug.SetGCPercent(int(percent))
	}
}

// percentFor returns the GC percentage for a number of live bytes, in steps of 25.
func percentFor(live uint64) int {
	percent := 100 * headroom / max(live, 1)
	return int(min(max(percent/25*25, minPercent), maxPercent))
}

// releaseMemory returns unused memory to the system until ctx ends: after the start, when the process is idle with a
// small heap, and when clients have received large responses. responses must return the bytes of unreceived responses.
func releaseMemory(ctx context.Context, responses func() int64) {
	next, received := time.NewTimer(firstReleaseDelay), time.NewTicker(responsesEvery)
	defer next.Stop()
	defer received.Stop()
	heldLarge := false
	heap := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	for rounds, before := 0, uint64(0); ; {
		select {
		case <-next.C:
		case <-received.C:
			held := responses()
			if heldLarge && held < largeResponses/4 {
				debug.FreeOSMemory()
			}
			heldLarge = held >= largeResponses || heldLarge && held >= largeResponses/4
			continue
		case <-ctx.Done():
			return
		}
		metrics.Read(heap)
		allocated, live := heap[0].Value.Uint64()-before, heap[1].Value.Uint64()
		if rounds < 2 || allocated < idleBytes && live < settledLive {
			debug.FreeOSMemory()
			releaseProgram()
			metrics.Read(heap)
		}
		before = heap[0].Value.Uint64()
		rounds++
		next.Reset(releaseInterval)
	}
}
