package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// locale orders texts by code point, on every machine alike.
var locale = []string{"--locale=C.UTF-8"}

// attributes let a child run as another user, away from the terminal's Ctrl-C, and end cleanly with its parent.
func attributes(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setsid: true, Pdeathsig: syscall.SIGINT}
}

// serversIn lists the processes of Postgres and initdb whose working directory is dir, as that of every one is.
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
