package queue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/queue"
)

// This test comes first and is not parallel: it inspects every goroutine.
func TestStopEndsAllGoroutines(t *testing.T) {
	_, pool := fresh(t)
	// A pooled connection has its own goroutines.
	require.NoError(t, pool.Ping(t.Context()))
	before := goleak.IgnoreCurrent()
	q, s := newQueue(t, pool, 2), newEnvironment()
	s.start(t, q, 2)
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 1)...)
	s.next(t).result <- nil
	require.NoError(t, q.Stop(t.Context()))
	require.Zero(t, count(t, pool, allJobs))
	awaitCount(t, pool, 0, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
	pool.Close()
	require.NoError(t, goleak.Find(before))
}

func TestJobsAreWorkedInOrder(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 1), newEnvironment()
	jobs := jobsOf(newCompany(t, pool, "company_1"), 5)
	enqueue(t, pool, q, jobs[:3]...)
	enqueue(t, pool, q, jobs[1:]...) // jobs that are already in the queue are not added again
	s.start(t, q, 4)
	for _, job := range jobs {
		a := s.next(t)
		require.Equal(t, job, a.Job)
		require.EqualValues(t, 1, a.Attempt)
		a.result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
	require.EqualValues(t, 1, s.most.Load())
	enqueue(t, pool, q, jobs[0])
	require.Equal(t, jobs[0], s.next(t).Job, "a finished job can be enqueued again")
}

func TestRollbackRemovesJobs(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 2), newEnvironment()
	s.start(t, q, 2)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 5)
	changed := errors.New("changed my mind")
	require.ErrorIs(t, inTx(t, pool, func(tx queue.Tx) error {
		require.NoError(t, put(t, q, tx, queue.Change{}, jobs[:4]...))
		return changed
	}), changed)
	require.Zero(t, count(t, pool, allJobs))
	require.Zero(t, count(t, pool, "SELECT count(*) FROM river_job"))
	enqueue(t, pool, q, jobs[4])
	require.Equal(t, jobs[4], s.next(t).Job)
	require.Empty(t, s.started)
}

func TestJobsOfAnUnknownCompanyAreRefused(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q := newQueue(t, pool, 2)
	err := inTx(t, pool, func(tx queue.Tx) error {
		return put(t, q, tx, queue.Change{}, queue.Job{CompanyID: "company_none", Kind: "test", ID: "job_1"})
	})
	require.ErrorContains(t, err, "admit jobs of company company_none: ")
}

// hurry makes a job that waits for its next attempt ready now.
func hurry(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	awaitCount(t, pool, 1, "SELECT count(*) FROM jobs WHERE river_job_id IS NULL AND ready_at > $1", time.Now())
	makeReady(t, pool)
}

// makeReady makes all waiting jobs ready now.
func makeReady(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, err := pool.Exec(t.Context(), "UPDATE jobs SET ready_at = $1 WHERE river_job_id IS NULL", time.Now())
	require.NoError(t, err)
}

func TestFailingJobIsRetried(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q := newQueue(t, pool, 2)
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 1)...)
	attempts := make(chan int32, 10)
	require.NoError(t, q.Start(t.Context(), 2, func(_ context.Context, d *queue.Delivery) error {
		attempts <- d.Attempt
		if d.Attempt == 2 {
			panic("a mistake")
		}
		return errors.New("it does not work")
	}))
	for i := range int32(queue.MaxFailures) {
		require.Equal(t, i+1, dbtest.Receive(t, attempts))
		if i+1 < queue.MaxFailures {
			hurry(t, pool)
		}
	}
	awaitCount(t, pool, 0, allJobs)
	require.Empty(t, attempts)
}

func TestFailuresAreForgottenOnSuccess(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 2), newEnvironment()
	s.start(t, q, 2)
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 1)...)
	s.next(t).result <- errors.New("it does not work")
	hurry(t, pool)
	a := s.next(t)
	require.EqualValues(t, 2, a.Attempt)
	a.result <- nil
	awaitCount(t, pool, 0, allJobs)
}

func TestPostponedJobCountsNoFailure(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 2), newEnvironment()
	s.start(t, q, 2)
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), 1)...)
	const waiting = "SELECT count(*) FROM jobs WHERE river_job_id IS NULL AND failures = $1 AND ready_at > $2"
	later := &queue.Later{In: time.Hour, Err: errors.New("it is away")}
	soon := time.Now().Add(50 * time.Minute)
	for range 2 * queue.MaxFailures {
		s.next(t).result <- fmt.Errorf("index: %w", later)
		awaitCount(t, pool, 1, waiting, 0, soon)
		hurry(t, pool)
	}
	for failures := 1; failures < queue.MaxFailures; failures++ {
		s.next(t).result <- errors.New("it does not work")
		awaitCount(t, pool, 1, "SELECT count(*) FROM jobs WHERE failures = $1", failures)
		hurry(t, pool)
		s.next(t).result <- later
		awaitCount(t, pool, 1, waiting, failures, soon)
		hurry(t, pool)
	}
	s.next(t).result <- errors.New("it does not work")
	awaitCount(t, pool, 0, allJobs)
}

