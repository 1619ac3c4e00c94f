package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/local"
	"github.com/agentgraph/agentgraph/model"
)

// The database can be restored to a moment between two changes, as docs/guides/backups.md describes.
func TestMomentIsRestored(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	archive := filepath.Join(dir, "wal")
	require.NoError(t, os.Mkdir(archive, 0o755))
	require.NoError(t, os.Chmod(archive, 0o777))
	address := archivingPostgres(t, filepath.Join(dir, "first"), archive)
	require.Zero(t, run(t.Context(), []string{"migrate", "up", "--database-url", address},
		streams{out: io.Discard, log: io.Discard}))
	options := dbtest.Options()
	options.Tracer = dbtest.Unchecked{} // the checker knows the tables of the shared server only
	store := dbtest.Open(t, address, options)
	company, err := store.CreateCompany(t.Context(), "Restored")
	require.NoError(t, err)
	key := newKey(t, store.Tenant(company.ID), model.APIKeyScopeAdmin)

	data := filepath.Join(dir, "second", "postgres")
	require.NoError(t, os.Mkdir(filepath.Dir(data), 0o755))
	runPostgres(t, address, "pg_basebackup", "--dbname="+address, "--pgdata="+data, "--checkpoint=fast")

	before := serve(t, address, key, "--workers", "0")
	var made struct {
		CreateDataset struct{ Dataset struct{ ID string } }
	}
	before.must(t, `mutation { createDataset(input: {name: "Kept"}) { dataset { id } } }`, nil, &made)
	moment := momentIn(t, address)
	before.must(t, `mutation ($id: ID!) { deleteDataset(input: {datasetId: $id}) { deletedId } }`,
		map[string]any{"id": made.CreateDataset.Dataset.ID}, nil)
	archived(t, address)

	ownLike(t, data, filepath.Join(dir, "first", "postgres"))
	settings, err := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fmt.Fprintf(settings, "restore_command = 'cp %s/%%f %%p'\nrecovery_target_time = '%s'\n"+
		"recovery_target_action = 'promote'\narchive_mode = off\n", archive, moment)
	require.NoError(t, err)
	require.NoError(t, settings.Close())
	signal := filepath.Join(data, "recovery.signal")
	require.NoError(t, os.WriteFile(signal, nil, 0o600))
	ownLike(t, signal, filepath.Join(dir, "first", "postgres"))
	restored, err := local.Start(t.Context(), local.Options{Dir: filepath.Dir(data), Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, restored.Stop()) })
	require.Eventually(t, func() bool { return !ask[bool](t, restored.URL(), "SELECT pg_is_in_recovery()") },
		time.Minute, 20*time.Millisecond)

	after := serve(t, restored.URL(), key, "--workers", "0")
	var read struct{ Dataset *struct{ Name string } }
	after.must(t, `query ($id: ID!) { dataset(id: $id) { name } }`,
		map[string]any{"id": made.CreateDataset.Dataset.ID}, &read)
	require.NotNil(t, read.Dataset, "the deletion came after the moment")
	require.Equal(t, "Kept", read.Dataset.Name)
	after.must(t, `mutation { createDataset(input: {name: "After the restore"}) { dataset { id } } }`, nil, nil)
}

// archivingPostgres starts a server that copies its write-ahead log to the archive, and returns its address.
func archivingPostgres(t *testing.T, dir, archive string) string {
	t.Helper()
	for restart := range 2 {
		server, err := local.Start(t.Context(), local.Options{Dir: dir, Durable: true})
		require.NoError(t, err)
		if restart == 1 {
			t.Cleanup(func() { require.NoError(t, server.Stop()) })
			return server.URL()
		}
		conn, err := pgx.Connect(t.Context(), server.URL())
		require.NoError(t, err)
		for _, setting := range []string{"archive_mode = on", "archive_command = 'cp %p " + archive + "/%f'"} {
			_, err := conn.Exec(t.Context(), "ALTER SYSTEM SET "+setting)
			require.NoError(t, err)
		}
		require.NoError(t, conn.Close(t.Context()))
		require.NoError(t, server.Stop()) // archive_mode takes effect at the next start
	}
	return ""
}

// momentIn returns the server's time.
func momentIn(t *testing.T, address string) string {
	t.Helper()
	return ask[string](t, address, "SELECT clock_timestamp()::text")
}

// archived waits until the archive has everything that was written so far.
func archived(t *testing.T, address string) {
	t.Helper()
	segment := ask[string](t, address, "SELECT pg_walfile_name(pg_switch_wal())")
	require.Eventually(t, func() bool {
		return ask[bool](t, address, fmt.Sprintf("SELECT coalesce(last_archived_wal >= '%s', false) FROM pg_stat_archiver",
			segment))
	}, time.Minute, 20*time.Millisecond)
}

// ask returns the value that the statement returns.
func ask[T any](t *testing.T, address, statement string) (value T) {
	t.Helper()
	conn, err := pgx.Connect(context.WithoutCancel(t.Context()), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	require.NoError(t, conn.QueryRow(t.Context(), statement).Scan(&value))
	return value
}

// ownLike gives a tree of files to the owner of another tree, if this program has the permission.
func ownLike(t *testing.T, root, like string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(like)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(owner.Uid), int(owner.Gid))
	}))
}
