package schema

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

// executionsPerBatch is the number of executions whose runs one transaction counts. Such a transaction
// takes well under a second.
const executionsPerBatch = 200

// EndsOfRuns returns a SET clause that counts the runs of a finished execution by final status. It takes the
// placeholder for the company.
func EndsOfRuns(company string) string {
	return `(passed_runs, failed_runs, error_runs, cancelled_runs,
	skipped_runs) = (SELECT count(*) FILTER (WHERE run.status = 'Passed'),
		count(*) FILTER (WHERE run.status = 'Failed'), count(*) FILTER (WHERE run.status = 'Error'),
			count(*) FILTER (WHERE run.status = 'Cancelled'),
		count(*) FILTER (WHERE run.status = 'Skipped')
	FROM agent_test_runs AS run WHERE run.company_id = ` + company + `
		AND run.execution_id = agent_test_execution.id)`
}

// runEnds is a migration that counts the runs of finished executions without counters. It works in batches, so that it
// blocks no other writer for long. An interrupted migration continues where it stopped. Migration 51 introduced the
// counters. Programs before migration 61 imported the executions of demo companies without them.
func runEnds(version int64, source string, pool *pgxpool.Pool, say func(string)) *goose.Migration {
	m := goose.NewGoMigration(version,
		&goose.GoFunc{RunDB: func(ctx context.Context, _ *sql.DB) error { return countEnds(ctx, pool, say) }},
		&goose.GoFunc{RunDB: func(context.Context, *sql.DB) error { return nil }},
	)
	m.Source = source
	return m
}

func countEnds(ctx context.Context, pool *pgxpool.Pool, say func(string)) error {
	const uncounted = "finished_at IS NOT NULL AND passed_runs IS NULL"
	rows, err := pool.Query(ctx, "SELECT company_id, count(*) FROM agent_test_executions WHERE "+uncounted+
		" GROUP BY company_id ORDER BY company_id")
	if err != nil {
		return err
	}
	left, total, done := map[string]int64{}, int64(0), int64(0)
	var companyID string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&companyID, &n}, func() error {
		left[companyID], total = n, total+n
		return nil
	}); err != nil {
		return err
	}
	for companyID := range left {
		for {
			counted, err := pool.Exec(ctx, "UPDATE agent_test_executions AS agent_test_execution SET "+EndsOfRuns("$1")+
				` WHERE company_id = $1
				AND id = ANY (ARRAY(SELECT id FROM agent_test_executions WHERE company_id = $1
					AND `+uncounted+" LIMIT $2))", companyID, executionsPerBatch)
			if err != nil {
				return err
			}
			if done += counted.RowsAffected(); counted.RowsAffected() == 0 {
				break
			}
			say(fmt.Sprintf("counted the runs of %d of %d executions", done, total))
		}
	}
	return nil
}
