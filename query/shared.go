package query

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of what is read on connections that others use at the same time.
const (
	// runsAlone is how often a plan reads on a connection of its own after it has read more than mostShared bytes, and
	// runsLate after it was not served in time.
	runsAlone  = 64
	runsLate   = 8
	mostShared = 64 << 10
	// mostRows is how many rows may be expected, of which there are rowsOfMany where many hang on a key.
	mostRows   = 250
	rowsOfMany = 10
)

// isShared reports whether the plan reads on shared connections: it has few reads and is not known to read much.
func (p *plan) isShared() bool { return p.alone.Load() <= 0 && len(p.reads) <= pg.MostPipelinedReads }

// hasRead keeps in mind how many bytes a run of the plan has read.
func (p *plan) hasRead(bytes int) {
	switch {
	case bytes > mostShared:
		p.alone.Store(runsAlone)
	case p.alone.Load() > 0:
		p.alone.Add(-1)
	}
}

// readShared returns a response with everything read on a shared connection, or nil if it is to be read on one of its
// own.
func (p *plan) readShared(ctx context.Context, tenant *db.Tenant, variables map[string]any) (*response, error) {
	a := newResponse(p, model.BudgetOf(ctx), variables)
	a.tenant = tenant
	if err := a.bind(); err != nil {
		a.release()
		return nil, err
	}
	if a.rows() > mostRows {
		a.release()
		return nil, nil
	}
	if a.budget != nil {
		if err := a.budget.Ask(); err != nil {
			a.release()
			return nil, err
		}
	}
	err := a.read(ctx)
	p.hasRead(a.spent)
	if err == nil {
		return a, nil
	}
	// It is not released: others may still use its memory.
	a.giveBack(err)
	if errors.Is(err, pg.ErrUnshared) {
		p.alone.Store(runsLate)
		err = nil
	}
	return nil, err
}

// rows estimates how many rows will be read. What takes Postgres more than its rows tell counts as too many: totals,
// filters and offsets.
func (a *response) rows() int {
	const tooMany = mostRows + 1
	rows, total := make([]int, len(a.plan.reads)), 0
	for i, r := range a.plan.reads {
		part := a.found[i].part
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
		if total += rows[i]; total > mostRows {
			return tooMany
		}
	}
	return total
}
