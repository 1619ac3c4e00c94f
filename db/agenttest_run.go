package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

const agentTestRun = "agent test run"

// AgentTestRunsByID returns the runs with the ids, in any order; what does not exist is left out.
func (t *Tenant) AgentTestRunsByID(ctx context.Context, ids []string, columns ...string) ([]*model.AgentTestRun, error) {
	return byID[*model.AgentTestRun](ctx, t, ids, columns)
}

// AgentTestRuns returns a page of the company's runs, newest first, or of those of one execution, of one test,
// which may have been deleted since, in one state. NOT_FOUND names an execution that does not exist.
func (t *Tenant) AgentTestRuns(
	ctx context.Context, args model.PageArgs, executionID, testID *string, status *model.AgentTestRunStatus, columns ...string,
) (*model.Page[*model.AgentTestRun], error) {
	if err := t.exists(ctx, agentTestExecution, executionID, (*model.AgentTestExecution)(nil)); err != nil {
		return nil, err
	}
	return list[*model.AgentTestRun](ctx, t, args, columns, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Apply(given("execution_id", executionID)).Apply(given("tested_id", testID)).Apply(given("status", status))
	})
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
// to it. CONFLICT and ErrRunLost, and nothing is kept, when the claim was lost.
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
		return errors.Join(model.Errorf(model.Conflict, "agent test run %q was taken over by another worker, or has ended", run.ID), ErrRunLost)
	}
	return err
}

// ReleaseRun gives a run that the caller has claimed, and cannot finish, back to the queue, without what led
// nowhere. It counts as no lost worker. When the execution was cancelled meanwhile the run is too. CONFLICT and
// ErrRunLost, and nothing is changed, when the claim was lost.
func (t *Tenant) ReleaseRun(ctx context.Context, run *model.AgentTestRun) error {
	released := &model.AgentTestRun{
		Owned: run.Owned, ID: run.ID, ExecutionID: run.ExecutionID, TestedID: run.TestedID, Status: model.AgentTestRunStatusQueued,
		Claim: run.Claim, Lost: run.Lost,
		Messages: []model.TestMessage{}, ToolCalls: []*model.ToolCall{}, CriteriaResults: []model.CriterionResult{},
	}
	err := t.move(ctx, released, runState{model.AgentTestRunStatusRunning, run.Claim}, now())
	if !errors.Is(err, errMoved) {
		return err
	}
	released.Status, released.StartedAt = model.AgentTestRunStatusCancelled, run.StartedAt
	return t.FinishRun(ctx, released)
}

