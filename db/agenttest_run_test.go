package db_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func start(t *testing.T, tenant *db.Tenant, testIDs ...string) *model.AgentTestExecution {
	t.Helper()
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: testIDs,
		Repeats: 1, Concurrency: 5})
	require.NoError(t, err)
	return execution
}

// runsOf returns the runs of an execution, in the order in which they run.
func runsOf(t *testing.T, tenant *db.Tenant, executionID string) []*model.AgentTestRun {
	t.Helper()
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{executionID},
		model.PageArgs{First: 100})
	require.NoError(t, err)
	ordered, ids := make([]*model.AgentTestRun, len(runs)), make([]string, len(runs))
	for _, run := range runs {
		ordered[run.Position], ids[run.Position] = run, run.ID
	}
	kept, err := tenant.RunsWithSnapshots(t.Context(), ids, "position")
	require.NoError(t, err)
	for _, run := range kept {
		ordered[run.Position].Snapshot = run.Snapshot
	}
	return ordered
}

// finish claims a run for the first time and finishes it.
func finish(t *testing.T, tenant *db.Tenant, runID string, status model.AgentTestRunStatus) error {
	t.Helper()
	run, err := tenant.ClaimRun(t.Context(), runID, 1)
	if err != nil {
		return err
	}
	if run == nil {
		return fmt.Errorf("there is nothing to do for run %s", runID)
	}
	run.Status = status
	if status == model.AgentTestRunStatusError {
		run.Error = &model.RunError{Cause: model.RunErrorCauseJudge, Message: "no verdict"}
	}
	return tenant.FinishRun(t.Context(), run)
}

func runByID(t *testing.T, tenant *db.Tenant, id string) *model.AgentTestRun {
	t.Helper()
	runs, err := dbtest.Find[*model.AgentTestRun](t.Context(), tenant, db.AgentTestRunRows, []string{id})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	return runs[0]
}

// newRun returns the only run of a new execution of a new test.
func newRun(t *testing.T, tenant *db.Tenant) *model.AgentTestRun {
	t.Helper()
	test := newSimulationTest(t, tenant, newAgent(t, tenant).ID)
	return runsOf(t, tenant, start(t, tenant, test.ID).ID)[0]
}

// lastRun requires that this run, with this status, is the test's most recent run.
func lastRun(t *testing.T, tenant *db.Tenant, testID, runID string, status model.AgentTestRunStatus) {
	t.Helper()
	test := testByID(t, tenant, testID).Row()
	require.NotNil(t, test.LastRunID)
	require.Equal(t, runID, *test.LastRunID)
	require.Equal(t, status, *test.LastRunStatus)
	require.NotNil(t, test.LastRunAt)
}

