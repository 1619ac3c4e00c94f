package db

import (
	"context"

	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
)

// Pgx gives tests the transaction that the Tenant is in, as pgx knows one.
func Pgx(t *Tenant, fn func(pgx.Tx) error) error {
	return tenantTx{t}.pgx(context.Background(), func(tx queue.Tx) error { return fn(tx) })
}

// Raw takes statements as they are, for the company's rows.
func Raw(t *Tenant) bun.IConn { return t.db }

// Listen returns when the Store hears the signals of others, or ctx ends. Something must be followed.
func Listen(ctx context.Context, s *Store) { s.hub.Listening(ctx) }

// Reads are the connections for reads.
func (s *Store) Reads() *pgxpool.Pool { return s.reads }

// Pool are the connections that the queue and others use as they are.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// OnCommit gives tests what is done once a transaction is committed.
func OnCommit(t *Tenant, f func()) { t.onCommit(f) }
