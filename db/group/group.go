// Package group implements group commit: values that arrive during a commit of their key share its next commit.
package group

import (
	"context"
	"slices"
	"sync"
)

// Group commits members: one commit per key at a time, different keys in parallel.
type Group[K comparable, M any] struct {
	// Commit commits members of the key in order of arrival. A member that conflicts with one of them waits for a later
	// commit. Do returns the error of Commit to the caller of each member.
	Commit func(ctx context.Context, key K, members []M) error
	// Limit is the maximum number of members in one commit. 0 means no limit.
	Limit int
	// Conflict reports whether two members must not share a commit. Nil means that all may.
	Conflict func(a, b M) bool

	mu sync.Mutex
	// waiting has an entry for each key that has a commit in progress.
	waiting map[K][]waiting[M]
}

type waiting[M any] struct {
	member M
	err    chan error
}

// Do commits the member and returns the commit's error. It waits for the commit even if ctx ends.
func (g *Group[K, M]) Do(ctx context.Context, key K, member M) error {
	w := waiting[M]{member, make(chan error, 1)}
	g.mu.Lock()
	if g.waiting == nil {
		g.waiting = map[K][]waiting[M]{}
	}
	before, busy := g.waiting[key]
	g.waiting[key] = append(before, w)
	g.mu.Unlock()
	if !busy {
		go g.commit(context.WithoutCancel(ctx), key)
	}
	return <-w.err
}

// commit commits until no member waits.
func (g *Group[K, M]) commit(ctx context.Context, key K) {
	for {
		taken := g.takeBatch(key)
		if len(taken) == 0 {
			return
		}
		members := make([]M, len(taken))
		for i, w := range taken {
			members[i] = w.member
		}
		err := g.Commit(ctx, key, members)
		for _, w := range taken {
			w.err <- err
		}
	}
}

// takeBatch returns the members of the next commit. If no member waits, it closes the key and returns none.
func (g *Group[K, M]) takeBatch(key K) []waiting[M] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var taken, left []waiting[M]
	for _, w := range g.waiting[key] {
		if g.Limit > 0 && len(taken) == g.Limit || g.conflicts(taken, w.member) {
			left = append(left, w)
		} else {
			taken = append(taken, w)
		}
	}
	if g.waiting[key] = left; len(taken) == 0 {
		delete(g.waiting, key)
	}
	return taken
}

func (g *Group[K, M]) conflicts(taken []waiting[M], member M) bool {
	return g.Conflict != nil &&
		slices.ContainsFunc(taken, func(w waiting[M]) bool { return g.Conflict(w.member, member) })
}
