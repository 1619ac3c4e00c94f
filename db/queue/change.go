package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Tx is a transaction with commit callbacks.
type Tx interface {
	pgx.Tx
	// OnCommit calls f after the commit. It never calls f if the transaction does not commit.
	OnCommit(f func())
}

// Change describes the changes of a transaction to the jobs of one company.
type Change struct {
	CompanyID string
	// Enqueue lists jobs to add. They join the queue when the transaction commits. A job that is already queued is not
	// added again.
	Enqueue []Job
	// In is the time that the new jobs wait before their first attempt. If it is set, that attempt has the number 2.
	In time.Duration
	// IsPatient lets new jobs wait until another job of the company ends, or about a second when none is running. In
	// return the change locks nothing, unless it also ends jobs.
	IsPatient bool
	// End lists jobs whose work this transaction completes. A job with a later attempt does not change.
	End []*Delivery
}

// Apply makes the change part of the transaction. It locks the company's queue until the transaction ends, unless the
// change is patient and ends nothing. So call it last. Afterwards, never wait for a lock whose holder may enqueue jobs.
//
// It returns the jobs that the same workers do next. They start after the transaction has committed. Until then the
// caller may set their Preclaimed.
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
		ended.addDelivery(d)
		tx.OnCommit(func() { d.isEnded = true })
	}
	err = q.admit(ctx, tx, c.CompanyID, c.End, func(batch *pgx.Batch) {
		c.enqueue(batch)
		ended.queueStatement(batch, c.CompanyID, endJobs)
	})
	for _, d := range c.End {
		if d.next != nil {
			next = append(next, d.next)
		}
	}
	return next, err
}

// enqueue inserts jobs that wait for admission.
func (c Change) enqueue(batch *pgx.Batch) {
	if len(c.Enqueue) == 0 {
		return
	}
	ids, kinds := make([]string, len(c.Enqueue)), make([]string, len(c.Enqueue))
	for i, job := range c.Enqueue {
		ids[i], kinds[i] = job.ID, job.Kind
	}
	attempt := 0
	if c.In > 0 {
		attempt = 1 // jobs without an attempt are always ready
	}
	batch.Queue(`INSERT INTO jobs (company_id, id, kind, attempt, failures, losses, ready_at)
		SELECT $1, id, kind, $5::int, 0, 0, $4 FROM unnest($2::text[], $3::text[]) AS job (id, kind)
		ON CONFLICT (company_id, id) DO NOTHING`, c.CompanyID, ids, kinds, now().Add(c.In), attempt)
}

// Withdraw deletes a job unless it is admitted, and reports whether it did.
func Withdraw(ctx context.Context, tx pgx.Tx, companyID, id string) (bool, error) {
	tag, err := tx.Exec(ctx, "DELETE FROM jobs WHERE company_id = $1 AND id = $2 AND river_job_id IS NULL", companyID, id)
	return tag.RowsAffected() > 0, err
}
