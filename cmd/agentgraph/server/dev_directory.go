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

// directory creates the data directory, and returns it with a function to call when the program ends.
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
				return "", nil, errors.New("there is no home directory to keep data in: name one with --data-directory")
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
	// memory is where Linux has a file system in memory. It is used with as much room as a database without documents
	// never needs; Docker's and Kubernetes' have less.
	memory     = "/dev/shm"
	memoryRoom = 1 << 30
)

// temporaryDirectory creates a directory that nobody keeps, and removes those of programs that were killed. The
// directory is where TMPDIR says, else in memory if there is room, since it takes a fifth of a start to make the
// database's files on a disk.
func temporaryDirectory() (string, func(), error) {
	var err error
	for _, parent := range temporaryParents(memory, memoryRoom) {
		left, _ := filepath.Glob(filepath.Join(parent, temporaryName+"*")) // fails for a malformed pattern only
		for _, directory := range left {
			if local.Abandoned(databaseDirectory(directory)) {
				_ = os.RemoveAll(directory)
			}
		}
		var directory string
		if directory, err = os.MkdirTemp(parent, temporaryName); err == nil {
			// The database server may run as another user, which must be able to enter the directory.
			return directory, func() { _ = os.RemoveAll(directory) }, os.Chmod(directory, 0o711)
		}
	}
	return "", nil, fmt.Errorf("create a temporary data directory: %w", err)
}

// temporaryParents are the directories to try, in this order.
func temporaryParents(memory string, room uint64) []string {
	var space syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &space) == nil && space.Bavail*uint64(space.Bsize) >= room {
		return []string{memory, os.TempDir()}
	}
	return []string{os.TempDir()}
}

// databaseDirectory is where a data directory has the private database.
func databaseDirectory(directory string) string { return filepath.Join(directory, "postgres") }
