package queue_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/queue"
)

// Bounds of waits. They are generous, because a wait is long only if the test fails.
const (
	waitFor = time.Minute
	tick    = 5 * time.Millisecond
)

func TestMain(m *testing.M) {
	if url := os.Getenv(asWorker); url != "" {
		os.Exit(workerProcess(url))
	}
	os.Exit(dbtest.Main(m))
}

func openPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 8
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	return pgxpool.NewWithConfig(ctx, config)
}

// fresh returns the address of a fresh database and connections to it.
func fresh(t testing.TB) (string, *pgxpool.Pool) {
	t.Helper()
	url := dbtest.URL(t)
	return url, connect(t, url)
}

func connect(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := openPool(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// newCompany creates a company with the id.
func newCompany(t testing.TB, pool *pgxpool.Pool, id string) string {
	t.Helper()
	_, err := pool.Exec(t.Context(), "INSERT INTO companies (id, name, created_at) VALUES ($1, $1, $2)", id, time.Now())
	require.NoError(t, err)
	return id
}

func newQueue(t testing.TB, pool *pgxpool.Pool, window int) *queue.Queue {
	t.Helper()
	q, err := queue.New(pool, queue.Options{Window: window, Log: silent})
	require.NoError(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, q.Stop(ended))
	})
	return q
}

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

// jobsOf returns n jobs of the company, in the order of their ids.
func jobsOf(companyID string, n int) []queue.Job {
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i] = queue.Job{CompanyID: companyID, Kind: "test", ID: "job_" + strconv.Itoa(10_000+i)}
	}
	return jobs
}

func enqueue(t testing.TB, pool *pgxpool.Pool, q *queue.Queue, jobs ...queue.Job) {
	t.Helper()
	require.NoError(t, inTx(t, pool, func(tx queue.Tx) error { return put(t, q, tx, queue.Change{}, jobs...) }))
}

// put applies the change once for each company of the jobs, and enqueues the company's jobs with it.
func put(t testing.TB, q *queue.Queue, tx queue.Tx, change queue.Change, jobs ...queue.Job) error {
	t.Helper()
	companies := map[string][]queue.Job{}
	for _, job := range jobs {
		companies[job.CompanyID] = append(companies[job.CompanyID], job)
	}
	for id, enqueue := range companies {
		change.CompanyID, change.Enqueue = id, enqueue
		if _, err := q.Apply(t.Context(), tx, change); err != nil {
			return err
		}
	}
	return nil
}

// transaction collects the functions to call after its commit.
type transaction struct {
	pgx.Tx
	committed []func()
}

func (t *transaction) OnCommit(f func()) { t.committed = append(t.committed, f) }

func inTx(t testing.TB, pool *pgxpool.Pool, fn func(queue.Tx) error) error {
	t.Helper()
	tx := &transaction{}
	err := pgx.BeginFunc(t.Context(), pool, func(begun pgx.Tx) error {
		tx.Tx = begun
		return fn(tx)
	})
	if err == nil {
		for _, f := range tx.committed {
			f()
		}
	}
	return err
}

// attempt is one call of a worker.
type attempt struct {
	*queue.Delivery
	ctx context.Context
	// result ends the call.
	result chan error
}

// environment passes each call of its worker to the test, which decides the result.
type environment struct {
	started chan *attempt
	// working counts the calls in progress. most is its maximum so far.
	working, most atomic.Int64
}

func newEnvironment() *environment { return &environment{started: make(chan *attempt, 10_000)} }

// work returns when the test sends a result or ctx ends.
func (s *environment) work(ctx context.Context, d *queue.Delivery) error {
	working := s.working.Add(1)
	defer s.working.Add(-1)
	for most := s.most.Load(); working > most && !s.most.CompareAndSwap(most, working); most = s.most.Load() {
	}
	a := &attempt{d, ctx, make(chan error, 1)}
	s.started <- a
	select {
	case err := <-a.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *environment) start(t testing.TB, q *queue.Queue, size int) {
	t.Helper()
	require.NoError(t, q.Start(t.Context(), size, s.work))
}

// next waits for the next call.
func (s *environment) next(t testing.TB) *attempt { return dbtest.Receive(t, s.started) }

// ended waits until the context of the attempt ends, and returns why.
func (a *attempt) ended(t testing.TB) error {
	t.Helper()
	dbtest.Receive(t, a.ctx.Done())
	return context.Cause(a.ctx)
}

func count(t testing.TB, pool *pgxpool.Pool, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

// awaitCount waits until the query returns want.
func awaitCount(t testing.TB, pool *pgxpool.Pool, want int, query string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		return pool.QueryRow(t.Context(), query, args...).Scan(&n) == nil && n == want
	}, waitFor, tick, query)
}

const (
	allJobs     = "SELECT count(*) FROM jobs"
	admittedJob = "SELECT count(*) FROM jobs WHERE river_job_id IS NOT NULL"
)
