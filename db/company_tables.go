package db

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// archivedTable is a table whose rows an archive of a company contains.
type archivedTable struct {
	name string
	// row is a nil pointer to the struct of a row.
	row any
	// excluded lists the columns that the archive leaves out. After an import, they are null or computed again.
	excluded []string
	// expressions maps columns to expressions, for columns that are stored in several formats, or contain secrets.
	expressions map[string]string
	// condition is the condition for archived rows, which are not marked as deleted; ?0 is the company. It is empty if all
	// rows are archived.
	condition string
	// The function defaults returns the values of columns that a line leaves out.
	defaults func() map[string]any
	// defaultsFor does the same as defaults, for values that depend on the line.
	defaultsFor func(given map[string]json.RawMessage) map[string]any
	// jsonTypes returns nil pointers to the types of JSON columns that row does not declare.
	jsonTypes func(given map[string]json.RawMessage) map[string]any
	// overrides has values of columns that override the line.
	overrides map[string]any
}

// withoutSecrets is the endpoint of a tool without its headers.
const withoutSecrets = `CASE WHEN jsonb_exists(endpoint, 'sealedHeaders') THEN (endpoint - 'sealedHeaders') || '{"headerNames": []}' ELSE endpoint END`

// disabledExpressions disables the schedules in an archive, because the originals on this server continue. It has
// expressions by column.
var disabledExpressions = map[string]string{
	"is_enabled": "false", "disabled_reason": "'it came from an archive'", "cron_at": "NULL::timestamptz",
	"next_run_at": "NULL::timestamptz",
}

// disabledValues disables imported schedules until a user enables them.
var disabledValues = map[string]any{"is_enabled": false, "disabled_reason": "it came from an archive", "cron_at": nil,
	"next_run_at": nil}

// notDeleted is the condition for rows that are not marked as deleted.
const notDeleted = "deleted_at IS NULL"

// Conditions for rows whose parents are not marked as deleted.
var (
	agentNotDeleted     = parentNotDeleted("agent_id", "agents")
	campaignNotDeleted  = parentNotDeleted("campaign_id", "campaigns")
	testNotDeleted      = parentNotDeleted("test_id", "agent_tests")
	executionNotDeleted = parentNotDeleted("execution_id", "agent_test_executions")
)

