package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/model"
)

const agentTestRun = "agent test run"

// AgentTestRunsByID returns the runs with the ids, in any order; what does not exist is left out.
func (t *Tenant) AgentTestRunsByID(ctx context.Context, ids []string, columns ...string) ([]*model.AgentTestRun, error) {
	return byID[*model.AgentTestRun](ctx, t, ids, columns)
}

// RunsOfExecutions are the runs of each of several executions, or those of them in one state, of one test,
// which may have been deleted since.
func (t *Tenant) RunsOfExecutions(status *model.AgentTestRunStatus, testID *string) Children[*model.AgentTestRun] {
	return Children[*model.AgentTestRun]{t, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.execution_id = parent.id").Apply(given("status", status)).Apply(given("tested_id", testID))
	}, newestFirst}
}

// RunsOfTests are the runs of each of several tests.
func (t *Tenant) RunsOfTests() Children[*model.AgentTestRun] {
	return Children[*model.AgentTestRun]{t, where("?TableAlias.test_id = parent.id"), newestFirst}
}

// errMoved says that a run is no longer as it was read.
var errMoved = errors.New("the run has changed")

// ClaimRun makes the caller the one that works on a run, and returns the run; nil when there is nothing to
// do. The attempt counts how often the queue has delivered the run, from 1, and is never delivered twice: of
// two callers with the same attempt one gets the run. One with a later attempt means that the worker before
// it was lost. After model.MaxLost lost workers the run is given up, as an Error of the infrastructure.
func (t *Tenant) ClaimRun(ctx context.Context, id string, attempt int32) (*model.AgentTestRun, error) {
	for {
		run, err := t.claimRun(ctx, id, attempt)
		if !errors.Is(err, errMoved) {
			return run, err
		}
	}
}

func (t *Tenant) claimRun(ctx context.Context, id string, attempt int32) (*model.AgentTestRun, error) {
	run := &model.AgentTestRun{}
	if err := t.one(ctx, agentTestRun, id, run, noLock); err != nil {
		return nil, err
	}
	if run.Status.IsFinal() || run.Claim >= attempt {
		return nil, nil
	}
	at, was := now(), stateOf(run)
	run.Claim = attempt
	if was.status == model.AgentTestRunStatusQueued {
		run.Status, run.StartedAt = model.AgentTestRunStatusRunning, &at
	} else if err := t.replaceWorker(ctx, run); err != nil {
		return nil, err
	}
	if err := t.move(ctx, run, was, at); err != nil || run.Status.IsFinal() {
		return nil, err
	}
	return run, nil
}

// replaceWorker says how a run goes on whose worker was lost.
func (t *Tenant) replaceWorker(ctx context.Context, run *model.AgentTestRun) error {
	execution, err := t.AgentTestExecution(ctx, run.ExecutionID)
	switch {
	case err != nil:
		return err
	case execution.Status == model.AgentTestExecutionStatusCancelled:
		run.Status = model.AgentTestRunStatusCancelled
	case run.Lost >= model.MaxLost:
		run.Status, run.Error = model.AgentTestRunStatusError, &model.RunError{
			Cause: model.RunErrorCauseInfrastructure, Message: fmt.Sprintf("%d workers ended before the run did", run.Lost+1),
		}
	default:
		run.Lost++
	}
	return nil
}

// FinishRun keeps the outcome of a run that the caller has claimed: its final status and everything that led
// to it. CONFLICT, and nothing is kept, when the claim was lost.
func (t *Tenant) FinishRun(ctx context.Context, run *model.AgentTestRun) error {
	if !run.Status.IsFinal() {
		return fmt.Errorf("finish run %s: %s is not final", run.ID, run.Status)
	}
	if run.Messages == nil {
		run.Messages = []model.TestMessage{}
	}
	if run.ToolCalls == nil {
		run.ToolCalls = []*model.ToolCall{}
	}
	if run.CriteriaResults == nil {
		run.CriteriaResults = []model.CriterionResult{}
	}
	err := t.move(ctx, run, runState{model.AgentTestRunStatusRunning, run.Claim}, now())
	if errors.Is(err, errMoved) {
		return model.Errorf(model.Conflict, "agent test run %q was taken over by another worker, or has ended", run.ID)
	}
	return err
}

// runState tells every state that a run is in from all others that it is ever in.
type runState struct {
	status model.AgentTestRunStatus
	claim  int32
}

func stateOf(run *model.AgentTestRun) runState { return runState{run.Status, run.Claim} }

