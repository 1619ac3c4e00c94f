package server

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leave makes what a killed program leaves, or one that runs if it is locked.
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

func TestWhatAKilledProgramLeftIsRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	killed, runs := leave(t, parent, "killed", time.Hour, false), leave(t, parent, "runs", time.Hour, true)
	begins := leave(t, parent, "begins", time.Second, false)

	directory, discard, err := temporaryDirectory()
	require.NoError(t, err)
	require.Equal(t, parent, filepath.Dir(directory))
	require.NoDirExists(t, killed)
	require.DirExists(t, runs)
	require.DirExists(t, begins)
	discard()
	require.NoDirExists(t, directory)
}

func TestTemporaryDataIsInMemoryWhereThereIsRoom(t *testing.T) {
	if !hasRoomInMemory() {
		t.Skip("this machine has no room in memory")
	}
	t.Setenv("TMPDIR", "")
	directory, discard, err := temporaryDirectory()
	require.NoError(t, err)
	defer discard()
	require.Equal(t, memory, filepath.Dir(directory))
}
