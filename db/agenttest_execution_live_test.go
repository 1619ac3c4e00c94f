package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// next returns the channel's next value, and false once it is closed.
func next[E any](t *testing.T, from <-chan E) (E, bool) {
	t.Helper()
	select {
	case event, open := <-from:
		return event, open
	case <-time.After(time.Minute):
		require.Fail(t, "no value arrives")
		panic("unreachable")
	}
}

func TestFollowersSeeEveryRunToItsEnd(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	elsewhere := dbtest.Reopen(t, store).Tenant(company)
	agent := newAgent(t, tenant)
	for range 30 {
		newSimulationTest(t, tenant, agent.ID)
	}
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{AgentID: &agent.ID,
		Repeats: 5, Concurrency: 50})
	require.NoError(t, err)
	var ids []string
	all := map[string]model.AgentTestRunStatus{}
	for offset := int32(0); offset < 150; offset += 50 {
		runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
			model.PageArgs{First: 49, Offset: &offset}, "status")
		require.NoError(t, err)
		ids = append(ids, idsOf(runs)...)
	}
	require.Len(t, ids, 150)

	const followers = 3
	failed := make(chan error, 1)
	executions, err := elsewhere.FollowExecution(t.Context(), execution.ID)
	require.NoError(t, err)
	first, _ := next(t, executions)
	require.Equal(t, model.AgentTestExecutionStatusQueued, first.Status())
	runs := make([]<-chan *model.AgentTestRun, followers)
	for i := range runs {
		runs[i], err = []*db.Tenant{tenant, elsewhere}[i%2].FollowRuns(t.Context(), execution.ID)
		require.NoError(t, err)
	}
	go func() {
		errs := together(10, func(i int) error {
			for ; i < len(ids); i += 10 {
				if err := finish(t, tenant, ids[i], model.AgentTestRunStatusPassed); err != nil {
					return err
				}
			}
			return nil
		})
		failed <- append(errs, nil)[0]
	}()
	for _, follower := range runs {
		clear(all)
		version := int32(0)
		for run, open := next(t, follower); open; run, open = next(t, follower) {
			require.GreaterOrEqual(t, run.Version, version, "in order")
			version = run.Version
			require.Nil(t, run.Snapshot.Agent)
			require.False(t, all[run.ID].IsValid() && all[run.ID].IsFinal(), "a final run is delivered once")
			all[run.ID] = run.Status
		}
		require.Len(t, all, 150)
		for _, status := range all {
			require.Equal(t, model.AgentTestRunStatusPassed, status)
		}
	}
	last := first
	for execution, open := next(t, executions); open; execution, open = next(t, executions) {
		require.Greater(t, execution.Version, last.Version)
		last = execution
	}
	require.Equal(t, model.AgentTestExecutionStatusCompleted, last.Status())
	require.NoError(t, <-failed)
}

func TestFollowingAFinishedExecutionEndsAtOnce(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	run := newRun(t, tenant)
	_, err := cancel(t, tenant, run.ExecutionID)
	require.NoError(t, err)
	runs, err := tenant.FollowRuns(t.Context(), run.ExecutionID)
	require.NoError(t, err)
	seen, _ := next(t, runs)
	require.Equal(t, model.AgentTestRunStatusCancelled, seen.Status)
	_, open := next(t, runs)
	require.False(t, open)
	executions, err := tenant.FollowExecution(t.Context(), run.ExecutionID)
	require.NoError(t, err)
	execution, _ := next(t, executions)
	require.True(t, execution.IsFinished())
	_, open = next(t, executions)
	require.False(t, open)
}

func TestExecutionFollowersEndWithTheirContext(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	run := newRun(t, tenant)
	ctx, leave := context.WithCancel(t.Context())
	executions, err := tenant.FollowExecution(ctx, run.ExecutionID)
	require.NoError(t, err)
	runs, err := tenant.FollowRuns(ctx, run.ExecutionID)
	require.NoError(t, err)
	next(t, runs)
	leave()
	for open := true; open; {
		_, open = next(t, executions)
	}
	_, open := next(t, runs)
	require.False(t, open)
	_, err = tenant.FollowRuns(t.Context(), "execution_none")
	fails(t, err, model.NotFound)
	_, err = tenant.FollowExecution(t.Context(), "execution_none")
	fails(t, err, model.NotFound)
}
