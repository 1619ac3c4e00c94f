package engine

import (
	"context"
	"errors"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// parts are who takes part in a test beside the agent.
type parts struct{ contact, judge, classifier part }

func orElse(chosen, preset llm.Model) llm.Model {
	if chosen != nil {
		return chosen
	}
	return preset
}

// finishTimeout bounds the writing of an outcome, which a worker that is being stopped still does.
const finishTimeout = 10 * time.Second

// RunTest works on a run of an agent test: claims it, runs it and keeps its outcome. The attempt counts
// how often the run was given to a worker, from 1. It returns nil when the run is finished or there is
// nothing to do, and ctx's error, with the run left to another worker, when ctx ends.
func (e *Engine) RunTest(ctx context.Context, t *db.Tenant, id string, attempt int32) error {
	run, err := t.ClaimRun(ctx, id, attempt)
	if err != nil || run == nil {
		return err
	}
	held, release := t.HoldRun(ctx, run)
	defer release()
	fault := e.test(held, t, run)
	switch cause := context.Cause(held); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(cause, db.ErrRunLost):
		return nil
	case errors.Is(cause, db.ErrRunCancelled):
		run.Status = model.AgentTestRunStatusCancelled
	case fault != nil:
		e.log.WarnContext(ctx, "run has no verdict", "run", run.ID, "error", fault, reasonsOf(fault))
	}
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	return t.FinishRun(writing, run)
}

// test runs what the run's snapshot says, and sets what came of it in the run.
func (e *Engine) test(ctx context.Context, t *db.Tenant, run *model.AgentTestRun) error {
	execution, err := t.AgentTestExecution(ctx, run.ExecutionID)
	if err != nil {
		return conclude(ctx, run, false, err)
	}
	subject, test := run.Snapshot.Agent, run.Snapshot.Test
	counted := &meter{}
	defer func() { run.Spent = e.spent(subject, counted, run.TurnCount) }()
	take := counted.ofAll(e.tests)
	runner := &tester{contact: take.contact, judge: take.judge, classifier: take.classifier, now: now}
	if test.Kind == model.AgentTestKindClassification {
		return runner.classify(ctx, run)
	}
	runner.reply = func(ctx context.Context, at situation) (*reply, []*model.ToolCall, error) {
		// Its tools and sub-agents are as they are now, the agent itself as it was.
		s, err := loadSpeaker(ctx, t, subject.ID)
		if err != nil {
			return nil, nil, err
		}
		s.agent = subject
		real := e.effects(t, run.ID, subject.ID)
		if execution.VirtualTime {
			real.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		}
		next := &turn{
			model: counted.of(e.model), limits: e.limits, effects: real, schemas: e.schemas,
			variables: at.variables, mocking: mockingOf(test.ToolMocking),
		}
		return next.rehearse(ctx, s, at)
	}
	return runner.simulate(ctx, run)
}
