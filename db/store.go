// Package db stores everything in Postgres. A Store is the database. A Tenant is one company's part of it, and the only
// way to the rows of that company. Start reading at Tenant.
package db

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/group"
	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/db/seal"
	"github.com/agentgraph/agentgraph/model"
)

// Options configure a Store.
type Options struct {
	// SessionAddress is the address of Postgres itself, if the main address is a pooler's in transaction mode.
	// Notifications, the locks of workers and the queue use it, because they need sessions. Leave it empty if the
	// main address supports sessions.
	SessionAddress string
	// MaxConnections bounds the pool for writes and the pool for reads, each on its own. 0 means pgx's default.
	MaxConnections int32
	// SecretKey, 32 bytes, encrypts secrets in the database and signs credentials. Without it, the Store refuses to
	// save secrets, and credentials have no signature.
	SecretKey []byte
	// RunsPerCompany is how many jobs of one company, such as test runs, may run at once, across all processes. All
	// processes should have the same value. 0 means queue.DefaultWindow.
	RunsPerCompany int
	// Log receives failures of test runs and warnings of budgets. Nil means slog.Default().
	Log *slog.Logger
	// Enqueue replaces the queue for test runs. It is called in the transaction that made them ready.
	Enqueue func(ctx context.Context, tx bun.Tx, companyID string, runIDs []string) error
	// MaxStored bounds the documents of one company, in bytes. 0 means no bound.
	MaxStored int64
	// AuditKept is how long audit events are kept. 0 means forever.
	AuditKept time.Duration
	// NATS, if set, carries the signals between replicas. If it is nil, the database carries them. All replicas should
	// have the same value.
	NATS *NATS
	// RerankModels are the models that knowledge base chats may use.
	RerankModels []string
	// Bucket keeps the contents of new documents. If it is nil, Postgres keeps them.
	Bucket Bucket
	// Tracer is called for every statement. It may be nil.
	Tracer pgx.QueryTracer
}

// NATS is how to reach the servers that carry signals.
type NATS = notify.NATS

// Store is the database. It is safe for concurrent use.
type Store struct {
	*pg.Tables
	db     *pg.DB
	hub    *notify.Hub
	sealer seal.Sealer
	signer model.Signer

	budgets     *budgetWarnings
	revocations *revocations
	transitions *group.Group[string, *runTransition]
	// itemTransitions is keyed by company and campaign.
	itemTransitions *group.Group[string, *itemTransition]
	topics          *topics

	queue       *queue.Queue
	enqueueRuns func(ctx context.Context, tx bun.Tx, companyID string, runIDs []string) error

	bucket         Bucket
	rerankModels   []string
	maxStored      int64
	auditRetention time.Duration
	vectors        schema.VectorType
}

// Open connects to the database at the address and verifies that it answers. Close closes it.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	sealer, err := seal.New(o.SecretKey)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db, err := pg.Open(ctx, address, pg.Options{
		SessionAddress: o.SessionAddress, MaxConnections: o.MaxConnections, Log: o.Log, Tracer: o.Tracer, Types: types,
		Taken: uniqueViolations,
	})
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	bus := notify.Postgres(db.Sessions(), pg.AsBound)
	if o.NATS != nil {
		if bus, err = notify.OpenNATS(*o.NATS); err != nil {
			db.Close()
			return nil, err
		}
	}
	store := &Store{
		Tables: db.Tables, db: db, hub: notify.New(bus), sealer: sealer, signer: model.NewSigner(o.SecretKey),
		transitions: newRunTransitions(), itemTransitions: newItemTransitions(), enqueueRuns: o.Enqueue,
		bucket: o.Bucket, rerankModels: o.RerankModels, maxStored: o.MaxStored, auditRetention: o.AuditKept,
	}
	store.revocations = newRevocations(store.hub)
	store.budgets = &budgetWarnings{store: store, log: cmp.Or(o.Log, slog.Default()), scheduled: map[string]bool{},
		closing: make(chan struct{})}
	store.topics = newTopics(store)
	store.queue, err = queue.New(db.Sessions(), queue.Options{Window: o.RunsPerCompany, Sweep: store.sweeper(),
		Tick: db.CheckRowSecurity, Log: o.Log})
	if err == nil {
		store.vectors, err = schema.VectorTypeOf(ctx, db.Writes())
	}
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	return store, nil
}

// uniqueViolations lists the unique constraints that user input may break.
var uniqueViolations = map[string]pg.UniqueViolation{
	"tools_technical_name_key": {Field: "technicalName", Message: "is already the technical name of another tool"},
	"sub_agents_technical_name_key": {Field: "technicalName", Message: "is already the technical name of another sub-agent " +
		"of this agent"},
	"mcp_servers_name_key":        {Field: "name", Message: "is already the name of another MCP server"},
	"agent_test_folders_name_key": {Field: "name", Message: "is already the name of another folder of this agent"},
}

// Close closes all connections.
func (s *Store) Close() {
	s.budgets.close()
	s.revocations.close()
	s.topics.close()
	s.hub.Close()
	s.db.Close()
}

// Ping reports whether the database answers, and checks for row-level security until it is on.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Warnings returns warnings for an operator about a working database: tables of a Citus cluster that are not
// distributed.
func (s *Store) Warnings(ctx context.Context) []string {
	if !s.db.IsSharded() {
		return nil
	}
	local, err := schema.LocalTables(ctx, s.db.Writes())
	if err != nil || len(local) == 0 {
		return nil
	}
	return []string{"tables that are not distributed: " + strings.Join(local, ", ") + `; run "agentgraph distribute"`}
}

// Signer returns the signer of the Store's credentials.
func (s *Store) Signer() model.Signer { return s.signer }

// Tenant returns the company's part of the database. It does not check that the company exists.
func (s *Store) Tenant(companyID string) *Tenant {
	return (&Tenant{store: s}).withScope(s.db.Company(companyID))
}

// Tx is a transaction across the companies of a Store.
type Tx struct {
	*pg.Tx
	store *Store
}

// Tx runs fn in a transaction. It commits when fn returns nil, and rolls back when fn returns an error.
func (s *Store) Tx(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return s.db.Program().Begin(ctx, nil, func(ctx context.Context, tx *pg.Tx) error { return fn(ctx, &Tx{tx, s}) })
}

// Tenant returns the company's part of the database in the transaction.
func (tx *Tx) Tenant(companyID string) *Tenant {
	return (&Tenant{store: tx.store}).withScope(tx.Company(companyID))
}

// now returns the time that a write records, in the precision of Postgres.
func now() time.Time {
	return time.Now().UTC().Truncate(time.Microsecond)
}
