package queue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// carrier is the payload of a River job: one attempt of a job. The same River job may carry further jobs afterwards.
type carrier struct {
	CompanyID string `json:"companyId"`
	JobKind   string `json:"jobKind"`
	JobID     string `json:"jobId"`
	Attempt   int32  `json:"attempt"`
	// Failures counts earlier failures of the job.
	Failures int32 `json:"failures"`
}

// Kind returns River's name for carriers.
func (carrier) Kind() string { return "job" }

// readyCondition selects the jobs that can be admitted. $2 is the time before the transaction waited for its lock, so
// jobs enqueued during the wait seem not to be due. Such jobs have no attempt yet, and are always ready.
const readyCondition = "river_job_id IS NULL AND (ready_at <= $2 OR attempt = 0)"

// companyLock distinguishes the advisory locks of companies from other ones.
const companyLock = 0x6a6f6273

type waitingJob struct {
	ID, Kind          string
	Attempt, Failures int32
}

// admit locks the company's queue until the transaction ends, makes the changes, if any, and fills the window with the
// longest-waiting jobs. The River jobs of ended jobs carry the first of them. Each statement uses either the jobs of
// one company or the tables of River. So a database that is sharded by company runs it on one machine.
func (q *Queue) admit(ctx context.Context, tx pgx.Tx, companyID string, ended []*Delivery,
	changes func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue("SELECT pg_advisory_xact_lock($1::int, hashtext($2))", companyLock, companyID)
	if changes != nil {
		changes(batch)
	}
	free := q.free(batch, companyID, ended)
	var waiting []waitingJob
	batch.Queue(`SELECT id, kind, attempt + 1 AS attempt, failures FROM jobs WHERE company_id = $1 AND `+readyCondition+`
		ORDER BY ready_at, id
		LIMIT greatest(0, $3 - (SELECT count(*) FROM jobs WHERE company_id = $1 AND river_job_id IS NOT NULL))`,
		companyID, now(), q.window).Query(func(rows pgx.Rows) (err error) {
		waiting, err = pgx.CollectRows(rows, pgx.RowToStructByName[waitingJob])
		return err
	})
	err := tx.SendBatch(ctx, batch).Close()
	if err == nil && len(waiting) > 0 {
		err = q.carry(ctx, tx, companyID, waiting, *free)
	}
	if err != nil {
		return fmt.Errorf("admit jobs of company %s: %w", companyID, err)
	}
	return nil
}

// carry assigns jobs of the company to free River jobs, and the others to new River jobs, which takes much longer.
func (q *Queue) carry(ctx context.Context, tx pgx.Tx, companyID string, waiting []waitingJob, free []*Delivery) error {
	ids, riverIDs := make([]string, len(waiting)), make([]int64, len(waiting))
	var carriers []river.InsertManyParams
	for i, w := range waiting {
		ids[i] = w.ID
		if i < len(free) {
			riverIDs[i] = free[i].riverID
			free[i].continueWith(w)
			continue
		}
		c := carrier{CompanyID: companyID, JobKind: w.Kind, JobID: w.ID, Attempt: w.Attempt, Failures: w.Failures}
		carriers = append(carriers, river.InsertManyParams{Args: c, InsertOpts: &river.InsertOpts{Queue: riverQueue,
			MaxAttempts: 1}})
	}
	if len(carriers) > 0 {
		inserted, err := q.inserter.InsertManyTx(ctx, tx, carriers)
		if err != nil {
			return err
		}
		for i, one := range inserted {
			riverIDs[len(waiting)-len(carriers)+i] = one.Job.ID
		}
	}
	_, err := tx.Exec(ctx, `UPDATE jobs SET river_job_id = admitted.river_job_id, attempt = attempt + 1
		FROM unnest($2::text[], $3::bigint[]) AS admitted (id, river_job_id)
		WHERE jobs.company_id = $1 AND jobs.id = admitted.id`, companyID, ids, riverIDs)
	return err
}

// free returns the ended deliveries whose River jobs may carry the company's next jobs. The list is filled when the
// batch runs. It stays empty if another job waits for a worker.
func (q *Queue) free(batch *pgx.Batch, companyID string, ended []*Delivery) *[]*Delivery {
	free := &[]*Delivery{}
	chainable, riverIDs := map[int64]*Delivery{}, []int64{}
	for _, d := range ended {
		if d.next = nil; d.mayChain() {
			chainable[d.riverID], riverIDs = d, append(riverIDs, d.riverID)
		}
	}
	if len(chainable) == 0 {
		return free
	}
	// A River job that already carries a job got it from an earlier try whose commit was not confirmed. That attempt
	// is lost.
	batch.Queue(`UPDATE jobs SET attempt = attempt + 1 WHERE company_id = $1 AND river_job_id = ANY($2::bigint[])
		RETURNING river_job_id, id, kind, attempt, failures`, companyID, riverIDs).Query(func(rows pgx.Rows) error {
		var riverID int64
		var w waitingJob
		_, err := pgx.ForEachRow(rows, []any{&riverID, &w.ID, &w.Kind, &w.Attempt, &w.Failures}, func() error {
			chainable[riverID].continueWith(w)
			return nil
		})
		return err
	})
	// River stores the database's times, so the database's clock measures how long a job has waited.
	batch.Queue(`SELECT id FROM river_job WHERE id = ANY($1::bigint[]) AND state = 'running'
		AND NOT EXISTS (SELECT 1 FROM river_job WHERE state = 'available' AND queue = $2
			AND scheduled_at < statement_timestamp() - $3::interval)
		ORDER BY id`, riverIDs, riverQueue, yieldAfter).Query(func(rows pgx.Rows) error {
		var riverID int64
		_, err := pgx.ForEachRow(rows, []any{&riverID}, func() error {
			if d := chainable[riverID]; d.next == nil {
				*free = append(*free, d)
			}
			return nil
		})
		return err
	})
	return free
}
