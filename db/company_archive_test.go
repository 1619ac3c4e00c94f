package db_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// A new company table must be archived, or excluded with a reason.
func TestEveryTableIsArchivedOrExcluded(t *testing.T) {
	t.Parallel()
	tables := securedTables(t, connect(t, dbtest.URL(t)))
	delete(tables, "companies")
	known := slices.Concat(db.ArchivedTables(), slices.Collect(maps.Keys(db.NotArchived)))
	require.ElementsMatch(t, slices.Collect(maps.Keys(tables)), known)
}

// archived returns the rows of a company as they should be after an import into another database. An archive leaves out
// credentials, the key that wrote a version of a prompt, and the worker that has a job. It contains secrets only on
// request.
func archived(t *testing.T, rows []string, secrets bool) []string {
	t.Helper()
	var kept []string
	for _, row := range rows {
		table, text, _ := strings.Cut(row, " ")
		if why := db.NotArchived[table]; strings.HasPrefix(why, "credentials") || table == "company_imports" ||
			table == "idempotent_requests" || table == "audit_deliveries" || strings.HasPrefix(table, "webhook") {
			continue
		}
		values := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(text), &values))
		if values["action"] == "ImportCompany" {
			continue
		}
		for _, column := range []string{"api_key_id", "river_job_id"} {
			if _, has := values[column]; has && table != "audit_events" {
				values[column] = nil
			}
		}
		if table == "agent_test_schedules" {
			values["is_enabled"], values["disabled_reason"], values["cron_at"], values["next_run_at"] = false,
				"it came from an archive", nil, nil
		}
		if table == "campaigns" && values["status"] == "Running" {
			values["status"] = "Paused"
		}
		if endpoint, ok := values["endpoint"].(map[string]any); ok && table == "tools" && !secrets {
			delete(endpoint, "sealedHeaders")
			endpoint["headerNames"] = []any{}
		}
		// Vectors are arrays, or values of pgvector, which are text.
		if vector, ok := values["embedding"].(string); ok {
			values["embedding"] = json.RawMessage(vector)
		}
		same, err := json.Marshal(values)
		require.NoError(t, err)
		kept = append(kept, table+" "+string(same))
	}
	slices.Sort(kept)
	return kept
}

func TestArchivedCompanyIsImportedUnchanged(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	for name, from := range dbtest.Stores(t, dbtest.Options()) {
		t.Run(name, func(t *testing.T) {
			own := newFixture(t, from, "OWN")
			newFixture(t, from, "SECRET")
			_, err := own.tenant.CreateTool(t.Context(), model.CreateToolInput{
				Name: "CRM", TechnicalName: "crm", Parameters: model.JSONObject("{\n \"type\": \"object\", \"properties\": " +
					"{\"b\": {}, \"a\": {}}}"),
				Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://crm.example.com/", TimeoutSeconds: 5,
					Headers: model.JSONObject(`{"X-Token":"hidden-value"}`)},
			})
			require.NoError(t, err)
			require.NoError(t, own.tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: model.RetentionChats,
				Days: 40_000}))
			require.NoError(t, own.tenant.DeleteAgentTest(t.Context(), own.ids["ClassificationTestID"]))
			for into, target := range dbtest.Stores(t, dbtest.Options()) {
				secrets := into == name
				file := &bytes.Buffer{}
				manifest, err := archive.Export(t.Context(), from, own.tenant.CompanyID(), file,
					archive.ExportOptions{Secrets: secrets})
				require.NoError(t, err)
				require.Equal(t, secrets, len(manifest.LeftOut) == 0)
				for table := range manifest.Rows {
					require.True(t, manifest.Rows[table] > 0 || table == "tombstones", "the company has a row of %s", table)
				}
				require.NoError(t, db.Sweep(from)(t.Context()), "archives omit marked rows, and the sweep removes them")
				whole := archived(t, rowsOf(t, connect(t, addressOf(t, from)))[own.tenant.CompanyID()], secrets)

				conn := connect(t, addressOf(t, target))
				other := newFixture(t, target, "OTHER")
				before := rowsOf(t, conn)
				_, err = archive.Import(t.Context(), target, bytes.NewReader(file.Bytes()),
					archive.ImportOptions{IsRehearsal: true})
				require.NoError(t, err)
				require.Equal(t, before, rowsOf(t, conn), "a dry run stores nothing")
				_, err = archive.Import(t.Context(), target, bytes.NewReader(file.Bytes()), archive.ImportOptions{})
				require.NoError(t, err)
				after := rowsOf(t, conn)
				require.Equal(t, before[other.tenant.CompanyID()], after[other.tenant.CompanyID()])
				events, err := target.Tenant(own.tenant.CompanyID()).AuditEvents(t.Context(), model.PageArgs{First: 2}, nil)
				require.NoError(t, err)
				require.Equal(t, model.AuditActionImportCompany, events.Nodes[0].Action)
				require.Equal(t, model.AuditActionExportCompany, events.Nodes[1].Action, "the archive has its own export")
				require.Equal(t, own.tenant.CompanyID(), events.Nodes[1].TargetID)
				require.Equal(t, whole, archived(t, after[own.tenant.CompanyID()], true), into)
				var parameters string
				require.NoError(t, conn.QueryRow(t.Context(), "SELECT parameters::text FROM tools WHERE technical_name = 'crm'").
					Scan(&parameters))
				require.Equal(t, `{"type":"object","properties":{"b":{},"a":{}}}`, parameters,
					"models read the keys in this order")

				_, err = archive.Import(t.Context(), target, bytes.NewReader(file.Bytes()), archive.ImportOptions{})
				require.ErrorIs(t, err, db.ErrImportedBefore)
				again := &bytes.Buffer{}
				_, err = archive.Export(t.Context(), from, own.tenant.CompanyID(), again, archive.ExportOptions{})
				require.NoError(t, err)
				_, err = archive.Import(t.Context(), target, again, archive.ImportOptions{})
				fails(t, err, model.Conflict)
				require.ErrorContains(t, err, "already exists. An import always creates a company")
				require.Equal(t, after, rowsOf(t, conn))
			}
		})
	}
}

