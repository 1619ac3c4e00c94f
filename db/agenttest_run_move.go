package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/group"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// movesPerTransaction bounds a transaction: when many runs move at once, the first need not wait until the last
	// is written.
	movesPerTransaction = 10
	// moveTimeout bounds one try.
	moveTimeout = 10 * time.Second
)

// errMoved says that a run is not in the state that was expected.
var errMoved = errors.New("the run has changed")

// nextRun returns what a run is to be, given what is stored of it and its execution, both held; nil when it is to
// stay as it is. It may be called again, and may change what is stored.
type nextRun func(stored *model.AgentTestRun, execution *model.AgentTestExecution) *model.AgentTestRun

// runMove is a run that is to go on to its next state.
type runMove struct {
	tenant *Tenant
	runID  string
	next   nextRun
	// delivery is the job for whose sake the run moves; nil for none. It ends with the run.
	delivery *queue.Delivery
	// err is why the run has not moved.
	err error
}

// move makes the next state of a run the stored one, in its test and its execution too, and tells the followers.
// NOT_FOUND when there is no such run; errMoved, and nothing is changed, when it is to stay as it is.
func (t *Tenant) move(ctx context.Context, runID string, next nextRun) error {
	m := &runMove{tenant: t, runID: runID, next: next}
	if t.tx != nil {
		// Only who began the transaction knows when it is committed, so no job ends with it.
		return errors.Join(t.moveTogether(ctx, []*runMove{m}), m.err)
	}
	m.delivery = t.delivery
	if err := t.store.moves.Do(ctx, t.companyID, m); err != nil {
		return err
	}
	return m.err
}

// newRunMoves returns the moves of runs: each locks the run's execution, so those of one company that come while others are
// under way share the next transaction.
func newRunMoves() *group.Group[string, *runMove] {
	return &group.Group[string, *runMove]{
		Limit: movesPerTransaction,
		Apart: func(a, b *runMove) bool { return a.runID == b.runID },
		Commit: func(ctx context.Context, _ string, moves []*runMove) error {
			t := moves[0].tenant
			if err := t.moveTogether(ctx, moves); err != nil {
				t.moveApart(ctx, moves, err)
			}
			return nil
		},
	}
}

// moveApart moves runs one by one that could not be moved together: what is wrong with one must not keep the
// others back. It gives up when it is the database.
func (t *Tenant) moveApart(ctx context.Context, moves []*runMove, err error) {
	for _, m := range moves {
		if IsAway(err) || errors.Is(err, context.DeadlineExceeded) {
			m.err = err
			continue
		}
		if err = t.moveTogether(ctx, []*runMove{m}); err != nil {
			m.err = err
		}
	}
}

// moveTogether moves runs in one transaction. Its error is that of all of them.
func (t *Tenant) moveTogether(ctx context.Context, moves []*runMove) error {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		at := now()
		m, err := t.lockForMoves(ctx, moves)
		if err != nil {
			return err
		}
		if m.move(moves, at); len(m.moved) == 0 {
			return nil
		}
		if err := t.followUp(ctx, m, at); err != nil {
			return err
		}
		if err := t.writeMoves(ctx, m, at); err != nil {
			return err
		}
		for _, e := range m.executions {
			t.wake(e.ID)
		}
		return t.spendOfRuns(ctx, m.moved)
	})
}

// moving are the rows that moves change, held, and what comes of the moves.
type moving struct {
	executions []*model.AgentTestExecution
	runs       []*model.AgentTestRun

	// moved are the runs that go on to their next states.
	moved []*model.AgentTestRun
	// following are the places of runs that are to follow those that have ended, ended the jobs of these.
	following []place
	ended     []*queue.Delivery
}

// lockForMoves holds the tests of the runs that move, then their executions, then the runs.
func (t tenantTx) lockForMoves(ctx context.Context, moves []*runMove) (*moving, error) {
	ids := make([]string, len(moves))
	for i, m := range moves {
		ids[i] = m.runID
	}
	tests := t.find((*model.AgentTestRow)(nil)).Column("id").Where("last_run_id IN (?)", bun.List(ids)).Order("id").For(string(forUpdate))
	executionIDs := t.find((*model.AgentTestRun)(nil)).Column("execution_id").Where("id IN (?)", bun.List(ids))
	held := &moving{}
	// To count the tests is to hold them first.
	if err := t.find(&held.executions).With("test", tests).Where("(SELECT count(*) FROM test) >= 0").
		Where("id IN (?)", executionIDs).Order("id").For(string(forUpdate)).Scan(ctx); err != nil {
		return nil, translate(err)
	}
	err := t.find(&held.runs).Where("id IN (?)", bun.List(ids)).Order("id").For(string(forUpdate)).Scan(ctx)
	return held, translate(err)
}

// executionOf returns the execution of a run; nil when it is not held.
func (m *moving) executionOf(run *model.AgentTestRun) *model.AgentTestExecution {
	i := slices.IndexFunc(m.executions, func(e *model.AgentTestExecution) bool { return e.ID == run.ExecutionID })
	if i < 0 {
		return nil
	}
	return m.executions[i]
}

// move makes runs and executions what they are to be.
func (m *moving) move(moves []*runMove, at time.Time) {
	for _, one := range moves {
		stored := slices.IndexFunc(m.runs, func(r *model.AgentTestRun) bool { return r.ID == one.runID })
		if stored < 0 {
			one.err = model.Missing(agentTestRun, one.runID)
			continue
		}
		run := one.next(m.runs[stored], m.executionOf(m.runs[stored]))
		if run == nil {
			one.err = errMoved
			continue
		}
		one.err = nil
		m.count(run, at)
		if one.delivery != nil && run.Status.IsFinal() {
			m.ended = append(m.ended, one.delivery)
		}
	}
}

// count makes a run's move part of its execution.
func (m *moving) count(run *model.AgentTestRun, at time.Time) {
	execution := m.executionOf(run)
	m.moved = append(m.moved, run)
	if next, follows := execution.Count(run, at); follows {
		m.following = append(m.following, place{execution.ID, next})
	}
}

// writeMoves writes runs and executions, and tells the tests of which the runs are the most recent.
func (t tenantTx) writeMoves(ctx context.Context, m *moving, at time.Time) error {
	ids, statuses := make([]string, len(m.moved)), make([]string, len(m.moved))
	for i, run := range m.moved {
		ids[i], statuses[i] = run.ID, string(run.Status)
	}
	tests := t.change((*model.AgentTestRow)(nil)).
		TableExpr("unnest(?::text[], ?::text[]) AS moved (run_id, status)", pgdialect.Array(ids), pgdialect.Array(statuses)).
		Set("last_run_status = moved.status").Set("last_run_at = ?", at).Where("?TableAlias.last_run_id = moved.run_id")
	counts := t.change(&m.executions).Column("status", "unfinished", "next_position", "version", "started_at", "finished_at").Bulk()
	_, err := t.change(&m.moved).With("test", tests).With("execution", counts).
		Column("status", "claim", "lost", "messages", "tool_calls", "turn_count", "end_reason",
			"criteria_results", "classification_result", "error", "version", "started_at", "finished_at", "duration_ms").Bulk().Exec(ctx)
	return translate(err)
}

// spendOfRuns records what the runs that have ended cost. Others wait for the day's rows, so nothing should come
// after it.
func (t tenantTx) spendOfRuns(ctx context.Context, runs []*model.AgentTestRun) error {
	spent := map[string]*model.UsageEntry{}
	for _, run := range runs {
		spent[fmt.Sprintf("%s:%d", run.ID, run.Claim)] = run.Spent
	}
	return t.spend(ctx, spent)
}
