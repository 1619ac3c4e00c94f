package pg

import (
	"context"
	"fmt"
	"sync"
)

// sharedCounts caches the counts of lists within one response.
type sharedCounts struct {
	mu    sync.Mutex
	reads map[string]any
}

type sharedCountsKey struct{}

// WithSharedCounts returns a context in which each list is counted once for each filter. Use it for one response that
// changes nothing.
func WithSharedCounts(ctx context.Context) context.Context {
	return context.WithValue(ctx, sharedCountsKey{}, &sharedCounts{reads: map[string]any{}})
}

// shared returns the result of read: one count, or the counts of several parents' lists. If the context shares counts,
// only the first caller with these arguments runs read. The others wait for its result.
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
