package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// leaving is how long a load balancer may still send requests to a replica that it has stopped using.
const leaving = 200 * time.Millisecond

// upgrade returns the steps of an upgrade from the old program to the new one, back, and up again. No request may fail.
func upgrade(from, to string) []step {
	replaced := func(name, program string) step {
		return step{name: name, do: func(ctx context.Context, s *environment) error {
			for i, r := range s.replicas {
				if err := s.replace(ctx, i, r, program); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	return []step{
		{name: "none", do: func(ctx context.Context, _ *environment) error { return sleep(ctx, 3*time.Second) }},
		{name: "the schema moves on", do: func(ctx context.Context, s *environment) error {
			s.program = to
			_, err := s.command(ctx, "migrate", "up")
			return err
		}},
		replaced("old replicas start again", from),
		replaced("new replicas take their place", to),
		replaced("back to the old ones", from),
		replaced("and up again", to),
	}
}

// replace stops sending requests to the replica, stops it, and starts the program at the same address.
func (s *environment) replace(ctx context.Context, i int, r *replica, program string) error {
	if err := sleep(ctx, between); err != nil {
		return err
	}
	s.company.avoid(i, true)
	if err := sleep(ctx, leaving); err != nil {
		return err
	}
	r.program = program
	if err := r.restart(ctx); err != nil {
		return err
	}
	s.company.avoid(i, false)
	return nil
}

// verdictOfUpgrade does the same as verdict, but also returns an error if a request failed.
func (b *ledger) verdictOfUpgrade() error {
	all := tally{}
	for _, o := range b.operations {
		all.add(o)
	}
	if failed := all.inDoubt + int(b.unreached.Load()); failed > 0 {
		return errors.Join(b.verdict(), fmt.Errorf("%d requests failed", failed))
	}
	return b.verdict()
}
