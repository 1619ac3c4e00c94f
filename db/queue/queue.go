// Package queue delivers jobs to workers durably. A job is enqueued in the transaction that makes it necessary. When a
// worker is killed, other workers get its jobs within seconds. Start reading at Queue.
//
// The table jobs is the source of truth about every job. River only carries admitted jobs to workers. A River job runs
// at most once. It starts with one row of the table jobs. It can then continue with further rows of the same company,
// one after another. At most Options.Window jobs of each company are admitted at a time, so companies take turns,
// however much one of them enqueues. Each process has some workers in reserve, for companies whose jobs would wait
// because long jobs of others have all workers.
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

// Job identifies work of a company. The caller defines the meaning of Kind (1 to 32 characters) and ID (1 to 64
// characters). Ids are unique within a company across all kinds.
type Job struct{ CompanyID, Kind, ID string }

// Work does a job.
//
// If Work returns nil, the job is done. If it returns an error or panics, it is called again later. After MaxFailures
// failures the job is dropped; a Later does not count as a failure. When ctx ends, Work must return soon. If the worker
// stopped and Work returns an error, another worker gets the job. If the attempt reached the timeout, the error counts
// as a failure. A transaction can also end the job, with Queue.Apply. The job is then done, whatever Work
// returns.
type Work func(ctx context.Context, d *Delivery) error

// Later is the error of a job that cannot be done yet. The job is tried again after In.
type Later struct {
	In time.Duration
	// Err is the reason.
	Err error
}

func (l *Later) Error() string { return l.Err.Error() }

func (l *Later) Unwrap() error { return l.Err }

// errInterrupted is the cause with which the contexts of interrupted jobs end. Other workers get these jobs.
var errInterrupted = errors.New("this worker has stopped")

const (
	// MaxFailures is how often a job may fail before it is dropped.
	MaxFailures = 3
	// MaxLosses is how often the worker of a job may be lost before the job is dropped.
	MaxLosses = 10
	// DefaultWindow is the default of Options.Window.
	DefaultWindow = 50

	// timeout bounds an attempt.
	timeout = 30 * time.Minute
	// maxChain bounds how long a worker may continue with further jobs of a company.
	maxChain = 10 * time.Minute
	// rescueGrace is how long a River job may run beyond maxChain and timeout together before it counts as lost.
	rescueGrace = time.Minute
	// yieldAfter is how long a River job may be available before it counts as waiting for a worker.
	yieldAfter = 20 * time.Millisecond
	// reserveAfter is how long a company without running jobs may wait before a worker of the reserve takes one.
	reserveAfter = 200 * time.Millisecond
	// retention is how long River keeps finished jobs.
	retention = 24 * time.Hour
	// firstDelay is the wait after the first failure. Each further failure waits four times as long.
	firstDelay = time.Second

	riverQueue   = "jobs"
	reserveQueue = "reserve"
)

// Options configure a Queue.
type Options struct {
	// Window bounds the admitted jobs of one company across all processes. All processes should have the same value. 0
	// means DefaultWindow.
	Window int
	// Sweep is called about once a second, in one of the processes with workers, for the caller's own cleanup. It may be
	// nil.
	Sweep func(context.Context) error
	// Tick is called about once a second in every process with workers. It may be nil.
	Tick func(context.Context) error
	// Log receives failures. Nil means slog.Default().
	Log *slog.Logger
}

// Queue is the job queue of a database. It is safe for concurrent use.
type Queue struct {
	pool      *pgxpool.Pool
	window    int
	sweepHook func(context.Context) error
	tick      func(context.Context) error
	log       *slog.Logger
	// inserter is a River client that only enqueues.
	inserter *river.Client[pgx.Tx]

	mu      sync.Mutex
	workers *workers
	// reserve is the number of workers in reserve. It is set before the first sweep.
	reserve int

	// outcomes groups the outcomes of one company's jobs, so that they are written in shared transactions.
	outcomes group.Group[string, *outcome]
}

// New returns the Queue of a database. Migrate and the program's migrations must have created its tables. It only
// enqueues jobs until Start is called.
func New(pool *pgxpool.Pool, o Options) (*Queue, error) {
	if o.Window = cmp.Or(o.Window, DefaultWindow); o.Window < 1 {
		return nil, fmt.Errorf("open queue: the window must be at least 1, not %d", o.Window)
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	inserter, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		// River announces new jobs at most once in this time.
		FetchCooldown: river.FetchCooldownMin,
		Logger:        slog.New(quiet{o.Log.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	q := &Queue{pool: pool, window: o.Window, sweepHook: o.Sweep, tick: o.Tick, log: o.Log, inserter: inserter}
	q.outcomes.Commit = q.settleTogether
	return q, nil
}

// quiet passes on only errors, because River logs much that operators do not need.
type quiet struct{ slog.Handler }

func (quiet) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// now returns the current time at Postgres's precision.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
