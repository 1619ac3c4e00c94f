package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// step is a fault, and the function that injects it.
type step struct {
	name string
	// load multiplies the usual number of operations; 0 means 1.
	load int
	do   func(context.Context, *environment) error
}

// between is how long everything works before the next fault.
const between = 1500 * time.Millisecond

// scenario returns the steps in order.
func scenario(isShort bool) []step {
	times := func(long, short int) int {
		if isShort {
			return short
		}
		return long
	}
	lasting := func(long, short int) time.Duration { return time.Duration(times(long, short)) * time.Second }
	kills, restarts, crashes, cuts := times(20, 4), times(10, 2), times(5, 1), times(20, 5)
	away, small, full, failing, deaf := lasting(15, 4), lasting(15, 5), lasting(6, 3), lasting(30, 10), lasting(15, 5)
	return []step{
		{name: "none", do: func(ctx context.Context, _ *environment) error { return sleep(ctx, lasting(10, 5)) }},
		{name: fmt.Sprintf("replica killed (-9) × %d", kills), load: 3, do: func(ctx context.Context, s *environment) error {
			return repeat(ctx, kills, func(i int) error {
				victim := s.replicas[i%len(s.replicas)]
				victim.kill()
				return victim.start(ctx)
			})
		}},
		{name: fmt.Sprintf("Postgres restarted × %d", restarts), load: 3,
			do: func(ctx context.Context, s *environment) error {
				return repeat(ctx, restarts, func(int) error { return s.restartDatabase(ctx, 0) })
			}},
		{name: fmt.Sprintf("Postgres crashed × %d", crashes), load: 3, do: func(ctx context.Context, s *environment) error {
			return repeat(ctx, crashes, func(int) error { return s.crashDatabase(ctx) })
		}},
		{name: fmt.Sprintf("Postgres stopped for %s", away),
			do: func(ctx context.Context, s *environment) error { return s.restartDatabase(ctx, away) }},
		{name: fmt.Sprintf("connections cut × %d", cuts), load: 3, do: func(ctx context.Context, s *environment) error {
			return repeat(ctx, cuts, func(int) error { return s.cutConnections(ctx, "%") })
		}},
		{name: fmt.Sprintf("4 times the load on pools of 5, %s", small), load: 4,
			do: func(ctx context.Context, s *environment) error {
				for _, r := range s.replicas {
					if err := r.restart(ctx, "--max-connections", "5"); err != nil {
						return err
					}
				}
				return sleep(ctx, small)
			}},
		{name: fmt.Sprintf("disk full for %s, 4 times the load", full), load: 4,
			do: func(ctx context.Context, s *environment) error { return s.fillDisk(ctx, full) }},
		{name: fmt.Sprintf("model failing in %d ways, %s", len(modelFailures), failing),
			do: func(ctx context.Context, s *environment) error {
				s.provider.isFaulty.Store(true)
				defer s.provider.isFaulty.Store(false)
				return sleep(ctx, failing)
			}},
		{name: fmt.Sprintf("signals between replicas cut, %s", deaf), do: func(ctx context.Context, s *environment) error {
			for end := time.Now().Add(deaf); time.Now().Before(end) && sleep(ctx, 50*time.Millisecond) == nil; {
				if err := s.cutConnections(ctx, "LISTEN%"); err != nil {
					return err
				}
			}
			return ctx.Err()
		}},
	}
}

// skipped is the error of a step that cannot run on this machine.
type skipped struct{ error }

// operationsPerSecond is the usual load.
const operationsPerSecond = 15

// run runs the steps while clients work, and returns the ledger.
func (s *environment) run(ctx context.Context, steps []step) (*ledger, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var load atomic.Int64
	load.Store(1)
	first := s.ledger.beginPhase(steps[0].name)
	watchers := s.company.watch(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.company.work(working, func() int { return operationsPerSecond * int(load.Load()) })
	}()
	for i, a := range steps {
		phase := first
		if i > 0 {
			phase = s.ledger.beginPhase(a.name)
		}
		load.Store(int64(max(1, a.load)))
		var omitted skipped
		err := a.do(ctx, s)
		if errors.As(err, &omitted) {
			phase.skipped, err = omitted.Error(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		load.Store(1)
		for _, r := range s.replicas {
			if err := r.await(ctx); err != nil {
				return nil, fmt.Errorf("after %q: %w", a.name, err)
			}
		}
		if err := sleep(ctx, between); err != nil {
			return nil, err
		}
		s.ledger.endPhase(phase)
		fmt.Fprintf(os.Stderr, "%s: done after %s\n", a.name, time.Since(phase.started).Round(time.Second))
	}
	stop()
	<-done
	if err := s.company.finish(ctx, watchers, s.database.URL()); err != nil {
		return nil, err
	}
	return s.ledger, nil
}

// sleep waits. It returns ctx's error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	pause(ctx, d)
	return ctx.Err()
}

// repeat calls do the given number of times, and waits between before each call.
func repeat(ctx context.Context, times int, do func(i int) error) error {
	for i := range times {
		if err := sleep(ctx, between); err != nil {
			return err
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *environment) restartDatabase(ctx context.Context, away time.Duration) error {
	_ = s.database.Stop() // on a slow disk this may kill Postgres, which then recovers at its next start
	if err := sleep(ctx, away); err != nil {
		return err
	}
	return s.startDatabase(ctx)
}

// crashDatabase kills a process of Postgres. Postgres then ends all others and recovers.
func (s *environment) crashDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.database.URL())
	if err != nil {
		return err
	}
	var pid int
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	_ = conn.Close(ctx)
	return nil
}

// cutConnections ends the program's connections to Postgres whose last statement matches the pattern.
func (s *environment) cutConnections(ctx context.Context, statement string) error {
	return s.sql(ctx, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "+
		"'agentgraph' AND query ILIKE '%s'", statement))
}

// fillDisk fills Postgres's disk for a time. If that ends Postgres, fillDisk starts it again.
func (s *environment) fillDisk(ctx context.Context, d time.Duration) error {
	if !s.isOwnDisk {
		return skipped{s.noDisk}
	}
	ballast := filepath.Join(s.directory, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	block := make([]byte, 1<<20)
	for end := time.Now().Add(d); time.Now().Before(end); {
		// Take the space that Postgres frees too, down to the last page.
		for len(block) >= 4<<10 {
			if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
				block = block[:len(block)/2]
			} else if err != nil {
				return err
			}
		}
		block = block[:64<<10]
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	select {
	case <-s.database.Ended():
		_ = s.database.Stop() // it has crashed
		return s.startDatabase(ctx)
	case <-time.After(time.Second):
		return nil
	}
}