func addressOf(t *testing.T, store *db.Store) string {
	t.Helper()
	return store.Pool().Config().ConnString()
}

// Autovacuum sees none of an import's rows. If the statistics said that a table is empty, Postgres would check each
// reference by an index that reads all rows of the company.
func TestImportChecksReferencesByTheirKeys(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfSharded(t) // the statistics belong to shards, on other nodes
	store := dbtest.New(t)
	conn := connect(t, addressOf(t, store))
	const chats = 2000
	lines := func(n int, format string) (lines []json.RawMessage) {
		for i := range n {
			lines = append(lines, json.RawMessage(fmt.Sprintf(format, i)))
		}
		return lines
	}
	company, err := model.NewCompany("Moved", time.Now())
	require.NoError(t, err)
	err = store.ImportCompany(t.Context(), company, "archive_1", false,
		func(ctx context.Context, in *db.CompanyImport) error {
			require.NoError(t, in.Rows(ctx, "agents", lines(1, `{"id": "agent_%d", "name": "A", "prompt": "Hi", "channel": "Web",
				"direction": "Inbound"}`)))
			require.NoError(t, in.Rows(ctx, "simulation_chats", lines(chats, `{"id": "chat_%d", "agent_id": "agent_0",
				"status": "Open", "data_bag": {}, "tool_mocking": {"mockedTools": [], "mockedSubAgents": [],
				"sideEffects": "Allow"}, "warnings": [], "last_sequence": 1, "created_at": "2026-03-01T09:30:00Z"}`)))
			message := `{"chat_id": "chat_%d", "sequence": 1, "role": "user", "text": "Hello", "written_at":
				"2026-03-01T09:30:00Z", "is_conversation_ended": false, "citations": []}`
			require.NoError(t, in.Rows(ctx, "simulation_chat_messages", lines(1, message)))
			_, err := conn.Exec(ctx, "SET lock_timeout = '100ms'")
			require.NoError(t, err)
			_, _ = conn.Exec(ctx, "VACUUM simulation_chats") // it fails if the import has locked the table
			return in.Rows(ctx, "simulation_chat_messages", lines(chats, message)[1:])
		})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var byKey, byAgent int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT sum(idx_scan) FILTER (WHERE indexrelname LIKE '%pkey'),
			sum(idx_scan) FILTER (WHERE indexrelname LIKE '%agent_idx') FROM pg_stat_user_indexes
			WHERE relname = 'simulation_chats'`).Scan(&byKey, &byAgent))
		return byKey+byAgent >= chats && byAgent < chats/10
	}, dbtest.WaitTimeout, 50*time.Millisecond)
}

// Rows that refer to a refused row are checked together, in few statements. Only their own faults are listed.
func TestImportChecksRowsOfRefusedRowsTogether(t *testing.T) {
	t.Parallel()
	counted := &statements{}
	store := dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: counted})
	company, err := model.NewCompany("Moved", time.Now())
	require.NoError(t, err)
	test := func(id, more string) json.RawMessage {
		return json.RawMessage(`{"id": "` + id + `", "name": "` + id + `", "scenario": "B", "criteria": ["C"]` + more + "}")
	}
	err = store.ImportCompany(t.Context(), company, "archive_1", false,
		func(ctx context.Context, in *db.CompanyImport) error {
			refused := func(table string, lines ...json.RawMessage) (indexes []int) {
				var faults db.RowErrors
				if err := in.Rows(counted.in(ctx), table, lines); !errors.As(err, &faults) {
					require.NoError(t, err)
				}
				for _, fault := range faults {
					indexes = append(indexes, fault.Index)
				}
				return indexes
			}
			require.Equal(t, []int{0, 2}, refused("agents", json.RawMessage(`{"id": "a1", "channel": "Pigeon"}`),
				json.RawMessage(`{"id": "a2", "name": "A", "prompt": "Hi", "channel": "Web", "direction": "Inbound"}`),
				json.RawMessage(`{"id": null, "name": "A", "prompt": "Hi", "channel": "Web", "direction": "Inbound"}`)))
			many := make([]json.RawMessage, 100)
			for i := range many {
				many[i] = test(fmt.Sprint("t", i), `, "agent_id": "a1"`)
			}
			before := counted.n.Load()
			require.Empty(t, refused("agent_tests", many...))
			require.LessOrEqual(t, counted.n.Load()-before, int64(10))
			require.Equal(t, []int{1, 3}, refused("agent_tests", test("u1", `, "agent_id": "a2"`),
				test("u2", `, "agent_id": "a1", "max_turns": 99`), test("u3", `, "agent_id": "a1"`),
				test("u4", `, "agent_id": "none", "folder_id": null`), test("a1", `, "agent_id": "a2"`)))
			return errors.New("refused")
		})
	require.EqualError(t, err, "refused")
}
