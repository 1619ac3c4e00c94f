package db_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// grown inserts 20,000 agents of the company, 2,000 tests of one agent, and 2,000 executions with 20,000 passed runs.
var grown = []string{
	`INSERT INTO agents (company_id, id, name, channel, direction, language, tags, prompt, prompt_version, fields,
		classification_tags,
			extracted_values, is_call_transfer_enabled, created_at, updated_at)
		SELECT $1, 'agent_' || i, (ARRAY['Front desk', 'Billing', 'Renewals', 'Québec'])[1 + i % 4] || ' ' || i, 'Web',
			'Inbound', 'en',
			to_jsonb(ARRAY['team-' || i % 50]), repeat('Be kind. ', 20), 1, '[]', '[]', '[]', false,
			timestamptz '2026-01-01' + i * interval '1 second', timestamptz '2026-01-01'
		FROM generate_series(1, 20000) AS i`,
	`INSERT INTO agent_tests (company_id, id, agent_id, kind, name, tag_expected, conversation_context, created_at,
		updated_at)
		SELECT $1, 'test_' || i, 'agent_1', 'Classification', 'Test ' || i, 'New', '{"messages": [{}], "dataBag": {}}',
			timestamptz '2026-01-01', timestamptz '2026-01-01'
		FROM generate_series(1, 2000) AS i`,
	`INSERT INTO agent_test_executions (company_id, id, repeats, concurrency, virtual_time, status, unfinished,
		next_position, version,
			created_at, started_at, finished_at, run_count, passed_runs, failed_runs, error_runs, cancelled_runs, skipped_runs)
		SELECT $1, 'execution_' || e, 1, 1, false, 'Completed', 0, 10, 1, timestamptz '2026-01-01', timestamptz '2026-01-01',
			timestamptz '2026-01-01', 10, 10, 0, 0, 0, 0
		FROM generate_series(1, 2000) AS e`,
	`INSERT INTO agent_test_runs (company_id, id, execution_id, tested_id, test_name, position, attempt, status, snapshot,
		prompt_version,
			claim, lost, messages, tool_calls, turn_count, criteria_results, version, created_at, started_at, finished_at,
				duration_ms)
		SELECT $1, 'run_' || e || '_' || p, 'execution_' || e, 'test', 'Test', p, 1, 'Passed', '{}', 1, 1, 0, '[]', '[]', 1,
			'[]', 1,
			timestamptz '2026-01-01' + e * interval '1 hour' + p * interval '1 second', timestamptz '2026-01-01',
				timestamptz '2026-01-01', 1
		FROM generate_series(1, 2000) AS e, generate_series(1, 10) AS p`,
	`INSERT INTO audit_events (company_id, id, action, target_id, api_key_id, is_access_token, created_at)
		SELECT $1, 'audit_' || i, 'UpdatePrompt', 'agent_' || i % 500, 'key_' || i % 50, false,
			timestamptz '2026-01-01' + i * interval '1 second'
		FROM generate_series(1, 20000) AS i`,
}

func TestListsOfALargeCompanyUseTheirIndexes(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	asked := &recorder{}
	tenant, companyID := newCompany(t, dbtest.Open(t, address, db.Options{Tracer: asked}))
	conn := connect(t, address)
	for _, statement := range grown {
		_, err := conn.Exec(t.Context(), statement, companyID)
		require.NoError(t, err)
	}
	_, err := conn.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
	boundByPolicies(t, conn)

	first := model.PageArgs{First: 50}
	agents := func(filter model.AgentFilter) func(context.Context) (int32, error) {
		return func(ctx context.Context) (int32, error) {
			page, err := tenant.Agents(ctx, first, &filter)
			if err != nil {
				return 0, err
			}
			return page.TotalCount(ctx)
		}
	}
	runs := func(status *model.AgentTestRunStatus) func(context.Context) (int32, error) {
		return func(ctx context.Context) (int32, error) {
			page, err := tenant.AgentTestRuns(ctx, first, model.AgentTestRunFilter{Status: status})
			if err != nil {
				return 0, err
			}
			return page.TotalCount(ctx)
		}
	}
	events := func(filter model.AuditEventFilter) func(context.Context) (int32, error) {
		return func(ctx context.Context) (int32, error) {
			page, err := tenant.AuditEvents(ctx, first, &filter)
			if err != nil {
				return 0, err
			}
			return page.TotalCount(ctx)
		}
	}
	for name, test := range map[string]struct {
		list    func(context.Context) (int32, error)
		total   int32
		indexes []string
	}{
		"events of no target": {events(model.AuditEventFilter{TargetID: new("none")}), 0,
			[]string{"audit_events_target_idx"}},
		"events of no key": {events(model.AuditEventFilter{APIKeyID: new("none")}), 0,
			[]string{"audit_events_key_idx"}},
		"events that never were": {events(model.AuditEventFilter{Action: new(model.AuditActionDeleteAgent)}), 0,
			[]string{"audit_events_action_idx"}},
		"a name that no agent has": {agents(model.AgentFilter{NameContains: new("zzzzqq")}), 0,
			[]string{"agents_filter_idx"}},
		"two characters":          {agents(model.AgentFilter{NameContains: new("kf")}), 0, []string{"agents_filter_idx"}},
		"one character":           {agents(model.AgentFilter{NameContains: new("z")}), 0, []string{"agents_filter_idx"}},
		"no letters":              {agents(model.AgentFilter{NameContains: new("%_")}), 0, []string{"agents_filter_idx"}},
		"a tag that no agent has": {agents(model.AgentFilter{Tags: []string{"none"}}), 0, []string{"agents_filter_idx"}},
		"a tag and a name": {agents(model.AgentFilter{Tags: []string{"team-1", "team-2"}, NameContains: new("zz")}),
			0, []string{"agents_filter_idx"}},
		"a status that no run has": {runs(new(model.AgentTestRunStatusRunning)), 0, []string{"agent_test_runs_status_idx"}},
		"all runs": {runs(nil), 20_000,
			[]string{"agent_test_runs_list_idx", "agent_test_executions_totals_idx"}},
		"runs that have passed": {runs(new(model.AgentTestRunStatusPassed)), 20_000,
			[]string{"agent_test_runs_list_idx", "agent_test_executions_totals_idx"}},
	} {
		asked.asked = nil
		total, err := test.list(t.Context())
		require.NoError(t, err, "%s %v", name, asked.asked)
		require.Equal(t, test.total, total, name)
		require.Len(t, asked.asked, 2, name)
		for _, statement := range asked.asked {
			plan := planOf(t, conn, statement)
			require.True(t, slices.ContainsFunc(test.indexes, func(index string) bool { return strings.Contains(plan, index) }),
				"%s: %s", name, plan)
			require.NotContains(t, plan, "Seq Scan", name)
		}
	}

	// If a filter matches many agents, the query reads only the newest.
	for name, filter := range map[string]model.AgentFilter{"name": {NameContains: new("front")},
		"tag": {Tags: []string{"team-1"}}} {
		asked.asked = nil
		page, err := tenant.Agents(t.Context(), first, &filter)
		require.NoError(t, err)
		require.Len(t, page.Nodes, 50)
		require.Contains(t, planOf(t, conn, asked.asked[0]), "agents_list_idx", "a %s that many agents have", name)
	}
}

