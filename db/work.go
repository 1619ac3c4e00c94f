package db

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// The kinds of jobs.
const (
	runJob      = "agentTestRun"
	documentJob = "document"
	chatJob     = "simulationChat"
	blameJob    = "blameStep"
	waitingJob  = "waitingChat"
	objectJob   = "documentObject"
)

// Worker does one job of a company. The attempt counts how often the job was given to a worker, from 1: no two calls
// for a job have the same attempt. After an error, the job is retried a few times with delays. If the error is a Later,
// the job is retried after Later.In. When ctx ends, return soon: another worker gets the job. The job of a test run
// ends when the run reaches a final status through the Tenant. After that, the result of the worker has no effect.
type Worker func(ctx context.Context, t *Tenant, id string, attempt int32) error

// Later is the error of a Worker whose job cannot be done yet. The job is retried after In, without a limit.
type Later = queue.Later

// Workers are the workers for each kind of job.
type Workers struct {
	// RunTest runs an agent test, by the run's id.
	RunTest Worker
	// ExtractChat extracts values from an ended chat, by the chat's id.
	ExtractChat Worker
	// Index indexes a document, by the id of the indexing.
	Index Worker
	// ContinueBlame continues the search for the cause of a failure, by the id of the execution of its last step.
	ContinueBlame Worker
	// ContinueChat answers the contact in a chat whose turn ended while a call waited for a person, by the chat's id.
	ContinueChat Worker
}

func (w Workers) workerFor(kind string) (Worker, error) {
	switch kind {
	case runJob:
		return w.RunTest, nil
	case documentJob:
		return w.Index, nil
	case chatJob:
		return w.ExtractChat, nil
	case blameJob:
		return w.ContinueBlame, nil
	case waitingJob:
		return w.ContinueChat, nil
	case objectJob:
		return deleteUnusedObject, nil
	}
	return nil, fmt.Errorf("there is no worker for jobs of the kind %q", kind)
}

// Work passes ready jobs to workers of this process, at most size at a time, until StopWork is called.
func (s *Store) Work(ctx context.Context, size int, workers Workers) error {
	return s.queue.Start(ctx, size, func(ctx context.Context, d *queue.Delivery) error {
		work, err := workers.workerFor(d.Kind)
		if err != nil {
			return err
		}
		t := s.Tenant(d.CompanyID)
		t.delivery = d
		return work(pg.WithConnectionsOf(ctx, d.CompanyID), t, d.ID, d.Attempt)
	})
}

// StopWork takes no more jobs, and returns when the running ones are done. If ctx ends earlier, it cancels them, and
// other workers get them.
func (s *Store) StopWork(ctx context.Context) error { return s.queue.Stop(ctx) }

// enqueue puts jobs into the queue. Call it last in the transaction.
func (t tenantTx) enqueue(ctx context.Context, kind string, ids []string) error {
	_, err := t.changeQueue(ctx, queue.Change{Enqueue: t.jobs(kind, ids)})
	return err
}

// changeQueue changes the company's part of the queue.
func (t tenantTx) changeQueue(ctx context.Context, change queue.Change) (next []*queue.Delivery, err error) {
	change.CompanyID = t.CompanyID()
	return next, t.db.PGX(ctx, func(tx *pg.OpenTx) error {
		next, err = t.store.queue.Apply(ctx, tx, change)
		return err
	})
}

func (t *Tenant) jobs(kind string, ids []string) []queue.Job {
	return model.Map(ids, func(id string) queue.Job { return queue.Job{CompanyID: t.CompanyID(), Kind: kind, ID: id} })
}

// cleanupInterval is how often a process looks for expired responses of requests and other expired data.
const cleanupInterval = time.Minute

// scheduleInterval is how often a process looks for due schedules. Their times are exact to the minute.
const scheduleInterval = 5 * time.Second

