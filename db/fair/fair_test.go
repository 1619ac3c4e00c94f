package fair_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/fair"
)

// enter makes the tenant wait for a slot, and closes the returned channel once it has one.
func enter(t *testing.T, g *fair.Gate, tenant string) <-chan struct{} {
	admitted := make(chan struct{})
	go func() {
		assert.NoError(t, g.Enter(t.Context(), tenant))
		close(admitted)
	}()
	synctest.Wait()
	return admitted
}

func isAdmitted(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestTenantNeverExceedsItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fair.New(4, 3)
		for range 3 {
			require.True(t, isAdmitted(enter(t, g, "many")))
		}
		fourth, fifth := enter(t, g, "many"), enter(t, g, "many")
		require.False(t, isAdmitted(fourth), "although a slot is free")
		require.True(t, isAdmitted(enter(t, g, "few")), "which is for others")
		g.Leave("few")
		require.False(t, isAdmitted(fourth))
		g.Leave("many")
		require.True(t, isAdmitted(fourth))
		require.False(t, isAdmitted(fifth), "in order of arrival")
		g.Leave("many")
		require.True(t, isAdmitted(fifth))
	})
}

func TestFreeSlotGoesToTheTenantWithFewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fair.New(4, 4)
		for range 3 {
			require.True(t, isAdmitted(enter(t, g, "a")))
		}
		require.True(t, isAdmitted(enter(t, g, "b")))
		waiting := map[string]<-chan struct{}{}
		for _, tenant := range []string{"a", "b", "c", "d"} {
			waiting[tenant] = enter(t, g, tenant)
		}
		// a has three slots and b has one. a was the first to wait, so it has waited longest.
		for _, turn := range []struct{ leaves, next string }{{"a", "c"}, {"a", "d"}, {"b", "b"}, {"a", "a"}} {
			require.False(t, isAdmitted(waiting[turn.next]))
			g.Leave(turn.leaves)
			require.True(t, isAdmitted(waiting[turn.next]), turn.next)
		}
	})
}

func TestCancelledWaiterTakesNoSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := fair.New(1, 1)
		require.NoError(t, g.Enter(t.Context(), "a"))
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- g.Enter(ctx, "b") }()
		synctest.Wait()
		last := enter(t, g, "c")
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		g.Leave("a")
		require.True(t, isAdmitted(last))
		g.Leave("c")
		require.NoError(t, g.Enter(t.Context(), "a"), "all slots are free again")
	})
}

// For any order of arrivals and departures, the gate never admits more waiters than it has slots, or more of one tenant
// than its share. It loses no slot.
func TestSlotsAreNeitherLostNorDuplicated(t *testing.T) {
	t.Parallel()
	const slots, share, tenants = 5, 3, 4
	g := fair.New(slots, share)
	var mu sync.Mutex
	inside := map[string]int{}
	all := 0
	count := func(tenant string, change int) {
		mu.Lock()
		defer mu.Unlock()
		inside[tenant] += change
		all += change
		assert.LessOrEqual(t, inside[tenant], share)
		assert.LessOrEqual(t, all, slots)
	}
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			tenant := fmt.Sprint(i % tenants)
			for n := range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(3) == 0 {
					go cancel()
				}
				if g.Enter(ctx, tenant) == nil {
					count(tenant, 1)
					if n%7 == 0 {
						cancel()
					}
					count(tenant, -1)
					g.Leave(tenant)
				}
				cancel()
			}
		})
	}
	wait.Wait()
	for i := range slots {
		require.NoError(t, g.Enter(t.Context(), fmt.Sprint(i)))
	}
}

func BenchmarkEnter(b *testing.B) {
	g := fair.New(20, 15)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if g.Enter(b.Context(), "a") == nil {
				g.Leave("a")
			}
		}
	})
}