func TestWindowIsNeverExceeded(t *testing.T) {
	t.Parallel()
	const window, jobs = 3, 60
	url, pool := fresh(t)
	q, s := newQueue(t, pool, window), newEnvironment()
	other := newQueue(t, connect(t, url), window)
	s.start(t, q, 5)
	s.start(t, other, 5)
	all := jobsOf(newCompany(t, pool, "company_1"), jobs)
	errs := make(chan error, jobs)
	for i, job := range all {
		go func() {
			by := []*queue.Queue{q, other}[i%2]
			errs <- inTx(t, pool, func(tx queue.Tx) error { return put(t, by, tx, queue.Change{}, job) })
		}()
	}
	seen := map[queue.Job]bool{}
	for range jobs {
		a := s.next(t)
		require.False(t, seen[a.Job], "%s is worked twice", a.ID)
		seen[a.Job] = true
		require.LessOrEqual(t, count(t, pool, admittedJob), window)
		a.result <- nil
	}
	for range jobs {
		require.NoError(t, dbtest.Receive(t, errs))
	}
	awaitCount(t, pool, 0, allJobs)
	require.LessOrEqual(t, s.most.Load(), int64(window))
}

func TestWorkersOfAProcessAreBounded(t *testing.T) {
	t.Parallel()
	const size, jobs = 3, 30
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 50), newEnvironment()
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_1"), jobs)...)
	s.start(t, q, size)
	held := []*attempt{s.next(t), s.next(t), s.next(t)}
	for _, a := range held {
		a.result <- nil
	}
	for range jobs - size {
		s.next(t).result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
	require.EqualValues(t, size, s.most.Load())
}

func TestManyJobsOfOneCompanyDoNotStarveAnother(t *testing.T) {
	t.Parallel()
	const many, few, window, size = 5000, 10, 20, 10
	_, pool := fresh(t)
	q := newQueue(t, pool, window)
	done := make(chan queue.Job, many+few)
	require.NoError(t, q.Start(t.Context(), size, func(_ context.Context, d *queue.Delivery) error {
		done <- d.Job
		return nil
	}))
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_large"), many)...)
	for range window {
		dbtest.Receive(t, done)
	}
	small := newCompany(t, pool, "company_small")
	enqueue(t, pool, q, jobsOf(small, few)...)
	begun, before, left := time.Now(), 0, few
	for left > 0 {
		if dbtest.Receive(t, done).CompanyID == small {
			left--
		} else {
			before++
		}
	}
	t.Logf("%d jobs behind %d took %s, while %d of the many were done", few, many, time.Since(begun).
		Round(time.Millisecond), before)
	require.Less(t, before, many/10)
}

func TestLongJobsOfOneCompanyDoNotDelayAnother(t *testing.T) {
	t.Parallel()
	const size = 4
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 50), newEnvironment()
	large := newCompany(t, pool, "company_large")
	enqueue(t, pool, q, jobsOf(large, 40)...)
	s.start(t, q, size)
	running := make([]*attempt, size)
	for i := range running {
		running[i] = s.next(t)
	}
	small := jobsOf(newCompany(t, pool, "company_small"), 3)
	enqueue(t, pool, q, small...)
	for _, job := range small {
		next := s.next(t)
		require.Equal(t, job, next.Job)
		next.result <- nil
	}
	awaitCount(t, pool, 0, "SELECT count(*) FROM jobs WHERE company_id = 'company_small'")
	require.EqualValues(t, size+1, s.most.Load(), "all workers and one of the reserve")
	for _, a := range running {
		require.Equal(t, large, a.CompanyID)
		a.result <- nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, q.Stop(ctx))
}

func TestFreeWorkersTakeTheJobsOfManyCompanies(t *testing.T) {
	t.Parallel()
	const size, companies = 4, 12
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 50), newEnvironment()
	enqueue(t, pool, q, jobsOf(newCompany(t, pool, "company_large"), size)...)
	s.start(t, q, size)
	running := make([]*attempt, size)
	for i := range running {
		running[i] = s.next(t)
	}
	for i := range companies {
		enqueue(t, pool, q, jobsOf(newCompany(t, pool, fmt.Sprint("company_", i)), 1)...)
	}
	held := []*attempt{s.next(t)}
	awaitCount(t, pool, 1, "SELECT count(*) FROM river_job WHERE state = 'available' AND queue = 'reserve'")
	for _, a := range running {
		a.result <- nil
	}
	for range size {
		held = append(held, s.next(t))
	}
	for _, a := range held {
		a.result <- nil
	}
	for range companies - len(held) {
		s.next(t).result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
}

func TestPatientJobsWaitForAnotherToEnd(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 5), newEnvironment()
	jobs := jobsOf(newCompany(t, pool, "company_1"), 3)
	patiently := func(jobs ...queue.Job) {
		require.NoError(t, inTx(t, pool,
			func(tx queue.Tx) error { return put(t, q, tx, queue.Change{IsPatient: true}, jobs...) }))
	}
	enqueue(t, pool, q, jobs[0])
	patiently(jobs[:2]...)
	require.Equal(t, 2, count(t, pool, allJobs), "one was there already")
	require.Equal(t, 1, count(t, pool, admittedJob))
	s.start(t, q, 1)
	first := s.next(t)
	require.Equal(t, jobs[0], first.Job)
	first.result <- nil
	second := s.next(t)
	require.Equal(t, jobs[1], second.Job)
	second.result <- nil
	awaitCount(t, pool, 0, allJobs)
	patiently(jobs[2])
	last := s.next(t)
	require.Equal(t, jobs[2], last.Job, "no job was running that could have ended")
	last.result <- nil
	awaitCount(t, pool, 0, allJobs)
}
