package db_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
)

// Citus 13 and Postgres return these errors.
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
	"a constraint beside other changes: ADD CONSTRAINT needs an ALTER TABLE of its own": regexp.MustCompile(
		`(?is)\bALTER TABLE [^;]*(,\s*ADD CONSTRAINT\b|\bADD CONSTRAINT\b[^;]*,\s*(ADD|DROP|ALTER) )`),
	"several statements in one part: leave out StatementBegin": regexp.MustCompile(
		`StatementBegin\n(?:[^;$]*;){2,}\s*-- \+goose StatementEnd`),
}

// lastUnread is the last migration of the first release. The rules do not apply to it and earlier ones, because they
// run before the tables are distributed.
const lastUnread = "0068"

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
	for rule := range unfit {
		require.True(t, old[rule] || rule == "a subquery without columns", "no old migration has "+rule)
	}
}

// Citus 13 returns these errors when its worker was killed before and during a statement.
func TestUnreachableNodeIsNamed(t *testing.T) {
	t.Parallel()
	for err, at := range map[*pgconn.PgError]string{
		{Code: "08006", Message: "connection to the remote node postgres@db-2.internal:5432 failed with the following " +
			"error: Connection refused\n\tIs the server running on that host?"}: "db-2.internal:5432",
		{Code: "57P01", Message: "terminating connection due to unexpected postmaster exit",
			Where: "while executing command on db-3:5433"}: "db-3:5433",
		{Code: "57P01", Message: "terminating connection due to administrator command"}:                "",
		{Code: "57014", Message: "canceling statement", Where: "while executing command on db-3:5433"}: "",
		{Code: "23505", Message: "duplicate key", Where: "while executing command on db-3:5433"}:       "",
	} {
		require.Equal(t, at, pg.UnreachableNode(fmt.Errorf("read: %w", err)), err.Message)
	}
	require.Empty(t, pg.UnreachableNode(errors.New("remote node postgres@db-2:5432 failed")))
}
