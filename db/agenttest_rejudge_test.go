package db_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// hold gives a run a conversation, and a verdict on one of its criteria.
func hold(t *testing.T, tenant *db.Tenant, runID string, passed bool) {
	t.Helper()
	run, err := tenant.ClaimRun(t.Context(), runID, 1)
	require.NoError(t, err)
	run.Status = map[bool]model.AgentTestRunStatus{true: model.AgentTestRunStatusPassed,
		false: model.AgentTestRunStatusFailed}[passed]
	run.EndReason, run.Held = new("It is over."), &model.HeldConversation{EndedBy: "agent", IsMeasured: true}
	run.CriteriaResults = []model.CriterionResult{{Criterion: "Is polite", Passed: passed, Rationale: "r",
		Evidence: []model.Evidence{}}}
	require.NoError(t, tenant.FinishRun(t.Context(), run))
}

func rejudge(original *model.AgentTestExecution) model.RejudgeAgentTestExecutionInput {
	return model.RejudgeAgentTestExecutionInput{ExecutionID: original.ID, Criteria: model.RejudgedCriteriaAsRun,
		Concurrency: 5}
}

func TestConversationsAreJudgedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	kept, gone, silent := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID),
		newSimulationTest(t, tenant, agent.ID)
	old := start(t, tenant, kept.ID, gone.ID, silent.ID)
	_, err := tenant.RejudgeAgentTestExecution(ctx, rejudge(old))
	fails(t, err, model.Conflict)
	held := runsOf(t, tenant, old.ID)
	hold(t, tenant, held[0].ID, true)
	hold(t, tenant, held[1].ID, false)
	require.NoError(t, finish(t, tenant, held[2].ID, model.AgentTestRunStatusFailed)) // without a conversation
	require.NoError(t, tenant.DeleteAgentTest(ctx, gone.ID))
	_, err = tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{TestID: kept.ID,
		Criteria: []string{"Is kind"}})
	require.NoError(t, err)

	in := rejudge(old)
	in.Model, in.Votes = new("lenient"), new(int32(3))
	in.Tests = []*model.RejudgedTestInput{{TestID: gone.ID, Criteria: []string{"Is brief", "Is kind"},
		CriteriaWeights: []*int32{new(int32(2))}}}
	again, err := tenant.RejudgeAgentTestExecution(ctx, in)
	require.NoError(t, err)
	require.Equal(t, old.ID, *again.RejudgeOfID)
	require.Equal(t, "lenient", *again.JudgeModel)
	runs := runsOf(t, tenant, again.ID)
	require.Len(t, runs, 2, "a run without a conversation is not judged")
	require.Equal(t, []string{held[0].ID, held[1].ID}, []string{*runs[0].RejudgeOfID, *runs[1].RejudgeOfID})
	require.Nil(t, runs[1].TestID)
	require.Equal(t, held[0].Snapshot.Test.Criteria, runs[0].Snapshot.Test.Criteria, "unchanged")
	require.Equal(t, []string{"Is brief", "Is kind"}, runs[1].Snapshot.Test.Criteria)
	require.Equal(t, "lenient", runs[0].Snapshot.JudgeModel)
	require.Zero(t, runs[0].Snapshot.Test.MaxTurns, "a process of an older version holds no conversation")
	require.EqualValues(t, 3, runs[0].Snapshot.Votes)
	lastRun(t, tenant, kept.ID, held[0].ID, model.AgentTestRunStatusPassed)

	first, err := tenant.ClaimRun(ctx, runs[0].ID, 1)
	require.NoError(t, err)
	first.Status = model.AgentTestRunStatusFailed
	first.CriteriaResults = []model.CriterionResult{{Criterion: "Is polite"}, {Criterion: "Is new"}}
	first.Compare(runByID(t, tenant, held[0].ID))
	require.NoError(t, tenant.FinishRun(ctx, first))
	require.NoError(t, finish(t, tenant, runs[1].ID, model.AgentTestRunStatusFailed))
	lastRun(t, tenant, kept.ID, held[0].ID, model.AgentTestRunStatusPassed)
	failing, err := tenant.FailuresOfTests(ctx, []string{kept.ID})
	require.NoError(t, err)
	require.Empty(t, failing, "a verdict on an old conversation does not count for the current test")
	agreements, err := tenant.AgreementsOfExecutions(ctx, []string{old.ID, again.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]*model.JudgeAgreement{again.ID: {Runs: 2, SameRuns: 1, Criteria: 1}}, agreements)

	in = rejudge(old)
	in.Criteria = model.RejudgedCriteriaPresent
	present, err := tenant.RejudgeAgentTestExecution(ctx, in)
	require.NoError(t, err)
	require.Nil(t, present.JudgeModel)
	require.Equal(t, []model.LeftOutTest{{TestID: gone.ID, TestName: gone.Name}}, present.LeftOutTests)
	require.Equal(t, []string{"Is kind"}, runsOf(t, tenant, present.ID)[0].Snapshot.Test.Criteria)

	for name, test := range map[string]struct {
		change func(*model.RejudgeAgentTestExecutionInput)
		code   model.Code
		field  string
		says   string
	}{
		"two votes": {func(in *model.RejudgeAgentTestExecutionInput) { in.Votes = new(int32(2)) }, model.BadInput,
			"votes", "must be 1, 3 or 5, not 2"},
		"a criterion empty": {func(in *model.RejudgeAgentTestExecutionInput) { in.Tests[0].Criteria = []string{""} },
			model.BadInput, "tests.0.criteria.0", "must not be empty"},
		"a test twice": {func(in *model.RejudgeAgentTestExecutionInput) { in.Tests = append(in.Tests, in.Tests[0]) },
			model.BadInput,
			"tests.1.testId", "must name each test once"},
		"a test without a conversation": {func(in *model.RejudgeAgentTestExecutionInput) { in.Tests[0].TestID = silent.ID },
			model.Unprocessable,
			"tests.0.testId", "names a test that has no conversation in the execution"},
		"what was judged again": {func(in *model.RejudgeAgentTestExecutionInput) { in.ExecutionID = again.ID },
			model.Unprocessable,
			"executionId", "names an execution that only judged conversations again: name the original execution \"" +
				old.ID + "\""},
	} {
		in := rejudge(old)
		in.Tests = []*model.RejudgedTestInput{{TestID: kept.ID, Criteria: []string{"Is kind"}}}
		test.change(&in)
		_, err := tenant.RejudgeAgentTestExecution(ctx, in)
		require.Error(t, err, name)
		faults(t, err, test.code, test.field, test.says)
	}
	other, _ := newCompany(t, store)
	_, err = other.RejudgeAgentTestExecution(ctx, rejudge(old))
	fails(t, err, model.NotFound)
	_, err = tenant.RetryAgentTestExecution(ctx, model.RetryAgentTestExecutionInput{ExecutionID: again.ID,
		Only: model.AgentTestRetryAll})
	fails(t, err, model.Unprocessable)

	fails(t, tenant.DeleteAgentTestExecution(ctx, old.ID), model.Conflict)
	_, err = tenant.CancelAgentTestExecution(ctx, model.CancelAgentTestExecutionInput{ExecutionID: present.ID})
	require.NoError(t, err)
	for range model.MaxRejudgements - 2 {
		more, err := tenant.RejudgeAgentTestExecution(ctx, rejudge(old))
		require.NoError(t, err)
		_, err = tenant.CancelAgentTestExecution(ctx, model.CancelAgentTestExecutionInput{ExecutionID: more.ID})
		require.NoError(t, err)
	}
	_, err = tenant.RejudgeAgentTestExecution(ctx, rejudge(old))
	faults(t, err, model.Unprocessable, "executionId", "names an execution that was judged again 20 times, the maximum: "+
		"delete one of the executions that judged it again")
	require.NoError(t, tenant.DeleteAgentTestExecution(ctx, old.ID))
	left, err := tenant.AgentTestExecutionsByID(ctx, []string{old.ID, again.ID, present.ID})
	require.NoError(t, err)
	require.Empty(t, left, "the conversation is deleted with its verdicts")
}

