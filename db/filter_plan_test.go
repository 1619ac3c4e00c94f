package db_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// filtered inserts 20,000 documents, campaign items, tests, open chats and runs. The tests and chats belong to one of
// the company's two agents. Most rows of a type have the same values.
var filtered = []string{
	`INSERT INTO documents (company_id, id, dataset_id, name, content_type, size, status, chunk_count, indexing_id, claim,
		waits, created_at, indexed_at)
		SELECT $1, 'document_' || i, $2, 'Price list ' || i || '.md', 'text/markdown', 1, 'Ready', 1, 'indexing_' || i, 1, 0,
			timestamptz '2026-01-01' + i * interval '1 second', timestamptz '2026-01-01'
		FROM generate_series(1, 20000) AS i`,
	`INSERT INTO campaign_items (company_id, id, campaign_id, phone_number, data_bag, running_status, attempt_count,
		is_picked_up, is_archived,
			result, due_at, event_count, version, created_at, processed_at, last_call_date)
		SELECT $1, 'item_' || i, $3, '+1202555' || lpad(i::text, 7, '0'), '{}', 'Processed', 1, false, false,
			json_build_object('tag', json_build_object('id', 't', 'name', 'Interested', 'color', '#112233'), 'isSystem', false,
				'metadata', json_build_object()),
			timestamptz '2026-01-01', 0, i, timestamptz '2026-01-01' + i * interval '1 second', timestamptz '2026-01-01',
				timestamptz '2026-01-01'
		FROM generate_series(1, 20000) AS i`,
	`INSERT INTO agent_tests (company_id, id, agent_id, kind, name, created_at, updated_at, conversation_context,
		tag_expected)
		SELECT $1, 'test_' || i, $4, 'Classification', 'Asks for ' || i, timestamptz '2026-01-01' + i * interval '1 second',
			timestamptz '2026-01-01',
			'{"messages": [{"role": "user", "text": "Hello"}], "dataBag": {}}', 'Done'
		FROM generate_series(1, 20000) AS i`,
	`INSERT INTO agent_test_executions (company_id, id, repeats, concurrency, virtual_time, status, unfinished,
		next_position, version,
			created_at, started_at, finished_at, run_count)
		SELECT $1, 'execution' || CASE i WHEN 0 THEN '' ELSE '_' || i END, 1, 1, false, 'Completed', 0, 10, 1,
			timestamptz '2026-01-01', timestamptz '2026-01-01', timestamptz '2026-01-01', 20000 * (i = 0)::int
		FROM generate_series(0, 2000) AS i`,
	`INSERT INTO agent_test_runs (company_id, id, execution_id, test_id, tested_id, test_name, position, attempt, status,
		snapshot, prompt_version,
			claim, lost, messages, tool_calls, turn_count, criteria_results, version, created_at, started_at, finished_at,
				duration_ms)
		SELECT $1, 'run_' || i, 'execution', 'test_' || i, 'test_' || i, 'Test', i, 1, 'Passed', '{}', 1, 1, 0, '[]', '[]', 1,
			'[]', 1,
			timestamptz '2026-01-01' + i * interval '1 second', timestamptz '2026-01-01', timestamptz '2026-01-01', 1
		FROM generate_series(1, 20000) AS i`,
	`INSERT INTO simulation_chats (company_id, id, agent_id, status, data_bag, tool_mocking, warnings, last_sequence,
		created_at)
		SELECT $1, 'chat_' || i, $4, 'Open', '{}', '{}', '[]', 1, timestamptz '2026-01-01' + i * interval '1 second'
		FROM generate_series(1, 20000) AS i`,
}

