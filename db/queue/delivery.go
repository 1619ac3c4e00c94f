package queue

import (
	"time"
)

// Delivery is one attempt at a job by a worker.
type Delivery struct {
	Job
	// Attempt counts the deliveries of the job from 1. It is unique within the job, and a later attempt voids all
	// earlier ones.
	Attempt int32
	// Preclaimed is a value for the worker, or nil. It is set in the transaction that assigns the job. The queue only
	// passes it on. The caller both sets and reads it, so a type parameter for the whole package would gain nothing.
	Preclaimed any

	// failures counts earlier failures of the job.
	failures int32
	// riverID is the River job that carries the attempt. since is when the worker got it.
	riverID int64
	worker  *worker
	since   time.Time

	// next has the next job of the worker, or nil. It is valid once the transaction that ended this job has committed.
	next *Delivery
	// isEnded is set after a transaction has ended the job.
	isEnded bool
}

// continueWith makes the job the worker's next one, on the same River job.
func (d *Delivery) continueWith(w waitingJob) {
	d.next = &Delivery{
		Job: Job{CompanyID: d.CompanyID, Kind: w.Kind, ID: w.ID}, Attempt: w.Attempt, failures: w.Failures,
		riverID: d.riverID, worker: d.worker, since: d.since,
	}
}

// mayChain reports whether the worker may continue with another job of the company on the same River job.
func (d *Delivery) mayChain() bool {
	return d.worker.stopping.Err() == nil && d.worker.working.Err() == nil && time.Since(d.since) < maxChain
}
