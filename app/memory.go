package app

import (
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
	// collected all the time. The growth is at least leastPercent and at most mostPercent of what is alive.
	headroom     = 16 << 20
	leastPercent = 75
	mostPercent  = 400

	// limitRatio is the share of the container's memory that Go may take. The rest is for the PDF reader and the system.
	limitRatio = 0.8
)

// settleAfter is when to give memory back after the start: first what only the start needed, then what the first jobs
// needed, such as indexing the demo's documents.
var settleAfter = []time.Duration{3 * time.Second, 20 * time.Second}

// tuneMemory tunes the collector for a server, once. GOGC and GOMEMLIMIT override it.
var tuneMemory = sync.OnceFunc(func() {
	if _, set := os.LookupEnv("GOGC"); !set {
		afterEachCollection(leaveHeadroom)
	}
	// It respects GOMEMLIMIT. It fails on systems without containers, which have no limit either.
	_, _ = memlimit.Set(memlimit.WithRatio(limitRatio))
})

// afterEachCollection calls f when a collection has ended.
func afterEachCollection(f func()) {
	// The cleanup runs after the collection that finds it gone. It is too large to be allocated together with others.
	watched := new([64]byte)
	runtime.AddCleanup(watched, func(f func()) {
		f()
		afterEachCollection(f)
	}, f)
}

// gcPercent is the percentage in force.
var gcPercent atomic.Int64

// leaveHeadroom lets the heap grow by headroom until the next collection.
func leaveHeadroom() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := int64(percentFor(live[0].Value.Uint64()))
	// Setting it stops the world for a moment.
	if gcPercent.Swap(percent) != percent {
		debug.SetGCPercent(int(percent))
	}
}

// percentFor returns the GC percentage for a number of live bytes, in steps of 25.
func percentFor(live uint64) int {
	percent := 100 * headroom / max(live, 1)
	return int(min(max(percent/25*25, leastPercent), mostPercent))
}

// settle returns to the system what only the start needed.
func settle() {
	debug.FreeOSMemory()
	releaseProgram()
}
