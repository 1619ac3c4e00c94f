package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const agentTestRun = "agent test run"

// Lists of a company's runs: by their ids, in pages, by their executions, and by their tests.
var (
	AgentTestRunRows = pg.Rows{Type: agentTestRun, Model: (*model.AgentTestRun)(nil), Key: pg.ByID}
	AgentTestRunList = pg.List{Model: (*model.AgentTestRun)(nil), Order: pg.NewestFirst}
	RunsOfExecutions = pg.List{Model: (*model.AgentTestRun)(nil), Of: "?TableAlias.execution_id = ?1",
		Order: pg.NewestFirst}
	RunsOfTests = pg.List{Model: (*model.AgentTestRun)(nil), Of: "?TableAlias.test_id = ?1", Order: pg.NewestFirst}
)

// countsInHistory selects runs that count in the history of their tests: neither drafts nor rejudgments.
const countsInHistory = "?TableAlias.is_draft IS NULL AND ?TableAlias.rejudge_of_id IS NULL"

// testOfAgent finds the test of a run, if it belongs to the agent.
const testOfAgent = `SELECT 1 FROM agent_tests AS test
	WHERE test.company_id = ?TableAlias.company_id AND test.id = ?TableAlias.test_id AND test.agent_id = ?
		AND test.deleted_at IS NULL`

// RunsMatching returns the filter of a list of runs.
func RunsMatching(wanted model.AgentTestRunFilter) pg.Filter {
	f := pg.Equal(pg.Equal(WhereExecution(wanted.ExecutionID), "tested_id", wanted.TestID), "status", wanted.Status)
	if wanted.AgentID != nil {
		f = f.And("EXISTS ("+testOfAgent+")", *wanted.AgentID)
	}
	return pg.OneOf(f, "status", wanted.Statuses)
}

