package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// turn is a worker that has finished a run. It waits until proceed is closed before it reports the end to the queue.
type turn struct {
	runID   string
	proceed chan struct{}
}

// passing starts a worker, the store's only one. For each run, the worker calls the function work and makes the run
// pass. The channel receives a turn for each run that has passed.
func passing(t *testing.T, store *db.Store, work func(context.Context, *model.AgentTestRun) error) <-chan turn {
	t.Helper()
	finished, ended := make(chan turn, 100), make(chan struct{})
	require.NoError(t, store.Work(t.Context(), 1,
		db.Workers{RunTest: func(ctx context.Context, t *db.Tenant, id string, attempt int32) error {
			run, err := t.ClaimRun(ctx, id, attempt)
			if err != nil || run == nil {
				return err
			}
			if err := work(ctx, run); err != nil {
				return err
			}
			run.Status = model.AgentTestRunStatusPassed
			if err := t.FinishRun(ctx, run); err != nil {
				return err
			}
			done := turn{id, make(chan struct{})}
			finished <- done
			select {
			case <-done.proceed:
			case <-ended:
			}
			return nil
		}}))
	t.Cleanup(func() {
		close(ended)
		require.NoError(t, store.StopWork(context.Background()))
	})
	return finished
}

func nothingElse(context.Context, *model.AgentTestRun) error { return nil }

func (d turn) next(t *testing.T, finished <-chan turn) turn {
	t.Helper()
	close(d.proceed)
	return awaitTurn(t, finished)
}

func awaitTurn(t *testing.T, finished <-chan turn) turn {
	t.Helper()
	select {
	case done := <-finished:
		return done
	case <-time.After(time.Minute):
		require.FailNow(t, "no run has ended")
		return turn{}
	}
}

// oneByOne starts an execution with a concurrency of one. Its tests are new tests of one agent. It returns the runs.
func oneByOne(t *testing.T, tenant *db.Tenant, tests int) []*model.AgentTestRun {
	t.Helper()
	agentID, ids := newAgent(t, tenant).ID, make([]string, tests)
	for i := range ids {
		ids[i] = newSimulationTest(t, tenant, agentID).ID
	}
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: ids,
		Repeats: 1, Concurrency: 1})
	require.NoError(t, err)
	return runsOf(t, tenant, execution.ID)
}

func TestFinishedRunClaimsTheNext(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	runs := oneByOne(t, tenant, 3)
	finished := passing(t, store, nothingElse)
	done := awaitTurn(t, finished)
	for i, run := range runs {
		require.Equal(t, run.ID, done.runID)
		require.Equal(t, model.AgentTestRunStatusPassed, runByID(t, tenant, run.ID).Status)
		lastRun(t, tenant, run.TestedID, run.ID, model.AgentTestRunStatusPassed)
		var jobs int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM jobs WHERE id = $1", run.ID).Scan(&jobs))
		require.Zero(t, jobs, "its job ended with the run")
		if i == len(runs)-1 {
			break
		}
		next := runByID(t, tenant, runs[i+1].ID)
		require.Equal(t, model.AgentTestRunStatusRunning, next.Status)
		require.EqualValues(t, 1, next.Claim)
		require.NotNil(t, next.StartedAt)
		require.Equal(t, runByID(t, tenant, run.ID).Version+1, next.Version)
		lastRun(t, tenant, next.TestedID, next.ID, model.AgentTestRunStatusRunning)
		done = done.next(t, finished)
	}
	execution, err := tenant.AgentTestExecution(t.Context(), runs[0].ExecutionID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCompleted, execution.Status())
	require.Equal(t, runByID(t, tenant, runs[0].ID).StartedAt, execution.StartedAt)
	for _, run := range runs {
		require.Zero(t, runByID(t, tenant, run.ID).Lost)
	}
}

// The end of a run does not wait for a lock on the next run's test, because the holder of the lock may wait for this
// run.
func TestFinishedRunDoesNotWaitForALockedTest(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	runs := oneByOne(t, tenant, 2)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM agent_tests WHERE id = $1 FOR UPDATE", runs[1].TestedID)
	require.NoError(t, err)
	finished := passing(t, store, nothingElse)
	done := awaitTurn(t, finished)
	require.Equal(t, model.AgentTestRunStatusPassed, runByID(t, tenant, runs[0].ID).Status)
	require.Equal(t, model.AgentTestRunStatusQueued, runByID(t, tenant, runs[1].ID).Status)
	close(done.proceed)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, runs[1].ID, awaitTurn(t, finished).runID)
	require.Equal(t, model.AgentTestRunStatusPassed, runByID(t, tenant, runs[1].ID).Status)
}

