package db_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// jobRecorder replaces the queue and records enqueued jobs in order.
type jobRecorder struct {
	mu   sync.Mutex
	runs []string
	fail error
}

func (l *jobRecorder) enqueue(_ context.Context, tx bun.Tx, companyID string, runIDs []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	if companyID == "" || tx.Tx == nil {
		return errors.New("nothing to enqueue into")
	}
	l.runs = append(l.runs, runIDs...)
	return nil
}

// take returns the recorded jobs and clears them.
func (l *jobRecorder) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := l.runs
	l.runs = nil
	return runs
}

func recordingJobs(t *testing.T) (*db.Tenant, *jobRecorder) {
	t.Helper()
	queue := &jobRecorder{}
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), db.Options{Enqueue: queue.enqueue}))
	return tenant, queue
}

func counts(t *testing.T, tenant *db.Tenant, executionID string) model.AgentTestRunCounts {
	t.Helper()
	all, err := tenant.CountsOfExecutions(t.Context(), []string{executionID, "execution_none"})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return *all[executionID]
}

func TestExecutionRunsTheNamedTests(t *testing.T) {
	t.Parallel()
	tenant, queue := recordingJobs(t)
	agent, other := newTaggedAgent(t, tenant, "New"), newAgent(t, tenant)
	folder, empty := newFolder(t, tenant, agent.ID, "Smoke"), newFolder(t, tenant, agent.ID, "Empty")
	a := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) { in.FolderID = &folder.ID })
	b := newClassificationTest(t, tenant, agent.ID, "Tags")
	c := newSimulationTest(t, tenant, other.ID)
	begin := func(in model.StartAgentTestExecutionInput) (*model.AgentTestExecution, error) {
		in.Repeats, in.Concurrency = max(in.Repeats, 1), 3
		return tenant.StartAgentTestExecution(t.Context(), in)
	}
	tested := func(execution *model.AgentTestExecution, err error) (ids []string) {
		require.NoError(t, err)
		for _, run := range runsOf(t, tenant, execution.ID) {
			ids = append(ids, *run.TestID)
		}
		return ids
	}
	require.Equal(t, []string{c.ID, a.ID},
		tested(begin(model.StartAgentTestExecutionInput{TestIds: []string{c.ID, a.ID, c.ID}})))
	require.Equal(t, []string{a.ID}, tested(begin(model.StartAgentTestExecutionInput{FolderID: &folder.ID})))
	require.Equal(t, []string{a.ID, b.ID, a.ID, b.ID},
		tested(begin(model.StartAgentTestExecutionInput{AgentID: &agent.ID, Repeats: 2})))
	queue.take()

	execution, err := begin(model.StartAgentTestExecutionInput{AgentID: &agent.ID, Repeats: 2, VirtualTime: true})
	require.NoError(t, err)
	runs := runsOf(t, tenant, execution.ID)
	require.Equal(t, []string{runs[0].ID, runs[1].ID, runs[2].ID}, queue.take())
	require.Equal(t, []int32{1, 1, 2, 2}, []int32{runs[0].Attempt, runs[1].Attempt, runs[2].Attempt, runs[3].Attempt})
	require.True(t, runs[0].Snapshot.VirtualTime)
	require.Equal(t, "New", runs[1].Snapshot.Test.TagExpected)
	require.Equal(t, agent.ID, runs[1].Snapshot.Agent.ID)
	lastRun(t, tenant, a.ID, runs[2].ID, model.AgentTestRunStatusQueued)
	lastRun(t, tenant, b.ID, runs[3].ID, model.AgentTestRunStatusQueued)
	require.Equal(t, model.AgentTestRunCounts{Total: 4, Queued: 4}, counts(t, tenant, execution.ID))
	page, err := tenant.AgentTestExecutions(t.Context(), model.PageArgs{First: 1}, &agent.ID, nil)
	require.NoError(t, err)
	page.Nodes[0].Owned = execution.Owned
	same(t, execution, page.Nodes[0])

	none := "none"
	for _, in := range []model.StartAgentTestExecutionInput{
		{TestIds: []string{a.ID, none}}, {FolderID: &none}, {AgentID: &none},
	} {
		_, err := begin(in)
		fails(t, err, model.NotFound)
	}
	_, err = begin(model.StartAgentTestExecutionInput{FolderID: &empty.ID})
	faults(t, err, model.BadInput, "folderId", "has no tests")
	_, err = begin(model.StartAgentTestExecutionInput{})
	fails(t, err, model.BadInput)

	queue.fail = errors.New("no queue")
	before := testByID(t, tenant, a.ID).Row().LastRunID
	_, err = begin(model.StartAgentTestExecutionInput{AgentID: &agent.ID})
	require.ErrorIs(t, err, queue.fail)
	require.Equal(t, before, testByID(t, tenant, a.ID).Row().LastRunID, "enqueued with the rows, or not at all")
}

