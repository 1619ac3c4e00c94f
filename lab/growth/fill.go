package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// largest is the company with all runs and items, and every second row of the other tables.
const largest = "company_0"

const (
	runsPerExecution = 100
	messagesPerChat  = 10
)

// rows inserts rows 1 to $1. Names in braces are replaced.
var rows = []struct{ what, statement string }{
	{"companies", `INSERT INTO companies (id, name, created_at) SELECT 'company_' || i - 1, 'Company ' || i, '2024-01-01'
		FROM generate_series(1, $1) AS i`},
	{"agents", `INSERT INTO agents (company_id, id, name, channel, direction, language, tags, prompt, prompt_version,
		fields, classification_tags,
			extracted_values, is_call_transfer_enabled, created_at, updated_at)
		SELECT {company}, 'agent_' || i, (ARRAY['Front desk', 'Billing', 'Renewals', 'Québec'])[1 + i % 4] || ' ' || i, 'Web',
			'Outbound', 'en',
			to_jsonb(ARRAY['team-' || i % 50]), repeat('Be kind to everybody. ', 50), 1, '[]', '[]', '[]', false, {at}, {at}
		FROM generate_series(1, $1) AS i`},
	{"executions", `INSERT INTO agent_test_executions (company_id, id, repeats, concurrency, virtual_time, votes, status,
		unfinished, next_position, version,
			created_at, started_at, finished_at, run_count, passed_runs, failed_runs, error_runs, cancelled_runs, skipped_runs)
		SELECT 'company_0', 'execution_' || i, 1, 10, false, 1, 'Completed', 0, {perExecution}, 200, {at}, {at}, {at},
			{perExecution},
			{perExecution} - {perExecution} / 10, {perExecution} / 10, 0, 0, 0
		FROM generate_series(1, $1) AS i`},
	{"snapshots", `INSERT INTO agent_test_snapshots (company_id, execution_id, id, agent_id, definition)
		SELECT 'company_0', 'execution_' || 1 + i / ({perExecution} + 1), 'kept_' || i % ({perExecution} + 1), 'kept_0',
			json_build_object('prompt', repeat('Be kind to everybody. ', 20))
		FROM generate_series(1, $1) AS i`},
	{"runs", `INSERT INTO agent_test_runs (company_id, id, execution_id, tested_id, test_name, position, attempt, status,
		prompt_version,
			claim, lost, messages, tool_calls, turn_count, criteria_results, version, created_at, started_at, finished_at,
				duration_ms)
		SELECT 'company_0', 'run_' || i, 'execution_' || 1 + (i - 1) / {perExecution}, 'test_' || i % {perExecution},
			'A test', (i - 1) % {perExecution}, 1,
			CASE WHEN i % 10 = 0 THEN 'Failed' ELSE 'Passed' END, 1, 1, 0,
			json_build_array(json_build_object('role', 'user', 'text', repeat('I want a table for two. ', 10))), '[]', 1, '[]',
				1 + i % {perExecution},
			{at}, {at}, {at}, 1
		FROM generate_series(1, $1) AS i`},
	{"entries", `INSERT INTO usage_entries (company_id, idempotency_key, channel, agent_id, campaign_id, micro_credits, at)
		SELECT {company}, 'key_' || i, 'Web', 'agent_' || i % 50, '', 10000, {at} FROM generate_series(1, $1) AS i`},
	{"chats", `INSERT INTO simulation_chats (company_id, id, agent_id, status, data_bag, tool_mocking, warnings,
		last_sequence, created_at)
		SELECT {company}, 'chat_' || i, 'agent_' || 1 + i % 50, 'Open', '{}', '{}', '[]', {perChat}, {at}
			FROM generate_series(1, $1) AS i`},
	{"messages", `INSERT INTO simulation_chat_messages (company_id, chat_id, sequence, role, text, written_at,
		is_conversation_ended, citations)
		SELECT CASE WHEN ((i - 1) / {perChat} + 1) % 2 = 0 THEN 'company_0' ELSE 'company_' || ((i - 1) / {perChat} + 1) %
			{companies} END,
			'chat_' || 1 + (i - 1) / {perChat}, 1 + (i - 1) % {perChat}, CASE WHEN i % 2 = 0 THEN 'user' ELSE 'assistant' END,
			repeat('A table for two is free at eight. ', 5), {at}, false, '[]'
		FROM generate_series(1, $1) AS i`},
	{"campaigns", `INSERT INTO campaigns (company_id, id, agent_id, name, status, max_attempts, retry_delay_minutes,
		own_fields, version, created_at, updated_at)
		SELECT 'company_0', 'campaign', 'agent_2', 'All of them', 'Running', 3, 60, '[]', $1, '2024-01-01', '2024-01-01'`},
	{"items", `INSERT INTO campaign_items (company_id, id, campaign_id, phone_number, data_bag, running_status,
		attempt_count, is_picked_up, is_archived,
			due_at, event_count, version, created_at, processed_at, last_call_date, result)
		SELECT 'company_0', 'item_' || i, 'campaign', '+1202' || lpad(i::text, 7, '0'), json_build_object('name',
			'Contact ' || i),
			CASE WHEN i % 2 = 0 THEN 'Processed' ELSE 'Pending' END, 1 - i % 2, false, false, {at}, 0, i, {at}, CASE
				WHEN i % 2 = 0 THEN {at} END, {at},
			CASE WHEN i % 2 = 0 THEN
				'{"tag": {"id": "t", "name": "Interested", "color": "#112233"}, "isSystem": false, "metadata": {}}'::json END
		FROM generate_series(1, $1) AS i`},
}