// archivedTables lists each table after those that its rows refer to. Cyclic references are deferrable.
var archivedTables = []archivedTable{
	{name: "knowledge_base_chats", row: (*model.KnowledgeBaseChat)(nil), defaults: func() map[string]any {
		return mergeMaps(created(), map[string]any{"llm_settings": model.DefaultLlmSettings,
			"prompt_settings": model.DefaultPromptSettings})
	}},
	{name: "datasets", row: (*model.Dataset)(nil), defaults: func() map[string]any {
		return mergeMaps(created(), map[string]any{"chunk_method": model.ChunkMethods[0], "parser_config": defaultParser,
			"language": model.AnyLanguage})
	}},
	{name: "knowledge_base_chat_datasets", row: (*chatDataset)(nil), defaults: firstPosition},
	{name: "documents", row: (*model.Document)(nil), excluded: []string{"object_id"}, defaults: func() map[string]any {
		return mergeMaps(created(), map[string]any{"status": model.DocumentStatusPending, "chunk_count": 0, "claim": 0,
			"waits":       0,
			"indexing_id": model.NewID("indexing")})
	}},
	{name: "chunks", row: (*model.Chunk)(nil)},
	{name: "labelled_questions", row: (*model.LabelledQuestion)(nil), defaults: created},
	{name: "chunk_vectors", expressions: map[string]string{"embedding": "embedding::real[]"}},
	{name: "agents", row: (*model.Agent)(nil), excluded: []string{"deleted_at"}, condition: notDeleted,
		defaults: func() map[string]any {
			return mergeMaps(updatedDefaults(), map[string]any{
				"language": "en", "tags": none, "fields": none, "classification_tags": none, "extracted_values": none,
				"is_call_transfer_enabled": false, "prompt_version": 1,
			})
		}},
	{name: "prompt_versions", row: (*model.PromptVersion)(nil), condition: agentNotDeleted, excluded: []string{"api_key_id"},
		defaults: created},
	{name: "mcp_servers", row: (*model.McpServer)(nil), expressions: map[string]string{"endpoint": withoutSecrets},
		defaults: func() map[string]any { return mergeMaps(updatedDefaults(), map[string]any{"offers": none}) }},
	{name: "tools", row: (*model.Tool)(nil), expressions: map[string]string{"endpoint": withoutSecrets},
		defaults: func() map[string]any {
			return mergeMaps(updatedDefaults(),
				map[string]any{"description": "", "approval": model.ToolApprovalAuto, "parameters": json.RawMessage(`{"type":"object","properties":{}}`)})
		}},
	{name: "agent_tools", row: (*agentTool)(nil), condition: agentNotDeleted, defaults: firstPosition},
	{name: "sub_agents", row: (*model.SubAgent)(nil), defaults: func() map[string]any {
		return mergeMaps(created(), map[string]any{"description": "", "position": 0})
	}},
	{name: "simulation_chats", row: (*model.SimulationChat)(nil), excluded: []string{"extraction_at"},
		condition: agentNotDeleted},
	{name: "simulation_chat_messages", row: (*model.SimulationChatMessage)(nil),
		condition: "chat_id IN (SELECT id FROM simulation_chats WHERE company_id = ?0 AND " + agentNotDeleted + ")"},
	{name: "tool_calls", row: (*model.ToolCall)(nil), condition: "chat_id IN (SELECT id FROM simulation_chats WHERE " +
		"company_id = ?0 AND " + agentNotDeleted + ")"},
	{name: "agent_test_folders", row: (*model.AgentTestFolder)(nil), condition: agentNotDeleted,
		defaults: func() map[string]any {
			return mergeMaps(updatedDefaults(), map[string]any{"color": "#6B7280", "body": ""})
		}},
	{name: "agent_tests", row: (*model.AgentTestRow)(nil), excluded: []string{"deleted_at"}, condition: notDeleted,
		defaults: func() map[string]any {
			return mergeMaps(updatedDefaults(), map[string]any{"kind": model.AgentTestKindSimulation})
		}, defaultsFor: defaultsOfTest},
	{name: "agent_test_schedules", row: (*model.AgentTestSchedule)(nil), expressions: disabledExpressions, overrides: disabledValues,
		defaults: func() map[string]any {
			return mergeMaps(updatedDefaults(), map[string]any{
				"repeats": 1, "concurrency": 5, "virtual_time": false, "votes": 1, "time_zone": "UTC", "after_prompt_change": false,
			})
		}},
	{name: "agent_test_executions", row: (*model.AgentTestExecution)(nil), condition: notDeleted,
		excluded: []string{"api_key_id", "passed_runs", "failed_runs", "error_runs", "cancelled_runs", "skipped_runs",
			"deleted_at"},
		defaults: func() map[string]any { return map[string]any{"votes": 1} }},
	{name: "agent_test_snapshots", condition: executionNotDeleted, jsonTypes: definitionTypes},
	{name: "agent_test_runs", row: (*model.AgentTestRun)(nil), condition: executionNotDeleted,
		expressions: map[string]string{
			testIDColumn: strings.NewReplacer("?0", "agent_test_runs", "?1", testIDColumn, "?3", "?0").Replace(existingTest),
		},
		defaults: func() map[string]any { return map[string]any{"row_key": ""} }},
	{name: "criterion_labels", row: (*model.CriterionLabel)(nil), condition: executionNotDeleted,
		defaults: func() map[string]any { return mergeMaps(updatedDefaults(), map[string]any{"is_sampled": true}) }},
	{name: "blame_searches", row: (*model.BlameSearch)(nil), excluded: []string{"api_key_id"}, condition: testNotDeleted},
	{name: "campaigns", row: (*model.Campaign)(nil), excluded: []string{"item_counts", "counted_at", "deleted_at"},
		condition: notDeleted, defaults: func() map[string]any {
			return mergeMaps(updatedDefaults(), map[string]any{
				"own_fields": none, "version": 0, "max_attempts": 3, "retry_delay_minutes": 60, "status": model.CampaignStatusDraft,
			})
		}},
	{name: "campaign_items", row: (*model.CampaignItem)(nil), condition: campaignNotDeleted, defaultsFor: resultOfItem,
		defaults: func() map[string]any {
			return mergeMaps(created(), map[string]any{
				"data_bag": map[string]any{}, "due_at": now(), "attempt_count": 0, "event_count": 0, "is_archived": false,
				"is_picked_up": false, "running_status": model.CampaignItemStatusPending,
			})
		}},
	{name: "campaign_item_events", row: (*model.CampaignItemEvent)(nil),
		condition: "item_id IN (SELECT id FROM campaign_items WHERE company_id = ?0 AND " + campaignNotDeleted + ")"},
	{name: "usage_entries", row: (*model.UsageEntry)(nil),
		defaults: func() map[string]any { return map[string]any{"campaign_id": ""} }},
	{name: "tombstones"},
	{name: "retentions", row: (*model.Retention)(nil)},
	{name: "plans", row: (*model.Plan)(nil)},
	{name: "audit_events", row: (*model.AuditEvent)(nil)},
	{name: "jobs", excluded: []string{"river_job_id"}, condition: "kind <> '" + objectJob + "'"},
}

