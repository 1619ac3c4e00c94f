package db_test

import (
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestMigrationsNameTheirLocks(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	migrator, conn := newMigrator(t, address), connect(t, address)
	steps, err := migrator.Plan(ctx)
	require.NoError(t, err)
	require.Empty(t, steps, "nothing is missing")

	_, err = conn.Exec(ctx, "DELETE FROM migration.version WHERE version_id >= 28")
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "UPDATE pg_class SET reltuples = 1000000 WHERE relname IN ('campaign_items', 'agent_tests')")
	require.NoError(t, err)
	steps, err = migrator.Plan(ctx)
	require.NoError(t, err)
	found := map[string]string{}
	for _, s := range steps {
		require.NotEmpty(t, s.Name)
		found[s.Table+" "+s.Lock] = s.Waits
		switch {
		case s.Table == "campaign_items" && s.Lock == "SHARE UPDATE EXCLUSIVE":
			require.EqualValues(t, 1_000_000, s.Rows)
			require.InDelta(t, 5, s.Seconds, 1, "an index of a million rows")
		case s.Lock == "SHARE ROW EXCLUSIVE":
			require.Zero(t, s.Seconds)
		}
	}
	require.Equal(t, "nobody", found["campaign_items SHARE UPDATE EXCLUSIVE"])
	require.Equal(t, "everybody", found["agent_tests ACCESS EXCLUSIVE"])
	require.Equal(t, "writers", found["companies SHARE ROW EXCLUSIVE"])
}

func TestOlderRunsAreCountedInBatches(t *testing.T) {
	t.Parallel()
	for _, counting := range []int64{51, 61} {
		t.Run(strconv.FormatInt(counting, 10), func(t *testing.T) {
			t.Parallel()
			runsAreCountedBy(t, counting)
		})
	}
}

// runsAreCountedBy migrates executions without counters from an older version. The migration must count their runs.
func runsAreCountedBy(t *testing.T, counting int64) {
	t.Helper()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	for range 3 {
		require.NoError(t, finish(t, tenant, newRun(t, tenant).ID, model.AgentTestRunStatusFailed))
	}
	newRun(t, tenant)
	address := conn.Config().ConnString()
	migrator, said := newMigrator(t, address), []string{}
	for schema, err := migrator.Schema(t.Context()); schema.Current >= counting; schema,
		err = migrator.Schema(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, migrator.Down(t.Context()))
	}
	_, err := conn.Exec(t.Context(), "UPDATE agent_test_executions SET passed_runs = NULL, failed_runs = NULL, "+
		"error_runs = NULL, cancelled_runs = NULL, skipped_runs = NULL")
	require.NoError(t, err)
	migrator.Progress = func(progress string) { said = append(said, progress) }
	require.NoError(t, migrator.Up(t.Context()))
	require.Equal(t, []string{"counted the runs of 3 of 3 executions"}, said)
	rows, err := conn.Query(t.Context(), "SELECT failed_runs FROM agent_test_executions ORDER BY failed_runs NULLS LAST")
	require.NoError(t, err)
	failed, err := pgx.CollectRows(rows, pgx.RowTo[*int32])
	require.NoError(t, err)
	require.Equal(t, []*int32{new(int32(1)), new(int32(1)), new(int32(1)), nil}, failed)
}