// The next run is not claimed if it was cancelled in the queue or belongs to another execution.
func TestCancelledOrForeignRunIsNotClaimed(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	store := dbtest.Open(t, address, db.Options{RunsPerCompany: 1}) // so that each run waits for the previous one
	tenant, _ := newCompany(t, store)
	agentID := newAgent(t, tenant).ID
	test := func() string { return newSimulationTest(t, tenant, agentID).ID }
	cancelled := runsOf(t, tenant, start(t, tenant, test(), test()).ID)
	other, last := runsOf(t, tenant, start(t, tenant, test()).ID)[0], runsOf(t, tenant, start(t, tenant, test()).ID)[0]
	finished := passing(t, store, func(ctx context.Context, run *model.AgentTestRun) error {
		if run.ID != cancelled[0].ID {
			return nil
		}
		_, err := tenant.CancelAgentTestExecution(ctx, model.CancelAgentTestExecutionInput{ExecutionID: run.ExecutionID})
		return err
	})
	given := func(run *model.AgentTestRun) {
		t.Helper()
		var attempt int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT attempt FROM jobs WHERE id = $1 AND river_job_id IS NOT NULL",
			run.ID).Scan(&attempt))
		require.Equal(t, 1, attempt)
	}
	done := awaitTurn(t, finished)
	require.Equal(t, cancelled[0].ID, done.runID)
	given(cancelled[1])
	require.Equal(t, model.AgentTestRunStatusCancelled, runByID(t, tenant, cancelled[1].ID).Status)
	require.Zero(t, runByID(t, tenant, cancelled[1].ID).Claim)
	done = done.next(t, finished)
	require.Equal(t, other.ID, done.runID)
	given(last)
	require.Equal(t, model.AgentTestRunStatusQueued, runByID(t, tenant, last.ID).Status)
	require.Equal(t, last.ID, done.next(t, finished).runID)
	for _, run := range []*model.AgentTestRun{cancelled[0], other, last} {
		require.Equal(t, model.AgentTestRunStatusPassed, runByID(t, tenant, run.ID).Status)
	}
	execution, err := tenant.AgentTestExecution(t.Context(), cancelled[0].ExecutionID)
	require.NoError(t, err)
	require.Zero(t, execution.Unfinished)
}

// When the transaction is rolled back, the run's job and the next run are unchanged.
func TestRolledBackFinishKeepsRunAndJob(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	runs := oneByOne(t, tenant, 2)
	type begun struct {
		run  model.AgentTestRun
		errs []error
	}
	worked := make(chan begun, 10)
	changed := errors.New("changed my mind")
	require.NoError(t, store.Work(t.Context(), 1,
		db.Workers{RunTest: func(ctx context.Context, t *db.Tenant, id string, attempt int32) error {
			run, err := t.ClaimRun(ctx, id, attempt)
			if err != nil || run == nil {
				return err
			}
			b := begun{run: *run}
			defer func() { worked <- b }()
			finish := func(t *db.Tenant, reason string) error {
				run.Status, run.EndReason = model.AgentTestRunStatusPassed, &reason
				err := t.FinishRun(ctx, run)
				b.errs = append(b.errs, err)
				return err
			}
			switch {
			case id == runs[0].ID && attempt == 1:
				return finish(t, "\x00")
			case id == runs[0].ID && attempt == 2:
				return t.Tx(ctx, func(_ context.Context, t *db.Tenant) error {
					return errors.Join(finish(t, "rolled back"),
						changed)
				})
			case id == runs[0].ID:
				_ = finish(t, "\x00")
			}
			return finish(t, "done")
		}}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	next := func() begun {
		select {
		case b := <-worked:
			return b
		case <-time.After(time.Minute):
			require.FailNow(t, "no run has started")
			return begun{}
		}
	}
	for attempt := range int32(3) {
		b := next()
		require.Equal(t, runs[0].ID, b.run.ID)
		require.Equal(t, attempt+1, b.run.Claim, "the run was started again")
		if attempt == 1 {
			require.Equal(t, []error{nil}, b.errs)
			continue
		}
		fails(t, b.errs[0], model.BadInput)
	}
	b := next()
	require.Equal(t, runs[1].ID, b.run.ID)
	require.EqualValues(t, 1, b.run.Claim)
	require.Equal(t, []error{nil}, b.errs)
	var jobs int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM jobs").Scan(&jobs))
	require.Zero(t, jobs)
	for i, run := range runs {
		stored := runByID(t, tenant, run.ID)
		require.Equal(t, model.AgentTestRunStatusPassed, stored.Status)
		require.Equal(t, "done", *stored.EndReason)
		require.EqualValues(t, 2*(1-i), stored.Lost, "each failure counts as a lost worker of the run")
	}
	execution, err := tenant.AgentTestExecution(t.Context(), runs[0].ExecutionID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCompleted, execution.Status())
}

// If a run is released after its execution was cancelled, the run and its job end.
func TestReleasedCancelledRunEndsItsJob(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	run := oneByOne(t, tenant, 1)[0]
	released := make(chan error, 10)
	require.NoError(t, store.Work(t.Context(), 1,
		db.Workers{RunTest: func(ctx context.Context, t *db.Tenant, id string, attempt int32) error {
			run, err := t.ClaimRun(ctx, id, attempt)
			if err != nil || run == nil {
				return err
			}
			if _, err := tenant.CancelAgentTestExecution(ctx,
				model.CancelAgentTestExecutionInput{ExecutionID: run.ExecutionID}); err != nil {
				return err
			}
			err = t.ReleaseRun(ctx, run)
			var jobs int
			released <- errors.Join(err, conn.QueryRow(ctx, "SELECT count(*) FROM jobs").Scan(&jobs))
			if jobs > 0 {
				released <- errors.New("its job is still there")
			}
			return errors.New("this comes too late")
		}}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	require.NoError(t, <-released)
	require.NoError(t, store.StopWork(t.Context()))
	require.Empty(t, released)
	require.Equal(t, model.AgentTestRunStatusCancelled, runByID(t, tenant, run.ID).Status)
}