// endAbandonedRuns ends the runs that were put into the queue and are not there any more, for whatever reason.
func (s *Store) endAbandonedRuns(ctx context.Context) error {
	runs := []struct{ CompanyID, ID string }{}
	// What is enqueued is so in the transaction that makes it due, and leaves the queue when it has ended.
	err := s.db.NewSelect().Model((*model.AgentTestRun)(nil)).Column("company_id", "id").
		Join("JOIN agent_test_executions AS execution ON execution.company_id = ?TableAlias.company_id AND execution.id = ?TableAlias.execution_id").
		Where("execution.unfinished > 0").Where("?TableAlias.position < execution.next_position").
		Where("?TableAlias.status IN (?)", bun.List([]model.AgentTestRunStatus{model.AgentTestRunStatusQueued, model.AgentTestRunStatusRunning})).
		Where("NOT EXISTS (SELECT FROM jobs WHERE jobs.company_id = ?TableAlias.company_id AND jobs.id = ?TableAlias.id)").Scan(ctx, &runs)
	if err != nil {
		return translate(err)
	}
	for _, run := range runs {
		if err := s.Tenant(run.CompanyID).endAbandonedRun(ctx, run.ID); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tenant) endAbandonedRun(ctx context.Context, id string) error {
	run := &model.AgentTestRun{}
	if err := t.one(ctx, agentTestRun, id, run, noLock); err != nil {
		return err
	}
	execution, err := t.AgentTestExecution(ctx, run.ExecutionID)
	if err != nil || run.Status.IsFinal() {
		return err
	}
	was := stateOf(run)
	if run.Status = model.AgentTestRunStatusCancelled; execution.Status != model.AgentTestExecutionStatusCancelled {
		run.Status, run.Error = model.AgentTestRunStatusError, &model.RunError{
			Cause: model.RunErrorCauseInfrastructure, Message: "the gateway could not carry out the run, although it tried several times",
		}
	}
	if err := t.move(ctx, run, was, now()); !errors.Is(err, errMoved) {
		return err
	}
	return nil // somebody else has ended it
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
			// The clock of another replica, whose run it was first, may be ahead.
			ms := int32(max(0, at.Sub(*run.StartedAt).Milliseconds()))
			run.DurationMs = &ms
		}
	}
	err := t.Tx(ctx, func(ctx context.Context, t *Tenant) error {
		moved := []struct {
			Version   int32
			NextRunID *string
		}{}
		err := t.change(run).With("test", t.tellTest(run, at)).With("execution", t.countMove(run, at)).TableExpr("execution").
			Column("status", "claim", "lost", "messages", "tool_calls", "turn_count", "end_reason",
				"criteria_results", "classification_result", "error", "started_at", "finished_at", "duration_ms").
			Set("version = execution.version").WherePK().Where("?TableAlias.status = ?", was.status).Where("?TableAlias.claim = ?", was.claim).
			Returning("execution.version, execution.next_run_id").Scan(ctx, &moved)
		if err != nil {
			return translate(err)
		}
		if len(moved) == 0 {
			return errMoved
		}
		run.Version = moved[0].Version
		if err := t.spend(ctx, fmt.Sprintf("%s:%d", run.ID, run.Claim), run.Spent); err != nil {
			return err
		}
		if next := moved[0].NextRunID; next != nil && run.Status.IsFinal() {
			return t.enqueueRuns(ctx, []string{*next}, (*queue.Queue).EnqueueBehind)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.store.hub.Wake(t.signalOf(run.ExecutionID))
	return nil
}

// tellTest makes a run's new state that of its test, if there is no newer run of it.
func (t *Tenant) tellTest(run *model.AgentTestRun, at time.Time) *bun.UpdateQuery {
	return t.change((*model.AgentTestRow)(nil)).Set("last_run_status = ?", run.Status).Set("last_run_at = ?", at).
		Where("id = ?", run.TestedID).Where("last_run_id = ?", run.ID).Returning("id")
}

// countMove counts a move of a run in its execution, which it holds, and returns the number of the move and the run
// that follows when this one has ended; nothing when the run must not move.
func (t *Tenant) countMove(run *model.AgentTestRun, at time.Time) *bun.UpdateQuery {
	next := t.db.NewSelect().TableExpr("agent_test_runs AS next").Column("next.id").Where("next.company_id = ?", t.companyID).
		Where("next.execution_id = agent_test_execution.id").Where("next.position = agent_test_execution.next_position - 1").
		Where("agent_test_execution.status = ?", model.AgentTestExecutionStatusRunning)
	query := t.change((*model.AgentTestExecution)(nil)).Set("version = version + 1").Where("id = ?", run.ExecutionID).
		// Whoever holds several rows holds tests before executions: this makes Postgres write the test first.
		Where("(SELECT count(*) FROM test) >= 0").Returning("version, (?) AS next_run_id", next)
	if !run.Status.IsFinal() {
		return query.Where("status <> ?", model.AgentTestExecutionStatusCancelled).
			Set("status = ?", model.AgentTestExecutionStatusRunning).Set("started_at = COALESCE(started_at, ?)", at)
	}
	return query.Where("unfinished > 0").Set("unfinished = unfinished - 1").Set("next_position = next_position + 1").
		Set("finished_at = CASE WHEN unfinished = 1 THEN ?::timestamptz END", at).
		Set("started_at = CASE WHEN status = ? THEN started_at ELSE COALESCE(started_at, ?) END", model.AgentTestExecutionStatusCancelled, at).
		Set("status = CASE WHEN status = ? THEN status WHEN unfinished = 1 THEN ? ELSE ? END",
			model.AgentTestExecutionStatusCancelled, model.AgentTestExecutionStatusCompleted, model.AgentTestExecutionStatusRunning)
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
