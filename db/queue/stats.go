package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Backlog is how many jobs of a kind are in a state, over all companies and processes.
type Backlog struct {
	Kind string
	// State is "waiting" for jobs that could be worked on, "delayed" for those that wait for a time, and "admitted" for
	// those that workers have or are about to get.
	State string
	Jobs  int64
	// Oldest is for how long the oldest of them could have been worked on; 0 for delayed ones.
	Oldest time.Duration
}

// Backlog counts all jobs. It reads them all: some 10 ms for 100,000.
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
