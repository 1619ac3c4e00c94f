package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

func TestReleasedRunIsQueuedAgain(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	queued := newRun(t, tenant)
	for attempt := range int32(model.MaxLost + 3) {
		run, err := tenant.ClaimRun(t.Context(), queued.ID, attempt+1)
		require.NoError(t, err)
		require.NotNil(t, run, "a run can be released any number of times")
		run.Messages = []model.TestMessage{{Role: model.MessageRoleAssistant, Text: "half of it"}}
		run.TurnCount = 1
		require.NoError(t, tenant.ReleaseRun(t.Context(), run))
		released := runByID(t, tenant, queued.ID)
		require.Equal(t, model.AgentTestRunStatusQueued, released.Status)
		require.Zero(t, released.Lost)
		require.Empty(t, released.Messages)
		require.Zero(t, released.TurnCount)
		require.Nil(t, released.StartedAt)
		require.Equal(t, queued.Snapshot, runsOf(t, tenant, queued.ExecutionID)[0].Snapshot)
		lastRun(t, tenant, queued.TestedID, queued.ID, model.AgentTestRunStatusQueued)
		require.ErrorIs(t, tenant.ReleaseRun(t.Context(), run), db.ErrRunLost)
		run.Status = model.AgentTestRunStatusPassed
		fails(t, tenant.FinishRun(t.Context(), run), model.Conflict)
		late, err := tenant.ClaimRun(t.Context(), queued.ID, attempt+1)
		require.NoError(t, err)
		require.Nil(t, late, "an attempt claims a run once")
	}
	run, err := tenant.ClaimRun(t.Context(), queued.ID, 100)
	require.NoError(t, err)
	require.NotNil(t, run.StartedAt)
	run.Status = model.AgentTestRunStatusPassed
	require.NoError(t, tenant.FinishRun(t.Context(), run))
}

func TestReleasedCancelledRunIsCancelled(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	first, second := newRun(t, tenant), newRun(t, tenant)
	for _, queued := range []*model.AgentTestRun{first, second} {
		run, err := tenant.ClaimRun(t.Context(), queued.ID, 1)
		require.NoError(t, err)
		if queued == second {
			require.NoError(t, tenant.ReleaseRun(t.Context(), run))
		}
		_, err = cancel(t, tenant, run.ExecutionID)
		require.NoError(t, err)
		if queued == first {
			require.NoError(t, tenant.ReleaseRun(t.Context(), run))
		}
		require.Equal(t, model.AgentTestRunStatusCancelled, runByID(t, tenant, run.ID).Status)
		after, err := tenant.AgentTestExecution(t.Context(), run.ExecutionID)
		require.NoError(t, err)
		require.True(t, after.IsFinished())
	}
}

// A run without a job never gets a worker, so the sweep ends it.
func TestRunsWithoutJobsEnd(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	one, another := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID)
	queued, err := tenant.StartAgentTestExecution(t.Context(),
		model.StartAgentTestExecutionInput{TestIds: []string{one.ID, another.ID}, Repeats: 1, Concurrency: 1})
	require.NoError(t, err)
	running, cancelled := newRun(t, tenant), newRun(t, tenant)
	for _, run := range []*model.AgentTestRun{running, cancelled} {
		_, err := tenant.ClaimRun(t.Context(), run.ID, 1)
		require.NoError(t, err)
	}
	_, err = cancel(t, tenant, cancelled.ExecutionID)
	require.NoError(t, err)
	for _, table := range []string{"jobs", "river_job"} {
		_, err = conn.Exec(t.Context(), "DELETE FROM "+table)
		require.NoError(t, err)
	}
	alive := newRun(t, tenant)

	worked := make(chan string, 10)
	require.NoError(t, store.Work(t.Context(), 2,
		db.Workers{RunTest: func(ctx context.Context, t *db.Tenant, id string, attempt int32) error {
			run, err := t.ClaimRun(ctx, id, attempt)
			if err != nil || run == nil {
				return err
			}
			run.Status = model.AgentTestRunStatusPassed
			worked <- id
			return t.FinishRun(ctx, run)
		}}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	for _, id := range []string{queued.ID, running.ExecutionID, cancelled.ExecutionID, alive.ExecutionID} {
		require.Eventually(t, func() bool {
			execution, err := tenant.AgentTestExecution(t.Context(), id)
			return err == nil && execution.IsFinished()
		}, time.Minute, 10*time.Millisecond, id)
	}
	runs := runsOf(t, tenant, queued.ID)
	for _, run := range []*model.AgentTestRun{runs[0], runByID(t, tenant, running.ID)} {
		require.Equal(t, model.AgentTestRunStatusError, run.Status)
		require.Equal(t, model.RunErrorCauseInfrastructure, run.Error.Cause)
		require.Contains(t, run.Error.Message, "started the run several times")
	}
	require.Equal(t, model.AgentTestRunStatusCancelled, runByID(t, tenant, cancelled.ID).Status)
	require.Equal(t, model.AgentTestRunStatusPassed, runs[1].Status, "the next run continues")
	require.Equal(t, model.AgentTestRunStatusPassed, runByID(t, tenant, alive.ID).Status)
	require.ElementsMatch(t, []string{runs[1].ID, alive.ID}, []string{<-worked, <-worked})
	execution, err := tenant.AgentTestExecution(t.Context(), queued.ID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCompleted, execution.Status())
}

func TestRunThatKeepsFailingEnds(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	queued := newRun(t, tenant)
	_, err := conn.Exec(t.Context(), "UPDATE jobs SET failures = 2")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE river_job SET args = jsonb_set(args, '{failures}', '2')")
	require.NoError(t, err)
	require.NoError(t, store.Work(t.Context(), 1,
		db.Workers{RunTest: func(ctx context.Context, t *db.Tenant, id string, attempt int32) error {
			if _, err := t.ClaimRun(ctx, id, attempt); err != nil {
				return err
			}
			return errors.New("it does not work")
		}}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	require.Eventually(t, func() bool { return runByID(t, tenant, queued.ID).Status.IsFinal() }, time.Minute,
		10*time.Millisecond)
	require.Equal(t, model.RunErrorCauseInfrastructure, runByID(t, tenant, queued.ID).Error.Cause)
}
