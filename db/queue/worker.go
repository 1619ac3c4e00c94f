package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// settleTimeout bounds one try to write down what came of a job.
const settleTimeout = 10 * time.Second

// worker is what River calls with each job of a session.
type worker struct {
	river.WorkerDefaults[carrier]
	queue *Queue
	work  Work
	// working ends when the session interrupts its jobs.
	working context.Context
}

// Work does a job and settles it. The error that it returns is only for River's record.
func (w *worker) Work(ctx context.Context, carried *river.Job[carrier]) error {
	bounded, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(w.cause(ctx)) })()
	err := w.call(bounded, carried.Args)
	w.settle(context.WithoutCancel(ctx), carried, err, context.Cause(bounded))
	if err != nil {
		// River would work this attempt again if it saw that its own stop was the reason.
		return errors.New(err.Error())
	}
	return nil
}

// cause says why River has ended the context of a job.
func (w *worker) cause(ctx context.Context) error {
	cause := context.Cause(ctx)
	switch {
	case w.working.Err() != nil:
		return errInterrupted
	case errors.Is(cause, rivertype.ErrJobCancelledRemotely):
		return ErrCancelled
	}
	return cause
}

func (w *worker) call(ctx context.Context, c carrier) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
			w.queue.log.Error("a job panicked", "company", c.CompanyID, "job", c.JobID, "reason", reason, "stack", string(debug.Stack()))
		}
	}()
	return w.work(ctx, c.job(), c.Attempt)
}

// settle writes down what came of an attempt, as soon as the database lets it. When the session ends before, the
// job counts as lost.
func (w *worker) settle(ctx context.Context, carried *river.Job[carrier], err, cause error) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		trying, cancel := context.WithTimeout(ctx, settleTimeout)
		failed := w.queue.settle(trying, carried, err, cause)
		cancel()
		if failed == nil {
			return
		}
		w.queue.log.Error("what came of a job could not be written down",
			"company", carried.Args.CompanyID, "job", carried.Args.JobID, "error", failed)
		select {
		case <-w.working.Done():
			return
		case <-time.After(backoff):
		}
	}
}

// settle ends an attempt, unless it counts no more, and admits what waits for its place.
func (q *Queue) settle(ctx context.Context, carried *river.Job[carrier], err, cause error) error {
	c, statement, args := carried.Args, "", []any{}
	report := func() {}
	switch {
	case err == nil || errors.Is(cause, ErrCancelled):
		statement = "DELETE FROM jobs"
	case errors.Is(cause, errInterrupted):
		statement = "UPDATE jobs SET river_job_id = NULL"
	case c.Failures+1 >= MaxFailures:
		statement = "DELETE FROM jobs"
		report = func() {
			q.log.Error("a job failed for the last time", "company", c.CompanyID, "job", c.JobID, "error", err)
		}
	default:
		statement, args = "UPDATE jobs SET river_job_id = NULL, failures = failures + 1, ready_at = $4", []any{now().Add(delay(c.Failures))}
		report = func() { q.log.Warn("a job failed", "company", c.CompanyID, "job", c.JobID, "error", err) }
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if err := q.hold(ctx, tx, c.CompanyID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, statement+" WHERE company_id = $1 AND id = $2 AND river_job_id = $3",
			append([]any{c.CompanyID, c.JobID, carried.ID}, args...)...)
		if err != nil {
			return fmt.Errorf("settle job: %w", err)
		}
		if tag.RowsAffected() > 0 {
			report()
		}
		return q.admit(ctx, tx, c.CompanyID)
	})
}

// delay is how long a job waits that has failed once more than so often.
func delay(failures int32) time.Duration { return firstDelay << (2 * failures) }
