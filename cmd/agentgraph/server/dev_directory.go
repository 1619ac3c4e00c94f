package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentgraph/agentgraph/db/local"
)

// directory creates the data directory. The returned function must be called when the program ends.
func (c *Dev) directory() (string, func(), error) {
	if c.Ephemeral {
		return temporaryDirectory()
	}
	directory := c.DataDirectory
	if directory == "" {
		directory = "/var/lib/agentgraph"
		if os.Geteuid() != 0 {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", nil, errors.New("there is no home directory for the data: name a directory with --data-directory")
			}
			directory = filepath.Join(home, ".local", "share", "agentgraph")
			if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
				directory = filepath.Join(data, "agentgraph")
			}
		}
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(directory, 0o711); err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return "", nil, fmt.Errorf("the data directory %s cannot be created: %w", directory, err)
	}
	return directory, func() {}, nil
}

const (
	temporaryName = "agentgraph-ephemeral-"
	// memory is the in-memory file system on Linux. It is used only if memoryRoom is free, which is more than a
	// database without documents needs. In Docker and Kubernetes the file system is smaller by default.
	memory     = "/dev/shm"
	memoryRoom = 1 << 30
)

// temporaryDirectory creates a directory for this process, and removes the directories of killed processes. It uses
// TMPDIR if that is set. Otherwise it uses memory if there is room. Creating the database on a disk takes a fifth of
// the startup time.
func temporaryDirectory() (string, func(), error) {
	var err error
	for _, parent := range temporaryParents(memory, memoryRoom) {
		left, _ := filepath.Glob(filepath.Join(parent, temporaryName+"*")) // only a malformed pattern fails
		for _, directory := range left {
			if local.Abandoned(databaseDirectory(directory)) {
				_ = os.RemoveAll(directory)
			}
		}
		var directory string
		if directory, err = os.MkdirTemp(parent, temporaryName); err == nil {
			// The database server may run as another user, who must be able to enter the directory.
			return directory, func() { _ = os.RemoveAll(directory) }, os.Chmod(directory, 0o711)
		}
	}
	return "", nil, fmt.Errorf("create a temporary data directory: %w", err)
}

// temporaryParents returns the directories to try, in order.
func temporaryParents(memory string, room uint64) []string {
	var space syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &space) == nil && space.Bavail*uint64(space.Bsize) >= room {
		return []string{memory, os.TempDir()}
	}
	return []string{os.TempDir()}
}

// databaseDirectory returns the directory of the private database in a data directory.
func databaseDirectory(directory string) string { return filepath.Join(directory, "postgres") }
