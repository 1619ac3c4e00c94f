package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// shutdown are the signals that end a server, each with the time before the next one is sent.
var shutdown = []struct {
	signal   syscall.Signal
	patience time.Duration
}{
	{syscall.SIGINT, 30 * time.Second}, // fast: ends the sessions and writes all data
	{syscall.SIGQUIT, 5 * time.Second}, // immediate: the next start recovers
	{syscall.SIGKILL, 5 * time.Second},
}

type process struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{} // closed when the child has ended
}

// command returns a command that runs a server binary in dir as the server's user. It does not inherit the environment,
// which may contain secrets.
func (c *cluster) command(name, dir string, args ...string) *exec.Cmd {
	// Without a context: the server outlives the call that starts it.
	cmd := exec.CommandContext(context.Background(), filepath.Join(c.binaries.dir, name), args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = attributes(c.user)
	return cmd
}

// launch starts a server binary in dir, and sends its output to the log.
func (c *cluster) launch(name, dir string, args ...string) (*process, error) {
	// A file, not a pipe: it still receives output after this program is killed.
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, directoryError(c.dir, err)
	}
	defer func() { _ = log.Close() }()
	p := &process{cmd: c.command(name, dir, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log

	started := make(chan error)
	go func() {
		// For the kernel, the parent ends when the thread that started the child ends. So this thread lives until the child
		// has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the outcome is in ProcessState
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, c.explain(name, err)
	}
	p.pid = p.cmd.Process.Pid
	return p, nil
}

// succeeded reports whether the child exited with 0. Call it after the child has ended.
func (p *process) succeeded() bool { return p.cmd.ProcessState.Success() }

// kill kills the child and all processes in its session.
func (p *process) kill() { _ = syscall.Kill(-p.pid, syscall.SIGKILL) }

// stop ends a server, and reports whether it shut down cleanly.
func (p *process) stop() bool {
	for _, step := range shutdown {
		_ = p.cmd.Process.Signal(step.signal) // fails if it has ended
		select {
		case <-p.done:
			return p.succeeded()
		case <-time.After(step.patience):
		}
	}
	return false
}

// stopStale ends the server of a killed program. It also removes the pid file, because its process id may belong to
// another process by now. The caller holds the lock, so no running program owns the server.
func (c *cluster) stopStale(ctx context.Context) error {
	pids, err := serversIn(ctx, c.data)
	for _, step := range shutdown {
		targets := pids
		if step.signal == syscall.SIGINT {
			// This signal is only for the postmaster, which ends its child processes. Orphans without a postmaster get the
			// next signal.
			postmaster, _ := c.postmaster()
			targets = slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return pid != postmaster })
		}
		if len(targets) == 0 {
			continue
		}
		for _, pid := range targets {
			_ = syscall.Kill(pid, step.signal) // fails if it has ended
		}
		pids, err = awaitNone(ctx, c.data, step.patience)
	}
	if err != nil {
		return err
	}
	if len(pids) > 0 {
		return fmt.Errorf("an earlier database server (process %d) still runs in %s and could not be stopped. "+
			"Stop it yourself", pids[0], c.dir)
	}
	for _, path := range []string{
		filepath.Join(c.data, pidFile), filepath.Join(c.socket, socketName), filepath.Join(c.socket, socketName+".lock"),
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return directoryError(c.dir, err)
		}
	}
	return nil
}

// awaitNone waits for the server processes in dir to end, and returns those that still run after patience.
func awaitNone(ctx context.Context, dir string, patience time.Duration) ([]int, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	timeout := time.After(patience)
	for {
		pids, err := serversIn(ctx, dir)
		if err != nil || len(pids) == 0 {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-timeout:
			return pids, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// removeClusterDir removes an unfinished cluster. It first kills the children of a killed initdb, which may still write
// to it.
func removeClusterDir(ctx context.Context, dir string) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	timeout := time.After(5 * time.Second)
	for {
		pids, err := serversIn(ctx, dir)
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended
		}
		if err = errors.Join(err, os.RemoveAll(dir)); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-timeout:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// syncDir makes a rename in dir survive a crash of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return directoryError(dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return directoryError(dir, err)
	}
	return nil
}
