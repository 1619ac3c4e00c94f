package server

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leave creates the files of a killed program, or of a running one if isLocked is set.
func leave(t *testing.T, parent, name string, age time.Duration, isLocked bool) string {
	t.Helper()
	directory := filepath.Join(parent, temporaryName+name)
	lock := filepath.Join(databaseDirectory(directory), "postgres.lock")
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o700))
	file, err := os.Create(lock)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	if isLocked {
		require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	}
	made := time.Now().Add(-age)
	require.NoError(t, os.Chtimes(lock, made, made))
	return directory
}

func TestFilesOfKilledProgramsAreRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	killed, runs := leave(t, parent, "killed", time.Hour, false), leave(t, parent, "runs", time.Hour, true)
	begins := leave(t, parent, "begins", time.Second, false)
	linked := filepath.Join(parent, temporaryName+"linked")
	require.NoError(t, os.Mkdir(linked, 0o700))
	require.NoError(t, os.Symlink(databaseDirectory(leave(t, t.TempDir(), "elsewhere", time.Hour, false)),
		databaseDirectory(linked)))

	directory, discard, err := temporaryDirectory()
	require.NoError(t, err)
	require.Equal(t, parent, filepath.Dir(directory))
	require.NoDirExists(t, killed)
	require.DirExists(t, runs)
	require.DirExists(t, begins)
	require.DirExists(t, linked, "the owner is unknown")
	discard()
	require.NoDirExists(t, directory)
}

func TestTemporaryDataPrefersMemory(t *testing.T) {
	t.Setenv("TMPDIR", "")
	disk, inMemory := os.TempDir(), t.TempDir()
	require.Equal(t, []string{inMemory, disk}, temporaryParents(inMemory, 1))
	require.Equal(t, []string{disk}, temporaryParents(inMemory, math.MaxUint64))
	require.Equal(t, []string{disk}, temporaryParents(filepath.Join(inMemory, "missing"), 0))
	t.Setenv("TMPDIR", disk)
	require.Equal(t, []string{disk}, temporaryParents(inMemory, 1), "TMPDIR takes precedence")
}
