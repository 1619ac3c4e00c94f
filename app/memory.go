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
	// headroom is how much the heap grows before it is collected, in bytes. A heap of a few MB that may only double is
	// collected all the time. The growth is at least leastPercent and at most mostPercent of the live heap.
	headroom     = 12 << 20
	leastPercent = 50
	mostPercent  = 400

	// limitRatio is the share of the container's memory that Go may use. The rest is for the PDF reader and the system.
	limitRatio = 0.8
)

const (
	// Memory is returned to the system twice in any case: first what only the start needed, after settleFirst, then what
	// the first jobs needed, such as indexing the demo's documents, after settleEvery.
	settleFirst = 3 * time.Second
	settleEvery = 20 * time.Second
	// idleBytes is what an idle process allocates at most in settleEvery. Its garbage would stay until the heap has grown
	// by headroom, which takes it minutes.
	idleBytes = 4 << 20
	// settledLive is the most that may be alive, in bytes. To look through more takes longer than so little garbage is
	// worth.
	settledLive = 64 << 20
	// Every takenEvery it checks whether responses that held manyBytes or more were taken since, and returns their memory.
	takenEvery = 2 * time.Second
	manyBytes  = 32 << 20
)

// tuneMemory tunes the collector for a server, once. GOGC and GOMEMLIMIT override it.
var tuneMemory = sync.OnceFunc(func() {
	if _, set := os.LookupEnv("GOGC"); !set {
		afterEachCollection(leaveHeadroom)
	}
	// This respects GOMEMLIMIT. It fails on systems without containers, which have no limit either.
	_, _ = memlimit.Set(memlimit.WithRatio(limitRatio))
})

// afterEachCollection calls f after each garbage collection.
func afterEachCollection(f func()) {
	// The cleanup runs after the collection that frees watched, which is too large to share an allocation with other
	// objects.
	watched := new([64]byte)
	runtime.AddCleanup(watched, func(f func()) {
		f()
		afterEachCollection(f)
	}, f)
}

// gcPercent is the percentage in effect.
var gcPercent atomic.Int64

// leaveHeadroom lets the heap grow by headroom until the next collection.
func leaveHeadroom() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := int64(percentFor(live[0].Value.Uint64()))
	// Setting the percentage stops the world for a moment.
	if gcPercent.Swap(percent) != percent {
		debug.SetGCPercent(int(percent))
	}
}

// percentFor returns the GC percentage for a number of live bytes, in steps of 25.
func percentFor(live uint64) int {
	percent := 100 * headroom / max(live, 1)
	return int(min(max(percent/25*25, leastPercent), mostPercent))
}

// settle returns unused memory to the system until ctx ends: after the start, whenever the process is idle and small,
// and when clients have taken large responses. responses returns the bytes of responses that are not taken yet.
func settle(ctx context.Context, responses func() int64) {
	next, taken := time.NewTimer(settleFirst), time.NewTicker(takenEvery)
	defer next.Stop()
	defer taken.Stop()
	heldMany := false
	heap := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	for looks, before := 0, uint64(0); ; {
		select {
		case <-next.C:
		case <-taken.C:
			held := responses()
			if heldMany && held < manyBytes/4 {
				debug.FreeOSMemory()
			}
			heldMany = held >= manyBytes || heldMany && held >= manyBytes/4
			continue
		case <-ctx.Done():
			return
		}
		metrics.Read(heap)
		allocated, live := heap[0].Value.Uint64()-before, heap[1].Value.Uint64()
		if looks < 2 || allocated < idleBytes && live < settledLive {
			debug.FreeOSMemory()
			releaseProgram()
			metrics.Read(heap)
		}
		before = heap[0].Value.Uint64()
		looks++
		next.Reset(settleEvery)
	}
}