// planOf returns the plan of a statement. With values for its parameters, it returns the generic plan.
func planOf(t *testing.T, conn *pgx.Conn, statement string, values ...any) string {
	t.Helper()
	explained := "EXPLAIN " + statement
	if len(values) > 0 {
		_, err := conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan; DEALLOCATE ALL; PREPARE explained AS "+
			statement)
		require.NoError(t, err)
		explained = fmt.Sprintf("EXPLAIN EXECUTE explained('%v'", values[0])
		for _, value := range values[1:] {
			explained += fmt.Sprintf(", '%v'", value)
		}
		explained += ")"
	}
	rows, err := conn.Query(t.Context(), explained, pgx.QueryExecModeExec)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}

// Executions have the count of their runs, including executions from before the column run_count.
func TestAllRunsAreCounted(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
	migrator, conn := newMigrator(t, address), connect(t, address)
	agent := newAgent(t, tenant)
	tests := []string{newSimulationTest(t, tenant, agent.ID).ID, newSimulationTest(t, tenant, agent.ID).ID}
	total := func() int32 {
		page, err := tenant.AgentTestRuns(t.Context(), model.PageArgs{First: 1}, model.AgentTestRunFilter{})
		require.NoError(t, err)
		total, err := page.TotalCount(t.Context())
		require.NoError(t, err)
		return total
	}
	require.Zero(t, total())
	finished, inProgress := start(t, tenant, tests...), start(t, tenant, tests[0])
	for _, run := range runsOf(t, tenant, finished.ID) {
		require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusPassed))
	}
	require.EqualValues(t, 3, total())
	for schema, err := migrator.Schema(t.Context()); schema.Current >= 17; schema, err = migrator.Schema(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, migrator.Down(t.Context()))
	}
	require.NoError(t, migrator.Up(t.Context()))
	counts := map[string]*int32{}
	for _, id := range []string{finished.ID, inProgress.ID} {
		var count *int32
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT run_count FROM agent_test_executions WHERE id = $1", id).
			Scan(&count))
		counts[id] = count
	}
	require.Equal(t, map[string]*int32{finished.ID: new(int32(2)), inProgress.ID: nil}, counts)
	require.EqualValues(t, 3, total())
	start(t, tenant, tests...)
	require.EqualValues(t, 5, total())
	require.NoError(t, tenant.DeleteAgent(t.Context(), agent.ID))
	require.EqualValues(t, 5, total(), "runs stay when their tests are deleted")
}

// With the index on names, the same names match as without it.
func TestNameIndexMatchesTheSameNames(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
	conn := connect(t, address)
	rapid.Check(t, func(r *rapid.T) {
		name := "n" + odd(0, 12).Draw(r, "name")
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: name, Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
		})
		require.NoError(r, err)
		runes := []rune(name)
		from := rapid.IntRange(0, len(runes)).Draw(r, "from")
		part := rapid.OneOf(
			rapid.Just(string(runes[from:rapid.IntRange(from, len(runes)).Draw(r, "to")])), odd(0, 3),
		).Draw(r, "part")
		var isIn bool
		require.NoError(r, conn.QueryRow(t.Context(), "SELECT strpos(lower($1), lower($2)) > 0", name, part).Scan(&isIn))
		page, err := tenant.Agents(t.Context(), model.PageArgs{First: 1},
			&model.AgentFilter{NameContains: &part, Tags: agent.Tags})
		require.NoError(r, err)
		found := len(page.Nodes) > 0 && page.Nodes[0].ID == agent.ID
		require.Equal(r, isIn, found, "%q in %q", part, name)
	})
}
