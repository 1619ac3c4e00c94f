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
	// headroom is by how much the heap grows before it is collected, in bytes, however little of it is alive: a heap of
	// a few MB that only doubles is collected all the time. It is bounded by mostPercent of what is alive, and one that
	// has much alive grows by leastPercent of it.
	headroom     = 16 << 20
	leastPercent = 75
	mostPercent  = 400

	// limitRatio is how much of the container's memory Go may take; the rest is for what reads PDFs, and the system.
	limitRatio = 0.8
)

// settleAfter is when what only the start needed is given back, counted from its end, and then what its first jobs
// needed, such as the demo's documents.
var settleAfter = []time.Duration{3 * time.Second, 20 * time.Second}

// tuneMemory suits the collector to a server, once. What the operator has set by GOGC and GOMEMLIMIT stays.
var tuneMemory = sync.OnceFunc(func() {
	if _, set := os.LookupEnv("GOGC"); !set {
		afterEachCollection(leaveHeadroom)
	}
	// It minds GOMEMLIMIT. It fails on systems that know no containers, which have no limit either.
	_, _ = memlimit.Set(memlimit.WithRatio(limitRatio))
})

// afterEachCollection calls f when a collection has ended.
func afterEachCollection(f func()) {
	// The first collection that finds it gone has ended when the cleanup runs. It is too large to share its place.
	watched := new([64]byte)
	runtime.AddCleanup(watched, func(f func()) {
		f()
		afterEachCollection(f)
	}, f)
}

// gcPercent is the one in force.
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

// percentFor returns the percentage to collect at when so many bytes are alive, in steps of 25.
func percentFor(live uint64) int {
	percent := 100 * headroom / max(live, 1)
	return int(min(max(percent/25*25, leastPercent), mostPercent))
}

// settle gives back to the system what only the start needed.
func settle() {
	debug.FreeOSMemory()
	releaseProgram()
}
