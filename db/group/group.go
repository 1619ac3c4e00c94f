// Package group is group commit: what comes while another commit of the same key is under way shares the next one.
package group

import (
	"context"
	"sync"
)

// Group commits members. Of one key there is one commit at a time; those of different keys do not wait for each other.
type Group[K comparable, M any] struct {
	// Commit commits members of the key, in the order in which they came. Its error is that of each of them.
	Commit func(ctx context.Context, key K, members []M) error
	// Limit bounds how many are committed together; 0 for no bound.
	Limit int
	// Apart reports whether two must not be committed together; nil for never.
	Apart func(a, b M) bool

	mu sync.Mutex
	// waiting has a key while a commit of it is under way.
	waiting map[K][]waiting[M]
}

type waiting[M any] struct {
	member M
	err    chan error
}

// Do returns when the member is committed, with the error of that, whether ctx has ended meanwhile or not.
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

// commit commits until nobody waits.
func (g *Group[K, M]) commit(ctx context.Context, key K) {
	for {
		taken := g.take(key)
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

// take returns those who are committed next; nobody when nobody waits, and then there is no commit of the key any more.
func (g *Group[K, M]) take(key K) []waiting[M] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var taken, left []waiting[M]
	for _, w := range g.waiting[key] {
		if g.Limit > 0 && len(taken) == g.Limit || g.isApart(taken, w.member) {
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

func (g *Group[K, M]) isApart(taken []waiting[M], member M) bool {
	if g.Apart == nil {
		return false
	}
	for _, w := range taken {
		if g.Apart(w.member, member) {
			return true
		}
	}
	return false
}
