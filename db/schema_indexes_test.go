package db_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
)

const schemaIndexes = "schema/indexes.sql"

// The program's list of indexes must match the migrated tables. AGENTGRAPH_RECORD=1 rewrites it. River's tables are not
// in it, because the version of River that created them decides on their indexes.
func TestListOfIndexesIsCurrent(t *testing.T) {
	t.Parallel()
	rows, err := connect(t, dbtest.URL(t)).Query(t.Context(), `
		SELECT coalesce(
			'ALTER TABLE ' || t.relname || ' ADD CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(c.oid, true),
			pg_get_indexdef(indexrelid, 0, true))
		FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid JOIN pg_class AS t ON t.oid = indrelid
			LEFT JOIN pg_constraint AS c ON conindid = indexrelid AND contype IN ('p', 'u', 'x')
		WHERE t.relnamespace = 'public'::regnamespace AND t.relname NOT LIKE 'river\_%'
		ORDER BY t.relname COLLATE "C", i.relname COLLATE "C"`)
	require.NoError(t, err)
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	text := "-- AGENTGRAPH_RECORD=1 go test ./db -run TestListOfIndexesIsCurrent writes this file.\n" +
		strings.Join(statements, ";\n") + ";\n"
	if os.Getenv("AGENTGRAPH_RECORD") != "" {
		require.NoError(t, os.WriteFile(schemaIndexes, []byte(text), 0o644))
	}
	current, err := os.ReadFile(schemaIndexes)
	require.NoError(t, err)
	require.Equal(t, text, string(current), "AGENTGRAPH_RECORD=1 go test ./db -run TestListOfIndexesIsCurrent writes it")
}

// The repairs of all lost indexes lead to the indexes of a new database.
func TestLostIndexesCanBeRepaired(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	migrator, err := schema.NewMigrator(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, migrator.Close()) })
	faults := func() (names, repairs []string) {
		all, err := migrator.IndexFaults(t.Context())
		require.NoError(t, err)
		for _, f := range all {
			names, repairs = append(names, f.Name), append(repairs, f.Repair)
		}
		return names, repairs
	}
	names, _ := faults()
	require.Empty(t, names)
	for _, statement := range []string{
		"DROP INDEX campaign_items_list_idx",
		"ALTER TABLE usage_entries DROP CONSTRAINT usage_entries_pkey",
		"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'agents_pkey'::regclass",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	names, repairs := faults()
	require.Equal(t, []string{"agents_pkey", "campaign_items_list_idx", "usage_entries_pkey"}, names)
	for _, repair := range repairs {
		_, err := conn.Exec(t.Context(), repair)
		require.NoError(t, err, repair)
	}
	names, _ = faults()
	require.Empty(t, names)
}
