package queue_test

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/queue"
)

func TestStopWaitsForJobs(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	s, sweeping, stopping := newEnvironment(), make(chan struct{}, 10), make(chan struct{}, 10)
	q, err := queue.New(pool, queue.Options{Window: 10, Log: silent, Sweep: func(ctx context.Context) error {
		sweeping <- struct{}{}
		<-ctx.Done() // stopping ends the sweep first
		stopping <- struct{}{}
		return ctx.Err()
	}})
	require.NoError(t, err)
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 5)...)
	s.start(t, q, 2)
	running := []*attempt{s.next(t), s.next(t)}
	stopped := make(chan error, 1)
	dbtest.Receive(t, sweeping)
	go func() { stopped <- q.Stop(t.Context()) }()
	dbtest.Receive(t, stopping)
	running[0].result <- nil
	awaitCount(t, pool, 4, allJobs)
	require.NoError(t, running[1].ctx.Err())
	require.Empty(t, stopped)
	running[1].result <- nil
	require.NoError(t, dbtest.Receive(t, stopped))
	require.Equal(t, 3, count(t, pool, allJobs))
	require.Empty(t, s.started, "no job starts any more")

	require.NoError(t, q.Stop(t.Context()))
	s.start(t, q, 2)
	for range 3 {
		a := s.next(t)
		require.EqualValues(t, 1, a.Attempt)
		a.result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
}

func TestStopInterruptsSlowJobs(t *testing.T) {
	t.Parallel()
	url, pool := fresh(t)
	q, s := newQueue(t, pool, 10), newEnvironment()
	other := newQueue(t, connect(t, url), 10)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 3)
	enqueue(t, pool, q, jobs...)
	s.start(t, q, 3)
	running := []*attempt{s.next(t), s.next(t), s.next(t)}
	s.start(t, other, 3)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, q.Stop(ended))
	for _, a := range running {
		require.Error(t, a.ended(t))
	}
	for range jobs {
		a := s.next(t)
		require.EqualValues(t, 2, a.Attempt, "others take them over")
		a.result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
}

func TestJobThatOutlivesStopCountsAsLost(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q := newQueue(t, pool, 10)
	begun, release := make(chan int32, 10), make(chan struct{})
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 1)...)
	work := func(_ context.Context, d *queue.Delivery) error {
		begun <- d.Attempt
		<-release
		return nil
	}
	require.NoError(t, q.Start(t.Context(), 1, work))
	require.EqualValues(t, 1, dbtest.Receive(t, begun))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, q.Stop(ended), "some jobs still run")
	require.NoError(t, q.Start(t.Context(), 1, work), "the process can start workers again")
	require.EqualValues(t, 2, dbtest.Receive(t, begun), "the job counts as lost")
	close(release)
	awaitCount(t, pool, 0, allJobs)
}

// kill ends the connections that meet the condition, and returns their number.
func kill(t *testing.T, pool *pgxpool.Pool, condition string) int {
	t.Helper()
	return count(t, pool, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "+
		"current_database() AND pid <> pg_backend_pid() AND "+condition)
}

func TestLostLockInterruptsJobs(t *testing.T) {
	t.Parallel()
	url, pool := fresh(t)
	q, s := newQueue(t, connect(t, url), 10), newEnvironment()
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 3)...)
	s.start(t, q, 3)
	running := []*attempt{s.next(t), s.next(t), s.next(t)}
	require.Equal(t, 1, kill(t, pool, "application_name = 'agentgraph workers'"))
	lost := time.Now()
	for _, a := range running {
		require.Error(t, a.ended(t))
	}
	for range running {
		a := s.next(t)
		require.EqualValues(t, 2, a.Attempt)
		a.result <- nil
	}
	t.Logf("3 jobs started again within %s of a lost connection", time.Since(lost).Round(time.Millisecond))
	awaitCount(t, pool, 0, allJobs)
	require.Equal(t, 2, count(t, pool, "SELECT count(DISTINCT client) FROM river_job, unnest(attempted_by) AS client"),
		"under a new name")
}

// A worker that does not notice that it is lost can no longer write.
func TestResultOfLostAttemptIsIgnored(t *testing.T) {
	t.Parallel()
	url, pool := fresh(t)
	q := newQueue(t, connect(t, url), 10)
	type call struct {
		attempt int32
		result  chan error
	}
	begun := make(chan call, 10)
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 1)...)
	deaf := func(_ context.Context, d *queue.Delivery) error {
		c := call{d.Attempt, make(chan error)}
		begun <- c
		return <-c.result
	}
	require.NoError(t, q.Start(t.Context(), 1, deaf))
	first := dbtest.Receive(t, begun)
	lock := count(t, pool, "SELECT pid FROM pg_stat_activity WHERE application_name = 'agentgraph workers' AND datname "+
		"= current_database()")
	heir := newQueue(t, connect(t, url), 10)
	require.NoError(t, heir.Start(t.Context(), 1, deaf))
	require.Equal(t, 1, count(t, pool, "SELECT pg_terminate_backend($1::int)::int", lock))
	second := dbtest.Receive(t, begun)
	require.EqualValues(t, 2, second.attempt)
	first.result <- nil
	require.NoError(t, q.Stop(t.Context()))
	require.Equal(t, 1, count(t, pool, admittedJob), "the second attempt is the one that counts")
	second.result <- nil
	awaitCount(t, pool, 0, allJobs)
}

