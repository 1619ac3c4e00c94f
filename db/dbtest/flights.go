package dbtest

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Flights is a tracer that counts the round trips which several requests share. The zero value is ready.
type Flights struct {
	Unchecked
	mu sync.Mutex
	// aboard is how many requests read on each connection.
	aboard map[*pgx.Conn]int
	shared int
}

type connKey struct{}

// TraceBatchStart counts the round trip when a second request joins it.
func (f *Flights) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.aboard == nil {
		f.aboard = map[*pgx.Conn]int{}
	}
	if f.aboard[conn]++; f.aboard[conn] == 2 {
		f.shared++
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// TraceBatchQuery does nothing.
func (*Flights) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ends what TraceBatchStart began in the context that it returned.
func (f *Flights) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.aboard[ctx.Value(connKey{}).(*pgx.Conn)]--
}

// Shared is how many round trips several requests have shared so far.
func (f *Flights) Shared() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.shared
}
