package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// seededHistory is the history in the database, by key.
type seededHistory struct {
	tenant     *db.Tenant
	content    company
	executions map[string]*model.AgentTestExecution
	runs       map[string][]*model.AgentTestRun
}

func newSeededHistory(t *testing.T) seededHistory {
	t.Helper()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	h := seededHistory{
		tenant: store.Tenant(shown.ID), content: mustRead(t, "merrowby"),
		executions: map[string]*model.AgentTestExecution{}, runs: map[string][]*model.AgentTestRun{},
	}
	page, err := h.tenant.AgentTestExecutions(t.Context(), wholeList, nil, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, len(h.content.History.Executions))
	past := slices.Clone(h.content.History.Executions)
	slices.SortFunc(past, func(a, b pastExecution) int { return int(1000 * (a.DaysAgo - b.DaysAgo)) })
	for i, e := range past {
		h.executions[e.Key] = page.Nodes[i]
		runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), h.tenant, db.RunsOfExecutions, nil,
			[]string{page.Nodes[i].ID}, wholeList)
		require.NoError(t, err)
		slices.SortFunc(runs, func(a, b *model.AgentTestRun) int { return int(a.Position - b.Position) })
		h.runs[e.Key] = runs
	}
	return h
}

func (h seededHistory) counts(t *testing.T, key string) model.AgentTestRunCounts {
	t.Helper()
	counts, err := h.tenant.CountsOfExecutions(t.Context(), []string{h.executions[key].ID})
	require.NoError(t, err)
	return *counts[h.executions[key].ID]
}

func TestHistoryShowsResultsOfExecutions(t *testing.T) {
	t.Parallel()
	h := newSeededHistory(t)
	require.Equal(t, model.AgentTestRunCounts{Total: 25, Passed: 25}, h.counts(t, "clinic_baseline"))
	require.Equal(t, model.AgentTestRunCounts{Total: 25, Passed: 15, Failed: 10}, h.counts(t, "clinic_regression"))
	require.Equal(t, model.AgentTestRunCounts{Total: 5, Passed: 4, Error: 1}, h.counts(t, "help_error"))
	require.Equal(t, model.AgentTestRunCounts{Total: 8, Passed: 5, Cancelled: 3}, h.counts(t, "delivery_cancelled"))
	require.Equal(t, model.AgentTestExecutionStatusCancelled, h.executions["delivery_cancelled"].Status())

	compared, err := h.tenant.CompareAgentTestExecutions(t.Context(), []string{h.executions["clinic_baseline"].ID},
		h.executions["clinic_regression"].ID, model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	require.NoError(t, err)
	require.EqualValues(t, 2, compared.NewlyFailing)
	require.Equal(t, model.AgentTestConclusionRegressed, compared.Conclusion)

	// The retry repeats only the cancelled runs.
	require.Equal(t, h.executions["delivery_cancelled"].ID, *h.executions["delivery_retry"].RetryOfID)
	var cancelled, repeated []string
	for _, run := range h.runs["delivery_cancelled"] {
		if run.Status != model.AgentTestRunStatusPassed {
			cancelled = append(cancelled, run.TestedID)
		}
	}
	for _, run := range h.runs["delivery_retry"] {
		repeated = append(repeated, run.TestedID)
	}
	require.Equal(t, cancelled, repeated)

	tallies, err := h.tenant.TalliesOfExecutions(t.Context(), []string{h.executions["fitness_flaky"].ID})
	require.NoError(t, err)
	flaky := model.FlakyTestIds(tallies[h.executions["fitness_flaky"].ID])
	require.Len(t, flaky, 2)
	found, err := h.tenant.FlakyTests(t.Context(), flaky)
	require.NoError(t, err)
	require.Len(t, found, 2)
}

// Verdicts quote the conversation verbatim, and events are in a possible order.
func TestHistoryIsConsistent(t *testing.T) {
	t.Parallel()
	h := newSeededHistory(t)
	now := time.Now()
	newest := map[string]*model.AgentTestRun{}
	for _, e := range h.content.History.Executions {
		execution := h.executions[e.Key]
		versions, err := dbtest.Pages[*model.PromptVersion](t.Context(), h.tenant, db.PromptVersionsOfAgents, nil,
			[]string{*execution.AgentID}, wholeList)
		require.NoError(t, err)
		for _, v := range versions {
			require.Equal(t, v.Version <= e.PromptVersion, v.CreatedAt.Before(execution.CreatedAt), "%s: version %d", e.Key,
				v.Version)
		}
		require.True(t, execution.FinishedAt.Before(now))
		for _, run := range h.runs[e.Key] {
			if last := newest[run.TestedID]; last == nil || !run.CreatedAt.Before(last.CreatedAt) {
				newest[run.TestedID] = run
			}
			require.Equal(t, e.PromptVersion, run.PromptVersion)
			require.Equal(t, run.PromptVersion, run.Snapshot.Agent.PromptVersion)
			require.False(t, run.Snapshot.Test.UpdatedAt.After(run.CreatedAt))
			require.False(t, run.FinishedAt.After(*execution.FinishedAt))
			require.LessOrEqual(t, run.Version, execution.Version)
			checkQuotes(t, run)
			checkTimes(t, run)
		}
	}
	page, err := h.tenant.AgentTests(t.Context(), wholeList, nil, model.AgentTestFilter{})
	require.NoError(t, err)
	for _, test := range page.Nodes {
		row, last := test.Row(), newest[test.Row().ID]
		if last == nil {
			require.Nil(t, row.LastRunID, row.Name)
			continue
		}
		require.Equal(t, last.ID, *row.LastRunID, row.Name)
		require.Equal(t, last.Status, *row.LastRunStatus, row.Name)
		require.Equal(t, *last.FinishedAt, *row.LastRunAt, row.Name)
	}
}

func checkQuotes(t *testing.T, run *model.AgentTestRun) {
	t.Helper()
	for _, result := range run.CriteriaResults {
		require.Contains(t, run.Snapshot.Test.Criteria, result.Criterion)
		for _, quoted := range result.Evidence {
			places := []string{run.Messages[quoted.MessageIndex].Text}
			for _, c := range run.ToolCalls {
				if c.MessageSequence+1 == quoted.MessageIndex {
					places = append(places, c.TechnicalName+" "+string(c.Arguments))
				}
			}
			require.True(t, slices.ContainsFunc(places, func(text string) bool { return strings.Contains(text, quoted.Quote) }),
				"%s: %q", run.TestName, quoted.Quote)
		}
	}
}

func checkTimes(t *testing.T, run *model.AgentTestRun) {
	t.Helper()
	if run.StartedAt == nil {
		require.Equal(t, model.AgentTestRunStatusCancelled, run.Status)
		require.Empty(t, run.Messages)
		return
	}
	before := *run.StartedAt
	for _, m := range run.Messages {
		if m.Timestamp != nil {
			require.False(t, m.Timestamp.Before(before), run.TestName)
			before = *m.Timestamp
		}
	}
	require.False(t, run.FinishedAt.Before(before), run.TestName)
	for _, c := range run.ToolCalls {
		require.NotNil(t, c.Arguments)
		require.Equal(t, c.Kind == model.ToolCallKindCallTransfer, c.TargetID == nil, c.TechnicalName)
		require.False(t, c.StartedAt.Before(*run.StartedAt) || c.StartedAt.After(*run.FinishedAt), c.TechnicalName)
	}
}
