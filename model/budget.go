package model

import (
	"context"
	"errors"
)

// ErrTooLarge says that an answer holds more than it may.
var ErrTooLarge = errors.New("the answer is too large")

// Budget bounds what an answer holds while it is made: what is read for it, and what is written. It is safe for
// concurrent use.
type Budget interface {
	// Spend takes bytes, or gives them back when they are below 0, and returns an error that is ErrTooLarge when there were
	// not as many left.
	Spend(bytes int) error
}

type budgetKey struct{}

// WithBudget returns a context in which answers are made out of the budget.
func WithBudget(ctx context.Context, b Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

type bufferKey struct{}

// WithBuffer returns a context in which one answer may be written behind what the buffer has, which is whoever's that sends it.
func WithBuffer(ctx context.Context, buffer *[]byte) context.Context {
	return context.WithValue(ctx, bufferKey{}, buffer)
}

// BufferOf returns the buffer of the context; nil when there is none.
func BufferOf(ctx context.Context) *[]byte {
	buffer, _ := ctx.Value(bufferKey{}).(*[]byte)
	return buffer
}

// BudgetOf returns the budget of the context; nil when there is none.
func BudgetOf(ctx context.Context) Budget {
	b, _ := ctx.Value(budgetKey{}).(Budget)
	return b
}
