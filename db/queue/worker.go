package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/riverqueue/river"
)

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
	w.settle(context.WithoutCancel(ctx), &outcome{carried.Args, carried.ID, err, context.Cause(bounded), make(chan error, 1)})
	if err != nil {
		// River would work this attempt again if it saw that its own stop was the reason.
		return errors.New(err.Error())
	}
	return nil
}

// cause says why River has ended the context of a job.
func (w *worker) cause(ctx context.Context) error {
	if w.working.Err() != nil {
		return errInterrupted
	}
	return context.Cause(ctx)
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
