//go:build linux

package local

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program may be killed between initdb and the creation of its database, or while it recreates the database.
func TestMissingDatabaseIsCreated(t *testing.T) {
	t.Parallel()
	o := Options{Dir: reachable(t)}
	s := start(t, o)
	keep(t, s.URL())
	require.NoError(t, s.Reset(t.Context()))
	require.Zero(t, query[int](t, s.URL(), "SELECT count(*)::int FROM pg_class WHERE relname = 'kept'"))
	require.NoError(t, s.cluster.execute(t.Context(), "DROP DATABASE "+database))
	require.NoError(t, s.Stop())
	require.Equal(t, database, query[string](t, start(t, o).URL(), "SELECT current_database()::text"))
}

// awaitUnfinished waits until initdb has started its work in dir.
func awaitUnfinished(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		marks, err := filepath.Glob(filepath.Join(dir, unfinished+"*", "PG_VERSION"))
		return err == nil && len(marks) > 0
	}, time.Minute, time.Millisecond)
}

func unfinishedIn(t *testing.T, dir string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	require.NoError(t, err)
	return dirs
}

func TestInterruptedInitdbIsRepeated(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	c := startChild(t, dir, nil)
	awaitUnfinished(t, dir)
	c.kill(t)
	require.NoDirExists(t, filepath.Join(dir, "postgres"))
	keep(t, start(t, Options{Dir: dir}).URL())
	require.Empty(t, unfinishedIn(t, dir))
}

func TestCancelledStartLeavesNoFiles(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := Start(ctx, Options{Dir: dir})
		failed <- err
	}()
	awaitUnfinished(t, dir)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.Empty(t, unfinishedIn(t, dir))

	_, err := Start(ctx, Options{Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, start(t, Options{Dir: dir}).Attached())
}
