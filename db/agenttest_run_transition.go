package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/group"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// transitionsPerCommit bounds a transaction. When many runs change at once, the first need not wait until the
	// last is written.
	transitionsPerCommit = 10
	// commitTimeout bounds one attempt to commit transitions.
	commitTimeout = 10 * time.Second
)

// errStale is returned when the run is no longer in the state in which the transition starts.
var errStale = errors.New("the run has changed")

// transition returns the next state of a run, given the stored run and its execution, both locked. It returns nil to
// change nothing. It may be called again, and may change its arguments.
type transition func(stored *model.AgentTestRun, execution *model.AgentTestExecution) *model.AgentTestRun

// runTransition moves a run to its next state.
type runTransition struct {
	tenant *Tenant
	runID  string
	next   transition
	// isClaim is set if the worker will need the run's snapshot.
	isClaim bool
	// delivery is the job that makes the transition, or nil. The job ends with the run.
	delivery *queue.Delivery
	// err is why the run does not change.
	err error
}

// transition stores the next state of a run, updates its test and its execution, and notifies the followers. It returns
// NOT_FOUND when there is no such run. If next returns nil, transition changes nothing and returns errStale.
func (t *Tenant) transition(ctx context.Context, runID string, next transition) error {
	return t.makeTransition(ctx, &runTransition{tenant: t, runID: runID, next: next})
}

func (t *Tenant) makeTransition(ctx context.Context, m *runTransition) error {
	if t.db.InTx() {
		// Only the caller that began the transaction knows when it commits, so no job ends with the run.
		return errors.Join(t.commitTransitions(ctx, []*runTransition{m}), m.err)
	}
	m.delivery = t.delivery
	if err := t.store.transitions.Do(ctx, t.CompanyID(), m); err != nil {
		return err
	}
	return m.err
}

// newRunTransitions returns the group commit of transitions. Each transition locks the run's execution. Transitions
// of one company that arrive while others are being written share the next transaction.
func newRunTransitions() *group.Group[string, *runTransition] {
	return &group.Group[string, *runTransition]{
		Limit:    transitionsPerCommit,
		Conflict: func(a, b *runTransition) bool { return a.runID == b.runID },
		Commit: func(ctx context.Context, _ string, transitions []*runTransition) error {
			t := transitions[0].tenant
			if err := t.commitTransitions(ctx, transitions); err != nil {
				t.commitEach(ctx, transitions, err)
			}
			return nil
		},
	}
}

// commitEach commits transitions one by one after they could not be committed together, so that a faulty one does not
// block the others. It gives up when the database does not answer.
func (t *Tenant) commitEach(ctx context.Context, transitions []*runTransition, err error) {
	for _, m := range transitions {
		if pg.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) {
			m.err = err
			continue
		}
		if err = t.commitTransitions(ctx, []*runTransition{m}); err != nil {
			m.err = err
		}
	}
}

// commitTransitions makes transitions in one transaction. Its error applies to all of them.
func (t *Tenant) commitTransitions(ctx context.Context, transitions []*runTransition) error {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		at := now()
		m, err := t.lockForTransitions(ctx, transitions)
		if err != nil {
			return err
		}
		if m.apply(transitions, at); len(m.changed) == 0 {
			return nil
		}
		if err := t.skipDecided(ctx, m, at); err != nil {
			return err
		}
		if err := t.enqueueNext(ctx, m, at); err != nil {
			return err
		}
		m.dropUnchangedExecutions()
		if err := t.writeTransitions(ctx, m, at); err != nil {
			return err
		}
		if err := t.enqueueExecutionEvents(ctx, m.executions); err != nil {
			return err
		}
		for _, e := range m.executions {
			t.wake(e.ID)
		}
		// Other transactions that record usage wait for the sums that this locks.
		spent := map[string]*model.UsageEntry{}
		for _, run := range m.changed {
			spent[spendingKey(run)] = run.Spent
		}
		return t.recordSpending(ctx, spent)
	})
}

// transitionBatch holds the locked rows that transitions change, and their results.
type transitionBatch struct {
	executions []*model.AgentTestExecution
	runs       []*model.AgentTestRun

	// changed lists the runs that have a new state.
	changed []*model.AgentTestRun
	// next lists the positions of runs to enqueue after those that ended. ended lists the jobs of the ended runs.
	next  []runPosition
	ended []*queue.Delivery
}

