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

// locale sorts texts by code point on every machine. macOS has no C.UTF-8.
var locale = []string{"--locale=C", "--lc-ctype=en_US.UTF-8"}

// attributes start a child as another user, in a session that the terminal's Ctrl-C does not reach. macOS does not
// signal the end of the parent, so the next start stops a server whose owner was killed.
func attributes(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setsid: true}
}

// serversIn lists the Postgres and initdb processes whose working directory is dir. All our servers run in their data
// directory.
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
