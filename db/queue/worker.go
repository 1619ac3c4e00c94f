package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"
)

// worker runs every River job of a session.
type worker struct {
	river.WorkerDefaults[carrier]
	queue *Queue
	work  Work
	// working is cancelled when the session interrupts its jobs, and stopping when no more jobs may start.
	working, stopping context.Context
}

// Work does a job, records its outcome, and continues with other jobs of the company while mayChain allows it. River
// records only the error.
func (w *worker) Work(ctx context.Context, carried *river.Job[carrier]) error {
	c := carried.Args
	next := &Delivery{
		Job: Job{c.CompanyID, c.JobKind, c.JobID}, Attempt: c.Attempt, failures: c.Failures,
		riverID: carried.ID, worker: w, since: time.Now(),
	}
	var err error
	for next != nil {
		d := next
		var cause error
		switch err, cause = w.attempt(ctx, d); {
		case !d.isEnded:
			w.settle(context.WithoutCancel(ctx), &outcome{d, err, cause})
		case err != nil:
			w.queue.log.Warn("a job failed after its outcome was "+
				"saved", "company", d.CompanyID, "job", d.ID, "attempt", d.Attempt, "error",
				err)
		}
		next = d.next
	}
	if err != nil {
		// River repeats an attempt whose error wraps River's own stop. The new error wraps nothing.
		return errors.New(err.Error())
	}
	return nil
}

// attempt returns the outcome of a delivery, and the cause for which its context ended, or nil.
func (w *worker) attempt(ctx context.Context, d *Delivery) (err, cause error) {
	cancellable, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(w.cause(ctx)) })()
	bounded, release := context.WithTimeout(cancellable, timeout)
	defer release()
	err = w.call(bounded, d)
	return err, context.Cause(bounded)
}

// cause returns why River ended the context of a job.
func (w *worker) cause(ctx context.Context) error {
	if w.working.Err() != nil {
		return errInterrupted
	}
	return context.Cause(ctx)
}

func (w *worker) call(ctx context.Context, d *Delivery) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
			w.queue.log.Error("a job panicked", "company", d.CompanyID, "job", d.ID, "reason", reason, "stack",
				string(debug.Stack()))
		}
	}()
	return w.work(ctx, d)
}
