package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// The database's own checks agree with Validate: what is at the edge is stored, what is beyond it is not.
func TestChecksOfTheDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	newEstate(t, store, "OWN")
	text := func(n int) string { return "'" + strings.Repeat("é", n) + "'" }
	list := func(n int) string { return "'[" + strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") + "]'" }
	set := func(column, path string) func(any) string {
		return func(v any) string { return fmt.Sprintf("jsonb_set(%s, '{%s}', '%v')", column, path, v) }
	}
	llm, prompt, parser := "llm_settings", "prompt_settings", "parser_config"
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
		{"tools", "technical_name", []string{"'a'", "'a" + strings.Repeat("_", 63) + "'"}, []string{"'a" + strings.Repeat("_", 64) + "'", "'A'", "'1'", "''", "E'a\\n'"}},
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
		{"datasets", parser, each(set(parser, "delimiter"), quoted(1), quoted(255)), each(set(parser, "delimiter"), quoted(0), quoted(256))},
		{"knowledge_base_chats", "name", []string{text(255)}, []string{text(0), text(256)}},
		{"knowledge_base_chats", llm, each(set(llm, "temperature"), 0, 2), each(set(llm, "temperature"), -0.01, 2.01)},
		{"knowledge_base_chats", llm, each(set(llm, "topP"), 0, 1), each(set(llm, "topP"), -0.01, 1.01)},
		{"knowledge_base_chats", llm, each(set(llm, "presencePenalty"), -2, 2), each(set(llm, "presencePenalty"), -2.01, 2.01)},
		{"knowledge_base_chats", llm, each(set(llm, "frequencyPenalty"), -2, 2), each(set(llm, "frequencyPenalty"), -2.01, 2.01)},
		{"knowledge_base_chats", prompt, each(set(prompt, "similarityThreshold"), 0, 1), each(set(prompt, "similarityThreshold"), -0.01, 1.01)},
		{"knowledge_base_chats", prompt, each(set(prompt, "keywordsSimilarityWeight"), 0, 1), each(set(prompt, "keywordsSimilarityWeight"), -0.01, 1.01)},
		{"knowledge_base_chats", prompt, each(set(prompt, "topN"), 1, 100), each(set(prompt, "topN"), 0, 101)},
		{"knowledge_base_chats", prompt, each(set(prompt, "prompt"), quoted(50_000)), each(set(prompt, "prompt"), quoted(50_001))},
		{"knowledge_base_chats", prompt, each(set(prompt, "opener"), quoted(0), quoted(5_000)), each(set(prompt, "opener"), quoted(5_001))},
		{"knowledge_base_chats", prompt, each(set(prompt, "emptyResponse"), quoted(5_000)), each(set(prompt, "emptyResponse"), quoted(5_001))},
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