// AgentTestRuns returns a page of the company's runs that pass the filter, newest first. It returns NOT_FOUND if the
// execution or the agent of the filter does not exist.
func (t *Tenant) AgentTestRuns(
	ctx context.Context, args model.PageArgs, wanted model.AgentTestRunFilter, columns ...string,
) (*model.Page[*model.AgentTestRun], error) {
	if err := wanted.Validate(); err != nil {
		return nil, err
	}
	if err := t.db.Exists(ctx, agentTestExecution, wanted.ExecutionID, (*model.AgentTestExecution)(nil)); err != nil {
		return nil, err
	}
	if err := t.db.Exists(ctx, "agent", wanted.AgentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	filter := RunsMatching(wanted)
	page, err := pg.Page[*model.AgentTestRun](ctx, t.db, AgentTestRunList, args, columns, filter)
	if err == nil && wanted.ExecutionID == nil && wanted.TestID == nil && wanted.AgentID == nil {
		page.Count = func(ctx context.Context) (int32, error) { return t.runs(ctx, wanted) }
	}
	return page, err
}

// runCountColumns maps each final status to the column of executions that counts its runs.
var runCountColumns = map[model.AgentTestRunStatus]string{
	model.AgentTestRunStatusPassed: "passed_runs", model.AgentTestRunStatusFailed: "failed_runs",
	model.AgentTestRunStatusError: "error_runs", model.AgentTestRunStatusCancelled: "cancelled_runs",
	model.AgentTestRunStatusSkipped: "skipped_runs",
}

// runs counts the company's runs in the wanted states. For finished executions, it adds up their counters. It counts
// runs one by one only in executions without counters: those that are running, or that an older version of the program
// finished. Without states, it adds up the sizes of executions and counts only the runs of old executions, which have
// no size.
func (t *Tenant) runs(ctx context.Context, wanted model.AgentTestRunFilter) (runs int32, err error) {
	filter := RunsMatching(wanted)
	uncounted := t.db.Select((*model.AgentTestExecution)(nil)).Column("id")
	sums := []string{}
	if len(filter) == 0 {
		uncounted, sums = uncounted.Where("run_count IS NULL"), []string{"coalesce(sum(run_count), 0)"}
	} else {
		uncounted = uncounted.Where("passed_runs IS NULL")
		for status, column := range runCountColumns {
			if wanted.HasState(status) {
				sums = append(sums, "coalesce(sum("+column+"), 0)")
			}
		}
	}
	one := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("count(*)").Apply(filter.Apply(t.CompanyID()))
	if len(sums) == 0 { // No wanted state is final, so there are few such runs.
		err = one.Scan(ctx, &runs)
		return runs, err
	}
	err = t.db.Select((*model.AgentTestExecution)(nil)).ColumnExpr(strings.Join(sums, " + ")+" + (?)",
		one.Where("execution_id IN (?)", uncounted)).Scan(ctx, &runs)
	return runs, err
}

// ClaimRun assigns a run to the caller and returns it, or nil when there is nothing to do. The attempt counts how often
// the queue has delivered the run, from 1. Of two callers with the same attempt, only one gets the run. A later attempt
// means that the previous worker was lost. After more than model.MaxLost lost workers the run ends in the state Error,
// with the cause Infrastructure.
func (t *Tenant) ClaimRun(ctx context.Context, id string, attempt int32) (*model.AgentTestRun, error) {
	run, claimed := t.preclaimed(id, attempt)
	if claimed {
		return run, nil
	}
	err := t.makeTransition(ctx, &runTransition{
		tenant: t, runID: id, isClaim: true,
		next: func(stored *model.AgentTestRun, execution *model.AgentTestExecution) *model.AgentTestRun {
			run = stored.Claimed(execution, attempt, now())
			return run
		},
	})
	if errors.Is(err, errStale) || err == nil && run.Status.IsFinal() {
		return nil, nil
	}
	return run, err
}

// preclaimed returns the run that was claimed for the caller when its previous run ended. It returns false if there is
// none.
func (t *Tenant) preclaimed(id string, attempt int32) (*model.AgentTestRun, bool) {
	if t.delivery == nil {
		return nil, false
	}
	run, ok := t.delivery.Preclaimed.(*model.AgentTestRun)
	t.delivery.Preclaimed = nil // no other caller gets it
	return run, ok && run.ID == id && run.Claim == attempt
}

// FinishRun saves the outcome of a run that the caller has claimed: its final status, messages, calls and verdicts.
// With the Tenant of a worker, the same transaction ends the run's job, and can claim the worker's next run. If the
// claim was lost, FinishRun saves nothing and returns CONFLICT and ErrRunLost.
func (t *Tenant) FinishRun(ctx context.Context, run *model.AgentTestRun) error {
	if !run.Status.IsFinal() {
		return fmt.Errorf("finish run %s: %s is not final", run.ID, run.Status)
	}
	// The columns hold lists, never null.
	run.Messages = append([]model.TestMessage{}, run.Messages...)
	run.ToolCalls = append([]*model.ToolCall{}, run.ToolCalls...)
	run.CheckResults = append([]model.CheckResult{}, run.CheckResults...)
	run.CriteriaResults = append([]model.CriterionResult{}, run.CriteriaResults...)
	err := t.transition(ctx, run.ID, func(stored *model.AgentTestRun, _ *model.AgentTestExecution) *model.AgentTestRun {
		return stored.Finished(run)
	})
	return asRunLost(run, err)
}

// ReleaseRun gives up a run that the caller has claimed, so that the queue delivers it again. It drops the partial
// results, and does not count as a lost worker. If the execution has been cancelled, ReleaseRun cancels the run. If the
// claim was lost, it changes nothing and returns CONFLICT and ErrRunLost.
func (t *Tenant) ReleaseRun(ctx context.Context, run *model.AgentTestRun) error {
	err := t.transition(ctx, run.ID,
		func(stored *model.AgentTestRun, execution *model.AgentTestExecution) *model.AgentTestRun {
			return stored.Released(execution, run.Claim)
		})
	return asRunLost(run, err)
}

// asRunLost turns the error of a failed transition into CONFLICT and ErrRunLost, if the worker no longer has the run.
// It returns other errors unchanged.
func asRunLost(run *model.AgentTestRun, err error) error {
	if errors.Is(err, errStale) || pg.IsMissing(err) {
		return errors.Join(model.Errorf(model.Conflict, "another worker took over the agent test run %q, or the run has "+
			"ended",
			run.ID), ErrRunLost)
	}
	return err
}

// endAbandonedRuns ends runs that were enqueued and whose jobs left the queue without an outcome.
func (s *Store) endAbandonedRuns(ctx context.Context) error {
	// The transaction that makes a run due also enqueues it. Its job leaves the queue when the run ends.
	runs, err := queryAllCompanies[rowRef](ctx, s, func(ofCompany func(string) pg.Selection) scanner {
		return s.db.Program().NewSelect().Model((*model.AgentTestRun)(nil)).Column("company_id", "id").
			Join("JOIN agent_test_executions AS execution ON execution.company_id = ?TableAlias.company_id AND execution.id = "+
				"?TableAlias.execution_id").
			Where("execution.unfinished > 0").Where("?TableAlias.position < execution.next_position").
			Where("?TableAlias.status IN (?)",
				bun.List([]model.AgentTestRunStatus{model.AgentTestRunStatusQueued, model.AgentTestRunStatusRunning})).
			Where("NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.company_id = ?TableAlias.company_id AND jobs.id = ?TableAlias.id)").
			Apply(ofCompany("?TableAlias.company_id"))
	})
	errs := model.Map(runs, func(run rowRef) error { return s.Tenant(run.CompanyID).endAbandonedRun(ctx, run.ID) })
	return errors.Join(append(errs, err)...)
}

func (t *Tenant) endAbandonedRun(ctx context.Context, id string) error {
	err := t.transition(ctx, id, (*model.AgentTestRun).Abandoned)
	if errors.Is(err, errStale) {
		return nil // another process has ended it
	}
	return err
}

// runState identifies a state of a run. No two states of a run have the same values.
type runState struct {
	status model.AgentTestRunStatus
	claim  int32
}

func stateOf(run *model.AgentTestRun) runState { return runState{run.Status, run.Claim} }

// Causes for which WatchRun ends its context.
var (
	// ErrRunCancelled means that the execution was cancelled. Finish the run as Cancelled.
	ErrRunCancelled = errors.New("the execution was cancelled")
	// ErrRunLost means that another worker has the run, or that the run was deleted. Write nothing.
	ErrRunLost = errors.New("the run was taken over")
)

// runPollInterval is how often WatchRun checks for cancellation, because a signal may be lost.
const runPollInterval = time.Second

// WatchRun watches a run that the caller has claimed until the returned function is called. The returned context ends
// with ctx, or with ErrRunCancelled or ErrRunLost as its cause.
func (t *Tenant) WatchRun(ctx context.Context, run *model.AgentTestRun) (context.Context, func()) {
	id, claimedState := run.ID, stateOf(run)
	return onBeat(ctx, runPollInterval, t.store.hub.Subscribe(t.signalOf(id)), func(ctx context.Context) error {
		states := []struct {
			Status          model.AgentTestRunStatus
			Claim           int32
			ExecutionStatus model.AgentTestExecutionStatus
		}{}
		err := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.status, ?TableAlias.claim, execution.status "+
			"AS execution_status").
			Join("JOIN agent_test_executions AS execution ON execution.company_id = ?TableAlias.company_id AND execution.id = "+
				"?TableAlias.execution_id").
			Where("execution.company_id = ?", t.CompanyID()).Where("?TableAlias.id = ?", id).Scan(ctx, &states)
		// The database may answer at the next beat.
		if err == nil && (len(states) == 0 || claimedState != runState{states[0].Status, states[0].Claim}) {
			return ErrRunLost
		}
		if err == nil && states[0].ExecutionStatus == model.AgentTestExecutionStatusCancelled {
			return ErrRunCancelled
		}
		return nil
	})
}
