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
	// SessionAddress is that of Postgres itself, if the other one is of a pooler that hands connections on between transactions:
	// for notifications, the locks of workers and the queue, which need sessions. Empty means that the address leads to sessions.
	SessionAddress string
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
	// NATS carries signals between replicas in place of the database, if it is given. All replicas should have the same.
	NATS *NATS
	// RerankModels are the models that knowledge base chats may name.
	RerankModels []string
	// Tracer sees every statement. It may be nil.
	Tracer pgx.QueryTracer
}

// NATS is how to reach the servers that carry signals.
type NATS = notify.NATS

// Store is the database. It is safe for concurrent use.
type Store struct {
	pools   pools
	pool    *pgxpool.Pool
	writers *fair.Gate
	// reads are connections for statements that are written once and planned once.
	reads   *pgxpool.Pool
	readers *fair.Gate
	// pipelines are connections that several requests read on; nil where there are none.
	pipelines *pipelines
	findings  *findings
	tracer    pgx.QueryTracer
	db        *bun.DB
	locks     *locks
	hub       *notify.Hub
	sealer    seal.Sealer
	signer    model.Signer

	budgets     *budgets
	revocations *revocations
	transitions *group.Group[string, *runTransition]
	// itemTransitions have a company and a campaign as their key.
	itemTransitions *group.Group[string, *itemTransition]
	topics          *topics

	queue       *queue.Queue
	enqueueRuns func(ctx context.Context, tx bun.Tx, companyID string, runIDs []string) error

	rerankModels []string
	maxStored    int64
	auditKept    time.Duration
	vectors      vectorType
	// isSharded says that the tables were those of a Citus cluster when the Store was opened.
	isSharded bool
}

// Open connects to the database at the address and verifies that it answers. Close closes it.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	sealer, err := seal.New(o.SecretKey)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	locks := &locks{log: cmp.Or(o.Log, slog.Default()), isPooled: o.SessionAddress != ""}
	pools, err := connect(ctx, address, o, locks)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	bus := notify.Postgres(pools.sessions, asBound)
	if o.NATS != nil {
		if bus, err = notify.OpenNATS(*o.NATS); err != nil {
			pools.close()
			return nil, err
		}
	}
	pool, reads := pools.writes, pools.reads
	locks.pool = pool
	writers := gateOf(pool, 0)
	root := bun.NewDB(openCharged(pool, writers, locks), dialect{pgdialect.New()}, bun.WithDiscardUnknownColumns())
	store := &Store{pools: pools, pool: pool, writers: writers, reads: reads, findings: newFindings(), tracer: o.Tracer, db: root, locks: locks, hub: notify.New(bus), sealer: sealer, signer: model.NewSigner(o.SecretKey), transitions: newRunTransitions(), itemTransitions: newItemTransitions(), enqueueRuns: o.Enqueue, rerankModels: o.RerankModels, maxStored: o.MaxStored, auditKept: o.AuditKept}
	store.revocations = newRevocations(store.hub)
	store.budgets = newBudgets(o.Log, func(ctx context.Context, companyID string) (*model.CompanySubscription, error) {
		return store.Tenant(companyID).Subscription(ctx, now())
	}, func(ctx context.Context, companyID string, s *model.CompanySubscription) error {
		return store.Tenant(companyID).tellOfBudget(ctx, s)
	})
	store.topics = newTopics(store)
	store.queue, err = queue.New(pools.sessions, queue.Options{Window: o.RunsPerCompany, Sweep: store.sweeper(), Look: locks.await, Log: o.Log})
	if err == nil {
		store.vectors, err = vectorTypeOf(ctx, pool)
	}
	if err == nil {
		var sharded []string
		sharded, err = distributed(ctx, pool)
		store.isSharded = len(sharded) > 0
	}
	if err == nil {
		err = locks.look(ctx)
	}
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	pipelined := 0
	if !store.isSharded && !locks.isPooled {
		pipelined = int(reads.Config().MaxConns) / 4
	}
	if store.readers = gateOf(reads, pipelined); pipelined > 0 {
		store.pipelines = &pipelines{store: store, most: pipelined, patience: pipelinePatience}
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
	s.pools.close()
}

// Ping reports whether the database answers, and finds what it may read.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return translate(err)
	}
	return translate(s.locks.await(ctx))
}

// Remarks are what an operator is to be told of a database that answers: tables of a Citus cluster that are not distributed.
func (s *Store) Remarks(ctx context.Context) []string {
	if !s.isSharded {
		return nil
	}
	local, err := localTables(ctx, s.pool)
	if err != nil || len(local) == 0 {
		return nil
	}
	return []string{"not distributed: " + strings.Join(local, ", ") + `; run "agentgraph distribute"`}
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
