package pg

import (
	"context"
	"fmt"
	"sync"
)

// sharedCounts are the counts of lists that one response has asked for.
type sharedCounts struct {
	mu    sync.Mutex
	reads map[string]any
}

type sharedCountsKey struct{}

// WithSharedCounts returns a context in which a list is counted once for each filter, however often its total is asked
// for. It is for one response, within which nothing changes.
func WithSharedCounts(ctx context.Context) context.Context {
	return context.WithValue(ctx, sharedCountsKey{}, &sharedCounts{reads: map[string]any{}})
}

// shared returns what is counted of the company's list with the filter, and of the lists of the parents: read for the
// first who asks, if the context shares counts.
func shared[T any](ctx context.Context, s Scope, l List, filter Filter, parents []string,
	read func() (T, error)) (T, error) {
	counts, ok := ctx.Value(sharedCountsKey{}).(*sharedCounts)
	if !ok {
		return read()
	}
	key := fmt.Sprintf("%s %s %s %#v %q", s.companyID, l.Row(), l.Of, filter.Values(), parents)
	counts.mu.Lock()
	once, known := counts.reads[key].(func() (T, error))
	if !known {
		once = sync.OnceValues(read)
		counts.reads[key] = once
	}
	counts.mu.Unlock()
	return once()
}
