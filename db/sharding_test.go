package db_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
)

// The errors are those of Citus 13 and of Postgres.
func TestConstraintsAreIdentifiedByName(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]*pgconn.PgError{
		"from a shard": {Code: "23505",
			Message: `duplicate key value violates unique constraint "tools_technical_name_key_102041"`},
		"with a field": {Code: "23505", Message: "…", ConstraintName: "tools_technical_name_key"},
		"of a shard":   {Code: "23505", Message: "…", ConstraintName: "tools_technical_name_key_102041"},
	} {
		require.Equal(t, "tools_technical_name_key", db.ConstraintOf(err), name)
	}
	require.Equal(t, "top_10_key", db.ConstraintOf(&pgconn.PgError{ConstraintName: "top_10_key"}))
	require.Empty(t, db.ConstraintOf(&pgconn.PgError{Message: "out of memory"}))
}

// unfit matches changes that Citus refuses on tables that are already distributed.
var unfit = map[string]*regexp.Regexp{
	"a column with a check: add the column, and then a constraint with a name": regexp.MustCompile(
		`(?is)\bADD COLUMN [^,;]*\bCHECK\b`),
	"a constraint without a name":                   regexp.MustCompile(`(?i)\bADD (CHECK|UNIQUE|FOREIGN|PRIMARY)\b`),
	"the storage of a column: CREATE TABLE says it": regexp.MustCompile(`(?i)\bSET STORAGE\b`),
	"an UPDATE by the clock or the session": regexp.MustCompile(
		`(?is)\bUPDATE [^;]*\b(now\(|current_|to_tsvector\('|AT TIME ZONE)`),
	"a subquery without columns": regexp.MustCompile(`(?i)\bSELECT\s+FROM\b`),
}

// lastUnread is the last migration before these rules existed. It must run before the tables are distributed.
const lastUnread = "0034"

func TestMigrationsFitShardedTables(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	old := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for rule, form := range unfit {
			if filepath.Base(file)[:len(lastUnread)] <= lastUnread {
				old[rule] = old[rule] || form.Match(text)
				continue
			}
			require.Falsef(t, form.Match(text), "%s has %s", file, rule)
		}
	}
	require.True(t, old["a column with a check: add the column, and then a constraint with a name"],
		"the rules find violations")
	require.True(t, old["the storage of a column: CREATE TABLE says it"])
}
