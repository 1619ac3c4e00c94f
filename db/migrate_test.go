package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
)

func newMigrator(t *testing.T, address string) *schema.Migrator {
	t.Helper()
	migrator, err := schema.NewMigrator(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = migrator.Close() })
	return migrator
}

// catalog lists everything that the migrations created, one line each, without the parts of extensions.
func catalog(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT format('%s %s %s', relkind, relname, relrowsecurity) FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT format('%s.%s %s %s %s %s', attrelid::regclass, attname,
				count(*) FILTER (WHERE NOT attisdropped) OVER (PARTITION BY attrelid ORDER BY attnum), format_type(atttypid,
					atttypmod), attnotnull, pg_get_expr(adbin, adrelid))
			FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid
				AND adnum = attnum
			WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
		UNION ALL SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
			WHERE connamespace = 'public'::regnamespace
		UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
			WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT format('type %s', typname) FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typelem = 0
			AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_type'::regclass AND objid = pg_type.oid AND deptype = 'e')
		UNION ALL SELECT format('function %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
			AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')
		ORDER BY 1`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

func TestMigrationsRunUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.EmptyURL(t)
	migrator, conn := newMigrator(t, address), connect(t, address)
	require.NoError(t, migrator.Up(ctx))
	complete := catalog(t, conn)
	require.NotEmpty(t, complete)
	all, err := migrator.Status(ctx)
	require.NoError(t, err)
	for _, steps := range []int{1, 2, 3, 5, len(all)} {
		for range steps {
			require.NoError(t, migrator.Down(ctx))
		}
		schema, err := migrator.Schema(ctx)
		require.NoError(t, err)
		if steps == len(all) {
			require.Zero(t, schema.Current)
			require.Empty(t, catalog(t, conn), "something is left behind")
			require.ErrorContains(t, migrator.Down(ctx), "no migration to revert")
		}
		require.NoError(t, migrator.Up(ctx))
		require.Equal(t, complete, catalog(t, conn), "after %d steps down", steps)
	}
	require.NoError(t, migrator.Up(ctx), "migrating again is no error")
}

func TestMigratingAgainKeepsTheData(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
	agent := newAgent(t, tenant)
	require.NoError(t, newMigrator(t, address).Up(t.Context()))
	again, err := tenant.Agent(t.Context(), agent.ID)
	require.NoError(t, err)
	same(t, agent, again)
}

func TestConcurrentMigrationsSucceed(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.EmptyURL(t)
	errs := together(8, func(int) error {
		migrator, err := schema.NewMigrator(ctx, address)
		if err != nil {
			return err
		}
		defer func() { _ = migrator.Close() }()
		if _, err := migrator.Schema(ctx); err != nil {
			return err
		}
		return migrator.Up(ctx)
	})
	require.Empty(t, errs)
	schema, err := newMigrator(t, address).Schema(ctx)
	require.NoError(t, err)
	require.NoError(t, schema.Err())
	var applied int
	require.NoError(t, connect(t, address).QueryRow(ctx, "SELECT count(*) FROM migration.version WHERE version_id > 0").
		Scan(&applied))
	require.EqualValues(t, schema.Wanted, applied)
}

// Old replicas may write while the schema is migrated.
func TestMigrationIsRepeatedAfterDeadlock(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	migrator := newMigrator(t, address)
	for {
		state, err := migrator.Schema(ctx)
		require.NoError(t, err)
		if state.Current < 62 { // which locks two tables
			break
		}
		require.NoError(t, migrator.Down(ctx))
	}
	// Postgres looks for a deadlock once a transaction has waited for its deadlock_timeout, and ends this transaction. The
	// timeout of the migration is shorter, but long enough for the test to cause the deadlock.
	conn := connect(t, address)
	var database string
	require.NoError(t, conn.QueryRow(ctx, "SELECT quote_ident(current_database())").Scan(&database))
	for _, statement := range []string{"ALTER DATABASE " + database + " SET deadlock_timeout = '4s'",
		"SET deadlock_timeout = '10min'"} {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err)
	}
	require.NoError(t, migrator.Close())
	migrator = newMigrator(t, address)
	tx, err := conn.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "LOCK TABLE agent_test_executions IN ROW EXCLUSIVE MODE")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- migrator.Up(ctx) }()
	observer := connect(t, address)
	require.Eventually(t, func() bool {
		var isWaiting bool
		require.NoError(t, observer.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = "+
			"'agent_test_executions'::regclass)").Scan(&isWaiting))
		return isWaiting
	}, 20*time.Second, 10*time.Millisecond)
	_, err = tx.Exec(ctx, "LOCK TABLE agent_tests IN ROW EXCLUSIVE MODE")
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-done)
	state, err := migrator.Schema(ctx)
	require.NoError(t, err)
	require.NoError(t, state.Err())
}

func TestOlderSchemaIsRefused(t *testing.T) {
	t.Parallel()
	schema, err := newMigrator(t, dbtest.EmptyURL(t)).Schema(t.Context())
	require.NoError(t, err)
	require.Zero(t, schema.Current)
	require.EqualError(t, schema.Err(), fmt.Sprintf(
		`the database has schema version 0 and this program needs %d: run "agentgraph migrate up"`, schema.Wanted))
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	migrator, conn := newMigrator(t, address), connect(t, address)
	before := catalog(t, conn)
	_, err := conn.Exec(ctx, "INSERT INTO migration.version (version_id, is_applied) VALUES (99, true); UPDATE "+
		"migration.oldest_program SET schema_version = 99")
	require.NoError(t, err)
	schema, err := migrator.Schema(ctx)
	require.NoError(t, err)
	sentence := fmt.Sprintf("the database has schema version 99, newer than the %d that this program knows: run a newer "+
		"agentgraph", schema.Wanted)
	require.EqualError(t, schema.Err(), sentence)
	require.EqualError(t, migrator.Up(ctx), sentence)
	require.EqualError(t, migrator.Down(ctx), sentence)
	require.Equal(t, before, catalog(t, conn))
}

// The statements below come from a newer program.
func TestSchemaExpandedByNewerProgramIsAccepted(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	migrator, conn := newMigrator(t, address), connect(t, address)
	schema, err := migrator.Schema(ctx)
	require.NoError(t, err)
	exec := func(statement string, args ...any) {
		t.Helper()
		_, err := conn.Exec(ctx, statement, args...)
		require.NoError(t, err)
	}
	exec("INSERT INTO migration.version (version_id, is_applied) VALUES (99, true)")
	exec("ALTER TABLE agents ADD COLUMN motto text")
	exec("UPDATE migration.oldest_program SET schema_version = $1", schema.Wanted)
	before := catalog(t, conn)

	schema, err = migrator.Schema(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 99, schema.Current)
	require.NoError(t, schema.Err())
	require.NoError(t, migrator.Up(ctx), "a replica that migrates at its start can restart")
	require.ErrorContains(t, migrator.Down(ctx), "newer than the", "the program cannot revert an unknown migration")
	require.Equal(t, before, catalog(t, conn))
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
	newAgent(t, tenant)

	exec("UPDATE migration.oldest_program SET schema_version = $1", schema.Wanted+1)
	schema, err = migrator.Schema(ctx)
	require.NoError(t, err)
	require.ErrorContains(t, schema.Err(), "run a newer agentgraph")
	require.Error(t, migrator.Up(ctx))
}

// The migrations up to 40 were made before the first release.
func TestMigrationsDeclareExpandOrContract(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		if file < "migrations/0041" {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Regexp(t, `^-- (Expands|Contracts): \S`, string(text), "%s", file)
	}
}

func TestStatusListsMigrationsInOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	migrator := newMigrator(t, dbtest.EmptyURL(t))
	steps, err := migrator.Status(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, steps)
	for i, step := range steps {
		require.EqualValues(t, i+1, step.Version, "versions have no gap")
		require.True(t, step.AppliedAt.IsZero())
	}
	require.Equal(t, "0001_agent_graph.sql", steps[0].Name)
	require.NoError(t, migrator.Up(ctx))
	steps, err = migrator.Status(ctx)
	require.NoError(t, err)
	for _, step := range steps {
		require.False(t, step.AppliedAt.IsZero())
	}
}

// A program that only serves does not need the right to create anything.
func TestSchemaIsReadWithoutCreatePrivilege(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	conn := connect(t, address)
	role := "reader_" + conn.Config().Database
	for _, statement := range []string{
		"CREATE ROLE " + role + " LOGIN",
		"GRANT USAGE ON SCHEMA migration TO " + role,
		"GRANT SELECT ON ALL TABLES IN SCHEMA migration TO " + role,
	} {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err)
	}
	schema, err := newMigrator(t, address+"&user="+role).Schema(ctx)
	require.NoError(t, err)
	require.NoError(t, schema.Err())
}

func TestMigratorReportsUnreachableDatabase(t *testing.T) {
	t.Parallel()
	_, err := schema.NewMigrator(t.Context(), "postgres://user:hunter2@%zz")
	require.ErrorContains(t, err, "the address is not a valid Postgres URL: ")
	_, err = schema.NewMigrator(t.Context(), "postgres://user:hunter2@127.0.0.1:1/none")
	require.ErrorContains(t, err, "open database: ")
	require.NotContains(t, err.Error(), "hunter2")
}

// If an index build fails because of concurrent writes, an invalid index remains. Migrating again rebuilds it.
func TestInvalidIndexesAreRebuilt(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	migrator, conn := newMigrator(t, address), connect(t, address)
	complete := catalog(t, conn)
	for schema, err := migrator.Schema(ctx); schema.Current >= 16; schema, err = migrator.Schema(ctx) {
		require.NoError(t, err)
		require.NoError(t, migrator.Down(ctx))
	}
	left := map[string]string{
		"agents_filter_idx": "agents", "agent_test_runs_status_idx": "agent_test_runs",
		"agent_test_executions_run_count_idx": "agent_test_executions",
		"tool_calls_turn_idx":                 "tool_calls", "tool_calls_transfer_idx": "tool_calls",
	}
	for index, table := range left {
		_, err := conn.Exec(ctx, fmt.Sprintf("CREATE INDEX %s ON %s (company_id)", index, table))
		require.NoError(t, err)
		_, err = conn.Exec(ctx, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = $1::regclass", index)
		require.NoError(t, err)
	}
	require.NoError(t, migrator.Up(ctx))
	require.Equal(t, complete, catalog(t, conn))
	var unfinished int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM pg_index WHERE NOT indisvalid").Scan(&unfinished))
	require.Zero(t, unfinished)
}
