package db

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// runPosition is the position of a run in an execution.
type runPosition struct {
	executionID string
	position    int32
}

// enqueueNext removes the jobs of ended runs from the queue, enqueues the next runs, and claims those that the workers
// of the ended runs continue with.
func (t tenantTx) enqueueNext(ctx context.Context, b *transitionBatch, at time.Time) error {
	ids, err := t.runIDsAt(ctx, b.next)
	if err != nil || len(ids) == 0 && len(b.ended) == 0 {
		return err
	}
	next, err := t.enqueueRuns(ctx, ids, queue.Change{IsPatient: true, End: b.ended})
	if err != nil || len(next) == 0 {
		return err
	}
	return t.preclaim(ctx, b, next, at)
}

// preclaim claims runs of the locked executions for the workers that have their jobs. It leaves out runs that another
// transaction has locked, and runs in the batch. Their workers claim them later.
func (t tenantTx) preclaim(ctx context.Context, b *transitionBatch, next []*queue.Delivery, at time.Time) error {
	ids := model.Map(next, func(d *queue.Delivery) string { return d.ID })
	const skipLocked = string(forUpdate + " SKIP LOCKED")
	runs := []*model.AgentTestRun{}
	tests := func() *bun.SelectQuery {
		return t.db.Select((*model.AgentTestRow)(nil)).Column("last_run_id").Where("last_run_id IN (?)", bun.List(ids))
	}
	err := t.db.Select(&runs).Apply(t.withSnapshots).With("test", tests().For(skipLocked)).
		Where("id IN (?)", bun.List(ids)).Where("status = ?", model.AgentTestRunStatusQueued).
		Where("id IN (SELECT last_run_id FROM test) OR id NOT IN (?)", tests()).
		Order("id").For(skipLocked).Scan(ctx)
	if err != nil {
		return err
	}
	for _, d := range next {
		same := func(r *model.AgentTestRun) bool { return r.ID == d.ID }
		i := slices.IndexFunc(runs, same)
		if i < 0 || slices.ContainsFunc(b.runs, same) || b.executionOf(runs[i]) == nil {
			continue
		}
		b.addTransition(runs[i].Claimed(b.executionOf(runs[i]), d.Attempt, at), at)
		d.Preclaimed = runs[i]
	}
	return nil
}

// runIDsAt returns the ids of the runs at the positions.
func (t *Tenant) runIDsAt(ctx context.Context, places []runPosition) ([]string, error) {
	if len(places) == 0 {
		return nil, nil
	}
	executionIDs, positions := make([]string, len(places)), make([]int32, len(places))
	for i, p := range places {
		executionIDs[i], positions[i] = p.executionID, p.position
	}
	ids := []string{}
	err := t.db.Select((*model.AgentTestRun)(nil)).Column("id").
		Where("(execution_id, position) IN (SELECT * FROM unnest(?::text[], ?::int[]))", pgdialect.Array(executionIDs),
			pgdialect.Array(positions)).
		Order("id").Scan(ctx, &ids)
	return ids, err
}
