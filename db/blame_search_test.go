package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// startSearch starts a search for the cause of a test's failure. The prompt lost two sentences.
func startSearch(t *testing.T, tenant *db.Tenant) *model.BlameSearch {
	t.Helper()
	search := blameSearchOf(newSimulationTest(t, tenant, newAgent(t, tenant).ID).ID, "Park here.")
	search.Changes = append(search.Changes, &model.PromptChange{Number: 2, Was: "Or there."})
	require.NoError(t, tenant.StartBlameSearch(t.Context(), search))
	return search
}

// endStep ends all runs of the last step of a search, and continues the search as its job does.
func endStep(t *testing.T, tenant *db.Tenant, id string, status model.AgentTestRunStatus) *model.BlameSearch {
	t.Helper()
	search, err := tenant.BlameSearch(t.Context(), id)
	require.NoError(t, err)
	for _, run := range runsOf(t, tenant, search.ExecutionID) {
		require.NoError(t, finish(t, tenant, run.ID, status))
	}
	require.Empty(t, together(4, func(int) error {
		return tenant.ContinueBlameSearch(t.Context(), search.ExecutionID)
	}), "a job may be delivered again")
	continued, err := tenant.BlameSearch(t.Context(), id)
	require.NoError(t, err)
	return continued
}

func TestSearchStartsEachStepOnce(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	search := startSearch(t, tenant)
	drafts := []string{}
	for _, status := range []model.AgentTestRunStatus{model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed,
		model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed} {
		require.Equal(t, model.BlameStatusRunning, search.Status)
		execution, err := tenant.AgentTestExecution(t.Context(), search.ExecutionID)
		require.NoError(t, err)
		drafts = append(drafts, *execution.DraftPrompt)
		search = endStep(t, tenant, search.ID, status)
	}
	require.Equal(t, model.BlameVerdictFound, *search.Verdict())
	require.Equal(t, []int32{1}, search.CauseNumbers)
	require.True(t, *search.IsOnlyCause)
	require.Equal(t, drafts[2], *search.RestoredPrompt)
	require.Len(t, search.Steps, 4)
	require.Equal(t, [][]int32{{1, 2}, {}, {1}, {2}}, [][]int32{search.Steps[0].Restored, search.Steps[1].Restored,
		search.Steps[2].Restored, search.Steps[3].Restored})
	executions, err := tenant.AgentTestExecutions(t.Context(), model.PageArgs{First: 100}, nil, nil)
	require.NoError(t, err)
	require.Len(t, executions.Nodes, 4)
}

func TestSearchEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	search := startSearch(t, tenant)
	setBudget(t, tenant, 1)
	recordNow(t, tenant, 1)
	search = endStep(t, tenant, search.ID, model.AgentTestRunStatusPassed)
	require.Equal(t, model.BlameStatusFailed, search.Status)
	require.Contains(t, *search.Error, "budget")
	require.Equal(t, int32(5), *search.Steps[0].Passed)
	require.Len(t, search.Steps, 1)
}

func TestSearchEndsWhenItsStepHasNoVerdict(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	cancelled := startSearch(t, tenant)
	_, err := tenant.CancelAgentTestExecution(t.Context(),
		model.CancelAgentTestExecutionInput{ExecutionID: cancelled.ExecutionID})
	require.NoError(t, err)
	require.NoError(t, tenant.ContinueBlameSearch(t.Context(), cancelled.ExecutionID))
	cancelled, err = tenant.BlameSearch(t.Context(), cancelled.ID)
	require.NoError(t, err)
	require.Equal(t, model.BlameStatusCancelled, cancelled.Status)

	unjudged := startSearch(t, tenant)
	unjudged = endStep(t, tenant, unjudged.ID, model.AgentTestRunStatusError)
	require.Equal(t, model.BlameStatusFailed, unjudged.Status)
	require.Contains(t, *unjudged.Error, unjudged.ExecutionID)
}

func TestHistoryLeavesOutStepsOfSearches(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	search := startSearch(t, tenant)
	draft, err := tenant.StartAgentTestExecution(t.Context(),
		startDraft(t, model.StartAgentTestExecutionInput{TestIds: []string{search.TestID}, Repeats: 1}, "Be brief."))
	require.NoError(t, err)
	histories, err := tenant.HistoriesOfTests(t.Context(), []string{search.TestID}, 20, nil)
	require.NoError(t, err)
	require.Equal(t, idsOf(runsOf(t, tenant, draft.ID)), idsOf(histories[search.TestID]))
}