// notArchived maps every other table of companies to the reason why archives leave it out.
var notArchived = map[string]string{
	"document_contents":   "written as files of the archive",
	"dataset_terms":       "counted again from the chunks",
	"stored_bytes":        "added up again from the documents",
	"usage_days":          "added up again from the ledger",
	"usage_months":        "added up again from the ledger",
	"api_keys":            "credentials of this server",
	"imported_key_hashes": "credentials of this server",
	"access_tokens":       "credentials of this server",
	"webhooks":            "recipients of this server's events, with their secrets",
	"webhook_deliveries":  "messages that this server has sent",
	"idempotent_requests": "requests to this server, kept for a day",
	"audit_deliveries":    "the state of deliveries of this server",
	"company_imports":     "imports into this database",
}

var (
	none          = []any{}
	defaultParser = model.ParserConfig{ChunkTokenNum: 512, LayoutRecognize: true, Delimiter: "\n", TaskPageSize: 12}
)

// firstPosition returns the default position of a row: the first in its list.
func firstPosition() map[string]any { return map[string]any{"position": 0} }

// defaultsOfTest returns the defaults of a simulation, the same as createSimulationTest. Classifications have none.
func defaultsOfTest(given map[string]json.RawMessage) map[string]any {
	if string(given["kind"]) == `"Classification"` {
		return nil
	}
	return map[string]any{
		"criteria": none, "max_turns": 10, "conversation_messages": none, "variables": map[string]any{},
		"tool_mocking": model.ToolMocking{MockedTools: []model.MockedTool{}, MockedSubAgents: []model.MockedSubAgent{},
			SideEffects: model.SideEffectsAllow},
	}
}

func created() map[string]any { return map[string]any{"created_at": now()} }

func updatedDefaults() map[string]any {
	return mergeMaps(created(), map[string]any{"updated_at": now()})
}

func mergeMaps(base, more map[string]any) map[string]any {
	maps.Copy(base, more)
	return base
}

// ArchivedTables returns the names of the tables in an archive, each after the tables that it refers to.
func ArchivedTables() []string {
	return model.Map(archivedTables, func(table archivedTable) string { return table.name })
}

func (t *Tenant) archived(table string) *bun.SelectQuery {
	q := t.db.NewSelect().TableExpr("?", bun.Ident(table)).Where("company_id = ?", t.CompanyID())
	switch kept := archivedTableOf(table).condition; {
	case strings.Contains(kept, "?0"):
		q = q.Where(kept, t.CompanyID())
	case kept != "":
		q = q.Where(kept)
	}
	return q
}

func archivedTableOf(name string) *archivedTable {
	i := slices.IndexFunc(archivedTables, func(t archivedTable) bool { return t.name == name })
	return &archivedTables[i]
}

// columnsOf returns the archived columns of each table, in order, and its primary key, both without company_id.
func (t *Tenant) columnsOf(ctx context.Context) (columns, keys map[string][]string, err error) {
	rows := []struct {
		Name    string
		Columns []string `bun:",array"`
		Keys    []string `bun:",array"`
	}{}
	err = t.db.NewRaw(`SELECT relname::text AS name,
			array_agg(attname::text ORDER BY attnum) AS columns,
			array_agg(attname::text ORDER BY array_position(indkey::int2[], attnum)) FILTER (WHERE attnum = ANY (indkey)) AS keys
		FROM pg_class AS t JOIN pg_attribute ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped
			JOIN pg_index ON indrelid = t.oid AND indisprimary
		WHERE relnamespace = `+pg.OwnSchema+` AND relname = ANY (?::text[]) AND attname <> 'company_id' GROUP BY relname`,
		pgdialect.Array(ArchivedTables())).Scan(ctx, &rows)
	columns, keys = map[string][]string{}, map[string][]string{}
	for _, row := range rows {
		without := archivedTableOf(row.Name).excluded
		columns[row.Name] = slices.DeleteFunc(row.Columns,
			func(column string) bool { return slices.Contains(without, column) })
		keys[row.Name] = row.Keys
	}
	return columns, keys, err
}

// identifiers quotes column names and joins them by commas.
func identifiers(names []string) bun.Safe {
	quoted := model.Map(names, func(name string) string { return `"` + name + `"` })
	return bun.Safe(strings.Join(quoted, ", "))
}