func TestRunIsClaimedAndFinished(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	queued := newRun(t, tenant)
	require.Equal(t, model.AgentTestRunStatusQueued, queued.Status)
	types, err := tenant.Types(t.Context(), []string{queued.ID, queued.ExecutionID})
	require.NoError(t, err)
	require.Equal(t, map[string]string{queued.ID: "agent test run", queued.ExecutionID: "agent test execution"}, types)
	lastRun(t, tenant, queued.TestedID, queued.ID, model.AgentTestRunStatusQueued)

	run, err := tenant.ClaimRun(t.Context(), queued.ID, 1)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestRunStatusRunning, run.Status)
	require.NotNil(t, run.StartedAt)
	require.Equal(t, "You want an appointment.", run.Snapshot.Test.Scenario)
	require.Equal(t, "Be kind.", run.Snapshot.Agent.Prompt)
	lastRun(t, tenant, queued.TestedID, queued.ID, model.AgentTestRunStatusRunning)
	execution, err := tenant.AgentTestExecution(t.Context(), queued.ExecutionID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusRunning, execution.Status())
	require.False(t, execution.IsFinished())

	reason, result := "done", "it's \x00 \\u0000"
	run.Status, run.TurnCount, run.EndReason = model.AgentTestRunStatusFailed, 3, &reason
	run.Messages = []model.TestMessage{{Role: model.MessageRoleAssistant, Text: "it's \\u0000 'me'"}}
	run.ToolCalls = []*model.ToolCall{{ID: "call_1", Kind: model.ToolCallKindTool,
		Arguments: model.JSONObject(`{"b":1,"a":2}`), Result: &result}}
	run.CriteriaResults = []model.CriterionResult{{Criterion: "a", Rationale: "b",
		Evidence: []model.Evidence{{Quote: "it's"}}}}
	run.Error = &model.RunError{Cause: model.RunErrorCauseJudge, Message: "c"}
	require.NoError(t, tenant.FinishRun(t.Context(), run))
	stored := runByID(t, tenant, run.ID)
	stored.Snapshot = run.Snapshot // the execution stores the snapshot
	for _, r := range []*model.AgentTestRun{run, stored} {
		r.Owned = model.Owned{CompanyID: run.CompanyID}
	}
	same(t, run, stored)
	require.Equal(t, run.FinishedAt.Sub(*run.StartedAt).Milliseconds(), int64(*stored.DurationMs))
	lastRun(t, tenant, queued.TestedID, queued.ID, model.AgentTestRunStatusFailed)
	execution, err = tenant.AgentTestExecution(t.Context(), queued.ExecutionID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCompleted, execution.Status())
	require.True(t, execution.IsFinished())
	require.Equal(t, stored.Version, execution.Version)

	// A final run does not change.
	require.Contains(t, fails(t, tenant.FinishRun(t.Context(), run), model.Conflict), "has ended")
	run, err = tenant.ClaimRun(t.Context(), queued.ID, 2)
	require.NoError(t, err)
	require.Nil(t, run)
	_, err = tenant.ClaimRun(t.Context(), "run_none", 1)
	fails(t, err, model.NotFound)
	require.ErrorContains(t, tenant.FinishRun(t.Context(), queued), "is not final")
}

func TestConcurrentClaimsHaveOneWinner(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	elsewhere := dbtest.Reopen(t, store).Tenant(company)
	queued := newRun(t, tenant)
	var claimed atomic.Int32
	require.Empty(t, together(16, func(i int) error {
		run, err := []*db.Tenant{tenant, elsewhere}[i%2].ClaimRun(t.Context(), queued.ID, 1)
		if run != nil {
			claimed.Add(1)
		}
		return err
	}))
	require.EqualValues(t, 1, claimed.Load())
	require.Zero(t, runByID(t, tenant, queued.ID).Lost)
}

func TestRunOfLostWorkerStartsAgain(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	queued := newRun(t, tenant)
	dead, err := tenant.ClaimRun(t.Context(), queued.ID, 1)
	require.NoError(t, err)
	held, stop := tenant.WatchRun(t.Context(), dead)
	defer stop()
	alive, err := tenant.ClaimRun(t.Context(), queued.ID, 2)
	require.NoError(t, err)
	require.EqualValues(t, 1, alive.Lost)
	require.True(t, dead.StartedAt.Equal(*alive.StartedAt))

	// A worker that was wrongly considered dead may still try to finish.
	<-held.Done()
	require.ErrorIs(t, context.Cause(held), db.ErrRunLost)
	dead.Status = model.AgentTestRunStatusPassed
	fails(t, tenant.FinishRun(t.Context(), dead), model.Conflict)
	alive.Status = model.AgentTestRunStatusFailed
	require.NoError(t, tenant.FinishRun(t.Context(), alive))
	require.Equal(t, model.AgentTestRunStatusFailed, runByID(t, tenant, queued.ID).Status)
}

// A worker gets no signal if the run was cancelled before the worker watched it, or if the worker watches it for
// another company.
func TestCancelledRunIsDetectedWithoutSignals(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	queued := newRun(t, tenant)
	run, err := tenant.ClaimRun(t.Context(), queued.ID, 1)
	require.NoError(t, err)
	_, err = cancel(t, tenant, queued.ExecutionID)
	require.NoError(t, err)
	held, stop := tenant.WatchRun(t.Context(), run)
	defer stop()
	foreign, stop := other.WatchRun(t.Context(), run)
	defer stop()
	<-held.Done()
	require.ErrorIs(t, context.Cause(held), db.ErrRunCancelled)
	<-foreign.Done()
	require.ErrorIs(t, context.Cause(foreign), db.ErrRunLost)
}

