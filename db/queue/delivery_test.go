package queue_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/queue"
)

const riverJobs = "SELECT count(*) FROM river_job"

func TestWorkersChainJobs(t *testing.T) {
	t.Parallel()
	const size, jobs = 3, 30
	_, pool := fresh(t)
	q, s := newQueue(t, pool, size), newEnvironment()
	s.start(t, q, size)
	all := jobsOf(newCompany(t, pool, "company_1"), jobs)
	enqueue(t, pool, q, all...)
	held := []*attempt{s.next(t), s.next(t), s.next(t)}
	for i := range jobs - size {
		held[0].result <- nil
		held = append(held[1:], s.next(t))
		require.Equal(t, all[i+size], held[size-1].Job, "they are done in order")
		require.EqualValues(t, 1, held[size-1].Attempt)
	}
	for _, a := range held {
		a.result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
	require.Equal(t, size, count(t, pool, riverJobs))
	require.EqualValues(t, size, s.most.Load())
}

func TestWorkersYieldToOtherCompanies(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 2), newEnvironment()
	s.start(t, q, 2)
	large, small := newCompany(t, pool, "company_large"), newCompany(t, pool, "company_small")
	enqueue(t, pool, q, jobsOf(large, 20)...)
	running := []*attempt{s.next(t), s.next(t)}
	enqueue(t, pool, q, jobsOf(small, 2)...)
	_, err := pool.Exec(t.Context(), "UPDATE river_job SET scheduled_at = scheduled_at - interval '1 minute' WHERE "+
		"state = 'available'")
	require.NoError(t, err)
	for _, a := range running {
		a.result <- nil
		next := s.next(t)
		require.Equal(t, small, next.CompanyID)
		defer func() { next.result <- nil }()
	}
}

func TestWorkersContinueAfterFailedJobs(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 1), newEnvironment()
	s.start(t, q, 1)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 2)
	enqueue(t, pool, q, jobs...)
	s.next(t).result <- errors.New("it does not work")
	second := s.next(t)
	require.Equal(t, jobs[1], second.Job)
	makeReady(t, pool)
	second.result <- nil
	again := s.next(t)
	require.Equal(t, jobs[0], again.Job)
	require.EqualValues(t, 2, again.Attempt)
	again.result <- nil
	awaitCount(t, pool, 0, allJobs)
	require.Equal(t, 1, count(t, pool, riverJobs))
}

// end ends jobs in a transaction. If result is not nil, the transaction is rolled back. end returns the next deliveries
// of their workers, and a function that tells the queue about the commit.
func end(t *testing.T, pool *pgxpool.Pool, q *queue.Queue, result error,
	deliveries ...*queue.Delivery) (next []*queue.Delivery, hear func()) {
	t.Helper()
	heard := []func(){}
	err := pgx.BeginFunc(t.Context(), pool, func(begun pgx.Tx) (err error) {
		tx := &transaction{Tx: begun}
		next, err = q.Apply(t.Context(), tx, queue.Change{CompanyID: deliveries[0].CompanyID, End: deliveries})
		heard = tx.committed
		require.NoError(t, err)
		return result
	})
	require.ErrorIs(t, err, result)
	return next, func() {
		for _, f := range heard {
			f()
		}
	}
}

func TestJobsEndWithTheirTransaction(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 2), newEnvironment()
	s.start(t, q, 2)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 3)
	enqueue(t, pool, q, jobs...)
	first, second := s.next(t), s.next(t)

	changed := errors.New("changed my mind")
	for range 2 {
		next, _ := end(t, pool, q, changed, first.Delivery)
		require.Equal(t, jobs[2], next[0].Job)
		require.Equal(t, 3, count(t, pool, allJobs), "no job has ended")
	}

	next, hear := end(t, pool, q, nil, first.Delivery, second.Delivery)
	require.Len(t, next, 1, "there is a job for one of the two workers")
	next[0].Preclaimed = "by the transaction"
	require.Equal(t, 1, count(t, pool, allJobs))
	hear()
	first.result <- errors.New("this comes too late")
	second.result <- nil
	third := s.next(t)
	require.Equal(t, jobs[2], third.Job)
	require.EqualValues(t, 1, third.Attempt)
	require.Equal(t, "by the transaction", third.Preclaimed)
	third.result <- nil
	awaitCount(t, pool, 0, allJobs)
	require.Empty(t, s.started)
	require.Equal(t, 2, count(t, pool, riverJobs))
}

