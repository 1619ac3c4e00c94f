package queue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// carrier is what River carries: one attempt of a job.
type carrier struct {
	CompanyID string `json:"companyId"`
	JobKind   string `json:"jobKind"`
	JobID     string `json:"jobId"`
	Attempt   int32  `json:"attempt"`
	// Failures is how often the job has failed before.
	Failures int32 `json:"failures"`
}

// Kind is the name under which River knows carriers.
func (carrier) Kind() string { return "job" }

func (c carrier) job() Job { return Job{c.CompanyID, c.JobKind, c.JobID} }

// companyLock tells the locks of companies from other advisory locks.
const companyLock = 0x6a6f6273

// hold makes the transaction the only one that admits jobs of the company, until it ends.
func (q *Queue) hold(ctx context.Context, tx pgx.Tx, companyID string) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::int, hashtext($2))", companyLock, companyID); err != nil {
		return fmt.Errorf("hold the jobs of company %s: %w", companyID, err)
	}
	return nil
}

// admit fills the window of the company, which the transaction holds, with the jobs that have waited longest.
func (q *Queue) admit(ctx context.Context, tx pgx.Tx, companyID string) error {
	rows, err := tx.Query(ctx, `SELECT id, kind, attempt + 1, failures FROM jobs WHERE company_id = $1 AND river_job_id IS NULL AND ready_at <= $2
		ORDER BY ready_at, id
		LIMIT greatest(0, $3 - (SELECT count(*) FROM jobs WHERE company_id = $1 AND river_job_id IS NOT NULL))`, companyID, now(), q.window)
	if err != nil {
		return fmt.Errorf("admit jobs: %w", err)
	}
	carriers, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.InsertManyParams, error) {
		c := carrier{CompanyID: companyID}
		err := row.Scan(&c.JobID, &c.JobKind, &c.Attempt, &c.Failures)
		return river.InsertManyParams{Args: c, InsertOpts: &river.InsertOpts{Queue: riverQueue, MaxAttempts: 1}}, err
	})
	if err != nil {
		return fmt.Errorf("admit jobs: %w", err)
	}
	if len(carriers) == 0 {
		return nil
	}
	inserted, err := q.inserter.InsertManyTx(ctx, tx, carriers)
	if err != nil {
		return fmt.Errorf("admit jobs: %w", err)
	}
	ids, riverIDs := make([]string, len(carriers)), make([]int64, len(carriers))
	for i, c := range carriers {
		ids[i], riverIDs[i] = c.Args.(carrier).JobID, inserted[i].Job.ID
	}
	_, err = tx.Exec(ctx, `UPDATE jobs SET river_job_id = admitted.river_job_id, attempt = attempt + 1
		FROM unnest($2::text[], $3::bigint[]) AS admitted (id, river_job_id)
		WHERE jobs.company_id = $1 AND jobs.id = admitted.id`, companyID, ids, riverIDs)
	if err != nil {
		return fmt.Errorf("admit jobs: %w", err)
	}
	return nil
}
