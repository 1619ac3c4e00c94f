package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// locale orders texts by code point, the same on every machine. As "C" Postgres compares bytes, which is faster than
// what the C library makes of "C.UTF-8", and the same.
var locale = []string{"--locale=C", "--lc-ctype=C.UTF-8"}

// attributes run a child as another user, out of reach of the terminal's Ctrl-C, and end it cleanly with its parent.
func attributes(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setsid: true, Pdeathsig: syscall.SIGINT}
}

// serversIn lists the Postgres and initdb processes whose working directory is dir: all of ours work there.
func serversIn(_ context.Context, dir string) ([]int, error) {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, fmt.Errorf("list the running processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || (string(comm) != "postgres\n" && string(comm) != "initdb\n") {
			continue // also one that has ended meanwhile
		}
		proc := filepath.Dir(name)
		if cwd, err := os.Readlink(filepath.Join(proc, "cwd")); err != nil || cwd != dir {
			continue // also a zombie, or one of another user
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
