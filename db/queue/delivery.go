package queue

import (
	"time"
)

// Delivery is one attempt of a job, handed to a worker.
type Delivery struct {
	Job
	// Attempt counts the deliveries of the job from 1. It is unique within the job, and a later attempt voids all
	// earlier ones.
	Attempt int32
	// Preclaimed is the value that the transaction that assigned the job prepared for its worker, or nil. The queue
	// only passes it on. The same code sets and reads it, so a type parameter for the whole package would gain
	// nothing.
	Preclaimed any

	// failures counts earlier failures of the job.
	failures int32
	// riverID names the River job that carries the attempt. The worker has held it since that time.
	riverID int64
	worker  *worker
	since   time.Time

	// next is the job that the worker does afterwards, or nil. It counts once the transaction that ended this one has
	// committed.
	next *Delivery
	// isEnded is set when a transaction has ended the job.
	isEnded bool
}

// goOn makes the worker do the job next, on the same River job.
func (d *Delivery) continueWith(w waitingJob) {
	d.next = &Delivery{
		Job: Job{CompanyID: d.CompanyID, Kind: w.Kind, ID: w.ID}, Attempt: w.Attempt, failures: w.Failures,
		riverID: d.riverID, worker: d.worker, since: d.since,
	}
}

// mayChain reports whether the worker may take over another job of the company without River.
func (d *Delivery) mayChain() bool {
	return d.worker.stopping.Err() == nil && d.worker.working.Err() == nil && time.Since(d.since) < maxChain
}
