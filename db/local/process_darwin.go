package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// locale orders texts by code point, the same on every machine; macOS has no C.UTF-8.
var locale = []string{"--locale=C", "--lc-ctype=en_US.UTF-8"}

// attributes run a child as another user, out of reach of the terminal's Ctrl-C. macOS cannot signal the parent's end:
// the next start stops a server that a killed program left behind.
func attributes(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setsid: true}
}

// serversIn lists the Postgres and initdb processes whose working directory is dir: all of ours work there.
func serversIn(ctx context.Context, dir string) ([]int, error) {
	out, err := exec.CommandContext(ctx, "lsof", "-a", "-c", "postgres", "-c", "initdb", "-d", "cwd", "-F", "pn").Output()
	var none *exec.ExitError
	if err != nil && !errors.As(err, &none) {
		return nil, fmt.Errorf("list the running processes: %w", err)
	}
	var pids []int
	pid := 0
	for line := range strings.Lines(string(out)) {
		value := strings.TrimSuffix(line[1:], "\n")
		switch line[0] {
		case 'p':
			pid, _ = strconv.Atoi(value) // always a number
		case 'n':
			if value == dir {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}
