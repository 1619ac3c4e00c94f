package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Delivery is an attempt of a job, given to a worker.
type Delivery struct {
	Job
	// Attempt counts how often the job was given to a worker, from 1: no two deliveries of a job have the same, and
	// one with a later attempt means that those before it count no more.
	Attempt int32
	// Begun is what the transaction that gave the job to the worker has made of it already; nil for nothing.
	Begun any

	// failures is how often the job has failed before.
	failures int32
	// riverID is the job of River that carries the attempt, on the worker since it was fetched.
	riverID int64
	worker  *worker
	since   time.Time

	// next is what the worker goes on to; nil for nothing. It counts once what ended the job is committed.
	next *Delivery
	// ended says that a transaction has ended the job.
	ended bool
}

// goesOn reports whether the worker may do another job of the company by itself.
func (d *Delivery) goesOn() bool {
	return d.worker.hiring.Err() == nil && d.worker.working.Err() == nil && time.Since(d.since) < shift
}

// End makes the ends of jobs of one company part of the transaction that does what they were for, and puts further
// jobs of the company behind those that wait. It leaves alone the ended that have had a later attempt. It returns the
// jobs that the workers go on to, which is only true once the transaction is committed; until then the caller may
// set their Begun. When it is committed, Ended is to be called for each of the ended. Until it ends no other job of
// the company begins or ends, so it must wait for nothing that somebody holds who may be enqueuing jobs.
func (q *Queue) End(ctx context.Context, tx pgx.Tx, ended []*Delivery, further ...Job) ([]*Delivery, error) {
	var settled attempts
	for _, d := range ended {
		settled.add(d)
	}
	companyID, next := ended[0].CompanyID, []*Delivery{}
	err := q.admit(ctx, tx, companyID, func(batch *pgx.Batch) {
		if len(further) > 0 {
			add(batch, companyID, byCompany(further)[companyID])
		}
		settled.change(batch, companyID, endJobs)
		q.goOn(batch, companyID, ended)
	})
	for _, d := range ended {
		if d.next != nil {
			next = append(next, d.next)
		}
	}
	return next, err
}

// Ended says that a transaction in which the job has ended is committed.
func (d *Delivery) Ended() { d.ended = true }
