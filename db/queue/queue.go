// Package queue delivers jobs to workers durably. A job is enqueued in the transaction that makes it necessary. When a
// worker is killed, others get its jobs within seconds.
//
// The table jobs holds the truth about every job. River only carries admitted jobs to workers: one River job, which
// runs at most once, carries one job, and then further jobs of the same company one after another. At most a window of
// each company's jobs is admitted at a time, so companies take turns however much one of them enqueues.
package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/agentgraph/agentgraph/db/group"
)

// Job names a piece of a company's work. Its kind (1 to 32 characters) and id (1 to 64) tell the caller what to do. Ids
// are unique within a company, whatever the kind.
type Job struct{ CompanyID, Kind, ID string }

// Work does a job.
//
// When Work returns nil the job is done. When it returns an error or panics, it is called again after a while, and
// after MaxFailures failures the job is dropped; a Later is no failure. When ctx ends Work must return soon: if it
// returns an error another worker gets the job, except after the timeout, which is a failure. A job that a transaction
// has ended is done, whatever Work returns.
type Work func(ctx context.Context, d *Delivery) error

// Later is the error of a job that cannot be done yet. It is tried again after In.
type Later struct {
	In time.Duration
	// Err says why.
	Err error
}

func (l *Later) Error() string { return l.Err.Error() }

func (l *Later) Unwrap() error { return l.Err }

// errInterrupted is the cause for which contexts of jobs end that go to other workers.
var errInterrupted = errors.New("this worker has stopped")

const (
	// MaxFailures is how often a job may fail before it is dropped.
	MaxFailures = 3
	// MaxLosses is how often the worker of a job may be lost before the job is dropped.
	MaxLosses = 10
	// DefaultWindow is the Window of Options without one.
	DefaultWindow = 50

	// timeout bounds an attempt.
	timeout = 30 * time.Minute
	// maxChain bounds how long a worker may continue with further jobs of a company.
	maxChain = 10 * time.Minute
	// rescueGrace is how long Work may overrun the last attempt of a chain before its job counts as lost.
	rescueGrace = time.Minute
	// yieldAfter is how long a River job may be on its way before it counts as waiting for a worker.
	yieldAfter = 20 * time.Millisecond
	// retention is how long River keeps finished jobs.
	retention = 24 * time.Hour
	// firstDelay is the wait after the first failure. Each further failure waits four times as long.
	firstDelay = time.Second

	riverQueue = "jobs"
)

// Options configure a Queue.
type Options struct {
	// Window bounds the admitted jobs of one company over all processes, which should agree on it. 0 means
	// DefaultWindow.
	Window int
	// Sweep runs about once a second in one of the processes with workers, for the caller's own cleaning up. Nil means
	// nothing.
	Sweep func(context.Context) error
	// Look runs about once a second in every process with workers. Nil means nothing.
	Look func(context.Context) error
	// Log receives failures. Nil means slog.Default().
	Log *slog.Logger
}

// Queue is the queue of the database. It is safe for concurrent use.
type Queue struct {
	pool   *pgxpool.Pool
	window int
	also   func(context.Context) error
	look   func(context.Context) error
	log    *slog.Logger
	// inserter is a River client that only enqueues.
	inserter *river.Client[pgx.Tx]

	mu      sync.Mutex
	workers *workers

	// outcomes groups the outcomes of one company's jobs, and writes them in shared transactions.
	outcomes group.Group[string, *outcome]
}

// New returns the Queue of a database that has the tables of Migrate and of the migrations. It only enqueues until
// Start is called.
func New(pool *pgxpool.Pool, o Options) (*Queue, error) {
	if o.Window = cmp.Or(o.Window, DefaultWindow); o.Window < 1 {
		return nil, fmt.Errorf("open queue: the window must be at least 1, not %d", o.Window)
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	inserter, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		// River announces new jobs at most this often.
		FetchCooldown: river.FetchCooldownMin,
		Logger:        slog.New(quiet{o.Log.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	q := &Queue{pool: pool, window: o.Window, also: o.Sweep, look: o.Look, log: o.Log, inserter: inserter}
	q.outcomes.Commit = q.settleTogether
	return q, nil
}

// quiet passes only errors, because River logs much that operators do not need.
type quiet struct{ slog.Handler }

func (quiet) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// now is the present time at Postgres's precision.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
