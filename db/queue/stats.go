package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Backlog is the number of jobs of a kind in a state, across all companies and processes.
type Backlog struct {
	Kind string
	// State is "waiting" for jobs that are ready, "delayed" for jobs that wait for a time, and "admitted" for jobs that a
	// worker has or is about to get.
	State string
	Jobs  int64
	// Oldest is how long the oldest of them has been ready. It is 0 for delayed jobs.
	Oldest time.Duration
}

// Backlog counts all jobs. It reads all rows, which takes about 10 ms for 100,000 jobs.
func (q *Queue) Backlog(ctx context.Context) ([]Backlog, error) {
	rows, err := q.pool.Query(ctx, `
		SELECT kind, CASE WHEN river_job_id IS NOT NULL THEN 'admitted' WHEN ready_at > now() THEN 'delayed'
			ELSE 'waiting' END AS state,
			count(*), greatest(0, extract(epoch FROM now() - min(ready_at)))::float8
		FROM jobs GROUP BY 1, 2`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Backlog, error) {
		var b Backlog
		var seconds float64
		err := row.Scan(&b.Kind, &b.State, &b.Jobs, &seconds)
		b.Oldest = time.Duration(seconds * float64(time.Second))
		return b, err
	})
}
