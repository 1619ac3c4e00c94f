package queue

import (
	"time"
)

// Delivery is an attempt of a job, given to a worker.
type Delivery struct {
	Job
	// Attempt counts how often the job was given to a worker, from 1: no two deliveries of a job have the same, and
	// one with a later attempt means that those before it count no more.
	Attempt int32
	// Preclaimed is what the transaction that gave the job to the worker has made of it already; nil for nothing.
	Preclaimed any

	// failures is how often the job has failed before.
	failures int32
	// riverID is the job of River that carries the attempt, on the worker since it was fetched.
	riverID int64
	worker  *worker
	since   time.Time

	// next is what the worker goes on to; nil for nothing. It counts once what ended the job is committed.
	next *Delivery
	// isEnded says that a transaction has ended the job.
	isEnded bool
}

// mayChain reports whether the worker may do another job of the company by itself.
func (d *Delivery) mayChain() bool {
	return d.worker.stopping.Err() == nil && d.worker.working.Err() == nil && time.Since(d.since) < maxChain
}