// derivedRows lists the statements that derive rows from the inserted ones.
var derivedRows = []string{
	`INSERT INTO usage_days SELECT company_id, (at AT TIME ZONE 'UTC')::date, channel, agent_id, campaign_id,
		sum(micro_credits), count(*)
		FROM usage_entries GROUP BY 1, 2, 3, 4, 5`,
	`INSERT INTO usage_months SELECT company_id, date_trunc('month', day::timestamp)::date, channel, agent_id, campaign_id,
		sum(micro_credits), sum(entries)
		FROM usage_days GROUP BY 1, 2, 3, 4, 5`,
	`UPDATE campaigns SET counted_at = version, item_counts = (SELECT ARRAY[count(*) FILTER (WHERE running_status =
		'Pending'), 0, 0,
		count(*) FILTER (WHERE running_status = 'Processed'), 0, 0, 0, 0, 0, 0]::int[] FROM campaign_items)`,
	"VACUUM ANALYZE",
}

// fill inserts the rows. It disables the checks of foreign keys, because the rows are correct.
func fill(ctx context.Context, conn *pgx.Conn, s size) error {
	if _, err := conn.Exec(ctx, "SET session_replication_role = replica"); err != nil {
		return err
	}
	executions := (s.runs + runsPerExecution - 1) / runsPerExecution
	counts := map[string]int{
		"companies": s.companies, "agents": s.agents, "executions": executions,
		"snapshots": executions*(runsPerExecution+1) - 1, "runs": s.runs, "entries": s.entries,
		"chats": (s.messages + messagesPerChat - 1) / messagesPerChat, "messages": s.messages, "campaigns": s.items,
		"items": s.items,
	}
	names := strings.NewReplacer(
		"{company}", fmt.Sprintf("(CASE WHEN i %% 2 = 0 THEN 'company_0' ELSE 'company_' || i %% %d END)", s.companies),
		"{companies}", fmt.Sprint(s.companies), "{perExecution}", fmt.Sprint(runsPerExecution), "{perChat}",
		fmt.Sprint(messagesPerChat),
		// Creation times are spread over two years, so that the newest rows have the newest times.
		"{at}", fmt.Sprintf("(timestamptz '2024-01-01' + i %% %d * interval '63 seconds')", fullSize.runs),
	)
	for _, r := range rows {
		if _, err := conn.Exec(ctx, names.Replace(r.statement), pgx.QueryExecModeExec, counts[r.what]); err != nil {
			return fmt.Errorf("fill %s: %w", r.what, err)
		}
	}
	for _, statement := range derivedRows {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}
