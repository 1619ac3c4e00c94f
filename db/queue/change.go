package queue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tx is a transaction that tells when it is committed.
type Tx interface {
	pgx.Tx
	// OnCommit has f called once the transaction is committed, and never if it is not.
	OnCommit(f func())
}

// Change is what a transaction does to the jobs of one company.
type Change struct {
	CompanyID string
	// Enqueue are put into the queue: they are there once the transaction is committed, and never if it is not. A job that
	// is in the queue is not put there again.
	Enqueue []Job
	// IsPatient lets them wait until the next job of the company ends, or a second or so when none is under way. Then the
	// change makes nobody wait, unless it ends jobs.
	IsPatient bool
	// End are jobs that what they were for is done in the transaction. Those that have had a later attempt are left alone.
	End []*Delivery
}

// Apply makes the change part of the transaction. Until that ends no other job of the company begins or ends, unless the
// change is a patient one that ends nothing; so it should be the last thing that a transaction does, and must wait for nothing
// that somebody has locked who may be enqueuing jobs.
//
// It returns the jobs that the workers of the ended go on to, which is only true once the transaction is committed; until then
// the caller may set their Preclaimed.
func (q *Queue) Apply(ctx context.Context, tx Tx, c Change) (next []*Delivery, err error) {
	if c.IsPatient && len(c.End) == 0 {
		batch := &pgx.Batch{}
		c.enqueue(batch)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return nil, fmt.Errorf("enqueue jobs: %w", err)
		}
		return nil, nil
	}
	var ended attempts
	for _, d := range c.End {
		ended.add(d)
		tx.OnCommit(func() { d.isEnded = true })
	}
	err = q.admit(ctx, tx, c.CompanyID, func(batch *pgx.Batch) {
		c.enqueue(batch)
		ended.change(batch, c.CompanyID, endJobs)
		q.assignNext(batch, c.CompanyID, c.End)
	})
	for _, d := range c.End {
		if d.next != nil {
			next = append(next, d.next)
		}
	}
	return next, err
}

// enqueue makes jobs that wait to be admitted.
func (c Change) enqueue(batch *pgx.Batch) {
	if len(c.Enqueue) == 0 {
		return
	}
	ids, kinds := make([]string, len(c.Enqueue)), make([]string, len(c.Enqueue))
	for i, job := range c.Enqueue {
		ids[i], kinds[i] = job.ID, job.Kind
	}
	batch.Queue(`INSERT INTO jobs (company_id, id, kind, attempt, failures, losses, ready_at)
		SELECT $1, id, kind, 0, 0, 0, $4 FROM unnest($2::text[], $3::text[]) AS job (id, kind)
		ON CONFLICT (company_id, id) DO NOTHING`, c.CompanyID, ids, kinds, now())
}
