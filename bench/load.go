package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// drive sends requests over the connections until the time is over, each connection as soon as it has its answer, and
// returns the sorted durations. Connections take the requests in order, whichever is free.
func drive(ctx context.Context, address string, requests []request, connections int, duration time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var (
		next  atomic.Int64
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
				began := time.Now()
				if _, err := a.ask(requests[int(next.Add(1))%len(requests)]); err != nil {
					fault[i] = err
					cancel()
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	group.Wait()
	for _, err := range fault {
		if err != nil {
			return nil, err
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, nil
}
