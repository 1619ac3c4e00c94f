package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	// checked is the number of answers of each workload that are compared value by value.
	checked = 40
	// firstWarmup is how long each server runs each workload before the first round, so that just-in-time compilers
	// finish. warmup is the same before each measurement.
	firstWarmup = 3 * time.Second
	warmup      = 500 * time.Millisecond
)

// check starts each server behind a proxy, compares its answers with the first server's, and counts the statements and
// round trips of a request.
func (b *bench) check(ctx context.Context, specs []spec) error {
	b.counts = map[string]count{}
	wanted := map[string][]any{}
	for _, s := range specs {
		b.say("checking %s", s.name)
		directory, err := os.MkdirTemp(b.directory, "proxy-")
		if err != nil {
			return err
		}
		p, err := newProxy(ctx, directory, b.database.socket)
		if err != nil {
			return err
		}
		running, err := b.start(ctx, s, directory)
		if err != nil {
			return err
		}
		err = b.checkServer(running, p, wanted)
		running.stop()
		p.close()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (b *bench) checkServer(s *server, p *proxy, wanted map[string][]any) error {
	a, err := newAsker(s.address)
	if err != nil {
		return err
	}
	defer a.close()
	for workload, requests := range s.requests {
		first := wanted[workload] == nil
		var statements, trips []int64
		size := 0
		for i, r := range requests[:checked] {
			statementsBefore, tripsBefore := p.statements.Load(), p.trips.Load()
			text, err := a.ask(r)
			if err != nil {
				return err
			}
			statements = append(statements, p.statements.Load()-statementsBefore)
			trips = append(trips, p.trips.Load()-tripsBefore)
			size += len(text) / checked
			answer, err := parse(text)
			if err != nil {
				return err
			}
			if first {
				wanted[workload] = append(wanted[workload], answer)
			} else if at := differs(workload, wanted[workload][i], answer); at != "" {
				return fmt.Errorf("answers differ: %s", at)
			}
		}
		// The median excludes work that a server does periodically or once per connection.
		b.counts[workload+" "+s.name] = count{middle(statements), middle(trips), size}
	}
	return nil
}

func middle(values []int64) int64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func (b *bench) warmUp(ctx context.Context) error {
	b.say("warming up")
	for _, s := range b.servers {
		for _, workload := range b.workloads {
			if s.dialect[workload] == nil {
				continue
			}
			if _, err := drive(ctx, s.address, s.requests[workload], 16, firstWarmup); err != nil {
				return fmt.Errorf("%s: %w: %s", s.name, err, s.logTail())
			}
		}
	}
	return nil
}

// measure measures every cell in each round. The servers of a group take turns.
func (b *bench) measure(ctx context.Context) error {
	for _, w := range workloads {
		if !slices.Contains(b.workloads, w.name) {
			continue
		}
		for _, connections := range b.connections {
			for _, s := range b.servers {
				if s.dialect[w.name] != nil {
					b.cells = append(b.cells, &cell{workload: w.name, connections: connections, server: s.name})
				}
			}
		}
	}
	for i := range b.rounds {
		b.say("round %d of %d", i+1, b.rounds)
		for _, g := range b.groups() {
			if i%2 == 1 { // no server goes first in every round
				slices.Reverse(g.cells)
			}
			for _, c := range g.cells {
				s := b.servers[slices.IndexFunc(b.servers, func(s *server) bool { return s.name == c.server })]
				measured, err := b.measureCell(ctx, c, s)
				if err != nil {
					return fmt.Errorf("%s: %w: %s", s.name, err, s.logTail())
				}
				c.rounds = append(c.rounds, measured)
			}
		}
	}
	return nil
}

// measureCell drives one server once.
func (b *bench) measureCell(ctx context.Context, c *cell, s *server) (round, error) {
	uses := func() ([3]time.Duration, error) { return b.uses(s) }
	measured, err := b.measureRound(ctx, s.process.Pid, uses, func(during time.Duration) ([]time.Duration, error) {
		return drive(ctx, s.address, s.requests[c.workload], c.connections, during)
	})
	if err == nil {
		measured.peak, err = peakOf(s.process.Pid, true)
	}
	return measured, err
}

// measureRound warms a process up, drives it, and returns all measurements except the peak memory.
func (b *bench) measureRound(ctx context.Context, pid int, uses func() ([3]time.Duration, error),
	drive func(during time.Duration) ([]time.Duration, error)) (round, error) {
	if _, err := drive(warmup); err != nil {
		return round{}, err
	}
	if err := forgetPeak(pid); err != nil {
		return round{}, err
	}
	before, err := uses()
	if err != nil {
		return round{}, err
	}
	began := time.Now()
	took, err := drive(b.duration)
	elapsed := time.Since(began)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return round{}, err
	}
	after, err := uses()
	measured := round{
		perSecond: float64(len(took)) / elapsed.Seconds(), p50: quantile(took, 0.5), p99: quantile(took, 0.99),
	}
	for i := range measured.cpu {
		measured.cpu[i] = float64((after[i] - before[i]).Microseconds()) / 1000 / float64(len(took))
	}
	return measured, err
}

// uses returns the processor time that the server, Postgres and this program have used.
func (b *bench) uses(s *server) (used [3]time.Duration, err error) {
	if used[0], err = cpuOf(s.process.Pid); err != nil {
		return used, err
	}
	used[1], err = cpuOf(b.database.pid)
	used[2] = ownCPU()
	return used, err
}
