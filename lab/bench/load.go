package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// drive sends requests over the connections until the time is over, and returns the sorted durations. Each connection
// sends the next request as soon as it has its answer.
func drive(ctx context.Context, address string, requests []request, connections int,
	duration time.Duration) ([]time.Duration, error) {
	var next atomic.Int64
	return onEach(ctx, address, connections, duration, func(_ context.Context, a *asker, took *[]time.Duration) error {
		began := time.Now()
		_, err := a.ask(requests[int(next.Add(1))%len(requests)])
		*took = append(*took, time.Since(began))
		return err
	})
}

// onEach calls the function work repeatedly on each connection until the time is over or a call fails. It returns the
// sorted durations that work has added.
func onEach(
	ctx context.Context, address string, connections int, duration time.Duration,
	work func(context.Context, *asker, *[]time.Duration) error,
) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var (
		group sync.WaitGroup
		took  = make([][]time.Duration, connections)
		fault = make([]error, connections)
	)
	for i := range connections {
		group.Go(func() {
			a, err := newAsker(address)
			if err != nil {
				fault[i] = err
				cancel()
				return
			}
			defer a.close()
			for ctx.Err() == nil {
				if fault[i] = work(ctx, a, &took[i]); fault[i] != nil {
					cancel()
					return
				}
			}
		})
	}
	group.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, errors.Join(fault...)
}
