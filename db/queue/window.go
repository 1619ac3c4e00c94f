package queue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// carrier is the payload of a River job: one attempt of a job. Afterwards the same River job may carry others.
type carrier struct {
	CompanyID string `json:"companyId"`
	JobKind   string `json:"jobKind"`
	JobID     string `json:"jobId"`
	Attempt   int32  `json:"attempt"`
	// Failures counts earlier failures of the job.
	Failures int32 `json:"failures"`
}

// Kind is River's name for carriers.
func (carrier) Kind() string { return "job" }

// isReady selects the jobs that can be admitted. $2 was taken before the transaction got its turn, so jobs enqueued
// while it waited look as if they were not due. They have never been tried, and such jobs are always ready.
const isReady = "river_job_id IS NULL AND (ready_at <= $2 OR attempt = 0)"

// companyLock separates the locks of companies from other advisory locks.
const companyLock = 0x6a6f6273

// admit locks the company's queue until the transaction ends, makes the changes, if any, and fills the window with the
// jobs that have waited longest.
func (q *Queue) admit(ctx context.Context, tx pgx.Tx, companyID string, changes func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue("SELECT pg_advisory_xact_lock($1::int, hashtext($2))", companyLock, companyID)
	if changes != nil {
		changes(batch)
	}
	var waiting []river.InsertManyParams
	batch.Queue(`SELECT id, kind, attempt + 1, failures FROM jobs WHERE company_id = $1 AND `+isReady+`
		ORDER BY ready_at, id
		LIMIT greatest(0, $3 - (SELECT count(*) FROM jobs WHERE company_id = $1 AND river_job_id IS NOT NULL))`,
		companyID, now(), q.window).Query(func(rows pgx.Rows) (err error) {
		waiting, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.InsertManyParams, error) {
			c := carrier{CompanyID: companyID}
			err := row.Scan(&c.JobID, &c.JobKind, &c.Attempt, &c.Failures)
			return river.InsertManyParams{Args: c, InsertOpts: &river.InsertOpts{Queue: riverQueue, MaxAttempts: 1}}, err
		})
		return err
	})
	err := tx.SendBatch(ctx, batch).Close()
	if err == nil && len(waiting) > 0 {
		err = q.carry(ctx, tx, companyID, waiting)
	}
	if err != nil {
		return fmt.Errorf("admit jobs of company %s: %w", companyID, err)
	}
	return nil
}

// carry hands jobs of the company to River.
func (q *Queue) carry(ctx context.Context, tx pgx.Tx, companyID string, carriers []river.InsertManyParams) error {
	inserted, err := q.inserter.InsertManyTx(ctx, tx, carriers)
	if err != nil {
		return err
	}
	ids, riverIDs := make([]string, len(carriers)), make([]int64, len(carriers))
	for i, c := range carriers {
		ids[i], riverIDs[i] = c.Args.(carrier).JobID, inserted[i].Job.ID
	}
	_, err = tx.Exec(ctx, `UPDATE jobs SET river_job_id = admitted.river_job_id, attempt = attempt + 1
		FROM unnest($2::text[], $3::bigint[]) AS admitted (id, river_job_id)
		WHERE jobs.company_id = $1 AND jobs.id = admitted.id`, companyID, ids, riverIDs)
	return err
}

// assignNext lets River jobs whose own jobs have ended carry the company's next ones, which is much faster than new
// River jobs. They stop as soon as anybody waits for a worker.
func (q *Queue) assignNext(batch *pgx.Batch, companyID string, ended []*Delivery) {
	going, riverIDs := map[int64]*Delivery{}, []int64{}
	for _, d := range ended {
		if d.next = nil; d.mayChain() {
			going[d.riverID], riverIDs = d, append(riverIDs, d.riverID)
		}
	}
	if len(going) == 0 {
		return
	}
	// A River job that already carries something got it from an earlier try whose commit nobody heard of; that attempt
	// is lost. River stores the database's times, so the database's clock tells how long somebody has waited.
	batch.Queue(`WITH carried AS (
			UPDATE jobs SET attempt = attempt + 1 WHERE company_id = $1 AND river_job_id = ANY($3::bigint[])
			RETURNING river_job_id, id, kind, attempt, failures
		), free AS (
			SELECT id AS river_job_id, row_number() OVER (ORDER BY id) AS place FROM river_job
			WHERE id = ANY($3::bigint[]) AND state = 'running' AND id NOT IN (SELECT river_job_id FROM carried)
			AND NOT EXISTS (SELECT FROM river_job WHERE state = 'available' AND queue = $5 AND scheduled_at < statement_timestamp() - $6::interval)
		), waiting AS (
			SELECT id, row_number() OVER (ORDER BY ready_at, id) AS place FROM jobs
			WHERE company_id = $1 AND `+isReady+` ORDER BY ready_at, id
			LIMIT greatest(0, $4 - (SELECT count(*) FROM jobs WHERE company_id = $1 AND river_job_id IS NOT NULL))
		), given AS (
			UPDATE jobs SET river_job_id = free.river_job_id, attempt = attempt + 1 FROM waiting JOIN free USING (place)
			WHERE jobs.company_id = $1 AND jobs.id = waiting.id
			RETURNING jobs.river_job_id, jobs.id, jobs.kind, jobs.attempt, jobs.failures
		) SELECT * FROM carried UNION ALL SELECT * FROM given`,
		companyID, now(), riverIDs, q.window, riverQueue, yieldAfter).Query(func(rows pgx.Rows) error {
		d := Delivery{Job: Job{CompanyID: companyID}}
		_, err := pgx.ForEachRow(rows, []any{&d.riverID, &d.ID, &d.Kind, &d.Attempt, &d.failures}, func() error {
			before, next := going[d.riverID], d
			next.worker, next.since = before.worker, before.since
			before.next = &next
			return nil
		})
		return err
	})
}