// move makes the run's new state the stored one, in its test and its execution too, and tells the followers.
// It returns errMoved, and changes nothing, when the run is not in the state that it was in, or its
// execution was cancelled and the run is not final.
func (t *Tenant) move(ctx context.Context, run *model.AgentTestRun, was runState, at time.Time) error {
	if run.Status.IsFinal() {
		run.FinishedAt = &at
		if run.StartedAt != nil {
			ms := int32(at.Sub(*run.StartedAt).Milliseconds())
			run.DurationMs = &ms
		}
	}
	err := t.Tx(ctx, func(ctx context.Context, t *Tenant) error {
		if run.TestID != nil {
			if _, err := t.change((*model.AgentTestRow)(nil)).Set("last_run_status = ?", run.Status).Set("last_run_at = ?", at).
				Where("id = ?", *run.TestID).Where("last_run_id = ?", run.ID).Exec(ctx); err != nil {
				return translate(err)
			}
		}
		execution, err := t.moveExecution(ctx, run, at)
		if err != nil {
			return err
		}
		run.Version = execution.Version
		result, err := t.change(run).Column("status", "claim", "lost", "messages", "tool_calls", "turn_count", "end_reason",
			"criteria_results", "classification_result", "error", "version", "started_at", "finished_at", "duration_ms").
			WherePK().Where("status = ?", was.status).Where("claim = ?", was.claim).Exec(ctx)
		if err != nil {
			return translate(err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errMoved
		}
		return t.enqueueNext(ctx, execution, run)
	})
	if err != nil {
		return err
	}
	t.store.hub.Wake(t.signalOf(run.ExecutionID))
	return nil
}

// moveExecution counts a move of a run in its execution, which it holds, and returns the execution.
func (t *Tenant) moveExecution(ctx context.Context, run *model.AgentTestRun, at time.Time) (*model.AgentTestExecution, error) {
	query := t.change((*model.AgentTestExecution)(nil)).Set("version = version + 1").Where("id = ?", run.ExecutionID)
	if run.Status.IsFinal() {
		query = query.Where("unfinished > 0").Set("unfinished = unfinished - 1").Set("next_position = next_position + 1").
			Set("finished_at = CASE WHEN unfinished = 1 THEN ?::timestamptz END", at).
			Set("status = CASE WHEN unfinished = 1 AND status = ? THEN ? ELSE status END",
				model.AgentTestExecutionStatusRunning, model.AgentTestExecutionStatusCompleted)
	} else {
		query = query.Where("status <> ?", model.AgentTestExecutionStatusCancelled).
			Set("status = ?", model.AgentTestExecutionStatusRunning).Set("started_at = COALESCE(started_at, ?)", at)
	}
	executions := []*model.AgentTestExecution{}
	if err := query.Returning("*").Scan(ctx, &executions); err != nil {
		return nil, translate(err)
	}
	if len(executions) == 0 {
		return nil, errMoved
	}
	return executions[0], nil
}

// enqueueNext puts the run that follows into the queue when one has ended.
func (t *Tenant) enqueueNext(ctx context.Context, execution *model.AgentTestExecution, ended *model.AgentTestRun) error {
	if !ended.Status.IsFinal() || execution.Status != model.AgentTestExecutionStatusRunning {
		return nil
	}
	next := []string{}
	err := t.find((*model.AgentTestRun)(nil)).Column("id").Where("execution_id = ?", execution.ID).
		Where("position = ?", execution.NextPosition-1).Scan(ctx, &next)
	if err != nil || len(next) == 0 {
		return translate(err)
	}
	return t.enqueueRuns(ctx, next)
}

// Why the context of a run that is held ends.
var (
	// ErrRunCancelled: the execution was cancelled, and the run is to be finished as Cancelled.
	ErrRunCancelled = errors.New("the execution was cancelled")
	// ErrRunLost: another worker has the run, or it is gone, and nothing is to be written.
	ErrRunLost = errors.New("the run was taken over")
)

// cancelled is looked for so often, because a signal may be lost.
const beatOfRun = time.Second

// HoldRun watches over a run that the caller has claimed until the returned function is called. The returned
// context ends with ctx, and with ErrRunCancelled or ErrRunLost as its cause.
func (t *Tenant) HoldRun(ctx context.Context, run *model.AgentTestRun) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := t.store.hub.Subscribe(t.signalOf(run.ID))
	id, held := run.ID, stateOf(run)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		t.watchRun(ctx, id, held, signals, cancel)
	}()
	return ctx, func() {
		cancel(nil)
		<-stopped
	}
}

func (t *Tenant) watchRun(ctx context.Context, id string, held runState, signals *notify.Subscription, cancel context.CancelCauseFunc) {
	defer signals.Close()
	beat := time.NewTicker(beatOfRun)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		case <-signals.Woken():
		}
		states := []struct {
			Status          model.AgentTestRunStatus
			Claim           int32
			ExecutionStatus model.AgentTestExecutionStatus
		}{}
		err := t.find((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.status, ?TableAlias.claim, execution.status AS execution_status").
			Join("JOIN agent_test_executions AS execution ON execution.company_id = ?TableAlias.company_id AND execution.id = ?TableAlias.execution_id").
			Where("execution.company_id = ?", t.companyID).Where("?TableAlias.id = ?", id).Scan(ctx, &states)
		switch {
		case err != nil: // a database that does not answer may do so at the next beat
		case len(states) == 0 || held != runState{states[0].Status, states[0].Claim}:
			cancel(ErrRunLost)
			return
		case states[0].ExecutionStatus == model.AgentTestExecutionStatusCancelled:
			cancel(ErrRunCancelled)
			return
		}
	}
}
