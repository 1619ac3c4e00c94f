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

// locale orders texts by code point, on every machine alike; C.UTF-8 is not known here.
var locale = []string{"--locale=C", "--lc-ctype=en_US.UTF-8"}

// attributes let a child run as another user, away from the terminal's Ctrl-C. The end of the parent cannot be
// signalled here: a server that a killed program left behind is stopped by the next start.
func attributes(user *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: user, Setsid: true}
}

// serversIn lists the processes of Postgres and initdb whose working directory is dir, as that of every one is.
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