// sweeper returns the function that the queue calls about once a second. It ends abandoned runs, starts due
// schedules, enqueues extractions and the chats whose wait for an approval is over, removes marked rows, and from time
// to time deletes expired data. It is not safe for concurrent use.
func (s *Store) sweeper() func(context.Context) error {
	var lastCleanup time.Time
	var old []*model.Retention // retentions that were not handled yet, or have more to delete
	var lastScheduled time.Time
	return func(ctx context.Context) error {
		errs := []error{s.endAbandonedRuns(ctx), s.enqueueExtractions(ctx), s.enqueueWaiting(ctx)}
		if time.Since(lastScheduled) >= scheduleInterval {
			lastScheduled = time.Now()
			errs = append(errs, s.startScheduled(ctx))
		}
		if len(old) == 0 && time.Since(lastCleanup) >= cleanupInterval {
			var err error
			old, err = s.retentions(ctx)
			errs = append(errs, err, s.deleteOldest(ctx, (*model.IdempotentRequest)(nil), "until", bun.Safe("now()")),
				s.forgetAuditEvents(ctx), s.recountCampaigns(ctx),
				s.deleteOldest(ctx, (*model.WebhookDelivery)(nil), "created_at", model.DeliveriesStoredSince(now())))
			lastCleanup = time.Now()
		}
		var err error
		old, err = s.deleteExpired(ctx, old)
		errs = append(errs, s.removeMarked(ctx))
		return errors.Join(append(errs, err)...)
	}
}

// readAllCompanies reads rows of all companies. It calls read with a function that returns the condition for a company
// column. If that fails because one of several machines is down, it calls read for each company, in any order, until
// ctx ends.
func (s *Store) readAllCompanies(ctx context.Context,
	read func(ofCompany func(column string) pg.Selection) error) error {
	err := read(func(string) pg.Selection { return pg.All })
	if !queue.IsNodeDown(err) {
		return err
	}
	companies := []string{}
	if err := s.db.Program().NewSelect().Model((*model.Company)(nil)).Column("id").OrderExpr("random()").
		Scan(ctx, &companies); err != nil {
		return err
	}
	var errs []error
	for _, id := range companies {
		errs = append(errs, read(func(column string) pg.Selection { return pg.Where(column+" = ?", id) }))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// rowRef identifies a row of any company.
type rowRef struct{ CompanyID, ID string }

// scanner is a query that selects rows.
type scanner interface {
	Scan(ctx context.Context, dest ...any) error
}

// queryAllCompanies runs the query that find makes over all companies, in any order. Companies that cannot be read are
// left out, with an error.
func queryAllCompanies[R any](ctx context.Context, s *Store,
	find func(ofCompany func(column string) pg.Selection) scanner) (found []R, err error) {
	err = s.readAllCompanies(ctx, func(ofCompany func(string) pg.Selection) error {
		some := []R{}
		err := find(ofCompany).Scan(ctx, &some)
		found = append(found, some...)
		return err
	})
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found, err
}

// companiesWith returns the companies with a row that satisfies the condition, in any order. nilRow is a nil pointer to
// the struct of a row. Companies that cannot be read are left out, with an error. The query does not read the table
// companies: Citus copies it to every node, and cannot join such a table with the rows of each company.
func (s *Store) companiesWith(ctx context.Context, nilRow any, condition string, args ...any) ([]string, error) {
	return queryAllCompanies[string](ctx, s, func(ofCompany func(string) pg.Selection) scanner {
		return s.db.Program().NewSelect().Model(nilRow).Distinct().Column("company_id").Where(condition, args...).
			Apply(ofCompany("?TableAlias.company_id"))
	})
}

// onBeat calls beat at the interval, and after each signal if there are signals, until the returned function is
// called. The returned context ends with ctx. It also ends when beat returns an error, which is its cause.
func onBeat(ctx context.Context, interval time.Duration, signals *notify.Subscription, beat func(context.Context) error,
) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		var woken <-chan struct{}
		if signals != nil {
			defer signals.Close()
			woken = signals.Woken()
		}
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			case <-woken:
			}
			if err := beat(ctx); err != nil {
				cancel(err)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-stopped
	}
}
