package model

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrTooLarge is returned when a response exceeds its budget.
var ErrTooLarge = errors.New("the answer is too large")

// ErrAtMost is the ErrTooLarge of the bound of WithAtMost.
var ErrAtMost = fmt.Errorf("beyond its own bound, %w", ErrTooLarge)

// Budget bounds the bytes that one response reads and writes, and its work. It is safe for concurrent use.
type Budget interface {
	// Spend takes bytes, or returns them if negative. It returns ErrTooLarge when too few are left.
	Spend(bytes int) error
	// Ask counts a database statement before it is sent. It returns ErrTooLarge when the response must do no further
	// work.
	Ask() error
}

type budgetKey struct{}

// WithBudget returns a context whose responses spend the budget.
func WithBudget(ctx context.Context, b Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// WithAtMost returns a context whose reads may spend at most the given number of bytes, and also spend them from the
// budget of ctx. Beyond that, Spend returns ErrAtMost.
func WithAtMost(ctx context.Context, bytes int64) context.Context {
	b := &part{of: BudgetOf(ctx)}
	b.left.Store(bytes)
	return WithBudget(ctx, b)
}

type part struct {
	of   Budget
	left atomic.Int64
}

func (p *part) Spend(bytes int) error {
	if p.left.Add(-int64(bytes)) < 0 {
		return ErrAtMost
	}
	if p.of == nil {
		return nil
	}
	return p.of.Spend(bytes)
}

func (p *part) Ask() error {
	if p.of == nil {
		return nil
	}
	return p.of.Ask()
}

type bufferKey struct{}

// WithBuffer returns a context in which responses may be appended to the buffer. The sender of the response owns the
// buffer.
func WithBuffer(ctx context.Context, buffer *[]byte) context.Context {
	return context.WithValue(ctx, bufferKey{}, buffer)
}

// BufferOf returns the buffer of the context, or nil.
func BufferOf(ctx context.Context) *[]byte {
	buffer, _ := ctx.Value(bufferKey{}).(*[]byte)
	return buffer
}

// BudgetOf returns the budget of the context, or nil.
func BudgetOf(ctx context.Context) Budget {
	b, _ := ctx.Value(budgetKey{}).(Budget)
	return b
}
