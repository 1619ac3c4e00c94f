package queue

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// settleTimeout bounds one attempt to record outcomes.
const settleTimeout = 10 * time.Second

type outcome struct {
	*Delivery
	// err is the result of Work. cause is the reason why the context of Work ended, or nil.
	err, cause error
}

func (o *outcome) ready() time.Time { return now().Add(firstDelay << (2 * o.failures)) }

// settle records the outcome of an attempt, and retries until the database accepts it. If the session ends first, the
// job counts as lost.
func (w *worker) settle(ctx context.Context, o *outcome) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		err := w.queue.outcomes.Do(ctx, o.CompanyID, o)
		if err == nil {
			return
		}
		w.queue.log.Error("could not save the outcome of a job", "company", o.CompanyID, "job", o.ID, "error", err)
		select {
		case <-w.working.Done():
			o.next = nil // if the next job was assigned, the sweep recovers it too
			return
		case <-time.After(backoff):
		}
	}
}

type attempts struct {
	ids      []string
	riverIDs []int64
	numbers  []int32
}

func (a *attempts) addDelivery(d *Delivery) {
	a.ids, a.riverIDs, a.numbers = append(a.ids, d.ID), append(a.riverIDs, d.riverID), append(a.numbers, d.Attempt)
}

// queueStatement queues a statement on the jobs of the attempts, if there are any.
func (a *attempts) queueStatement(batch *pgx.Batch, companyID, statement string, more ...any) {
	if len(a.ids) > 0 {
		batch.Queue(statement, append([]any{companyID, a.ids, a.riverIDs, a.numbers}, more...)...)
	}
}

// Updates for the jobs of attempts. An attempt is void when its job was deleted, was detached from its River job, or
// has been tried again since.
const (
	endJobs = `DELETE FROM jobs USING unnest($2::text[], $3::bigint[], $4::int[]) AS settled (id, river_job_id, attempt)
		WHERE ` + attemptIsCurrent
	releaseJobs = `UPDATE jobs SET river_job_id = NULL FROM unnest($2::text[], $3::bigint[], $4::int[]) AS settled (id,
		river_job_id, attempt)
		WHERE ` + attemptIsCurrent
	rescheduleJobs = `UPDATE jobs SET river_job_id = NULL, ready_at = settled.ready_at, failures = settled.failures
		FROM unnest($2::text[], $3::bigint[], $4::int[], $5::timestamptz[], $6::int[]) AS settled (id, river_job_id, attempt,
			ready_at, failures)
		WHERE ` + attemptIsCurrent
	attemptIsCurrent = "jobs.company_id = $1 AND (jobs.id, jobs.river_job_id, jobs.attempt) = (settled.id, " +
		"settled.river_job_id, settled.attempt)"
)

// settleTogether records the outcomes of valid attempts, and admits waiting jobs to the free slots.
func (q *Queue) settleTogether(ctx context.Context, companyID string, outcomes []*outcome) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var ended, interrupted, failed attempts
	var ready []time.Time
	var failures []int32
	deliveries := make([]*Delivery, len(outcomes))
	for i, o := range outcomes {
		deliveries[i] = o.Delivery
		var later *Later
		attrs := []any{"company", companyID, "job", o.ID, "attempt", o.Attempt, "error", o.err}
		switch {
		case o.err == nil:
			ended.addDelivery(o.Delivery)
		case errors.Is(o.cause, errInterrupted):
			interrupted.addDelivery(o.Delivery)
		case errors.As(o.err, &later):
			q.log.Info("a job will run again later", append(attrs, "in", later.In)...)
			failed.addDelivery(o.Delivery)
			ready, failures = append(ready, now().Add(later.In)), append(failures, o.failures)
		case o.failures+1 >= MaxFailures:
			q.log.Error("a job failed for the last time and was dropped", attrs...)
			ended.addDelivery(o.Delivery)
		default:
			q.log.Warn("a job failed", attrs...)
			failed.addDelivery(o.Delivery)
			ready, failures = append(ready, o.ready()), append(failures, o.failures+1)
		}
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		return q.admit(ctx, tx, companyID, deliveries, func(batch *pgx.Batch) {
			ended.queueStatement(batch, companyID, endJobs)
			interrupted.queueStatement(batch, companyID, releaseJobs)
			failed.queueStatement(batch, companyID, rescheduleJobs, ready, failures)
		})
	})
}
