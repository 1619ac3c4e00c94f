package db_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// atOnce calls fn concurrently for each run, and returns the errors.
func atOnce(runs []*model.AgentTestRun, fn func(run *model.AgentTestRun) error) []error {
	errs := make([]error, len(runs))
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, run := range runs {
		all.Go(func() {
			<-start
			errs[i] = fn(run)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// One process claims and finishes runs of two executions at the same time. Each transition counts once, and a
// transition that cannot be written does not delay the others.
func TestConcurrentRunTransitionsAreCountedOnce(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agentID := newAgent(t, tenant).ID
	tests := make([]string, 8)
	for i := range tests {
		tests[i] = newSimulationTest(t, tenant, agentID).ID
	}
	var executions []*model.AgentTestExecution
	var runs []*model.AgentTestRun
	for range 2 {
		execution, err := tenant.StartAgentTestExecution(t.Context(),
			model.StartAgentTestExecutionInput{TestIds: tests, Repeats: 5, Concurrency: 10})
		require.NoError(t, err)
		executions = append(executions, execution)
		runs = append(runs, runsOf(t, tenant, execution.ID)...)
	}

	claimed := map[string]*model.AgentTestRun{}
	var mu sync.Mutex
	for _, err := range atOnce(append(runs, runs...), func(run *model.AgentTestRun) error {
		got, err := tenant.ClaimRun(t.Context(), run.ID, 1)
		mu.Lock()
		defer mu.Unlock()
		if got != nil {
			require.NotContains(t, claimed, got.ID, "a run has one worker")
			claimed[got.ID] = got
		}
		return err
	}) {
		require.NoError(t, err)
	}
	require.Len(t, claimed, len(runs))

	unwritable := runs[7].ID
	for i, err := range atOnce(runs, func(run *model.AgentTestRun) error {
		mine := claimed[run.ID]
		reason := "the end of " + run.ID
		if run.ID == unwritable {
			reason += "\x00"
		}
		mine.Status, mine.EndReason, mine.TurnCount = model.AgentTestRunStatusPassed, &reason, run.Position
		return tenant.FinishRun(t.Context(), mine)
	}) {
		if runs[i].ID == unwritable {
			require.Contains(t, fails(t, err, model.BadInput), "U+0000")
			continue
		}
		require.NoError(t, err)
	}

	for i, execution := range executions {
		versions := map[int32]bool{}
		for _, run := range runsOf(t, tenant, execution.ID) {
			versions[run.Version] = true
			if run.ID == unwritable {
				require.Equal(t, model.AgentTestRunStatusRunning, run.Status)
				require.Nil(t, run.EndReason)
				continue
			}
			require.Equal(t, model.AgentTestRunStatusPassed, run.Status)
			require.Equal(t, "the end of "+run.ID, *run.EndReason, "each has its own outcome")
			require.Equal(t, run.Position, run.TurnCount)
			require.NotNil(t, run.DurationMs)
		}
		require.Len(t, versions, 40, "no two transitions have the same version")
		now, err := tenant.AgentTestExecution(t.Context(), execution.ID)
		require.NoError(t, err)
		require.Equal(t, i == 1, now.IsFinished(), strconv.Itoa(int(now.Unfinished)))
		require.EqualValues(t, 1-i, now.Unfinished)
	}
	for _, id := range tests {
		require.NotEqual(t, model.AgentTestRunStatusQueued, *testByID(t, tenant, id).Row().LastRunStatus)
	}
}

// After lost connections, jobs run again whose runs have ended. Such a run can share a transaction with others, and its
// execution does not end again.
func TestExecutionEndsOnceWhenItsJobRunsAgain(t *testing.T) {
	t.Parallel()
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), dbtest.Options()))
	test := newSimulationTest(t, tenant, newAgent(t, tenant).ID)
	hook, _ := newWebhook(t, tenant, model.WebhookEventAgentTestExecutionEnded)
	ended := newRun(t, tenant)
	require.NoError(t, finish(t, tenant, ended.ID, model.AgentTestRunStatusPassed))
	types, _ := sentTo(t, tenant, hook.ID)
	require.Len(t, types, 1)

	execution, err := tenant.StartAgentTestExecution(t.Context(),
		model.StartAgentTestExecutionInput{TestIds: []string{test.ID}, Repeats: 20, Concurrency: 20})
	require.NoError(t, err)
	runs := []*model.AgentTestRun{}
	for _, run := range runsOf(t, tenant, execution.ID) {
		runs = append(runs, run, ended)
	}
	for _, err := range atOnce(runs, func(run *model.AgentTestRun) error {
		_, err := tenant.ClaimRun(t.Context(), run.ID, 2)
		return err
	}) {
		require.NoError(t, err)
	}
	types, _ = sentTo(t, tenant, hook.ID)
	require.Len(t, types, 1)
}