func TestLostConnectionsLoseNoJob(t *testing.T) {
	t.Parallel()
	const jobs = 200
	url, pool := fresh(t)
	q := newQueue(t, connect(t, url), 20)
	var mu sync.Mutex
	done := map[queue.Job]bool{}
	begun := make(chan struct{}, 10*jobs)
	require.NoError(t, q.Start(t.Context(), 10, func(_ context.Context, d *queue.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		done[d.Job] = true
		begun <- struct{}{}
		return nil
	}))
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), jobs)...)
	for range 3 {
		for range 20 {
			dbtest.Receive(t, begun)
		}
		require.Positive(t, kill(t, pool, "true"))
	}
	awaitCount(t, pool, 0, allJobs)
	require.Len(t, done, jobs)
}

func TestJobThatLosesTooManyWorkersIsDropped(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 10), newEnvironment()
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 2)...)
	_, err := pool.Exec(t.Context(), "UPDATE jobs SET losses = $1 WHERE id = 'job_10000'", queue.MaxLosses)
	require.NoError(t, err)
	// A worker that no longer exists owns the jobs.
	_, err = pool.Exec(t.Context(), "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), "+
		"attempted_by = '{abc}'")
	require.NoError(t, err)
	s.start(t, q, 2)
	a := s.next(t)
	require.Equal(t, "job_10001", a.ID)
	require.EqualValues(t, 2, a.Attempt)
	require.Equal(t, 1, count(t, pool, allJobs))
}

func TestJobsMissingInRiverAreEnqueuedAgain(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 10), newEnvironment()
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 2)...)
	_, err := pool.Exec(t.Context(), "DELETE FROM river_job WHERE args ->> 'jobId' = 'job_10000'")
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "UPDATE river_job SET state = 'discarded', finalized_at = now()")
	require.NoError(t, err)
	s.start(t, q, 2)
	for range 2 {
		a := s.next(t)
		require.EqualValues(t, 2, a.Attempt)
		a.result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
}

// A sweep that does not see yet that a job has ended leaves its slot empty. The next sweep fills it.
func TestSweepFillsEmptySlotsOfTheWindow(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 1), newEnvironment()
	jobs := jobsOf(newCompany(t, pool, "company_1"), 2)
	enqueue(t, pool, q, jobs...)
	_, err := pool.Exec(t.Context(), "DELETE FROM jobs WHERE id = $1", jobs[0].ID)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "DELETE FROM river_job")
	require.NoError(t, err)
	s.start(t, q, 1)
	require.Equal(t, jobs[1], s.next(t).Job)
}

func TestJobsOfADeletedCompanyAreDropped(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 10), newEnvironment()
	gone, stays := newCompany(t, pool, "company_1"), newCompany(t, pool, "company_2")
	s.start(t, q, 2)
	enqueue(t, pool, q, jobsOf(gone, 1)...)
	a := s.next(t)
	_, err := pool.Exec(t.Context(), "DELETE FROM companies WHERE id = $1", gone)
	require.NoError(t, err)
	a.result <- errors.New("there is no such job")
	enqueue(t, pool, q, jobsOf(stays, 1)...)
	s.next(t).result <- nil
	awaitCount(t, pool, 0, allJobs)
}

func TestInvalidQueueIsRefused(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	_, err := queue.New(pool, queue.Options{Window: -1})
	require.EqualError(t, err, "open queue: the window must be at least 1, not -1")
	q, s := newQueue(t, pool, 0), newEnvironment()
	require.EqualError(t, q.Start(t.Context(), 0, s.work), "start the queue's workers: there must be at least 1, not 0")
	s.start(t, q, 1)
	require.EqualError(t, q.Start(t.Context(), 1, s.work), "start the queue's workers: they were already started")

	gone := connect(t, "postgres://user:hunter2@127.0.0.1:1/none")
	q, err = queue.New(gone, queue.Options{})
	require.NoError(t, err)
	err = q.Start(t.Context(), 1, s.work)
	require.EqualError(t, err, "start the queue's workers: the database cannot be reached")
	require.NoError(t, q.Stop(t.Context()))
}

