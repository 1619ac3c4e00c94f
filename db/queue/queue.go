// Package queue carries jobs to workers, durably: a job is enqueued in the transaction that made it necessary,
// and a worker that is killed is noticed within seconds, and its jobs are given to others.
//
// The row of a job in the table jobs is the truth about it. River carries the jobs that are admitted: each is
// carried by one job of River, which is worked at most once, whatever comes of it, and may carry further jobs of
// the company, one after another. No more than a window of a company's jobs is admitted at once, so that companies
// take turns however much one of them enqueues.
package queue

import (
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

// Job names a piece of work of a company. The caller knows by the kind, of 1 to 32 characters, and the id, of
// 1 to 64, what is to be done. No two jobs of a company have the same id, whatever their kinds.
type Job struct{ CompanyID, Kind, ID string }

// Work does a job.
//
// When Work returns nil the job is done. When it returns an error, or panics, it is called again after a
// while, and after MaxFailures of those the job is dropped; a Later does not count as one. When ctx has ended Work
// must return soon: when it returns an error the job is given to another worker, except after the timeout, which is
// a failure. None of that holds for a job that was ended in a transaction: that it is done is already true.
type Work func(ctx context.Context, d *Delivery) error

// Later is the error of a job that cannot be done yet, and should be called for again after In.
type Later struct {
	In time.Duration
	// Err is why.
	Err error
}

func (l *Later) Error() string { return l.Err.Error() }

func (l *Later) Unwrap() error { return l.Err }

// errInterrupted is the cause with which the contexts of jobs end that others are to do.
var errInterrupted = errors.New("this worker has stopped")

const (
	// MaxFailures is how often a job may fail before it is dropped.
	MaxFailures = 3
	// MaxLosses is how often the worker of a job may be lost before the job is dropped.
	MaxLosses = 10
	// DefaultWindow is the Window of Options that leave it out.
	DefaultWindow = 50

	// timeout bounds an attempt.
	timeout = 30 * time.Minute
	// maxChain is for how long a worker may begin further jobs of a company by itself.
	maxChain = 10 * time.Minute
	// rescueGrace is how long Work may go on after the last attempt of a shift must have ended before its job counts as
	// lost.
	rescueGrace = time.Minute
	// yieldAfter is how long a job of River may be on its way to a worker before it counts as waiting for one.
	yieldAfter = 20 * time.Millisecond
	// retention is how long River remembers what it carried.
	retention = 24 * time.Hour
	// firstDelay is how long a job that failed waits, and four times as long after each further failure.
	firstDelay = time.Second

	riverQueue = "jobs"
)

// Options are what a Queue may be given.
type Options struct {
	// Window is how many jobs of one company are admitted to workers at once, over all processes; they should all
	// have the same value. 0 means DefaultWindow.
	Window int
	// Sweep is called about once a second in every process with workers, to clean up what else may have been left
	// behind. Nil means nothing.
	Sweep func(context.Context) error
	// Log receives what goes wrong. Nil means slog.Default().
	Log *slog.Logger
}

// Queue is the queue of the database. It is safe for concurrent use.
type Queue struct {
	pool   *pgxpool.Pool
	window int
	also   func(context.Context) error
	log    *slog.Logger
	// inserter is River's part of enqueuing, which works nothing.
	inserter *river.Client[pgx.Tx]

	mu      sync.Mutex
	workers *workers

	// outcomes are written down together with those of the same company that come meanwhile.
	outcomes group.Group[string, *outcome]
}

// New returns the Queue of the database, which needs the tables that Migrate and the migrations make. It only
// enqueues until Start is called.
func New(pool *pgxpool.Pool, o Options) (*Queue, error) {
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Window < 1 {
		return nil, fmt.Errorf("open queue: the window must be at least 1, not %d", o.Window)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	inserter, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		// River announces new jobs at most this often.
		FetchCooldown: river.FetchCooldownMin,
		Logger:        slog.New(quiet{o.Log.Handler()}),
	})
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	q := &Queue{pool: pool, window: o.Window, also: o.Sweep, log: o.Log, inserter: inserter}
	q.outcomes.Commit = q.settleTogether
	return q, nil
}

// quiet lets only errors through: River tells much that concerns nobody.
type quiet struct{ slog.Handler }

func (quiet) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// now is the present time, as exact as Postgres keeps it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
