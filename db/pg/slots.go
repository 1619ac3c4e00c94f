package pg

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// maxSlots is how many connections one response uses at a time. With more connections, concurrent lists could together
// read more rows than the budget allows, and most of that work would be wasted.
const maxSlots = 3

type slotsKey struct{}

// WithSlots returns a context whose statements share a few connections, however many lists one response asks for. Use
// it only for responses that read. A caller that already holds a connection and waits for another one could deadlock.
func WithSlots(ctx context.Context) context.Context {
	return context.WithValue(ctx, slotsKey{}, make(chan struct{}, maxSlots))
}

// takeSlot waits for a slot and returns the function that releases it, or the context's error. Without WithSlots it
// does not wait.
func takeSlot(ctx context.Context) (release func(), err error) {
	slots, ok := ctx.Value(slotsKey{}).(chan struct{})
	if !ok {
		return func() {}, nil
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// countStatement returns an error if the budget of the context allows no further statement. Call it after the wait for
// a connection, because other goroutines may use up the budget during the wait.
func countStatement(ctx context.Context) error {
	if budget := model.MemoryBudgetOf(ctx); budget != nil {
		return budget.CountStatement()
	}
	return nil
}
