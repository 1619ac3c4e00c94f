package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// plainRun is a run in short form.
type plainRun struct {
	id, test string
	status   model.AgentTestRunStatus
	version  int32
	at       time.Time
	isDraft  bool
}

// insertRuns inserts finished runs by SQL, so that a test can have any history. Each run has its own execution.
func insertRuns(t require.TestingT, conn *pgx.Conn, companyID string, runs []plainRun) {
	for _, run := range runs {
		var fault *string
		if run.status == model.AgentTestRunStatusError {
			fault = new(`{"cause": "Judge", "message": "It is away."}`)
		}
		_, err := conn.Exec(ctxOf(t), `WITH execution AS (
				INSERT INTO agent_test_executions (company_id, id, repeats, concurrency, virtual_time, status, unfinished,
					next_position, version,
					created_at, started_at, finished_at)
				VALUES ($1, 'execution_' || $2, 1, 1, false, 'Completed', 0, 1, 1, $5, $5, $5))
			INSERT INTO agent_test_runs (company_id, id, execution_id, test_id, tested_id, test_name, position, attempt, status,
				snapshot,
				prompt_version, claim, lost, messages, tool_calls, turn_count, criteria_results, error, version, created_at,
					started_at, finished_at, duration_ms, is_draft)
			VALUES ($1, $2, 'execution_' || $2, $3, $3, 'Test', 0, 1, $4, '{}', $6, 1, 0, '[]', '[]', 1, '[]', $7, 1, $5, $5, $5,
				1, nullif($8, false))`,
			companyID, run.id, run.test, string(run.status), run.at, run.version, fault, run.isDraft)
		require.NoError(t, err)
	}
}

// failingSince computes from a test's runs, oldest first, since when the test has been failing.
func failingSince(runs []plainRun) (since, lastPassed *plainRun) {
	for i := range runs {
		switch {
		case runs[i].isDraft:
		case runs[i].status == passed:
			since, lastPassed = nil, &runs[i]
		case runs[i].status == failed && since == nil:
			since = &runs[i]
		}
	}
	return since, lastPassed
}

func TestRunsOfPromptVersionCountOnlyItsOwnLastRuns(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	agent := newAgent(t, tenant)
	prompt := "Be brief."
	_, err := tenant.UpdateAgent(ctxOf(t), model.UpdateAgentInput{AgentID: agent.ID, Prompt: &prompt})
	require.NoError(t, err)
	versions, err := tenant.FindPages(ctxOf(t), db.PromptVersionsOfAgents, nil, []string{agent.ID},
		model.PageArgs{First: 10})
	require.NoError(t, err)
	require.Len(t, versions, 2)
	ids := []string{}
	for _, version := range versions {
		ids = append(ids, version.(*model.PromptVersion).ID)
	}
	test, other := newSimulationTest(t, tenant, agent.ID).ID, newSimulationTest(t, tenant, agent.ID).ID
	runs := []plainRun{}
	run := func(test string, version int32, status model.AgentTestRunStatus, isDraft bool) {
		n := len(runs)
		runs = append(runs, plainRun{fmt.Sprintf("run_%06d", n), test, status, version,
			epoch.Add(time.Duration(n) * time.Second), isDraft})
	}
	// The first five runs of version 1 failed, and its last twenty passed. Then version 2 ran thirty times.
	for n := range 25 {
		run(test, 1, []model.AgentTestRunStatus{failed, passed}[min(n/5, 1)], false)
	}
	for range 30 {
		run(test, 2, failed, false)
	}
	run(other, 2, passed, false)
	run(other, 2, passed, true)
	run(other, 2, erred, false)
	insertRuns(t, conn, companyID, runs)
	results, err := tenant.TestRunsOfPromptVersions(ctxOf(t), ids)
	require.NoError(t, err)
	require.Equal(t, model.PromptVersionTestRuns{Judged: 21, Passed: 1}, results[ids[0]])
	require.Equal(t, model.PromptVersionTestRuns{Judged: 20, Passed: 20}, results[ids[1]])
	stranger, err := store.CreateCompany(ctxOf(t), "Stranger")
	require.NoError(t, err)
	results, err = store.Tenant(stranger.ID).TestRunsOfPromptVersions(ctxOf(t), ids)
	require.NoError(t, err)
	require.Empty(t, results)
}

