package queue

import "context"

// Sweep does the work that every process with workers does about once a second.
func Sweep(ctx context.Context, q *Queue) error { return q.sweep(ctx) }
