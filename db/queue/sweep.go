package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// sweepInterval is the interval at which every process with workers sweeps, unless another process is sweeping.
	sweepInterval = time.Second
	sweepTimeout  = 10 * time.Second
	// sweepLock is the advisory lock of the sweeping process. It differs from the locks of companies.
	sweepLock = companyLock + 1
	// sweepLockTimeout, in Postgres's format, is how long a silent process keeps the lock.
	sweepLockTimeout = "15s"
)

// sweepUntil sweeps until ctx ends.
func (q *Queue) sweepUntil(ctx context.Context) {
	failing := false
	for {
		sweeping, cancel := context.WithTimeout(ctx, sweepTimeout)
		err := q.sweep(sweeping)
		cancel()
		if err != nil && ctx.Err() == nil && !failing {
			q.log.Error("could not search for abandoned jobs", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepInterval - sweepInterval/10 + rand.N(sweepInterval/5)):
		}
	}
}

// sweep calls Options.Tick. Then, unless another process is sweeping, it gives the jobs of lost workers to others,
// fills windows with free slots, uses the reserve, and calls Options.Sweep. A failure of one company or one step does
// not stop the others: on a database with several machines, one of them may be down.
func (q *Queue) sweep(ctx context.Context) error {
	var tickErr error
	if q.tick != nil {
		tickErr = q.tick(ctx)
	}
	return errors.Join(tickErr, pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		isOurs := false
		// A process that hangs loses the lock, too.
		err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1, 0) FROM "+
			"set_config('idle_in_transaction_session_timeout', $2, true)",
			sweepLock, sweepLockTimeout).Scan(&isOurs)
		if err != nil || !isOurs {
			return err
		}
		errs := []error{q.sweepLost(ctx), q.sweepUnfilled(ctx), q.useReserve(ctx)}
		if q.sweepHook != nil {
			errs = append(errs, q.sweepHook(ctx))
		}
		return errors.Join(errs...)
	}))
}

func (q *Queue) sweepLost(ctx context.Context) error {
	lost, err := q.lost(ctx)
	errs := []error{err}
	for companyID, riverIDs := range lost {
		errs = append(errs, q.recover(ctx, companyID, riverIDs))
	}
	return errors.Join(errs...)
}

func (q *Queue) sweepUnfilled(ctx context.Context) error {
	companies, err := q.unfilled(ctx)
	errs := []error{err}
	for _, companyID := range companies {
		errs = append(errs, pgx.BeginFunc(ctx, q.pool,
			func(tx pgx.Tx) error { return q.admit(ctx, tx, companyID, nil, nil) }))
	}
	return errors.Join(errs...)
}

// useReserve gives the reserve River jobs of companies that wait for a worker and have none: the oldest of each, those
// that have waited longest first. Only as many wait for the reserve as it has workers in this process. The other
// workers, which do not take them, take the rest.
func (q *Queue) useReserve(ctx context.Context) error {
	_, err := q.pool.Exec(ctx, `UPDATE river_job SET queue = $1 WHERE state = 'available' AND id IN (
		SELECT id FROM (
			SELECT DISTINCT ON (args->>'companyId') id, scheduled_at FROM river_job
			WHERE state = 'available' AND queue = $2 AND scheduled_at < statement_timestamp() - $3::interval
				AND args->>'companyId' NOT IN (SELECT args->>'companyId' FROM river_job
					WHERE state = 'running' OR state = 'available' AND queue = $1)
			ORDER BY args->>'companyId', scheduled_at, id) AS oldest
		ORDER BY scheduled_at, id
		LIMIT greatest(0, $4 - (SELECT count(*) FROM river_job WHERE state = 'available' AND queue = $1)))`,
		reserveQueue, riverQueue, reserveAfter, q.reserve)
	if err != nil {
		return fmt.Errorf("use the reserve of workers: %w", err)
	}
	return nil
}

