package evaluation

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// claimDelay is how long a job waits for its next attempt after the database did not answer.
	claimDelay = time.Second
	// finishTimeout bounds writing the outcome. A worker writes it even while it is being stopped.
	finishTimeout = 10 * time.Second
	// finishBackoff is the wait after a failed write. It doubles each time, up to lastFinishBackoff. It is short, so that
	// the outcome is saved soon after the database is back, before another worker takes over the run.
	finishBackoff, lastFinishBackoff = 50 * time.Millisecond, 200 * time.Millisecond
)

// RunTest claims a run of an agent test, runs it and stores its outcome. attempt is the number of times that a worker
// was given the run, including this time. RunTest returns nil if the run is finished or there is nothing to do. If ctx
// ends before there is an outcome, it releases the run for another worker and returns ctx's error. A run that took too
// long is finished, with the status Error. The error is a db.Later if the database does not answer. If that happens
// after the claim, RunTest also releases the run.
func (v *Evaluator) RunTest(ctx context.Context, t *db.Tenant, id string, attempt int32) error {
	run, err := t.ClaimRun(ctx, id, attempt)
	if pg.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded) {
		// The run was not claimed, so this is not a failed attempt.
		return &db.Later{In: claimDelay, Err: err}
	}
	if err != nil || run == nil {
		return err
	}
	runCtx, release := t.WatchRun(ctx, run)
	defer release()
	fault := v.test(runCtx, t, run)
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if pg.IsUnavailable(fault) {
		// Neither the agent nor the test failed, so the run is tried again without a limit.
		return &db.Later{In: claimDelay,
			Err: errors.Join(fault, retryWrite(writing, func() error { return t.ReleaseRun(writing, run) }))}
	}
	if fault != nil && run.Status.IsFinal() {
		v.log.WarnContext(ctx, "run has no verdict", "run", run.ID, "error", fault, llm.ErrorAttr(fault))
	}
	if !run.Status.IsFinal() {
		switch cause := context.Cause(runCtx); {
		case errors.Is(cause, db.ErrRunLost):
			return nil
		case errors.Is(cause, db.ErrRunCancelled):
			run.Status = model.AgentTestRunStatusCancelled
		case errors.Is(cause, context.DeadlineExceeded):
			run.Status, run.Error = model.AgentTestRunStatusError, &model.RunError{
				Cause: model.RunErrorCauseInfrastructure, Message: "the run took too long and was stopped",
			}
		default:
			return errors.Join(ctx.Err(), retryWrite(writing, func() error { return t.ReleaseRun(writing, run) }))
		}
	}
	return retryWrite(writing, func() error { return t.FinishRun(writing, run) })
}

// retryWrite retries a write until it succeeds, the run is lost, or ctx ends.
func retryWrite(ctx context.Context, write func() error) error {
	for backoff := finishBackoff; ; backoff = min(2*backoff, lastFinishBackoff) {
		err := write()
		if err == nil || errors.Is(err, db.ErrRunLost) {
			return nil
		}
		if engine.Wait(ctx, backoff) != nil {
			return err
		}
	}
}

// test runs a run's snapshot and sets the outcome in the run. The agent is the one of the snapshot; its tools,
// sub-agents and knowledge base chat are the current ones.
func (v *Evaluator) test(ctx context.Context, t *db.Tenant, run *model.AgentTestRun) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			v.log.ErrorContext(ctx, "a run panicked", "run", run.ID, "reason", reason, "stack", string(debug.Stack()))
			err = conclude(ctx, run, false, rules.FaultOfGateway(fmt.Errorf("panic: %v", reason)))
		}
	}()
	if err := fillRow(run); err != nil {
		return conclude(ctx, run, false, faultOfAgent(err))
	}
	subject, test := run.Snapshot.Agent, run.Snapshot.Test
	counted := &engine.Meter{}
	answers := func() int32 {
		if run.RejudgeOfID != nil {
			return 0
		}
		return run.TurnCount
	}
	defer func() { run.Spent = v.engine.Spent(subject, counted, answers()) }()
	take := v.tests
	take.classifier, take.extractor = v.ofAgent(take.classifier, subject), v.ofAgent(take.extractor, subject)
	take = take.metered(counted)
	take.judge.votes = int(run.Snapshot.Votes)
	if err := v.withJudge(&take, run.Snapshot.JudgeModel, counted); err != nil {
		return conclude(ctx, run, false, err)
	}
	runner := &tester{
		modelRoles: take, reviewsContact: v.reviewsContact, now: engine.Now, checker: v.checker,
	}
	if run.RejudgeOfID != nil {
		runner.targets = v.engine.Rehearse(ctx, t, run, counted).Targets
		return v.rejudge(ctx, t, runner, run)
	}
	runner.costOf = func(turns int32) model.Credits { return v.engine.Spent(subject, counted, turns).Credits }
	if test.Kind == model.AgentTestKindClassification {
		if err := expects(subject, test.TagExpected); err != nil {
			return conclude(ctx, run, false, faultOfAgent(err))
		}
		return runner.classify(ctx, run)
	}
	// The contact need not wait until the agent is loaded.
	rehearsal := v.engine.Rehearse(ctx, t, run, counted)
	runner.reply, runner.opener, runner.skippedDelay = rehearsal.Answer, rehearsal.Opener, rehearsal.Skipped
	runner.targets = rehearsal.Targets
	return runner.simulate(ctx, run)
}
