package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// ended returns an execution of a test that ended at the given time. It has a run for each status.
func ended(agent *model.Agent, test *model.AgentTestRow, at time.Time,
	statuses ...model.AgentTestRunStatus) (*model.AgentTestExecution, []*model.AgentTestRun) {
	execution := &model.AgentTestExecution{
		ID: model.NewID("execution"), AgentID: &agent.ID, Repeats: int32(len(statuses)), Concurrency: 1, Votes: 1, Version: 1,
		State: model.AgentTestExecutionStatusCompleted, CreatedAt: at, StartedAt: &at, FinishedAt: &at,
	}
	runs := make([]*model.AgentTestRun, len(statuses))
	for i, status := range statuses {
		runs[i] = &model.AgentTestRun{
			ID: model.NewID("run"), ExecutionID: execution.ID, TestID: &test.ID, TestedID: test.ID, TestName: test.Name,
			Position: int32(i), Attempt: int32(i + 1), Status: status, Snapshot: model.RunSnapshot{Test: test, Agent: agent},
			PromptVersion: 1,
			Claim:         1, Messages: []model.TestMessage{}, ToolCalls: []*model.ToolCall{},
			CriteriaResults: []model.CriterionResult{},
			Version:         1, CreatedAt: at, StartedAt: &at, FinishedAt: &at, DurationMs: new(int32),
		}
	}
	return execution, runs
}

func TestImportedTestsHaveAHistory(t *testing.T) {
	t.Parallel()
	tenant, queue := recordingJobs(t)
	agent := newTaggedAgent(t, tenant, "New")
	earlier, later := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	folder, err := model.NewAgentTestFolder(folderInput(agent.ID, "Smoke"), earlier)
	require.NoError(t, err)
	made, err := model.NewSimulationTest(model.CreateSimulationTestInput{
		AgentID: agent.ID, Name: "Old", Scenario: "a", Criteria: []string{"b"}, MaxTurns: 1, FolderID: &folder.ID,
	}, earlier)
	require.NoError(t, err)
	test := made.Row()
	newer, runs := ended(agent, test, later, model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed)
	older, olderRuns := ended(agent, test, earlier, model.AgentTestRunStatusPassed)
	newer.RetryOfID = &older.ID
	history := db.AgentTestHistory{
		Folders: []*model.AgentTestFolder{folder}, Tests: []*model.AgentTestRow{test},
		Executions: []*model.AgentTestExecution{older, newer}, Runs: append(runs, olderRuns...),
	}
	older.FinishedAt = nil
	require.ErrorContains(t, tenant.ImportAgentTests(t.Context(), history), older.ID+" is not finished")
	older.FinishedAt = &earlier
	runs[1].Attempt = 21
	require.Error(t, tenant.ImportAgentTests(t.Context(), history), "the database checks it")
	none, err := dbtest.Find[*model.AgentTestFolder](t.Context(), tenant, db.AgentTestFolderRows, []string{folder.ID})
	require.NoError(t, err)
	require.Empty(t, none, "all or nothing")

	runs[1].Attempt = 2
	require.NoError(t, tenant.ImportAgentTests(t.Context(), history))
	require.Empty(t, queue.take())
	stored, err := dbtest.Find[model.AgentTest](t.Context(), tenant, db.AgentTestRows, []string{test.ID})
	require.NoError(t, err)
	require.True(t, earlier.Equal(stored[0].Row().CreatedAt))
	require.Equal(t, runs[1].ID, *stored[0].Row().LastRunID)
	require.Equal(t, model.AgentTestRunStatusFailed, *stored[0].Row().LastRunStatus)
	require.True(t, later.Equal(*stored[0].Row().LastRunAt))
	require.Equal(t, model.AgentTestRunCounts{Total: 2, Passed: 1, Failed: 1}, counts(t, tenant, newer.ID))
	for verdict, ids := range map[model.AgentTestVerdict][]string{
		model.AgentTestVerdictFailed: {newer.ID}, model.AgentTestVerdictPassed: {older.ID},
		model.AgentTestVerdictInconclusive: {},
	} {
		page, err := tenant.AgentTestExecutions(t.Context(), model.PageArgs{First: 10}, nil,
			&model.AgentTestExecutionFilter{Verdicts: []model.AgentTestVerdict{verdict}})
		require.NoError(t, err)
		found := []string{}
		for _, execution := range page.Nodes {
			found = append(found, execution.ID)
		}
		require.Equal(t, ids, found, verdict)
	}
	flaky, err := tenant.FlakyTests(t.Context(), []string{test.ID})
	require.NoError(t, err)
	require.True(t, flaky[test.ID])

	// Imported executions can be retried like any other.
	again, err := tenant.RetryAgentTestExecution(t.Context(), model.RetryAgentTestExecutionInput{ExecutionID: newer.ID,
		Only: model.AgentTestRetryNotPassed})
	require.NoError(t, err)
	require.EqualValues(t, 1, again.Unfinished)
	require.Len(t, queue.take(), 1)
}

func TestAgentHistoryIsBackdated(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	_, err := tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: "Second."})
	require.NoError(t, err)
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	second := first.Add(time.Hour)
	require.NoError(t, tenant.DateAgent(t.Context(), agent.ID, []time.Time{first, second}))
	stored, err := tenant.Agent(t.Context(), agent.ID)
	require.NoError(t, err)
	require.True(t, first.Equal(stored.CreatedAt))
	require.True(t, second.Equal(stored.UpdatedAt))
	versions, err := dbtest.Pages[*model.PromptVersion](t.Context(), tenant, db.PromptVersionsOfAgents, nil,
		[]string{agent.ID}, model.PageArgs{First: 10})
	require.NoError(t, err)
	require.Len(t, versions, 2)
	for _, v := range versions {
		require.True(t, []time.Time{first, second}[v.Version-1].Equal(v.CreatedAt))
	}
	untouched, err := tenant.Agent(t.Context(), other.ID)
	require.NoError(t, err)
	require.True(t, other.CreatedAt.Equal(untouched.CreatedAt))
}