func TestFiltersOfALargeCompanyUseIndexes(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	asked := &recorder{}
	tenant, companyID := newCompany(t, dbtest.Open(t, address, db.Options{Tracer: asked}))
	conn := connect(t, address)
	dataset, campaign, agent, idle := newDataset(t, tenant), newCampaign(t, tenant), newAgent(t, tenant),
		newAgent(t, tenant)
	for _, statement := range filtered {
		var values []any
		for i, value := range []string{companyID, dataset.ID, campaign.ID, agent.ID} {
			if strings.Contains(statement, "$"+string(rune('1'+i))) {
				values = append(values, value)
				statement = strings.ReplaceAll(statement, "$"+string(rune('1'+i)), "$"+string(rune('0'+len(values)))+"::text")
			}
		}
		_, err := conn.Exec(t.Context(), statement, values...)
		require.NoError(t, err, statement)
	}
	_, err := conn.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
	explained := connect(t, address)
	boundByPolicies(t, explained)

	first := model.PageArgs{First: 50}
	documents := func(filter model.DocumentFilter) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			page, err := tenant.Documents(ctx, first, nil, &filter)
			return len(page.Nodes), err
		}
	}
	items := func(filter model.CampaignItemFilter) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			page, err := tenant.CampaignItems(ctx, first, campaign.ID, nil, nil, &filter)
			return len(page.Nodes), err
		}
	}
	runs := func(filter model.AgentTestRunFilter) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			page, err := tenant.AgentTestRuns(ctx, first, filter)
			return len(page.Nodes), err
		}
	}
	tests := func(filter model.AgentTestFilter) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			page, err := tenant.AgentTests(ctx, first, nil, filter)
			return len(page.Nodes), err
		}
	}
	chats := func(filter model.SimulationChatFilter) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			page, err := tenant.SimulationChats(ctx, first, nil, &filter)
			return len(page.Nodes), err
		}
	}
	for name, test := range map[string]struct {
		list    func(context.Context) (int, error)
		found   int
		indexes []string
	}{
		"a name that no document has": {documents(model.DocumentFilter{NameContains: new("zzqq")}), 0,
			[]string{"documents_name_idx"}},
		"a name that all documents have": {documents(model.DocumentFilter{NameContains: new("price")}), 50,
			[]string{"documents_list_idx"}},
		"a state that no document is in": {documents(model.DocumentFilter{Statuses: []model.DocumentStatus{"Failed"}}), 0,
			[]string{"documents_status_idx"}},
		"states that no document is in": {
			documents(model.DocumentFilter{Statuses: []model.DocumentStatus{"Failed", "Pending"}}), 0,
			[]string{"documents_status_idx"}},
		"states that all documents are in": {
			documents(model.DocumentFilter{Statuses: []model.DocumentStatus{"Failed", "Ready"}}), 50,
			[]string{"documents_list_idx"}},
		"numbers that no item has": {items(model.CampaignItemFilter{PhoneNumberPrefix: new("+33")}), 0,
			[]string{"campaign_items_number_idx"}},
		"numbers that all items have": {items(model.CampaignItemFilter{PhoneNumberPrefix: new("+1202")}), 50,
			[]string{"campaign_items_list_idx"}},
		"a tag that no item has": {items(model.CampaignItemFilter{Tag: new("None")}), 0,
			[]string{"campaign_items_tag_idx"}},
		"a tag that all items have": {items(model.CampaignItemFilter{Tag: new("Interested")}), 50,
			[]string{"campaign_items_tag_idx", "campaign_items_list_idx"}},
		"versions that no item has": {items(model.CampaignItemFilter{AfterVersion: new(int32(math.MaxInt32))}), 0,
			[]string{"campaign_items_version_key"}},
		"versions that all items have": {items(model.CampaignItemFilter{AfterVersion: new(int32(0))}), 50,
			[]string{"campaign_items_list_idx"}},
		"states that no run is in": {
			runs(model.AgentTestRunFilter{Statuses: []model.AgentTestRunStatus{"Error", "Queued"}}), 0,
			[]string{"agent_test_runs_status_idx"}},
		"chats that await an approval": {chats(model.SimulationChatFilter{AwaitsApproval: new(true)}), 0,
			[]string{"simulation_chats_waiting_idx"}},
		"chats that await no approval": {chats(model.SimulationChatFilter{AwaitsApproval: new(false)}), 50,
			[]string{"simulation_chats_list_idx"}},
		"an agent without tests": {runs(model.AgentTestRunFilter{AgentID: &idle.ID}), 0,
			[]string{"agent_tests_agent_idx"}},
		"an agent with all tests": {runs(model.AgentTestRunFilter{AgentID: &agent.ID}), 50,
			[]string{"agent_test_runs_list_idx"}},
		"a name that no test has (bounded)": {tests(model.AgentTestFilter{NameContains: new("zzqq")}), 0,
			[]string{"agent_tests_list_idx", "Seq Scan on agent_tests"}},
		"a state that no test has (bounded)": {
			tests(model.AgentTestFilter{LastRunStatuses: []model.AgentTestRunStatus{"Failed"}}), 0,
			[]string{"agent_tests_list_idx", "Seq Scan on agent_tests", "Index Scan using agent_tests"}},
	} {
		asked.asked = nil
		found, err := test.list(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, test.found, found, name)
		statement := asked.asked[len(asked.asked)-1]
		plan := planOf(t, explained, statement)
		require.True(t, slices.ContainsFunc(test.indexes, func(index string) bool { return strings.Contains(plan, index) }),
			"%s: %s\n%s", name, statement, plan)
	}
	for order, index := range map[model.AgentOrder]string{model.AgentOrderName: "agents_name_idx",
		model.AgentOrderUpdatedAt: "agents_updated_idx"} {
		_, err := conn.Exec(t.Context(), strings.ReplaceAll(grown[0], "'agent_'", "'"+string(order)+"_'"), companyID)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "ANALYZE agents")
		require.NoError(t, err)
		page, err := tenant.Agents(t.Context(), model.PageArgs{First: 50, OrderBy: order}, nil)
		require.NoError(t, err)
		asked.asked = nil
		_, err = tenant.Agents(t.Context(), model.PageArgs{First: 50, OrderBy: order, After: page.PageInfo.EndCursor}, nil)
		require.NoError(t, err)
		require.Contains(t, planOf(t, explained, asked.asked[0]), index)
	}
}
