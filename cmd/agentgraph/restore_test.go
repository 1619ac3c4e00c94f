package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// A dump of a database in use can be restored as docs/guides/backups.md describes.
func TestDumpIsRestored(t *testing.T) {
	t.Parallel()
	const secretKey = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	company, err := demo.Seed(t.Context(), store)
	require.NoError(t, err)
	tenant := store.Tenant(company.ID)
	key := newKey(t, tenant, model.APIKeyScopeAdmin)
	headers := map[string]any{"X-Token": "kept in the dump, encrypted"}
	before := serve(t, address, key, "--workers", "0", "--secret-key", secretKey)
	var made struct {
		CreateTool struct{ Tool struct{ ID string } }
	}
	before.must(t, `mutation ($in: CreateToolInput!) { createTool(input: $in) { tool { id } } }`,
		map[string]any{"in": map[string]any{
			"name": "Calendar", "technicalName": "calendar", "endpoint": map[string]any{"url": "https://calendar.example.com",
				"headers": headers},
		}}, &made)
	rows, shown := countRows(t, address), before.look(t)

	file := filepath.Join(t.TempDir(), "agentgraph.dump")
	runPostgres(t, address, "pg_dump", "--format=custom", "--file="+file, address)
	restored := dbtest.EmptyURL(t)
	runPostgres(t, restored, "pg_restore", "--no-owner", "--exit-on-error", "--dbname="+restored, file)

	require.Equal(t, rows, countRows(t, restored))
	require.Greater(t, len(rows), 20)
	require.Positive(t, rows["public.agents"])
	after := serve(t, restored, key, "--workers", "0", "--secret-key", secretKey)
	require.Equal(t, shown, after.look(t))
	again := dbtest.Open(t, restored, dbtest.Options()).Tenant(company.ID)
	tool, err := again.Tool(t.Context(), made.CreateTool.Tool.ID)
	require.NoError(t, err)
	kept, err := again.DecryptHeaders(tool.ID, tool.Endpoint)
	require.NoError(t, err)
	require.Equal(t, "kept in the dump, encrypted", kept["X-Token"])
	after.must(t, `mutation { createDataset(input: {name: "After the restore"}) { dataset { id } } }`, nil, nil)
}

// look returns the counts that a client sees, and the first agents in full.
func (s *served) look(t *testing.T) string {
	t.Helper()
	_, data, err := s.ask(t,
		`{ agents { totalCount nodes { id name prompt tools { id } tests { totalCount } } } datasets { totalCount } campaigns
			{ totalCount } }`, nil)
	require.NoError(t, err)
	return string(data)
}

// countRows counts the rows of every table, except River's tables, whose rows change all the time.
func countRows(t *testing.T, address string) map[string]int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	found, err := conn.Query(t.Context(),
		`SELECT format('%I.%I', schemaname, relname) FROM pg_stat_user_tables WHERE relname NOT LIKE 'river%'`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	rows := map[string]int{}
	for _, table := range tables {
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		rows[table] = n
	}
	return rows
}

// runPostgres runs a program from the Postgres installation of the database server.
func runPostgres(t *testing.T, address, program string, args ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	var directory string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`).Scan(&directory))
	require.NoError(t, conn.Close(t.Context()))
	path := filepath.Join(directory, program)
	if _, err := os.Stat(path); err != nil {
		path = program // the client programs may be a separate package in PATH
	}
	output, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", strings.Join(args, " "), output)
}
