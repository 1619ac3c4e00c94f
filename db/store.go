// Package db keeps everything in Postgres. A Store is the database; a Tenant is one company's part of
// it, and the only way to that company's rows.
package db

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/db/group"
	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/db/seal"
	"github.com/agentgraph/agentgraph/model"
)

// Options are what a Store needs beside its address.
type Options struct {
	// MaxConnections bounds each of the two pools, the one for writes and the one for reads. 0 means pgx's default.
	MaxConnections int32
	// SecretKey, 32 bytes, encrypts what must not be readable in the database, and signs credentials. Without it, such
	// values are refused, and credentials are made without a signature.
	SecretKey []byte
	// RunsPerCompany is how many test runs of one company are under way at once, over all processes; they should
	// all have the same value. 0 means queue.DefaultWindow.
	RunsPerCompany int
	// Log receives failures of test runs and warnings of budgets. Nil means slog.Default().
	Log *slog.Logger
	// Enqueue replaces the queue for test runs. It is called in the transaction that made them ready.
	Enqueue func(ctx context.Context, tx bun.Tx, companyID string, runIDs []string) error
	// MaxStored bounds the documents of one company, in bytes. 0 means no bound.
	MaxStored int64
	// AuditKept is how long audit events are kept. 0 means for ever.
	AuditKept time.Duration
	// RerankModels are the models that knowledge base chats may name.
	RerankModels []string
	// Tracer sees every statement. It may be nil.
	Tracer pgx.QueryTracer
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	writers *fair.Gate
	// reads are connections for statements that are written once and planned once.
	reads    *pgxpool.Pool
	readers  *fair.Gate
	findings *findings
	tracer   pgx.QueryTracer
	db       *bun.DB
	locks    *locks
	hub      *notify.Hub
	sealer   seal.Sealer
	signer   model.Signer

	budgets     *budgets
	revocations *revocations
	transitions *group.Group[string, *runTransition]
	topics      *topics

	queue       *queue.Queue
	enqueueRuns func(ctx context.Context, tx bun.Tx, companyID string, runIDs []string) error

	rerankModels []string
	maxStored    int64
	auditKept    time.Duration
	vectors      vectorType
}

// describedStatements is how many statements a connection remembers the types of: those with vectors alone, which bun does not
// write.
const describedStatements = 16

// statementTimeout, as Postgres spells it, ends statements that nobody waits for any more: their requests have timed
// out, or the process is gone.
const statementTimeout = "2min"

// Open connects to the database at the address and verifies that it answers. Close closes it.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		// The parser's error may contain the password of the address.
		return nil, fmt.Errorf("open database: the address is not a valid Postgres URL")
	}
	// bun writes arguments into the text, so every text is new: a statement cache would only cost
	// round trips, and the simple protocol would allow stacked statements.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.StatementCacheCapacity = 0
	config.ConnConfig.DescriptionCacheCapacity = describedStatements
	config.ConnConfig.RuntimeParams["application_name"] = "agentgraph"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Requests are many and small. What Postgres would start or compile for a single one would cost all of them.
	config.ConnConfig.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	config.ConnConfig.RuntimeParams["jit"] = "off"
	config.ConnConfig.RuntimeParams["statement_timeout"] = statementTimeout
	config.ConnConfig.Tracer = o.Tracer
	if o.MaxConnections > 0 {
		config.MaxConns = o.MaxConnections
	}
	sealer, err := seal.New(o.SecretKey)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	locks := &locks{log: cmp.Or(o.Log, slog.Default())}
	config.PrepareConn = locks.prepare
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open database: %w", reason(err))
	}
	locks.pool = pool
	reads, err := openReads(ctx, config, pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	writers := gateOf(pool)
	root := bun.NewDB(openCharged(pool, writers, locks), dialect{pgdialect.New()}, bun.WithDiscardUnknownColumns())
	store := &Store{pool: pool, writers: writers, reads: reads, readers: gateOf(reads), findings: newFindings(), tracer: o.Tracer, db: root, locks: locks, hub: notify.New(pool), sealer: sealer, signer: model.NewSigner(o.SecretKey), transitions: newRunTransitions(), enqueueRuns: o.Enqueue, rerankModels: o.RerankModels, maxStored: o.MaxStored, auditKept: o.AuditKept}
	store.revocations = newRevocations(store.hub)
	store.budgets = newBudgets(o.Log, func(ctx context.Context, companyID string) (*model.CompanySubscription, error) {
		return store.Tenant(companyID).Subscription(ctx, now())
	})
	store.topics = newTopics(store)
	store.queue, err = queue.New(pool, queue.Options{Window: o.RunsPerCompany, Sweep: store.sweeper(), Look: locks.await, Log: o.Log})
	if err == nil {
		store.vectors, err = vectorTypeOf(ctx, pool)
	}
	if err == nil {
		err = locks.look(ctx)
	}
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	locks.warn(ctx)
	return store, nil
}

// dialect is Postgres's with literals that say exactly what they were given.
type dialect struct{ *pgdialect.Dialect }

// AppendString writes a text as a literal. One with the character U+0000, which Postgres cannot hold,
// becomes an expression that fails with SQLSTATE 22021; bun would write what is no SQL.
func (d dialect) AppendString(b []byte, text string) []byte {
	if strings.ContainsRune(text, 0) {
		return append(b, `convert_from('\x00', 'UTF8')`...)
	}
	return d.Dialect.AppendString(b, text)
}

// AppendJSON writes JSON as a literal. bun would spoil a text that has a backslash before u0000.
func (d dialect) AppendJSON(b, json []byte) []byte { return d.AppendString(b, string(json)) }

// Close closes all connections.
func (s *Store) Close() {
	s.budgets.close()
	s.revocations.close()
	s.topics.close()
	s.hub.Close()
	_ = s.db.Close()
	s.reads.Close()
	s.pool.Close()
}

// Ping reports whether the database answers, and finds what it may read.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return translate(err)
	}
	return translate(s.locks.await(ctx))
}

// Signer signs the credentials that are made here.
func (s *Store) Signer() model.Signer { return s.signer }

// Tenant is the company's part of the database. It does not check that the company exists.
func (s *Store) Tenant(companyID string) *Tenant {
	return &Tenant{store: s, db: scoped{s.db, s.db.DB, companyID}, companyID: companyID}
}

// now is the time that a write records, as exact as Postgres keeps it.
func now() time.Time {
	return time.Now().UTC().Truncate(time.Microsecond)
}
