package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db/local"
	"github.com/agentgraph/agentgraph/db/schema"
)

// devDatabase is the database that dev uses.
type devDatabase struct {
	address string
	// name describes the database in messages.
	name string
	// stop must be called when the program ends.
	stop func() error
}

// database returns the database. Without an address it starts a private server, and calls end if that server stops
// unexpectedly.
func (c *Dev) database(ctx context.Context, directory string, in io.Reader, log io.Writer,
	end context.CancelCauseFunc) (devDatabase, error) {
	if c.DatabaseURL != "" {
		name, err := c.confirmDatabase(ctx, in, log)
		return devDatabase{address: c.DatabaseURL, name: name, stop: func() error { return nil }}, err
	}
	server, err := local.Start(ctx, local.Options{Dir: databaseDirectory(directory), Durable: !c.Ephemeral,
		TookOver: func() {
			_, _ = fmt.Fprintln(log, "Another agentgraph process, which ran the private database, has ended. This process "+
				"restarted the database.")
		}})
	if err != nil {
		return devDatabase{}, err
	}
	if c.Reset {
		if err := server.Reset(ctx); err != nil {
			return devDatabase{}, errors.Join(err, server.Stop())
		}
	}
	go func() {
		select {
		case <-server.Ended():
			end(errDatabaseEnded)
		case <-ctx.Done():
		}
	}()
	name := "private, in " + databaseDirectory(directory)
	if server.Attached() {
		name += ", which another agentgraph started"
	}
	return devDatabase{address: server.URL(), name: name, stop: server.Stop}, nil
}

var errDatabaseEnded = errors.New("the private database server stopped unexpectedly. Read postgres.log in the " +
	"data directory, and start agentgraph again")

// confirmDatabase returns a description of the database in DATABASE_URL. If the database has tables of other programs
// and none of agentgraph, a flag or the user at the terminal must allow its use.
func (c *Dev) confirmDatabase(ctx context.Context, in io.Reader, log io.Writer) (string, error) {
	contents, err := schema.Inspect(ctx, c.DatabaseURL)
	if err != nil {
		return "", err
	}
	if err := contents.Err(); err != nil {
		return "", err
	}
	name := contents.Database
	if config, err := pgx.ParseConfig(c.DatabaseURL); err == nil {
		name = fmt.Sprintf("%s on %s as %s (DATABASE_URL)", contents.Database, config.Host, contents.User)
	}
	if contents.IsOurs || len(contents.Others) == 0 || c.UseDatabaseURL {
		return name, nil
	}
	holds := fmt.Sprintf("the database %s holds %s", name, describeTables(contents.Others))
	if cli.IsTerminal(in) && cli.IsTerminal(log) {
		_, _ = fmt.Fprintf(log, "%s\nAdd agentgraph's tables and a demo company? [y/N] ", upperFirst(holds))
		if cli.Confirm(ctx, in) {
			return name, nil
		}
		return "", errors.New("nothing was written. Unset DATABASE_URL to let dev use a private database")
	}
	return "", errors.New(holds + ". Nothing was written. Pass --use-database-url to add agentgraph's tables and a " +
		"demo company, or unset DATABASE_URL to use a private database")
}

// describeTables lists some of the tables, with their total number.
func describeTables(tables []string) string {
	const shown = 3
	if len(tables) <= shown {
		return "other tables: " + strings.Join(tables, ", ")
	}
	return fmt.Sprintf("%d other tables: %s, …", len(tables), strings.Join(tables[:shown], ", "))
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

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

func databaseDirectory(directory string) string { return filepath.Join(directory, "postgres") }
