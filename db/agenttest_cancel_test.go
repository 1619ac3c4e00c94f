package db_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func cancel(t *testing.T, tenant *db.Tenant, id string) (*model.AgentTestExecution, error) {
	t.Helper()
	return tenant.CancelAgentTestExecution(t.Context(), model.CancelAgentTestExecutionInput{ExecutionID: id})
}

func TestCancelledExecutionCancelsItsRuns(t *testing.T) {
	t.Parallel()
	queue := &jobRecorder{}
	store := dbtest.Open(t, dbtest.URL(t), db.Options{Enqueue: queue.enqueue})
	tenant, company := newCompany(t, store)
	elsewhere := dbtest.Reopen(t, store).Tenant(company)
	agent := newAgent(t, tenant)
	for range 4 {
		newSimulationTest(t, tenant, agent.ID)
	}
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{AgentID: &agent.ID,
		Repeats: 1, Concurrency: 2})
	require.NoError(t, err)
	runs := runsOf(t, tenant, execution.ID)
	require.NoError(t, finish(t, tenant, runs[0].ID, model.AgentTestRunStatusPassed))
	run, err := tenant.ClaimRun(t.Context(), runs[1].ID, 1)
	require.NoError(t, err)
	held, stop := tenant.WatchRun(t.Context(), run)
	defer stop()
	queue.take()

	cancelled, err := cancel(t, elsewhere, execution.ID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCancelling, cancelled.Status())
	require.False(t, cancelled.IsFinished(), "one run is in progress")
	require.Equal(t, model.AgentTestRunCounts{Total: 4, Passed: 1, Running: 1, Cancelled: 2},
		counts(t, tenant, execution.ID))
	lastRun(t, tenant, runs[3].TestedID, runs[3].ID, model.AgentTestRunStatusCancelled)
	lastRun(t, tenant, runs[0].TestedID, runs[0].ID, model.AgentTestRunStatusPassed)
	<-held.Done()
	require.ErrorIs(t, context.Cause(held), db.ErrRunCancelled)
	again, err := cancel(t, tenant, execution.ID)
	require.NoError(t, err)
	same(t, cancelled, again)
	_, err = tenant.RetryAgentTestExecution(t.Context(), model.RetryAgentTestExecutionInput{ExecutionID: execution.ID,
		Only: model.AgentTestRetryAll})
	require.Contains(t, fails(t, err, model.Conflict), "is not finished")

	late, err := tenant.ClaimRun(t.Context(), runs[2].ID, 1)
	require.NoError(t, err)
	require.Nil(t, late)
	run.Status = model.AgentTestRunStatusCancelled
	require.NoError(t, tenant.FinishRun(t.Context(), run))
	require.Empty(t, queue.take(), "nothing more is enqueued")
	after, err := tenant.AgentTestExecution(t.Context(), execution.ID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCancelled, after.Status())
	require.True(t, after.IsFinished())
	_, err = cancel(t, tenant, execution.ID)
	fails(t, err, model.Conflict)
	_, err = cancel(t, tenant, "execution_none")
	fails(t, err, model.NotFound)
}

func TestCancelledRunOfLostWorkerEnds(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	queued := newRun(t, tenant)
	_, err := tenant.ClaimRun(t.Context(), queued.ID, 1)
	require.NoError(t, err)
	_, err = cancel(t, tenant, queued.ExecutionID)
	require.NoError(t, err)
	run, err := tenant.ClaimRun(t.Context(), queued.ID, 2)
	require.NoError(t, err)
	require.Nil(t, run)
	require.Equal(t, model.AgentTestRunStatusCancelled, runByID(t, tenant, queued.ID).Status)
	after, err := tenant.AgentTestExecution(t.Context(), queued.ExecutionID)
	require.NoError(t, err)
	require.True(t, after.IsFinished())
}

func TestRunIsCancelledDuringTakeover(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	queued := newRun(t, tenant)
	_, err := tenant.ClaimRun(t.Context(), queued.ID, 1)
	require.NoError(t, err)
	started, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = started.Exec(t.Context(), "UPDATE agent_test_executions SET status = 'Cancelled', version = version + 1")
	require.NoError(t, err)
	claimed := make(chan error, 1)
	go func() {
		run, err := tenant.ClaimRun(context.Background(), queued.ID, 2)
		if run != nil {
			err = errors.New("the run goes on")
		}
		claimed <- err
	}()
	watcher := connect(t, conn.Config().ConnString())
	waitForLocks(t, watcher, 1)
	require.NoError(t, started.Commit(t.Context()))
	require.NoError(t, <-claimed)
	require.Equal(t, model.AgentTestRunStatusCancelled, runByID(t, tenant, queued.ID).Status)
	after, err := tenant.AgentTestExecution(t.Context(), queued.ExecutionID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCancelled, after.Status())
	require.True(t, after.IsFinished())
}