// lost returns, by company, the River jobs that will never finish: their worker is lost, or River gave them up. It
// reads the jobs, then their River jobs, and then the locks. In another order, a job that was just admitted could seem
// lost. Companies that cannot be read are left out, with an error.
func (q *Queue) lost(ctx context.Context) (map[string][]int64, error) {
	admitted, unread := queryCompanies[struct {
		CompanyID  string
		RiverJobID int64
	}](ctx, q, "SELECT company_id, river_job_id FROM jobs WHERE river_job_id IS NOT NULL %s")
	if len(admitted) == 0 {
		return nil, unread
	}
	ids := make([]int64, len(admitted))
	for i, a := range admitted {
		ids[i] = a.RiverJobID
	}
	carriers, err := collect[struct {
		ID     int64
		Client *string
	}](ctx, q, `SELECT id, CASE state WHEN 'running' THEN attempted_by[cardinality(attempted_by)] END AS client
		FROM river_job WHERE id = ANY($1::bigint[]) AND finalized_at IS NULL`, ids)
	if err != nil {
		return nil, err
	}
	names, err := collect[struct{ Name int64 }](ctx, q,
		`SELECT (classid::bigint << 32) | objid::bigint AS name FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 1 AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	if err != nil {
		return nil, err
	}
	clients := map[string]bool{}
	for _, n := range names {
		clients[clientOf(n.Name)] = true
	}
	alive := map[int64]bool{}
	for _, c := range carriers {
		alive[c.ID] = c.Client == nil || clients[*c.Client]
	}
	lost := map[string][]int64{}
	for _, a := range admitted {
		if !alive[a.RiverJobID] {
			lost[a.CompanyID] = append(lost[a.CompanyID], a.RiverJobID)
		}
	}
	return lost, unread
}

// recover detaches jobs from their River jobs and admits them again.
func (q *Queue) recover(ctx context.Context, companyID string, riverIDs []int64) error {
	var lost, dropped int64
	err := pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		return q.admit(ctx, tx, companyID, nil, func(batch *pgx.Batch) {
			batch.Queue(`UPDATE jobs SET river_job_id = NULL, losses = losses + 1
				WHERE company_id = $1 AND river_job_id = ANY($2::bigint[])`, companyID, riverIDs).Exec(rowsInto(&lost))
			batch.Queue("DELETE FROM jobs WHERE company_id = $1 AND river_job_id IS NULL AND losses > $2",
				companyID, MaxLosses).Exec(rowsInto(&dropped))
			batch.Queue(`UPDATE river_job SET state = 'discarded', finalized_at = $2
				WHERE id = ANY($1::bigint[]) AND finalized_at IS NULL`, riverIDs, now())
		})
	})
	if err != nil {
		return err
	}
	if lost > 0 {
		q.log.Warn("jobs lost their workers and will run again", "company", companyID, "jobs", lost)
	}
	if dropped > 0 {
		q.log.Error("jobs that lost too many workers were dropped", "company", companyID, "jobs", dropped)
	}
	return nil
}

// rowsInto returns a callback that stores how many rows a statement changed.
func rowsInto(rows *int64) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*rows = tag.RowsAffected()
		return nil
	}
}

// unfilled returns the companies with waiting jobs and free slots in their window. Companies that cannot be read are
// left out, with an error.
func (q *Queue) unfilled(ctx context.Context) ([]string, error) {
	companies, err := queryCompanies[struct{ CompanyID string }](ctx, q, `SELECT company_id FROM jobs WHERE true %s
		GROUP BY company_id HAVING bool_or(river_job_id IS NULL AND ready_at <= $1) AND count(river_job_id) < $2`,
		now(), q.window)
	ids := make([]string, len(companies))
	for i, c := range companies {
		ids[i] = c.CompanyID
	}
	return ids, err
}

// queryCompanies runs a query over all companies. If that fails because one of several machines is down, it queries
// each company, in any order, until ctx ends. It returns the rows that could be read, with the errors. The query ends
// its WHERE clause with %s, which queryCompanies replaces by a condition on the company or by nothing.
func queryCompanies[R any](ctx context.Context, q *Queue, query string, args ...any) ([]R, error) {
	found, err := collect[R](ctx, q, fmt.Sprintf(query, ""), args...)
	if !IsNodeDown(err) {
		return found, err
	}
	companies, failed := collect[struct{ ID string }](ctx, q, "SELECT id FROM companies ORDER BY random()")
	if failed != nil {
		return nil, failed
	}
	query = fmt.Sprintf(query, fmt.Sprintf("AND company_id = $%d", len(args)+1))
	var errs []error
	for _, company := range companies {
		some, err := collect[R](ctx, q, query, append(slices.Clip(args), company.ID)...)
		found, errs = append(found, some...), append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return found, errors.Join(errs...)
}

// IsNodeDown reports whether a statement failed because one of several machines of the database is down. Citus then
// returns an error of class 08 or, if it lost the connection during the statement, of class 57.
func IsNodeDown(err error) bool {
	var failed *pgconn.PgError
	return errors.As(err, &failed) && (strings.HasPrefix(failed.Code, "08") || strings.HasPrefix(failed.Code, "57"))
}

func collect[R any](ctx context.Context, q *Queue, query string, args ...any) ([]R, error) {
	rows, err := q.pool.Query(ctx, query, args...)
	if err == nil {
		var found []R
		if found, err = pgx.CollectRows(rows, pgx.RowToStructByName[R]); err == nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("sweep the queue: %w", err)
}
