package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// mostTurns is how many connections one response has at a time. With more, rows would be read side by side that are too many
// together, and most of that for nothing.
const mostTurns = 3

type turnsKey struct{}

// WithTurns returns a context whose statements take turns at connections, so that one response, however many lists it asks
// for, has few of them at a time. It is for responses that only read: who has a connection must not wait for another.
func WithTurns(ctx context.Context) context.Context {
	return context.WithValue(ctx, turnsKey{}, make(chan struct{}, mostTurns))
}

// takeTurn waits for a turn, which is to be given back, or returns the context's error. It returns that of the budget if others
// have used it up meanwhile, or if it has no room for another question. Without turns it does not wait.
func takeTurn(ctx context.Context) (giveBack func(), err error) {
	giveBack = func() {}
	if turns, ok := ctx.Value(turnsKey{}).(chan struct{}); ok {
		select {
		case turns <- struct{}{}:
			giveBack = func() { <-turns }
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if budget := model.BudgetOf(ctx); budget != nil {
		if err := budget.Ask(); err != nil {
			giveBack()
			return nil, err
		}
	}
	return giveBack, nil
}