func TestConcurrentRunsAreBounded(t *testing.T) {
	t.Parallel()
	tenant, queue := recordingJobs(t)
	agent := newAgent(t, tenant)
	const tests, allowed = 20, 3
	for range tests {
		newSimulationTest(t, tenant, agent.ID)
	}
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{AgentID: &agent.ID,
		Repeats: 2, Concurrency: allowed})
	require.NoError(t, err)
	var done []string
	for round := queue.take(); len(round) > 0; round = queue.take() {
		require.LessOrEqual(t, len(round), allowed)
		require.Empty(t, together(len(round), func(i int) error {
			return finish(t, tenant, round[i], model.AgentTestRunStatusPassed)
		}))
		done = append(done, round...)
	}
	require.Len(t, done, 2*tests)
	slices.Sort(done)
	require.Len(t, slices.Compact(done), 2*tests)
	after, err := tenant.AgentTestExecution(t.Context(), execution.ID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCompleted, after.Status())
	require.Equal(t, model.AgentTestRunCounts{Total: 2 * tests, Passed: 2 * tests}, counts(t, tenant, execution.ID))
	require.EqualValues(t, 1+2*2*tests, after.Version, "each change of a run adds one version")
	tallies, err := tenant.TalliesOfExecutions(t.Context(), []string{execution.ID})
	require.NoError(t, err)
	require.Len(t, tallies[execution.ID], tests)
	require.EqualValues(t, 2, tallies[execution.ID][0].Passed)
}

func TestRecentRunsAreBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	test := newSimulationTest(t, tenant, newAgent(t, tenant).ID)
	old := start(t, tenant, test.ID)
	begin := func() error {
		_, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: []string{test.ID},
			Repeats: 2, Concurrency: 1})
		return err
	}
	set := func(assignments string) {
		_, err := db.Raw(tenant).ExecContext(t.Context(), "UPDATE agent_test_executions SET "+assignments+
			" WHERE company_id = $1 AND id = $2", tenant.CompanyID(), old.ID)
		require.NoError(t, err)
	}
	set("run_count = 99999")
	require.Contains(t, fails(t, begin(), model.Unprocessable), "have 99999 runs: 2 more would exceed 100000")
	set("created_at = created_at - interval '2 hours'")
	require.Contains(t, fails(t, begin(), model.Unprocessable), "99999 runs", "it is unfinished")
	set("unfinished = 0, status = 'Completed', started_at = now(), finished_at = now()")
	require.NoError(t, begin())
	set("created_at = now()")
	require.Contains(t, fails(t, begin(), model.Unprocessable), "100001 runs", "it is recent")
	require.NoError(t, tenant.DeleteAgentTestExecution(t.Context(), old.ID))
	require.Contains(t, fails(t, begin(), model.Unprocessable), "100001 runs", "its runs are not removed yet")
}

func TestRetriesRunTheChosenRuns(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	a, b, c := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID),
		newSimulationTest(t, tenant, agent.ID)
	old, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: []string{a.ID, b.ID, c.ID}, Repeats: 2, Concurrency: 7, VirtualTime: true,
	})
	require.NoError(t, err)
	retry := func(id string, only model.AgentTestRetry) (*model.AgentTestExecution, error) {
		return tenant.RetryAgentTestExecution(t.Context(), model.RetryAgentTestExecutionInput{ExecutionID: id, Only: only})
	}
	_, err = retry(old.ID, model.AgentTestRetryAll)
	fails(t, err, model.Conflict)
	runs := runsOf(t, tenant, old.ID)
	for i, status := range []model.AgentTestRunStatus{
		model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed, model.AgentTestRunStatusPassed,
		model.AgentTestRunStatusPassed, model.AgentTestRunStatusError, model.AgentTestRunStatusFailed,
	} {
		require.NoError(t, finish(t, tenant, runs[i].ID, status))
	}
	_, err = tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: "Be brief."})
	require.NoError(t, err)
	before := runsOf(t, tenant, old.ID)

	for only, want := range map[model.AgentTestRetry][]string{
		model.AgentTestRetryNotPassed: {b.ID, c.ID, b.ID},
		model.AgentTestRetryErrors:    {b.ID},
		model.AgentTestRetryAll:       {a.ID, b.ID, c.ID, a.ID, b.ID, c.ID},
	} {
		execution, err := retry(old.ID, only)
		require.NoError(t, err)
		require.Equal(t, &old.ID, execution.RetryOfID)
		require.EqualValues(t, 7, execution.Concurrency)
		require.True(t, execution.VirtualTime)
		var tested []string
		for _, run := range runsOf(t, tenant, execution.ID) {
			tested = append(tested, run.TestedID)
			require.EqualValues(t, 2, run.PromptVersion)
			require.Equal(t, "Be brief.", run.Snapshot.Agent.Prompt)
		}
		require.Equal(t, want, tested, "%s", only)
	}
	same(t, before, runsOf(t, tenant, old.ID))
	require.EqualValues(t, 1, before[0].PromptVersion)

	good := start(t, tenant, a.ID)
	require.NoError(t, finish(t, tenant, runsOf(t, tenant, good.ID)[0].ID, model.AgentTestRunStatusPassed))
	_, err = retry(good.ID, model.AgentTestRetryNotPassed)
	faults(t, err, model.Unprocessable, "only", "no run")
	_, err = retry("execution_none", model.AgentTestRetryAll)
	fails(t, err, model.NotFound)
	_, err = retry(good.ID, "Some")
	faults(t, err, model.BadInput, "only", "must be one of")
}

