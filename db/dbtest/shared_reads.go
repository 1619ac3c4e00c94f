package dbtest

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// SharedReads is a tracer that counts the round trips which several requests share. The zero value is ready.
type SharedReads struct {
	Unchecked
	mu sync.Mutex
	// aboard is how many requests read on each connection.
	aboard map[*pgx.Conn]int
	shared int
}

type connKey struct{}

// TraceBatchStart counts the round trip when a second request joins it.
func (s *SharedReads) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aboard == nil {
		s.aboard = map[*pgx.Conn]int{}
	}
	if s.aboard[conn]++; s.aboard[conn] == 2 {
		s.shared++
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// TraceBatchQuery does nothing.
func (*SharedReads) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ends what TraceBatchStart began in the context that it returned.
func (s *SharedReads) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aboard[ctx.Value(connKey{}).(*pgx.Conn)]--
}

// Shared is how many round trips several requests have shared so far.
func (s *SharedReads) Shared() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared
}