// There are too many rows for a single transaction.
func TestRejudgedConversationsAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	run := newRun(t, tenant)
	hold(t, tenant, run.ID, true)
	old, err := tenant.AgentTestExecution(t.Context(), run.ExecutionID)
	require.NoError(t, err)
	for range 3 {
		again, err := tenant.RejudgeAgentTestExecution(t.Context(), rejudge(old))
		require.NoError(t, err)
		_, err = tenant.CancelAgentTestExecution(t.Context(), model.CancelAgentTestExecutionInput{ExecutionID: again.ID})
		require.NoError(t, err)
	}
	for _, left := range []int32{2, 1, 0} {
		hasMore, err := db.ForgetExecutions(t.Context(), tenant, time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, left > 0, hasMore)
		page, err := tenant.AgentTestExecutions(t.Context(), model.PageArgs{First: 10}, nil, nil)
		require.NoError(t, err)
		require.Len(t, page.Nodes, int(left))
	}
}

func TestTestsAreRepeatedUntilTheyAreDecided(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, queue := recordingJobs(t)
	agent := newAgent(t, tenant)
	bad, good := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID)
	execution, err := tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{
		TestIds: []string{bad.ID, good.ID}, Repeats: 4, Concurrency: 2, StopRepeating: &model.StopRepeating{},
	})
	require.NoError(t, err)
	outcome := func(runID string) model.AgentTestRunStatus {
		if runByID(t, tenant, runID).TestedID == bad.ID {
			return model.AgentTestRunStatusFailed
		}
		return model.AgentTestRunStatusPassed
	}
	done := []string{}
	for next := queue.take(); len(next) > 0; next = queue.take() {
		for _, id := range next {
			require.NoError(t, finish(t, tenant, id, outcome(id)))
			done = append(done, id)
		}
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(done))), len(done), "each run ends once")
	all := counts(t, tenant, execution.ID)
	require.Equal(t, model.AgentTestRunCounts{Total: 8, Passed: 4, Failed: 1, Skipped: 3}, all)
	require.Equal(t, model.AgentTestVerdictFailed, all.Verdict())
	page, err := tenant.AgentTestExecutions(ctx, model.PageArgs{First: 1}, nil, nil)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCompleted, page.Nodes[0].Status())
	lastRun(t, tenant, bad.ID, done[0], model.AgentTestRunStatusFailed)

	_, err = tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{TestID: good.ID, Rows: []*model.TestRow{
		{Values: model.JSONObject(`{"name":"Ada"}`)}, {Values: model.JSONObject(`{"name":"Leo"}`)},
	}})
	require.NoError(t, err)
	table, err := tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{
		TestIds: []string{good.ID}, Repeats: 3, Concurrency: 1, StopRepeating: &model.StopRepeating{},
	})
	require.NoError(t, err)
	for next := queue.take(); len(next) > 0; next = queue.take() {
		status := model.AgentTestRunStatusPassed
		if *runByID(t, tenant, next[0]).RowNumber == 1 {
			status = model.AgentTestRunStatusFailed
		}
		require.NoError(t, finish(t, tenant, next[0], status))
	}
	require.Equal(t, model.AgentTestRunCounts{Total: 6, Passed: 3, Failed: 1, Skipped: 2}, counts(t, tenant, table.ID),
		"each row is decided separately")

	// The retry also stops repeating when its runs decide a test.
	again, err := tenant.RetryAgentTestExecution(ctx, model.RetryAgentTestExecutionInput{ExecutionID: execution.ID,
		Only: model.AgentTestRetryNotPassed})
	require.NoError(t, err)
	require.EqualValues(t, 1, again.Repeats)
	require.NotNil(t, again.StopRepeating)
}