func TestRetrySkipsDeletedTests(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	named := func(name string) *model.SimulationTest {
		return newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) { in.Name = name })
	}
	kept, gone, passed := named("Kept"), named("Gone"), named("Passed")
	old, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: []string{gone.ID, kept.ID, passed.ID}, Repeats: 2, Concurrency: 1,
	})
	require.NoError(t, err)
	for _, run := range runsOf(t, tenant, old.ID) {
		status := model.AgentTestRunStatusFailed
		if run.TestedID == passed.ID {
			status = model.AgentTestRunStatusPassed
		}
		require.NoError(t, finish(t, tenant, run.ID, status))
	}
	retry := func(id string, only model.AgentTestRetry) (*model.AgentTestExecution, error) {
		return tenant.RetryAgentTestExecution(t.Context(), model.RetryAgentTestExecutionInput{ExecutionID: id, Only: only})
	}
	stored := func(id string) []model.LeftOutTest {
		execution, err := tenant.AgentTestExecution(t.Context(), id)
		require.NoError(t, err)
		return execution.LeftOutTests
	}
	whole, err := retry(old.ID, model.AgentTestRetryNotPassed)
	require.NoError(t, err)
	require.Empty(t, stored(whole.ID))

	require.NoError(t, tenant.DeleteAgentTest(t.Context(), gone.ID))
	require.NoError(t, tenant.DeleteAgentTest(t.Context(), passed.ID))
	failed, err := retry(old.ID, model.AgentTestRetryNotPassed)
	require.NoError(t, err)
	require.Equal(t, []model.LeftOutTest{{TestID: gone.ID, TestName: "Gone"}}, failed.LeftOutTests,
		"the passed test would not have been repeated")
	require.Equal(t, failed.LeftOutTests, stored(failed.ID))
	runs := runsOf(t, tenant, failed.ID)
	require.Equal(t, []string{kept.ID, kept.ID}, []string{runs[0].TestedID, runs[1].TestedID})
	all, err := retry(old.ID, model.AgentTestRetryAll)
	require.NoError(t, err)
	require.Equal(t, []model.LeftOutTest{{TestID: gone.ID, TestName: "Gone"}, {TestID: passed.ID, TestName: "Passed"}},
		stored(all.ID))

	require.NoError(t, tenant.DeleteAgentTest(t.Context(), kept.ID))
	_, err = retry(old.ID, model.AgentTestRetryNotPassed)
	faults(t, err, model.Unprocessable, "executionId", "whose tests were all deleted")
	_, err = retry(old.ID, model.AgentTestRetryErrors)
	faults(t, err, model.Unprocessable, "only", "selects no run")
}

func TestRetrySucceedsWhileATestIsDeleted(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfSharded(t) // waitForLocks does not see locks of shards
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	kept, gone := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID)
	old := start(t, tenant, kept.ID, gone.ID)
	for _, run := range runsOf(t, tenant, old.ID) {
		require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusFailed))
	}
	again, errs := make(chan *model.AgentTestExecution, 1), make(chan error, 1)
	require.NoError(t, tenant.Tx(t.Context(), func(ctx context.Context, deleting *db.Tenant) error {
		if err := deleting.DeleteAgentTest(ctx, gone.ID); err != nil {
			return err
		}
		go func() {
			execution, err := tenant.RetryAgentTestExecution(t.Context(), model.RetryAgentTestExecutionInput{ExecutionID: old.ID,
				Only: model.AgentTestRetryAll})
			again <- execution
			errs <- err
		}()
		waitForLocks(t, conn, 1) // the retry has read the test
		return nil
	}))
	execution := <-again
	require.NoError(t, <-errs)
	require.Equal(t, []model.LeftOutTest{{TestID: gone.ID, TestName: gone.Name}}, execution.LeftOutTests)
	require.Len(t, runsOf(t, tenant, execution.ID), 1)
}

func TestSimulatorErrorsAreCounted(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	test := newSimulationTest(t, tenant, newAgent(t, tenant).ID)
	executions := []string{}
	for _, causes := range [][]model.RunErrorCause{{model.RunErrorCauseSimulator, model.RunErrorCauseJudge,
		model.RunErrorCauseSimulator}, {model.RunErrorCauseJudge}} {
		execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
			TestIds: []string{test.ID}, Repeats: int32(len(causes)), Concurrency: 5})
		require.NoError(t, err)
		executions = append(executions, execution.ID)
		for i, run := range runsOf(t, tenant, execution.ID) {
			claimed, err := tenant.ClaimRun(t.Context(), run.ID, 1)
			require.NoError(t, err)
			claimed.Status, claimed.Error = model.AgentTestRunStatusError, &model.RunError{Cause: causes[i], Message: "m"}
			require.NoError(t, tenant.FinishRun(t.Context(), claimed))
		}
	}
	counts, err := tenant.SimulatorErrorsOfExecutions(t.Context(), executions)
	require.NoError(t, err)
	require.Equal(t, map[string]int32{executions[0]: 2}, counts)
}