func TestRunThatLosesTooManyWorkersFails(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	queued := newRun(t, tenant)
	for attempt := range int32(model.MaxLost + 1) {
		run, err := tenant.ClaimRun(t.Context(), queued.ID, attempt+1)
		require.NoError(t, err)
		require.Equal(t, attempt, run.Lost)
	}
	run, err := tenant.ClaimRun(t.Context(), queued.ID, model.MaxLost+2)
	require.NoError(t, err)
	require.Nil(t, run)
	stored := runByID(t, tenant, queued.ID)
	require.Equal(t, model.AgentTestRunStatusError, stored.Status)
	require.Equal(t, model.RunErrorCauseInfrastructure, stored.Error.Cause)
	lastRun(t, tenant, stored.TestedID, stored.ID, model.AgentTestRunStatusError)
	execution, err := tenant.AgentTestExecution(t.Context(), queued.ExecutionID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCompleted, execution.Status())
}

func TestRunStartedOnAFastClockHasZeroDuration(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	run, err := tenant.ClaimRun(t.Context(), newRun(t, tenant).ID, 1)
	require.NoError(t, err)
	ahead := run.StartedAt.Add(time.Hour)
	run.Status, run.StartedAt = model.AgentTestRunStatusPassed, &ahead
	require.NoError(t, tenant.FinishRun(t.Context(), run))
	require.Zero(t, *runByID(t, tenant, run.ID).DurationMs)
}

func TestOnlyTheNewestRunIsTheLastRun(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	older := newRun(t, tenant)
	newer := runsOf(t, tenant, start(t, tenant, older.TestedID).ID)[0]
	require.NoError(t, finish(t, tenant, newer.ID, model.AgentTestRunStatusPassed))
	require.NoError(t, finish(t, tenant, older.ID, model.AgentTestRunStatusFailed))
	lastRun(t, tenant, older.TestedID, newer.ID, model.AgentTestRunStatusPassed)

	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfTests, nil, []string{older.TestedID},
		model.PageArgs{First: 10}, "status")
	require.NoError(t, err)
	require.Equal(t, []string{newer.ID, older.ID}, idsOf(runs))
}

func TestRunsShareSnapshots(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	ids := []string{newSimulationTest(t, tenant, agent.ID).ID, newSimulationTest(t, tenant, agent.ID).ID}
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: ids,
		Repeats: 3, Concurrency: 1, VirtualTime: true})
	require.NoError(t, err)
	runs := runsOf(t, tenant, execution.ID)
	require.Len(t, runs, 6)
	kept := func(query string) (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&n))
		return n
	}
	require.Equal(t, 3, kept("SELECT count(*) FROM agent_test_snapshots"), "two tests and their agent")
	require.Zero(t, kept("SELECT count(*) FROM agent_test_runs WHERE snapshot IS NOT NULL"))
	for i, run := range runs {
		require.Equal(t, ids[i%2], run.Snapshot.Test.ID)
		require.Equal(t, agent.Prompt, run.Snapshot.Agent.Prompt)
		require.True(t, run.Snapshot.VirtualTime)
	}
	// A run of an older program has its own snapshot.
	_, err = conn.Exec(t.Context(),
		`UPDATE agent_test_runs SET snapshot = '{"test": {"Scenario": "Its own"}, "agent": {}}' WHERE id = $1`, runs[1].ID)
	require.NoError(t, err)
	for _, run := range []*model.AgentTestRun{runs[0], runs[1]} {
		claimed, err := tenant.ClaimRun(t.Context(), run.ID, 1)
		require.NoError(t, err)
		require.Equal(t, run.ID == runs[1].ID, claimed.Snapshot.Test.Scenario == "Its own")
	}
	_, err = tenant.CancelAgentTestExecution(t.Context(), model.CancelAgentTestExecutionInput{ExecutionID: execution.ID})
	require.NoError(t, err)
	for _, run := range runs[:2] {
		run.Status, run.Claim = model.AgentTestRunStatusCancelled, 1
		require.NoError(t, tenant.FinishRun(t.Context(), run))
	}
	require.NoError(t, tenant.DeleteAgentTestExecution(t.Context(), execution.ID))
	require.NoError(t, db.Sweep(store)(t.Context()))
	require.Zero(t, kept("SELECT count(*) FROM agent_test_snapshots"))
}
