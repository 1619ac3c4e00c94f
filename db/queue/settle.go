package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// settleTimeout bounds one try to write down what came of jobs.
const settleTimeout = 10 * time.Second

// outcome is what came of an attempt.
type outcome struct {
	carrier
	// riverID is the job of River that carried the attempt.
	riverID int64
	// err is what Work returned, cause why its context had ended, if it had.
	err, cause error
	// settled receives when the outcome is written down, or could not be.
	settled chan error
}

func (o *outcome) ready() time.Time { return now().Add(firstDelay << (2 * o.Failures)) }

// endings gathers outcomes: those of one company are written down one after another, so whatever ends meanwhile
// goes into the next transaction together.
type endings struct {
	mu sync.Mutex
	// waiting has a company while some of its outcomes are being written down.
	waiting map[string][]*outcome
}

// settle writes down what came of an attempt, as soon as the database lets it. When the session ends before, the
// job counts as lost.
func (w *worker) settle(ctx context.Context, o *outcome) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		err := w.queue.settle(ctx, o)
		if err == nil {
			return
		}
		w.queue.log.Error("what came of a job could not be written down", "company", o.CompanyID, "job", o.JobID, "error", err)
		select {
		case <-w.working.Done():
			return
		case <-time.After(backoff):
		}
	}
}

func (q *Queue) settle(ctx context.Context, o *outcome) error {
	q.ending.mu.Lock()
	waiting, busy := q.ending.waiting[o.CompanyID]
	q.ending.waiting[o.CompanyID] = append(waiting, o)
	q.ending.mu.Unlock()
	if !busy {
		go q.settleCompany(ctx, o.CompanyID)
	}
	return <-o.settled
}

// settleCompany writes down outcomes of the company until none waits.
func (q *Queue) settleCompany(ctx context.Context, companyID string) {
	for {
		q.ending.mu.Lock()
		outcomes := q.ending.waiting[companyID]
		if len(outcomes) == 0 {
			delete(q.ending.waiting, companyID)
			q.ending.mu.Unlock()
			return
		}
		q.ending.waiting[companyID] = nil
		q.ending.mu.Unlock()
		trying, cancel := context.WithTimeout(ctx, settleTimeout)
		err := q.end(trying, companyID, outcomes)
		cancel()
		for _, o := range outcomes {
			o.settled <- err
		}
	}
}

// end writes down outcomes, except of attempts that count no more, and admits what waits for their places.
func (q *Queue) end(ctx context.Context, companyID string, outcomes []*outcome) error {
	var ended, interrupted, failed []int64
	var ready []time.Time
	var failures []int32
	for _, o := range outcomes {
		var later *Later
		attrs := []any{"company", companyID, "job", o.JobID, "attempt", o.Attempt, "error", o.err}
		switch {
		case o.err == nil:
			ended = append(ended, o.riverID)
		case errors.Is(o.cause, errInterrupted):
			interrupted = append(interrupted, o.riverID)
		case errors.As(o.err, &later):
			q.log.Info("a job waits", append(attrs, "in", later.In)...)
			failed, ready, failures = append(failed, o.riverID), append(ready, now().Add(later.In)), append(failures, o.Failures)
		case o.Failures+1 >= MaxFailures:
			q.log.Error("a job failed for the last time", attrs...)
			ended = append(ended, o.riverID)
		default:
			q.log.Warn("a job failed", attrs...)
			failed, ready, failures = append(failed, o.riverID), append(ready, o.ready()), append(failures, o.Failures+1)
		}
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if err := q.hold(ctx, tx, companyID); err != nil {
			return err
		}
		for _, change := range []struct {
			ids       []int64
			statement string
			args      []any
		}{
			{ended, "DELETE FROM jobs WHERE company_id = $1 AND river_job_id = ANY($2::bigint[])", nil},
			{interrupted, "UPDATE jobs SET river_job_id = NULL WHERE company_id = $1 AND river_job_id = ANY($2::bigint[])", nil},
			{failed, `UPDATE jobs SET river_job_id = NULL, failures = failed.failures, ready_at = failed.ready_at
				FROM unnest($2::bigint[], $3::timestamptz[], $4::int[]) AS failed (river_job_id, ready_at, failures)
				WHERE jobs.company_id = $1 AND jobs.river_job_id = failed.river_job_id`, []any{ready, failures}},
		} {
			if len(change.ids) == 0 {
				continue
			}
			if _, err := tx.Exec(ctx, change.statement, append([]any{companyID, change.ids}, change.args...)...); err != nil {
				return fmt.Errorf("settle jobs: %w", err)
			}
		}
		return q.admit(ctx, tx, companyID)
	})
}
