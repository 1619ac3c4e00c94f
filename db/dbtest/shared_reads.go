package dbtest

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// SharedReads is a tracer that counts how often a second request reads on a connection at the same time. The zero value
// is ready to use.
type SharedReads struct {
	Unchecked
	mu sync.Mutex
	// reading is the number of requests that read on each connection.
	reading map[*pgx.Conn]int
	shared  int
}

type connKey struct{}

// TraceBatchStart counts a request that joins another one.
func (s *SharedReads) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading == nil {
		s.reading = map[*pgx.Conn]int{}
	}
	if s.reading[conn]++; s.reading[conn] == 2 {
		s.shared++
	}
	return context.WithValue(ctx, connKey{}, conn)
}

// TraceBatchQuery does nothing.
func (*SharedReads) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ends the read of the request.
func (s *SharedReads) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading[ctx.Value(connKey{}).(*pgx.Conn)]--
}

// Shared returns how often a request has joined another one.
func (s *SharedReads) Shared() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared
}
