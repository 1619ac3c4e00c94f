package model

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrTooLarge is returned when a response exceeds its budget.
var ErrTooLarge = errors.New("the response is too large")

// ErrOverLimit wraps ErrTooLarge. It is returned when the limit of WithMemoryLimit is exceeded.
var ErrOverLimit = fmt.Errorf("the reads exceed their own memory limit: %w", ErrTooLarge)

// MemoryBudget bounds the bytes that one response reads and writes, and its work. It is safe for concurrent use.
type MemoryBudget interface {
	// Reserve takes bytes from the budget. A negative number gives them back. It returns ErrTooLarge when too few are
	// left.
	Reserve(bytes int) error
	// CountStatement counts a database statement before it is sent. It returns ErrTooLarge when the response must do no
	// further work.
	CountStatement() error
}

type budgetKey struct{}

// WithMemoryBudget returns a context with the budget. Database reads and the response reserve bytes from it.
func WithMemoryBudget(ctx context.Context, b MemoryBudget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// WithMemoryLimit returns a context whose reads may reserve at most the given number of bytes, and also take them from
// the budget of ctx. Beyond that, Reserve returns ErrOverLimit.
func WithMemoryLimit(ctx context.Context, bytes int64) context.Context {
	b := &limitedBudget{parent: MemoryBudgetOf(ctx)}
	b.remaining.Store(bytes)
	return WithMemoryBudget(ctx, b)
}

type limitedBudget struct {
	parent    MemoryBudget
	remaining atomic.Int64
}

func (p *limitedBudget) Reserve(bytes int) error {
	if p.remaining.Add(-int64(bytes)) < 0 {
		return ErrOverLimit
	}
	if p.parent == nil {
		return nil
	}
	return p.parent.Reserve(bytes)
}

func (p *limitedBudget) CountStatement() error {
	if p.parent == nil {
		return nil
	}
	return p.parent.CountStatement()
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

// MemoryBudgetOf returns the budget of the context, or nil.
func MemoryBudgetOf(ctx context.Context) MemoryBudget {
	b, _ := ctx.Value(budgetKey{}).(MemoryBudget)
	return b
}
