package pg

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// mostTurns is how many connections one response uses at a time. With more, concurrent lists would read rows that
// exceed the budget together, and most of that work would be wasted.
const mostTurns = 3

type turnsKey struct{}

// WithTurns returns a context whose statements share a few connections, however many lists one response asks for. Use
// it only for responses that read: a caller that holds a connection must never wait for another.
func WithTurns(ctx context.Context) context.Context {
	return context.WithValue(ctx, turnsKey{}, make(chan struct{}, mostTurns))
}

// takeTurn waits for a turn and returns the function that gives it back, or the context's error. Without WithTurns it
// does not wait.
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

// mayAsk returns an error if the budget of the context allows no further statement. Call it after the wait for a
// connection, because other goroutines may use up the budget meanwhile.
func mayAsk(ctx context.Context) error {
	if budget := model.BudgetOf(ctx); budget != nil {
		return budget.Ask()
	}
	return nil
}