func TestWorkersReportThatConnectionsAreUsedUp(t *testing.T) {
	t.Parallel()
	address, pool := fresh(t)
	_, err := pool.Exec(t.Context(), "CREATE ROLE no_connections LOGIN PASSWORD 'secret' CONNECTION LIMIT 0")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "DROP ROLE no_connections")
		require.NoError(t, err)
	})
	limited, err := url.Parse(address)
	require.NoError(t, err)
	limited.User = url.UserPassword("no_connections", "secret")
	q, err := queue.New(connect(t, limited.String()), queue.Options{})
	require.NoError(t, err)
	require.EqualError(t, q.Start(t.Context(), 1, newEnvironment().work),
		"start the queue's workers: the database accepts no more connections")
	require.NoError(t, q.Stop(t.Context()))
}

func TestMigrationsCreateAndDropRiverTables(t *testing.T) {
	t.Parallel()
	pool := connect(t, dbtest.EmptyURL(t))
	tables := "SELECT count(*) FROM pg_class WHERE relname LIKE 'river%' AND relnamespace = 'public'::regnamespace"
	for range 2 {
		require.NoError(t, queue.Migrate(t.Context(), pool))
		require.NoError(t, queue.Migrate(t.Context(), pool), "migrating again is no error")
		require.Positive(t, count(t, pool, tables))
		require.NoError(t, queue.Unmigrate(t.Context(), pool))
		require.Zero(t, count(t, pool, tables))
	}
	var names []string
	rows, err := pool.Query(t.Context(), "SELECT typname FROM pg_type WHERE typname LIKE 'river%'")
	require.NoError(t, err)
	names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestOneProcessSweepsAtATime(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	sweeping, release := make(chan struct{}), make(chan struct{})
	one, err := queue.New(pool, queue.Options{Log: silent, Sweep: func(context.Context) error {
		close(sweeping)
		<-release
		return nil
	}})
	require.NoError(t, err)
	ticks, sweeps := 0, 0
	two, err := queue.New(pool, queue.Options{
		Log:   silent,
		Sweep: func(context.Context) error { sweeps++; return nil },
		Tick:  func(context.Context) error { ticks++; return errors.New("it sees nothing") },
	})
	require.NoError(t, err)
	swept := make(chan error, 1)
	go func() { swept <- queue.Sweep(t.Context(), one) }()
	dbtest.Receive(t, sweeping)
	require.ErrorContains(t, queue.Sweep(t.Context(), two), "it sees nothing")
	require.Equal(t, []int{1, 0}, []int{ticks, sweeps})
	close(release)
	require.NoError(t, <-swept)
	require.ErrorContains(t, queue.Sweep(t.Context(), two), "it sees nothing")
	require.Equal(t, []int{2, 1}, []int{ticks, sweeps})
}

// If a part of the database is unavailable, the other parts are still swept.
func TestSweepContinuesAfterAnError(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	company := newCompany(t, pool, "company_1")
	_, err := pool.Exec(t.Context(), "INSERT INTO jobs VALUES ($1, 'job_lost', 1, 0, 0, $2, 1, 'test')", company,
		time.Now())
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "ALTER TABLE river_job RENAME TO river_away")
	require.NoError(t, err)
	isSwept := false
	q, err := queue.New(pool,
		queue.Options{Log: silent, Sweep: func(context.Context) error { isSwept = true; return nil }})
	require.NoError(t, err)
	require.ErrorContains(t, queue.Sweep(t.Context(), q), `"river_job" does not exist`)
	require.True(t, isSwept)
}

func TestSweepSkipsUnavailableCompanies(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	away, near := newCompany(t, pool, "company_1"), newCompany(t, pool, "company_2")
	for _, company := range []string{away, near} {
		_, err := pool.Exec(t.Context(), "INSERT INTO jobs VALUES ($1, 'job_lost', 1, 0, 0, $2, 1000, 'test'), ($1, "+
			"'job_waiting', 0, 0, 0, $2, NULL, 'test')", company, time.Now())
		require.NoError(t, err)
	}
	dbtest.SimulateNodeDown(t, pool, "jobs", away)
	q, err := queue.New(pool, queue.Options{Log: silent})
	require.NoError(t, err)
	require.ErrorContains(t, queue.Sweep(t.Context(), q), "remote node postgres@db-2:5432")
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM jobs_there WHERE losses = 1 AND river_job_id < 1000 AND "+
		"company_id = $1", near))
	require.Equal(t, 2, count(t, pool, "SELECT count(*) FROM jobs_there WHERE attempt > 0 AND river_job_id < 1000 AND "+
		"company_id = $1", near))
	require.Equal(t, 1, count(t, pool, "SELECT count(*) FROM jobs_there WHERE river_job_id = 1000 AND company_id = $1",
		away))
}

func TestSweepRepeatsAfterAnError(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	swept := make(chan struct{}, 100)
	q, err := queue.New(pool, queue.Options{Log: silent, Sweep: func(context.Context) error {
		swept <- struct{}{}
		return errors.New("it does not work")
	}})
	require.NoError(t, err)
	require.NoError(t, q.Start(t.Context(), 1, newEnvironment().work))
	dbtest.Receive(t, swept)
	dbtest.Receive(t, swept) // a failed sweep is not the last one
	require.NoError(t, q.Stop(t.Context()))
}
