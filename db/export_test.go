package db

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
)

func init() { removalTimeout = time.Minute }

// Pgx calls fn with the pgx transaction that the Tenant is in.
func Pgx(t *Tenant, fn func(pgx.Tx) error) error {
	return t.db.PGX(context.Background(), func(tx *pg.OpenTx) error { return fn(tx) })
}

// Raw returns the company's connections, which run statements unchanged.
func Raw(t *Tenant) bun.IConn { return t.db }

// RawProgram returns connections for the rows of all companies, which run statements unchanged.
func RawProgram(s *Store) bun.IConn { return s.db.Program() }

// Listen waits until the Store receives the signals of other replicas, or ctx ends. The caller must follow at least one
// row.
func Listen(ctx context.Context, s *Store) { s.hub.Listening(ctx) }

// Reads returns the connections for reads.
func (s *Store) Reads() *pgxpool.Pool { return s.db.Readers() }

// MaxPipelines returns the maximum number of pipelines at a time.
func MaxPipelines(s *Store) int {
	most, _, _ := s.db.Pipelines()
	return most
}

// SetPipelines sets the maximum number of pipelines, and how long a request waits for one.
func SetPipelines(s *Store, most int, patience time.Duration) { s.db.LimitPipelines(most, patience) }

// Pipelined returns the number of requests that wait for a pipeline.
func Pipelined(s *Store) int {
	_, _, waiting := s.db.Pipelines()
	return waiting
}

// ActivePipelines returns the number of open pipelines.
func ActivePipelines(s *Store) int {
	_, active, _ := s.db.Pipelines()
	return active
}

// Pool returns the connections that the queue and all other writes use.
func (s *Store) Pool() *pgxpool.Pool { return s.db.Writes() }

// OnCommit calls f once the transaction of the Tenant is committed.
func OnCommit(t *Tenant, f func()) { t.db.OnCommit(f) }

// ForgetAuditEvents deletes old audit events, as the sweep does.
func ForgetAuditEvents(ctx context.Context, s *Store) error { return s.forgetAuditEvents(ctx) }

// ForgetExecutions deletes some executions that are older than the given time, like the sweep. It reports whether there
// may be more.
func ForgetExecutions(ctx context.Context, t *Tenant, before time.Time) (bool, error) {
	return t.forgetExecutions(ctx, before)
}

// RemovePart removes one part of the rows that are marked as deleted in a company, like the sweep. It reports whether
// there may be more.
func RemovePart(ctx context.Context, t *Tenant) (bool, error) { return t.removePart(ctx) }

// RawStatement returns a statement with exactly this text.
func RawStatement(text string) pg.Statement { return pg.NewStatement(text) }

// CheckRowSecurity does the work that the queue does about once a second in every process.
func CheckRowSecurity(ctx context.Context, s *Store) error { return s.db.CheckRowSecurity(ctx) }

// Sweep does the work that the queue does about once a second in one process.
func Sweep(s *Store) func(context.Context) error { return s.sweeper() }

// Wake signals a change of the row with the id.
func Wake(t *Tenant, id string) { t.wake(id) }

// ConstraintOf returns the name of the constraint that a statement violated.
var ConstraintOf = pg.ConstraintOf

// NotArchived maps each table that archives omit to the reason.
var NotArchived = notArchived

// StartScheduled starts the executions of due schedules, as the sweep does.
func StartScheduled(ctx context.Context, s *Store) error { return s.startScheduled(ctx) }

// DeliverOnce delivers the webhook messages that are due now.
func DeliverOnce(ctx context.Context, s *Store, post Post) error {
	o := &webhookDispatcher{store: s, post: post, log: slog.New(slog.DiscardHandler),
		inProgress: map[string]map[string]bool{}}
	defer o.workers.Wait()
	return o.startWorkers(ctx)
}

// ClaimMessage claims the next message of a webhook, as a worker does before delivery, and returns its id.
func ClaimMessage(ctx context.Context, t *Tenant, webhookID string) (string, error) {
	_, message, err := t.nextMessage(ctx, webhookID)
	if message == nil {
		return "", err
	}
	return message.ID, err
}

// ForgetDeliveries deletes old deliveries of a webhook, as a worker does.
func ForgetDeliveries(ctx context.Context, t *Tenant, webhookID string) (int64, error) {
	return t.forgetDeliveries(ctx, webhookID)
}

// Insert inserts a row by bun. Write inserts it by a prepared statement.
func Insert(ctx context.Context, t *Tenant, r pg.Row) error { return pg.Insert(ctx, t.db, r) }

func Write(ctx context.Context, t *Tenant, rows ...pg.Row) error {
	w := t.db.Batch()
	w.Insert(rows...)
	return w.Send(ctx)
}

// ArchivedColumns returns three sets of a table's columns. Archives do not contain the columns in without. A line of an
// archive may omit the columns in absent, and the import sets the columns in forced.
func ArchivedColumns(table string) (without []string, absent, forced map[string]any) {
	archived := archivedTableOf(table)
	if archived.defaults != nil {
		absent = archived.defaults()
	}
	return archived.excluded, absent, archived.overrides
}

// TypeOfColumn returns the type and the format in a JSON Schema for a type of Postgres.
var TypeOfColumn = typeOfColumn

// JSONTypeOf returns the type and the format in a JSON Schema for a Go type.
var JSONTypeOf = jsonTypeOf

// DescribeType says in words what a value of a Go type must be.
var DescribeType = describeType

// JSONColumn returns the Go type of a JSON column, or nil.
func JSONColumn(table, column string) reflect.Type {
	return archivedTableOf(table).jsonColumn(column, nil)
}

// JSONMembers returns the types of the JSON members of a struct, and the names of those that are required.
func JSONMembers(t reflect.Type) (types map[string]reflect.Type, required []string) {
	types = map[string]reflect.Type{}
	for _, m := range membersOf(t) {
		types[m.name] = m.goType
		if m.isRequired {
			required = append(required, m.name)
		}
	}
	return types, required
}
