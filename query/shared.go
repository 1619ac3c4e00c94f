package query

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of reads on shared connections.
const (
	// runsAfterLargeRead is how many runs of a plan use their own connection after one run read more than maxShared bytes.
	// runsAfterLongWait is the same after a run that had to wait too long for a shared connection.
	runsAfterLargeRead = 64
	runsAfterLongWait  = 8
	maxShared          = 64 << 10
	// maxRows bounds the expected rows. A key with several rows counts as rowsOfMany.
	maxRows    = 250
	rowsOfMany = 10
)

// isShared reports whether the plan reads on shared connections: it has few reads and recently read few bytes.
func (p *queryPlan) isShared() bool {
	return p.dedicatedRuns.Load() <= 0 && len(p.reads) <= pg.MaxPipelinedReads
}

// recordRead records how many bytes a run of the plan has read.
func (p *queryPlan) recordRead(bytes int) {
	switch {
	case bytes > maxShared:
		p.dedicatedRuns.Store(runsAfterLargeRead)
	case p.dedicatedRuns.Load() > 0:
		p.dedicatedRuns.Add(-1)
	}
}

// readShared reads everything on a shared connection. It returns nil if the response needs its own connection.
func (p *queryPlan) readShared(ctx context.Context, tenant *db.Tenant, variables map[string]any) (*response, error) {
	a := newResponse(p, model.MemoryBudgetOf(ctx), variables)
	a.tenant = tenant
	if err := a.bind(); err != nil {
		a.release()
		return nil, err
	}
	if a.rows() > maxRows {
		a.release()
		return nil, nil
	}
	if a.budget != nil {
		if err := a.budget.CountStatement(); err != nil {
			a.release()
			return nil, err
		}
	}
	err := a.readRounds(ctx)
	p.recordRead(a.accounted)
	if err == nil {
		return a, nil
	}
	// The response is not reused, because the pipeline may still use its memory.
	a.releaseMemory(err)
	if errors.Is(err, pg.ErrUnshared) {
		p.dedicatedRuns.Store(runsAfterLongWait)
		err = nil
	}
	return nil, err
}

// rows estimates how many rows will be read. Totals, filters and offsets count as too many, because they cost Postgres
// more than the number of rows shows.
func (a *response) rows() int {
	const tooMany = maxRows + 1
	rows, total := make([]int, len(a.plan.reads)), 0
	for i, r := range a.plan.reads {
		part := a.lookups[i].part
		if r.relation.shape == toTotal || r.wantsTotal || len(part.Filter) > 0 || part.Offset != nil {
			return tooMany
		}
		if rows[i] = 1; r.parent != nil {
			rows[i] = rows[r.parent.index]
		}
		switch r.relation.shape {
		case toPage:
			rows[i] *= int(part.First) + 1
		case toMany:
			rows[i] *= rowsOfMany
		}
		if total += rows[i]; total > maxRows {
			return tooMany
		}
	}
	return total
}
