package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// locale sorts texts by code point on every machine. With "C", Postgres compares bytes itself, which gives the same
// order as "C.UTF-8" of the C library and is faster.
var locale = []string{"--locale=C", "--lc-ctype=C.UTF-8"}

// attributes start a child as another user, in a session that the terminal's Ctrl-C does not reach. The child ends
// cleanly with its parent.
func attributes(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setsid: true, Pdeathsig: syscall.SIGINT}
}

// serversIn lists the Postgres and initdb processes whose working directory is dir. All our servers run in their data
// directory.
func serversIn(_ context.Context, dir string) ([]int, error) {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, fmt.Errorf("list the running processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || (string(comm) != "postgres\n" && string(comm) != "initdb\n") {
			continue // another program, or the process has ended
		}
		proc := filepath.Dir(name)
		if cwd, err := os.Readlink(filepath.Join(proc, "cwd")); err != nil || cwd != dir {
			continue // another directory, a zombie, or a process of another user
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
