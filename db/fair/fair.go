// Package fair shares a limited number of places, such as connections of a pool, between parties. A party with many
// requests never makes a party with few requests wait for all of them.
package fair

import (
	"context"
	"slices"
	"sync"
)

// Gate admits a limited number of entrants at a time. One party has at most a share of the places, so that others
// always find some. A place that becomes free goes to the waiting party with the fewest places and, among equals, to
// the one that has waited longest.
type Gate struct {
	mu    sync.Mutex
	free  int
	share int
	// held counts the places of each party. waiting has its entrants in order of arrival.
	held    map[string]int
	waiting map[string][]*entrant
	arrived uint64
}

type entrant struct {
	arrival  uint64
	admitted chan struct{}
}

// New returns a gate with the number of places, of which one party has at most the share. Both are at least 1.
func New(places, share int) *Gate {
	return &Gate{free: max(1, places), share: max(1, share), held: map[string]int{}, waiting: map[string][]*entrant{}}
}

// Enter waits for a place, which the party has to Leave, or returns the context's error.
func (g *Gate) Enter(ctx context.Context, party string) error {
	g.mu.Lock()
	if g.free > 0 && g.held[party] < g.share {
		g.take(party)
		g.mu.Unlock()
		return nil
	}
	g.arrived++
	e := &entrant{g.arrived, make(chan struct{})}
	g.waiting[party] = append(g.waiting[party], e)
	g.mu.Unlock()

	select {
	case <-e.admitted:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-e.admitted: // it was admitted meanwhile
		g.give(party)
	default:
		g.forget(party, e)
	}
	return ctx.Err()
}

// Leave gives back a place of the party.
func (g *Gate) Leave(party string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.give(party)
}

func (g *Gate) take(party string) {
	g.free--
	g.held[party]++
}

func (g *Gate) give(party string) {
	g.free++
	if g.held[party]--; g.held[party] == 0 {
		delete(g.held, party)
	}
	// Before this, no waiting party was allowed a free place, so this place admits one entrant at most.
	if next, ok := g.next(); ok {
		e := g.waiting[next][0]
		g.forget(next, e)
		g.take(next)
		close(e.admitted)
	}
}

// next returns the party that gets the next place.
func (g *Gate) next() (next string, ok bool) {
	for party, entrants := range g.waiting {
		held := g.held[party]
		if held >= g.share {
			continue
		}
		if !ok || held < g.held[next] || held == g.held[next] && entrants[0].arrival < g.waiting[next][0].arrival {
			next, ok = party, true
		}
	}
	return next, ok
}

func (g *Gate) forget(party string, e *entrant) {
	rest := slices.DeleteFunc(g.waiting[party], func(other *entrant) bool { return other == e })
	if g.waiting[party] = rest; len(rest) == 0 {
		delete(g.waiting, party)
	}
}