func TestFailuresAndHistoriesMatchTheRuns(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	agent := newAgent(t, tenant)
	seen := 0
	rapid.Check(t, func(r *rapid.T) {
		tests, histories := []string{}, map[string][]plainRun{}
		for range rapid.IntRange(1, 3).Draw(r, "tests") {
			test := newSimulationTest(t, tenant, agent.ID).ID
			tests = append(tests, test)
			for i, status := range rapid.SliceOfN(
				rapid.SampledFrom([]model.AgentTestRunStatus{passed, failed, erred, model.AgentTestRunStatusCancelled}), 0, 8).
				Draw(r, "runs") {
				seen++
				histories[test] = append(histories[test], plainRun{
					id: fmt.Sprintf("run_%06d", seen), test: test, status: status, version: int32(i + 1),
					// Two runs of one execution have the same time.
					at: epoch.Add(time.Duration(i/2) * time.Second), isDraft: rapid.IntRange(0, 4).Draw(r, "draft") == 0,
				})
			}
			insertRuns(r, conn, companyID, histories[test])
		}
		failures, err := tenant.FailuresOfTests(ctxOf(t), append(slices.Clone(tests), "test_none"))
		require.NoError(r, err)
		most := rapid.Int32Range(1, 6).Draw(r, "most")
		isDraft := rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(r, "drafts")
		found, err := tenant.HistoriesOfTests(ctxOf(t), tests, most, isDraft)
		require.NoError(r, err)
		for _, test := range tests {
			since, lastPassed := failingSince(histories[test])
			require.Equal(r, since != nil, failures[test] != nil)
			if since != nil {
				require.Equal(r, since.id, failures[test].Run.ID)
				require.Equal(r, since.version, failures[test].PromptVersion())
				require.Equal(r, lastPassed != nil, failures[test].LastPassed != nil)
				if lastPassed != nil {
					require.Equal(r, lastPassed.id, failures[test].LastPassed.ID)
				}
			}
			ids := []string{}
			for _, run := range slices.Backward(histories[test]) {
				if isDraft == nil || run.isDraft == *isDraft {
					ids = append(ids, run.id)
				}
			}
			require.Equal(r, ids[:min(len(ids), int(most))], idsOf(found[test]))
		}
		stranger, err := store.CreateCompany(ctxOf(t), "Stranger")
		require.NoError(r, err)
		failures, err = store.Tenant(stranger.ID).FailuresOfTests(ctxOf(t), tests)
		require.NoError(r, err)
		require.Empty(r, failures)
	})
	for _, most := range []int32{0, 101} {
		_, err := tenant.HistoriesOfTests(t.Context(), nil, most, nil)
		faults(t, err, model.BadInput, "first", "between 1 and 100")
	}
}

// One statement reads the history of a hundred tests. It reads a few rows of each by an index, whatever the number of
// runs.
func TestFailuresAndHistoriesOfALargeCompany(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	asked := &recorder{}
	tenant, companyID := newCompany(t, dbtest.Open(t, address, db.Options{Tracer: asked}))
	conn := connect(t, address)
	agent := newAgent(t, tenant)
	tests := make([]string, 100)
	for i := range tests {
		tests[i] = newSimulationTest(t, tenant, agent.ID).ID
	}
	// The first test has never passed. The others passed once, long ago.
	_, err := conn.Exec(t.Context(),
		`INSERT INTO agent_test_executions (company_id, id, repeats, concurrency, virtual_time, status, unfinished,
			next_position, version, created_at, started_at, finished_at)
		SELECT $1, 'execution_' || e, 1, 1, false, 'Completed', 0, 100, 1, timestamptz '2026-01-01', timestamptz '2026-01-01',
			timestamptz '2026-01-01'
		FROM generate_series(1, 300) AS e`, companyID)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(),
		`INSERT INTO agent_test_runs (company_id, id, execution_id, test_id, tested_id, test_name, position, attempt, status,
			snapshot, prompt_version, claim, lost, messages, tool_calls, turn_count, criteria_results, version, created_at,
				started_at, finished_at, duration_ms)
		SELECT $1, 'run_' || e || '_' || test.i, 'execution_' || e, test.id, test.id, 'Test', test.i, 1,
			CASE WHEN e = 7 AND test.i > 1 THEN 'Passed' ELSE 'Failed' END, '{}', e, 1, 0, '[]', '[]', 1, '[]', 1,
			timestamptz '2026-01-01' + e * interval '1 hour', timestamptz '2026-01-01', timestamptz '2026-01-01', 1
		FROM generate_series(1, 300) AS e, unnest($2::text[]) WITH ORDINALITY AS test (id, i)`, companyID, tests)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)

	asked.asked = nil
	failures, err := tenant.FailuresOfTests(t.Context(), tests)
	require.NoError(t, err)
	require.Len(t, failures, 100)
	require.EqualValues(t, 1, failures[tests[0]].PromptVersion())
	require.Nil(t, failures[tests[0]].LastPassed)
	require.EqualValues(t, 8, failures[tests[1]].PromptVersion())
	require.EqualValues(t, 7, failures[tests[1]].LastPassed.PromptVersion)
	histories, err := tenant.HistoriesOfTests(t.Context(), tests, 20, nil)
	require.NoError(t, err)
	require.Len(t, histories[tests[99]], 20)
	version, err := tenant.FindPages(t.Context(), db.PromptVersionsOfAgents, nil, []string{agent.ID},
		model.PageArgs{First: 1})
	require.NoError(t, err)
	versionID := version[0].(*model.PromptVersion).ID
	asked.asked = asked.asked[:2]
	results, err := tenant.TestRunsOfPromptVersions(t.Context(), []string{versionID})
	require.NoError(t, err)
	require.Equal(t, model.PromptVersionTestRuns{Judged: 100}, results[versionID])
	require.Len(t, asked.asked, 3)
	for i, index := range []string{"agent_test_runs_judged_rows_idx", "agent_test_runs_test_idx",
		"agent_test_runs_prompt_version_idx"} {
		plan := planOf(t, conn, asked.asked[i])
		require.Contains(t, plan, index)
		require.NotContains(t, plan, "Seq Scan on agent_test_runs")
		// A plan that sorts or hashes all runs of a test would contain these.
		require.False(t, strings.Contains(plan, "Hash Join") || strings.Contains(plan, "Bitmap"), plan)
	}
}
