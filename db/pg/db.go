// Package pg reads and writes the rows of companies in Postgres. It contains no concrete type of row: Open takes a
// description of each type that needs special treatment. Start reading at Scope.
package pg

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/fair"
)

// Options configure a DB.
type Options struct {
	// SessionAddress is the address of Postgres itself. Set it if the main address leads to a pooler in transaction
	// mode: notifications, the locks of workers and the queue need sessions.
	SessionAddress string
	// MaxConnections bounds the pool for writes and the pool for reads, each on its own. 0 means pgx's default.
	MaxConnections int32
	// Log receives warnings. Nil means slog.Default().
	Log *slog.Logger
	// Tracer is called for every statement. It may be nil.
	Tracer pgx.QueryTracer
	// Types describes the row structs that need special treatment.
	Types map[reflect.Type]Type
	// Taken has the message for each unique constraint that user input may violate, by the constraint's name.
	Taken map[string]UniqueViolation
}

// DB is a Postgres database that holds the rows of companies. It is safe for concurrent use.
type DB struct {
	*Tables
	pools pools
	// writers and readers share the connections of pools between companies.
	writers, readers *fair.Gate
	// pipelines are connections that several requests read on at the same time. Nil if there are none.
	pipelines  *pipelines
	statements *statementCache
	tracer     pgx.QueryTracer
	bun        *bun.DB
	scopes     *scopes
	shortages  *shortages
	taken      map[string]UniqueViolation
	// isSharded is set if the tables were distributed by Citus when the database was opened.
	isSharded bool
}

// Open connects to the database at the address and verifies that it answers. Close closes it.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	scopes := &scopes{log: cmp.Or(o.Log, slog.Default()), isPooled: o.SessionAddress != ""}
	pools, err := connect(ctx, address, o, scopes)
	if err != nil {
		return nil, err
	}
	scopes.pool = pools.writes
	d := &DB{
		Tables: &Tables{o.Types}, pools: pools, writers: gateOf(pools.writes, 0), statements: newStatementCache(),
		tracer: o.Tracer, scopes: scopes, taken: o.Taken,
		shortages: &shortages{log: scopes.log, reported: map[string]time.Time{}},
	}
	d.bun = bun.NewDB(openReserving(d), postgres)
	sharded, err := Distributed(ctx, pools.writes)
	if err == nil {
		err = scopes.checkRowSecurity(ctx)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	d.isSharded = len(sharded) > 0
	pipelined := 0
	if !d.isSharded && !scopes.isPooled {
		pipelined = int(pools.reads.Config().MaxConns) / 4
	}
	if d.readers = gateOf(pools.reads, pipelined); pipelined > 0 {
		d.pipelines = &pipelines{db: d, maxActive: pipelined, patience: pipelinePatience}
	}
	scopes.warn(ctx, d.isSharded)
	return d, nil
}

// Close closes all connections.
func (d *DB) Close() {
	_ = d.bun.Close()
	d.pools.close()
}

// Ping returns an error if the database does not answer or accepts no writes, or if CheckRowSecurity returns one.
func (d *DB) Ping(ctx context.Context) error {
	var isReadOnly bool
	const query = "SELECT current_setting('transaction_read_only')::bool"
	if err := d.pools.writes.QueryRow(ctx, query).Scan(&isReadOnly); err != nil {
		return d.Translate(err)
	}
	if isReadOnly {
		return ErrReadOnly
	}
	return d.Translate(d.scopes.ensureRowSecurity(ctx))
}

// CheckRowSecurity checks whether row-level security separates the companies. Once it does, it no longer
// queries Postgres.
func (d *DB) CheckRowSecurity(ctx context.Context) error { return d.scopes.ensureRowSecurity(ctx) }

// Writes returns the pool for writes. Callers that need neither a company nor a session use it directly.
func (d *DB) Writes() *pgxpool.Pool { return d.pools.writes }

// Readers returns the pool for reads.
func (d *DB) Readers() *pgxpool.Pool { return d.pools.reads }

// Sessions returns a pool whose connections keep their session. Behind a pooler it is not the pool of Writes.
func (d *DB) Sessions() *pgxpool.Pool { return d.pools.sessions }

// IsPooled reports whether there is a pooler in transaction mode in front of Postgres.
func (d *DB) IsPooled() bool { return d.scopes.isPooled }

// IsSharded reports whether the tables were distributed by Citus when the database was opened.
func (d *DB) IsSharded() bool { return d.isSharded }

// Company returns a Scope for the rows of one company. It does not check that the company exists.
func (d *DB) Company(companyID string) Scope {
	return Scope{db: d, conn: d.bun.DB, companyID: companyID}
}

// Program returns a Scope for the rows of all companies.
func (d *DB) Program() Scope { return d.Company(everyCompany) }

// Querier is a connection or a pool of connections.
type Querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// ReadStructs runs a query and returns its rows as structs, whose fields it matches to columns by name.
func ReadStructs[R any](ctx context.Context, db Querier, query string, args ...any) ([]R, error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[R])
}

// OwnSchema is a scalar subquery for the schema of the product's tables, the first one of the search path.
const OwnSchema = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())"

// Distributed returns the names of the tables that Citus has distributed: sharded tables, and reference tables. It
// omits local tables, which Citus lists too if they have a foreign key to or from a reference table. The list is empty
// on a server without Citus.
func Distributed(ctx context.Context, db Querier) ([]string, error) {
	type table struct{ Name string }
	citus, err := ReadStructs[table](ctx, db, "SELECT relname::text AS name FROM pg_class WHERE oid = "+
		"to_regclass('pg_dist_partition')")
	if err != nil || len(citus) == 0 {
		return nil, err
	}
	rows, err := ReadStructs[table](ctx, db, `SELECT relname::text AS name FROM pg_dist_partition
		JOIN pg_class ON pg_class.oid = logicalrelid WHERE relnamespace = `+OwnSchema+`
			AND (partmethod <> 'n' OR repmodel = 't')`)
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	if err != nil {
		return nil, fmt.Errorf("look for Citus: %w", err)
	}
	return names, nil
}
