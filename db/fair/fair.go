// Package fair shares a limited number of slots, such as connections of a pool, between tenants. A tenant with many
// requests never makes a tenant with few requests wait for all of them.
package fair

import (
	"context"
	"slices"
	"sync"
)

// Gate admits a limited number of waiters at a time. One tenant has at most a share of the slots, so that it never
// takes all of them. A slot that becomes free goes to the waiting tenant with the fewest slots and, among equals, to
// the one that has waited longest.
type Gate struct {
	mu    sync.Mutex
	free  int
	share int
	// inUse counts the slots of each tenant. waiting has the waiters of each tenant in order of arrival.
	inUse   map[string]int
	waiting map[string][]*waiter
	arrived uint64
}

type waiter struct {
	arrival  uint64
	admitted chan struct{}
}

// New returns a gate with the number of slots. One tenant has at most share of them. Both are at least 1.
func New(slots, share int) *Gate {
	return &Gate{free: max(1, slots), share: max(1, share), inUse: map[string]int{}, waiting: map[string][]*waiter{}}
}

// Enter waits for a slot, and returns the context's error if ctx ends first. The caller must call Leave to free the
// slot.
func (g *Gate) Enter(ctx context.Context, tenant string) error {
	g.mu.Lock()
	if g.takeSlot(tenant) {
		g.mu.Unlock()
		return nil
	}
	g.arrived++
	w := &waiter{g.arrived, make(chan struct{})}
	g.waiting[tenant] = append(g.waiting[tenant], w)
	g.mu.Unlock()

	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.admitted: // it was admitted at the same time
		g.releaseSlot(tenant)
	default:
		g.removeWaiter(tenant, w)
	}
	return ctx.Err()
}

// TryEnter takes a slot if the tenant can have one at once, and reports whether it did. After true, the caller must
// call Leave.
func (g *Gate) TryEnter(tenant string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.takeSlot(tenant)
}

// Leave frees a slot of the tenant.
func (g *Gate) Leave(tenant string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.releaseSlot(tenant)
}

func (g *Gate) takeSlot(tenant string) bool {
	if g.free == 0 || g.inUse[tenant] >= g.share {
		return false
	}
	g.free--
	g.inUse[tenant]++
	return true
}

func (g *Gate) releaseSlot(tenant string) {
	g.free++
	if g.inUse[tenant]--; g.inUse[tenant] == 0 {
		delete(g.inUse, tenant)
	}
	// Until now, no waiting tenant could take a free slot. So the slot that is freed here admits at most one waiter.
	if next, ok := g.next(); ok {
		w := g.waiting[next][0]
		g.removeWaiter(next, w)
		g.takeSlot(next)
		close(w.admitted)
	}
}

// next returns the tenant that gets the next slot.
func (g *Gate) next() (next string, ok bool) {
	for tenant, waiters := range g.waiting {
		held := g.inUse[tenant]
		if held >= g.share {
			continue
		}
		if !ok || held < g.inUse[next] || held == g.inUse[next] && waiters[0].arrival < g.waiting[next][0].arrival {
			next, ok = tenant, true
		}
	}
	return next, ok
}

func (g *Gate) removeWaiter(tenant string, w *waiter) {
	rest := slices.DeleteFunc(g.waiting[tenant], func(other *waiter) bool { return other == w })
	if g.waiting[tenant] = rest; len(rest) == 0 {
		delete(g.waiting, tenant)
	}
}
