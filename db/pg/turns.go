package pg

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// mostTurns is how many connections one response has at a time. With more, rows would be read side by side that are too
// many together, and most of that for nothing.
const mostTurns = 3

type turnsKey struct{}

// WithTurns returns a context whose statements take turns at connections, so that one response, however many lists it
// asks for, has few of them at a time. It is for responses that only read: who has a connection must not wait for
// another.
func WithTurns(ctx context.Context) context.Context {
	return context.WithValue(ctx, turnsKey{}, make(chan struct{}, mostTurns))
}

// takeTurn waits for a turn, which is to be given back, or returns the context's error. Without turns it does not wait.
func takeTurn(ctx context.Context) (giveBack func(), err error) {
	turns, ok := ctx.Value(turnsKey{}).(chan struct{})
	if !ok {
		return func() {}, nil
	}
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// mayAsk returns an error if the budget of the context has no room for another question to the database. It is called
// after the wait for a connection, since others may use up the budget meanwhile.
func mayAsk(ctx context.Context) error {
	if budget := model.BudgetOf(ctx); budget != nil {
		return budget.Ask()
	}
	return nil
}
