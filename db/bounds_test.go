package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// The database's checks agree with Validate: values at a bound are stored, and values beyond it are refused.
func TestDatabaseChecksAgreeWithValidation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	newFixture(t, store, "OWN")
	text := func(n int) string { return "'" + strings.Repeat("é", n) + "'" }
	list := func(n int) string { return "'[" + strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") + "]'" }
	set := func(column, path string) func(any) string {
		return func(v any) string { return fmt.Sprintf("jsonb_set(%s, '{%s}', '%v')", column, path, v) }
	}
	llm, prompt, parser := "llm_settings", "prompt_settings", "parser_config"
	ofKind := func(kind string, values ...string) []string {
		for i, v := range values {
			values[i] = fmt.Sprintf("CASE kind WHEN '%s' THEN %s END", kind, v)
		}
		return values
	}
	simulation := func(values ...string) []string { return ofKind("Simulation", values...) }
	classification := func(values ...string) []string { return ofKind("Classification", values...) }
	// One of the two items is pending, without an error. The other has failed.
	onlyFailed := func(values ...string) []string {
		for i, v := range values {
			values[i] = "CASE running_status WHEN 'Error' THEN " + v + " END"
		}
		return values
	}
	context := func(messages, dataBag string) string {
		return fmt.Sprintf(`json_build_object('messages', %s::json, 'dataBag', %s::json)`, messages, dataBag)
	}
	quoted := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	for _, c := range []struct {
		table, column  string
		inside, beyond []string
	}{
		{"companies", "name", []string{text(1), text(255)}, []string{text(0), text(256), "NULL"}},
		{"api_keys", "name", []string{text(1), text(100)}, []string{text(0), text(101)}},
		{"api_keys", "scopes", []string{"'{read,write,simulate,admin}'"}, []string{"'{}'", "'{root}'", "'{read,root}'"}},
		{"api_keys", "hash", nil, []string{`'\x00'`}},
		{"agents", "id", nil, []string{text(0), text(65)}},
		{"agents", "name", []string{text(1), text(255)}, []string{text(0), text(256)}},
		{"agents", "channel", []string{"'SMS'"}, []string{"'sms'", "''"}},
		{"agents", "direction", []string{"'Outbound'"}, []string{"'outbound'"}},
		{"agents", "language", []string{"'fr-CA'"}, []string{"'french'", "'FR'", "'fr-ca'", "E'en\\n'"}},
		{"agents", "tags", []string{list(0), list(50)}, []string{list(51), "'{}'", "'null'", "NULL"}},
		{"agents", "prompt", []string{text(1), text(50_000)}, []string{text(0), text(50_001)}},
		{"agents", "prompt_version", nil, []string{"0"}},
		{"agents", "inbound_welcome_message", []string{"NULL", text(5_000)}, []string{text(0), text(5_001)}},
		{"agents", "outbound_welcome_message", []string{"NULL", text(5_000)}, []string{text(0), text(5_001)}},
		{"agents", "fields", []string{list(0), list(100)}, []string{list(101), "'{}'", "'null'"}},
		{"agents", "classification_tags", []string{list(100)}, []string{list(101), "'null'"}},
		{"agents", "extracted_values", []string{list(100)}, []string{list(101), "'null'"}},
		{"prompt_versions", "prompt", []string{text(50_000)}, []string{text(0), text(50_001)}},
		{"prompt_versions", "version", nil, []string{"0"}},
		{"tools", "name", []string{text(255)}, []string{text(0), text(256)}},
		{"tools", "technical_name", []string{"'a'", "'a" + strings.Repeat("_", 63) + "'"},
			[]string{"'a" + strings.Repeat("_", 64) + "'", "'A'", "'1'", "''", "E'a\\n'"}},
		{"tools", "description", []string{text(0), text(2_000)}, []string{text(2_001)}},
		{"tools", "parameters", []string{"'{}'"}, []string{"'[]'", "'null'"}},
		{"tools", "endpoint", []string{"NULL", "'{}'"}, []string{"'null'", "'[]'"}},
		{"sub_agents", "name", []string{text(255)}, []string{text(0), text(256)}},
		{"sub_agents", "technical_name", []string{"'a'"}, []string{"'A'", "''"}},
		{"sub_agents", "description", []string{text(0), text(2_000)}, []string{text(2_001)}},
		{"datasets", "name", []string{text(255)}, []string{text(0), text(256)}},
		{"datasets", "description", []string{"NULL", text(5_000)}, []string{text(5_001)}},
		{"datasets", "chunk_method", []string{"'tag'"}, []string{"'other'", "NULL"}},
		{"datasets", parser, each(set(parser, "chunkTokenNum"), 1, 2048), each(set(parser, "chunkTokenNum"), 0, 2049)},
		{"datasets", parser, each(set(parser, "taskPageSize"), 1, 1000), each(set(parser, "taskPageSize"), 0, 1001)},
		{"datasets", parser, each(set(parser, "delimiter"), quoted(1), quoted(255)), each(set(parser, "delimiter"), quoted(0),
			quoted(256))},
		{"knowledge_base_chats", "name", []string{text(255)}, []string{text(0), text(256)}},
		{"knowledge_base_chats", llm, each(set(llm, "temperature"), 0, 2), each(set(llm, "temperature"), -0.01, 2.01)},
		{"knowledge_base_chats", llm, each(set(llm, "topP"), 0, 1), each(set(llm, "topP"), -0.01, 1.01)},
		{"knowledge_base_chats", llm, each(set(llm, "presencePenalty"), -2, 2), each(set(llm, "presencePenalty"), -2.01,
			2.01)},
		{"knowledge_base_chats", llm, each(set(llm, "frequencyPenalty"), -2, 2), each(set(llm, "frequencyPenalty"), -2.01,
			2.01)},
		{"knowledge_base_chats", prompt, each(set(prompt, "similarityThreshold"), 0, 1),
			each(set(prompt, "similarityThreshold"), -0.01, 1.01)},
		{"knowledge_base_chats", prompt, each(set(prompt, "keywordsSimilarityWeight"), 0, 1),
			each(set(prompt, "keywordsSimilarityWeight"), -0.01, 1.01)},
		{"knowledge_base_chats", prompt, each(set(prompt, "topN"), 1, 100), each(set(prompt, "topN"), 0, 101)},
		{"knowledge_base_chats", prompt, each(set(prompt, "prompt"), quoted(50_000)),
			each(set(prompt, "prompt"), quoted(50_001))},
		{"knowledge_base_chats", prompt, each(set(prompt, "opener"), quoted(0), quoted(5_000)),
			each(set(prompt, "opener"), quoted(5_001))},
		{"knowledge_base_chats", prompt, each(set(prompt, "emptyResponse"), quoted(5_000)),
			each(set(prompt, "emptyResponse"), quoted(5_001))},
		{"agent_test_folders", "name", []string{text(1), text(100)}, []string{text(0), text(101)}},
		{"agent_test_folders", "color", []string{"'#aaBB09'"}, []string{"'#aabb0'", "'red'", "E'#aabb09\\n'", "'#gggggg'"}},
		{"agent_test_folders", "body", []string{text(0), text(20_000)}, []string{text(20_001)}},
		{"agent_tests", "name", []string{text(1), text(255)}, []string{text(0), text(256)}},
		{"agent_tests", "kind", nil, []string{"'Other'", "'Classification'", "'Simulation'"}},
		{"agent_tests", "last_run_status", []string{"'Cancelled'"}, []string{"'Done'", "NULL"}},
		{"agent_tests", "last_run_at", nil, []string{"NULL"}},
		{"agent_tests", "scenario", simulation(text(1), text(10_000)), append(simulation(text(0), text(10_001)), "NULL",
			"'for both'")},
		{"agent_tests", "criteria", simulation(list(1)+"::jsonb", list(30)+"::jsonb"),
			simulation(list(0)+"::jsonb", list(31)+"::jsonb", "'{}'::jsonb")},
		{"agent_tests", "max_turns", simulation("1", "30"), simulation("0", "31")},
		{"agent_tests", "conversation_messages", simulation(list(0)+"::json", list(200)+"::json"),
			simulation(list(201)+"::json", "'{}'::json")},
		{"agent_tests", "variables", simulation("'{}'::json"), simulation("'[]'::json", "'null'::json")},
		{"agent_tests", "tool_mocking", simulation("'{}'::jsonb"), simulation("'[]'::jsonb", "'null'::jsonb")},
		{"agent_tests", "conversation_context", classification(context(list(1), "'{}'"), context(list(200), "'{}'")),
			classification("'{}'::json", context(list(0), "'{}'"), context(list(201), "'{}'"), context(list(1), "'[]'"))},
		{"agent_tests", "tag_expected", classification(text(1), text(100)), append(classification(text(0), text(101)), "NULL",
			"'for both'")},
		{"agent_test_executions", "repeats", []string{"1", "20"}, []string{"0", "21"}},
		{"agent_test_executions", "votes", []string{"1", "3", "5"}, []string{"0", "2", "7"}},
		{"agent_test_executions", "concurrency", []string{"1", "50"}, []string{"0", "51"}},
		{"agent_test_executions", "status", []string{"'Cancelled'"}, []string{"'Done'", "'Completed'", "'Queued'"}},
		{"agent_test_executions", "unfinished", nil, []string{"-1", "0", "1"}},
		{"agent_test_executions", "next_position", []string{"0"}, []string{"-1"}},
		{"agent_test_executions", "version", []string{"1"}, []string{"0"}},
		{"agent_test_runs", "test_name", []string{text(255)}, []string{text(0), text(256)}},
		{"agent_test_runs", "position", nil, []string{"-1"}},
		{"agent_test_runs", "attempt", []string{"1", "20"}, []string{"0", "21"}},
		{"agent_test_runs", "status", nil, []string{"'Done'", "'Queued'", "'Running'", "'Error'"}},
		{"agent_test_runs", "snapshot", []string{"'{}'"}, []string{"'[]'", "'null'"}},
		{"agent_test_runs", "prompt_version", []string{"1"}, []string{"0"}},
		{"agent_test_runs", "claim", nil, []string{"-1", "0"}},
		{"agent_test_runs", "lost", []string{"0", "3"}, []string{"-1", "4"}},
		{"agent_test_runs", "messages", []string{"'[]'"}, []string{"'{}'", "'null'", "NULL"}},
		{"agent_test_runs", "tool_calls", []string{"'[]'"}, []string{"'{}'", "'null'", "NULL"}},
		{"agent_test_runs", "criteria_results", []string{"'[]'"}, []string{"'{}'", "'null'", "NULL"}},
		{"agent_test_runs", "classification_result", []string{"'{}'", "NULL"}, []string{"'[]'", "'null'"}},
		{"agent_test_runs", "turn_count", []string{"0"}, []string{"-1"}},
		{"agent_test_runs", "error", []string{"NULL"}, []string{"'{}'", "'[]'"}},
		{"agent_test_runs", "duration_ms", nil, []string{"-1", "NULL", "1"}},
		{"agent_test_runs", "version", []string{"1"}, []string{"0"}},
		{"campaigns", "name", []string{text(1), text(255)}, []string{text(0), text(256)}},
		{"campaigns", "status", []string{"'Paused'"}, []string{"'Done'"}},
		{"campaigns", "max_attempts", []string{"1", "20"}, []string{"0", "21"}},
		{"campaigns", "retry_delay_minutes", []string{"0", "43200"}, []string{"-1", "43201"}},
		{"campaigns", "default_region", []string{"'FR'", "NULL"}, []string{"'fr'", "'FRA'", "E'FR\\n'"}},
		{"campaigns", "own_fields", []string{list(0), list(100)}, []string{list(101), "'{}'", "'null'"}},
		{"campaigns", "version", []string{"0"}, []string{"-1"}},
		{"campaign_items", "phone_number", []string{"''", "'+12025550143'", "'+123456789012345'"},
			[]string{"'12'", "'+0123'", "'+1234567890123456'", "E'+12\\n'"}},
		{"campaign_items", "data_bag", []string{"'{}'"}, []string{"'[]'", "'null'", "NULL"}},
		{"campaign_items", "running_status", nil, []string{"'Done'", "'Processed'", "'Calling'"}},
		{"campaign_items", "attempt_count", nil, []string{"-1", "0"}},
		{"campaign_items", "is_picked_up", nil, []string{"true"}},
		{"campaign_items", "is_archived", []string{"true", "false"}, []string{"NULL"}},
		{"campaign_items", "result", nil, []string{"'{}'", "'[]'"}},
		{"campaign_items", "error", onlyFailed(text(1), text(1_000)), append(onlyFailed(text(0), text(1_001)), "NULL",
			"'for all'")},
		{"campaign_items", "claim_id", nil, []string{"'claim'"}},
		{"campaign_items", "event_count", nil, []string{"-1"}},
		{"campaign_items", "version", nil, []string{"0"}},
		{"campaign_items", "processed_at", nil, []string{"created_at"}},
		{"campaign_items", "next_try_date", nil, []string{"created_at"}},
		{"campaign_item_events", "type", []string{"'PickUp'"}, []string{"'Call'"}},
		{"campaign_item_events", "description", []string{text(1), text(2_000)}, []string{text(0), text(2_001)}},
	} {
		assign := func(value string) error {
			_, err := conn.Exec(ctx, "UPDATE "+c.table+" SET "+c.column+" = "+value)
			return err
		}
		for _, value := range c.inside {
			require.NoError(t, assign(value), "%s.%s", c.table, c.column)
		}
		for _, value := range c.beyond {
			var refused *pgconn.PgError
			require.ErrorAs(t, assign(value), &refused, "%s.%s = %.40s", c.table, c.column, value)
			require.Contains(t, []string{"23514", "23502"}, refused.Code, "%s.%s = %.40s: %v", c.table, c.column, value, refused)
		}
	}
}

func each(value func(any) string, given ...any) []string {
	all := make([]string, len(given))
	for i, v := range given {
		all[i] = value(v)
	}
	return all
}