// The process never learns that a transaction was committed. The changes of the transaction remain. The job that it
// gave to the worker has used up an attempt with an unknown outcome.
func TestUnacknowledgedCommitUsesUpAnAttempt(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 1), newEnvironment()
	s.start(t, q, 1)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 3)
	enqueue(t, pool, q, jobs...)
	first := s.next(t)
	next, _ := end(t, pool, q, nil, first.Delivery)
	next[0].Preclaimed = "by the transaction"
	first.result <- nil
	second := s.next(t)
	require.Equal(t, jobs[1], second.Job)
	require.EqualValues(t, 2, second.Attempt)
	require.Nil(t, second.Preclaimed)
	second.result <- nil
	third := s.next(t)
	require.Equal(t, jobs[2], third.Job)
	require.EqualValues(t, 1, third.Attempt)
	third.result <- nil
	awaitCount(t, pool, 0, allJobs)
}

// A lost worker stops, even if it has not noticed that its lease ended.
func TestLostWorkersStop(t *testing.T) {
	t.Parallel()
	url, pool := fresh(t)
	q, s := newQueue(t, connect(t, url), 1), newEnvironment()
	deaf := func(_ context.Context, d *queue.Delivery) error { return s.work(context.WithoutCancel(t.Context()), d) }
	jobs := jobsOf(newCompany(t, pool, "company_1"), 2)
	enqueue(t, pool, q, jobs...)
	require.NoError(t, q.Start(t.Context(), 1, deaf))
	first := s.next(t)
	require.Equal(t, 1, kill(t, pool, "application_name = 'agentgraph workers'"))
	heir := newQueue(t, connect(t, url), 1)
	require.NoError(t, heir.Start(t.Context(), 1, deaf))
	again := s.next(t)
	require.Equal(t, jobs[0], again.Job)
	require.EqualValues(t, 2, again.Attempt)
	next, _ := end(t, pool, q, nil, first.Delivery)
	require.Empty(t, next, "an outdated attempt ends nothing and gets no next job")
	first.result <- nil
	again.result <- nil
	second := s.next(t)
	require.Equal(t, jobs[1], second.Job)
	require.EqualValues(t, 1, second.Attempt)
	second.result <- nil
	awaitCount(t, pool, 0, allJobs)
}

// The process misses two commits in a row. So the same worker has made two attempts at the job, and the first of them
// can no longer end it.
func TestOlderAttemptOfAWorkerCannotEndTheJob(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 1), newEnvironment()
	s.start(t, q, 1)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 2)
	enqueue(t, pool, q, jobs...)
	first := s.next(t)
	given := []*queue.Delivery{first.Delivery}
	for i, from := range []int{0, 0, 1} {
		next, _ := end(t, pool, q, nil, given[from])
		given = append(given, next...)
		require.Len(t, given, i+2)
		require.Equal(t, jobs[1], given[i+1].Job)
		require.EqualValues(t, i+1, given[i+1].Attempt)
	}
	require.Equal(t, 1, count(t, pool, allJobs))
	first.result <- nil
	second := s.next(t)
	require.Equal(t, jobs[1], second.Job)
	require.EqualValues(t, 4, second.Attempt)
	second.result <- nil
	awaitCount(t, pool, 0, allJobs)
}

func TestChainedJobIsDroppedAfterMaxFailures(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 1), newEnvironment()
	s.start(t, q, 1)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 1+queue.MaxFailures)
	enqueue(t, pool, q, jobs...)
	for range queue.MaxFailures {
		a := s.next(t)
		require.Equal(t, jobs[0], a.Job)
		a.result <- errors.New("it does not work")
		a = s.next(t)
		require.NotEqual(t, jobs[0], a.Job)
		makeReady(t, pool)
		a.result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
	require.Equal(t, 1, count(t, pool, riverJobs))
	require.Empty(t, s.started)
}

func TestStopInterruptsChainedJobs(t *testing.T) {
	t.Parallel()
	_, pool := fresh(t)
	q, s := newQueue(t, pool, 1), newEnvironment()
	s.start(t, q, 1)
	jobs := jobsOf(newCompany(t, pool, "company_1"), 3)
	enqueue(t, pool, q, jobs...)
	s.next(t).result <- nil
	second := s.next(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, q.Stop(ended))
	require.Error(t, second.ended(t))
	require.Empty(t, s.started, "no worker continues")
	require.Equal(t, 2, count(t, pool, "SELECT count(*) FROM jobs WHERE failures + losses = 0"))
	s.start(t, q, 1)
	for i, attempt := range []int32{2, 1} {
		a := s.next(t)
		require.Equal(t, jobs[1+i], a.Job)
		require.Equal(t, attempt, a.Attempt)
		a.result <- nil
	}
	awaitCount(t, pool, 0, allJobs)
}