// Workers, cancellations, a deletion and new executions compete for the same tests. Every execution still ends, with
// each run final and counted once.
func TestExecutionsEndUnderConcurrentCancellation(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	tests := make([]*model.SimulationTest, 6)
	for i := range tests {
		tests[i] = newSimulationTest(t, tenant, agent.ID)
	}
	begin := func() (*model.AgentTestExecution, error) {
		ids := make([]string, len(tests))
		for i, test := range tests {
			ids[(i+len(tests)/2)%len(tests)] = test.ID
		}
		return tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: ids, Repeats: 1,
			Concurrency: 50})
	}
	executions := make([]*model.AgentTestExecution, 4)
	var runs []*model.AgentTestRun
	for i := range executions {
		execution, err := begin()
		require.NoError(t, err)
		executions[i] = execution
		runs = append(runs, runsOf(t, tenant, execution.ID)...)
	}
	require.Empty(t, together(len(runs)+5, func(i int) error {
		switch i {
		case len(runs), len(runs) + 1:
			_, err := tenant.CancelAgentTestExecution(context.Background(),
				model.CancelAgentTestExecutionInput{ExecutionID: executions[i-len(runs)].ID})
			var known *model.Error
			if errors.As(err, &known) && strings.Contains(known.Message, "is already finished") {
				return nil // it had already finished
			}
			return err
		case len(runs) + 2, len(runs) + 3:
			_, err := begin()
			var known *model.Error
			if errors.As(err, &known) && known.Code == model.NotFound {
				return nil // a test had already been deleted
			}
			return err
		case len(runs) + 4:
			return tenant.DeleteAgentTest(context.Background(), tests[0].ID)
		}
		run, err := tenant.ClaimRun(context.Background(), runs[i].ID, 1)
		if err != nil || run == nil {
			return err
		}
		run.Status = model.AgentTestRunStatusPassed
		return tenant.FinishRun(context.Background(), run)
	}))
	for i, execution := range executions {
		after, err := tenant.AgentTestExecution(t.Context(), execution.ID)
		require.NoError(t, err)
		require.True(t, after.IsFinished())
		require.Zero(t, after.Unfinished)
		c := counts(t, tenant, execution.ID)
		require.EqualValues(t, len(tests), c.Passed+c.Cancelled)
		if i > 1 {
			require.EqualValues(t, len(tests), c.Passed)
		}
	}
}

// Every change of a run locks its test before its execution. Otherwise, a cancellation and the end of a run could
// deadlock.
func TestCancellationLocksTestsBeforeExecution(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfSharded(t) // waitForLocks does not see locks of shards
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	queued := newRun(t, tenant)
	finishing, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = finishing.Exec(t.Context(), "SELECT FROM agent_tests FOR NO KEY UPDATE")
	require.NoError(t, err)
	cancelled := make(chan error, 1)
	go func() {
		_, err := tenant.CancelAgentTestExecution(context.Background(),
			model.CancelAgentTestExecutionInput{ExecutionID: queued.ExecutionID})
		cancelled <- err
	}()
	waitForLocks(t, connect(t, conn.Config().ConnString()), 1)
	_, err = finishing.Exec(t.Context(), "SELECT FROM agent_test_executions FOR NO KEY UPDATE NOWAIT")
	require.NoError(t, err)
	require.NoError(t, finishing.Commit(t.Context()))
	require.NoError(t, <-cancelled)
}

func TestAgentIsDeletedWhileItsTestsRun(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	tests := []string{newSimulationTest(t, tenant, agent.ID).ID, newSimulationTest(t, tenant, other.ID).ID}
	first, second := start(t, tenant, tests...), start(t, tenant, tests[0])
	runs := append(runsOf(t, tenant, first.ID), runsOf(t, tenant, second.ID)...)
	require.Empty(t, together(len(runs)+2, func(i int) error {
		switch i {
		case len(runs):
			return tenant.DeleteAgent(context.Background(), agent.ID)
		case len(runs) + 1:
			return tenant.DeleteAgent(context.Background(), other.ID)
		}
		return finish(t, tenant, runs[i].ID, model.AgentTestRunStatusPassed)
	}))
	for _, id := range []string{first.ID, second.ID} {
		after, err := tenant.AgentTestExecution(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, model.AgentTestExecutionStatusCompleted, after.Status())
		require.Nil(t, after.AgentID)
	}
}