// lockForTransitions locks the tests of the runs, then their executions, then the runs.
func (t tenantTx) lockForTransitions(ctx context.Context, transitions []*runTransition) (*transitionBatch, error) {
	ids := model.Map(transitions, func(m *runTransition) string { return m.runID })
	// When an execution stops repeating a test, an earlier run can become the last run of the test.
	stopping := t.columnOfRuns(ids, "test_id").
		Join("JOIN agent_test_executions AS execution ON execution.company_id = ?TableAlias.company_id AND execution.id = " +
			"?TableAlias.execution_id").
		Where("execution.stop_repeating IS NOT NULL")
	tests := t.db.Select((*model.AgentTestRow)(nil)).Column("id").
		Where("id = ANY (ARRAY(?))", t.columnOfRuns(ids, "test_id")).
		Where("last_run_id IN (?) OR id = ANY (ARRAY(?))", bun.List(ids), stopping).
		Order("id").For(string(forUpdate))
	held := &transitionBatch{}
	// The condition counts the tests, so that Postgres locks them before the executions.
	if err := t.db.Select(&held.executions).With("test", tests).Where("(SELECT count(*) FROM test) >= 0").
		Where("id = ANY (ARRAY(?))", t.columnOfRuns(ids, "execution_id")).Order("id").For(string(forUpdate)).
		Scan(ctx); err != nil {
		return nil, err
	}
	runs := t.db.Select(&held.runs).Where("id IN (?)", bun.List(ids)).Order("id").For(string(forUpdate))
	if slices.ContainsFunc(transitions, func(m *runTransition) bool { return m.isClaim }) {
		runs = runs.Apply(t.withSnapshots)
	} else {
		runs = runs.Apply(t.withoutSnapshots)
	}
	return held, runs.Scan(ctx)
}

// columnOfRuns returns a query of one column of runs. Use it as = ANY (ARRAY(?)): Postgres computes an array before it
// looks up the rows. With a subquery, Postgres might choose a join that reads all tests of the company.
func (t *Tenant) columnOfRuns(ids []string, column string) *bun.SelectQuery {
	return t.db.Select((*model.AgentTestRun)(nil)).Column(column).Where("?TableAlias.id IN (?)", bun.List(ids))
}

// executionOf returns the execution of a run, or nil when it is not locked.
func (b *transitionBatch) executionOf(run *model.AgentTestRun) *model.AgentTestExecution {
	i := slices.IndexFunc(b.executions, func(e *model.AgentTestExecution) bool { return e.ID == run.ExecutionID })
	if i < 0 {
		return nil
	}
	return b.executions[i]
}

// apply changes runs and executions to their next states.
func (b *transitionBatch) apply(transitions []*runTransition, at time.Time) {
	for _, one := range transitions {
		stored := slices.IndexFunc(b.runs, func(r *model.AgentTestRun) bool { return r.ID == one.runID })
		if stored < 0 {
			one.err = model.Missing(agentTestRun, one.runID)
			continue
		}
		run := one.next(b.runs[stored], b.executionOf(b.runs[stored]))
		if run == nil {
			one.err = errStale
			continue
		}
		one.err = nil
		b.addTransition(run, at)
		if one.delivery != nil && run.Status.IsFinal() {
			b.ended = append(b.ended, one.delivery)
		}
	}
}

// addTransition adds a run's transition to its execution.
func (b *transitionBatch) addTransition(run *model.AgentTestRun, at time.Time) {
	execution := b.executionOf(run)
	b.changed = append(b.changed, run)
	if next, follows := execution.Count(run, at); follows {
		b.next = append(b.next, runPosition{execution.ID, next})
	}
}

// dropUnchangedExecutions removes the executions without a changed run. One that ended earlier must not be announced
// again when a stale transition of its run shares the transaction.
func (b *transitionBatch) dropUnchangedExecutions() {
	b.executions = slices.DeleteFunc(b.executions, func(e *model.AgentTestExecution) bool {
		return !slices.ContainsFunc(b.changed, func(r *model.AgentTestRun) bool { return r.ExecutionID == e.ID })
	})
}

// writeTransitions writes runs and executions, and updates the tests whose most recent run is among them.
func (t tenantTx) writeTransitions(ctx context.Context, b *transitionBatch, at time.Time) error {
	ids, statuses := make([]string, len(b.changed)), make([]string, len(b.changed))
	for i, run := range b.changed {
		ids[i], statuses[i] = run.ID, string(run.Status)
	}
	tests := t.db.Update((*model.AgentTestRow)(nil)).
		TableExpr("unnest(?::text[], ?::text[]) AS moved (run_id, status)", pgdialect.Array(ids), pgdialect.Array(statuses)).
		Set("last_run_status = moved.status").Set("last_run_at = ?", at).Where("?TableAlias.last_run_id = moved.run_id")
	runs := t.db.Update(&b.changed).
		Column("status", "claim", "lost", "messages", "tool_calls", "turn_count", "end_reason", "held",
			"check_results", "score", "criteria_results", "classification_result", "error", "compared", "agreed", "extracted",
			"extraction_error", "judge_model", "judge_prompt", "is_doubtful", "version", "started_at", "finished_at", "duration_ms").Bulk()
	batch := &pgx.Batch{}
	batch.Queue(tests.String())
	batch.Queue(runs.String())
	for _, execution := range b.executions {
		batch.Queue(t.updateProgress(execution).String())
	}
	return t.db.Send(ctx, batch)
}
