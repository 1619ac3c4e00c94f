package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/model"
)

// FollowExecution delivers an execution as it is now, and again after each change of it or of a run of it;
// of changes that follow each other quickly the last one. The channel is closed after the execution
// as it is when finished, and when ctx ends.
func (t *Tenant) FollowExecution(ctx context.Context, id string) (<-chan *model.AgentTestExecution, error) {
	executions := make(chan *model.AgentTestExecution)
	var version int32
	err := t.followExecution(ctx, id, func() { close(executions) }, func(execution *model.AgentTestExecution) error {
		if execution.Version > version {
			deliver(ctx, executions, execution)
			version = execution.Version
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return executions, nil
}

// FollowRuns delivers every run of an execution as it is now, without its snapshot, and again after each change
// of it; of changes that follow each other quickly the last one. The channel is closed when the
// execution is finished and every run is delivered as it is then, and when ctx ends.
func (t *Tenant) FollowRuns(ctx context.Context, executionID string) (<-chan *model.AgentTestRun, error) {
	runs := make(chan *model.AgentTestRun)
	var last model.AgentTestRun
	last.Position = -1
	err := t.followExecution(ctx, executionID, func() { close(runs) }, func(*model.AgentTestExecution) error {
		for ctx.Err() == nil {
			changed, err := t.runsAfter(ctx, executionID, last.Version, last.Position)
			if err != nil {
				return err
			}
			for _, run := range changed {
				deliver(ctx, runs, run)
				last.Version, last.Position = run.Version, run.Position
			}
			if len(changed) < maxRuns {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// maxRuns bounds what runsAfter returns at once.
const maxRuns = 100

// runsAfter returns, in the order of their last changes, the runs that changed after the one of the version
// and position. Whoever changes runs holds their execution, which numbers the changes: a change that is
// seen has none before it that is not.
func (t *Tenant) runsAfter(ctx context.Context, executionID string, version, position int32) ([]*model.AgentTestRun, error) {
	runs := []*model.AgentTestRun{}
	err := t.find(&runs).ExcludeColumn("snapshot").Where("?TableAlias.execution_id = ?", executionID).
		Where("(?TableAlias.version, ?TableAlias.position) > (?, ?)", version, position).
		OrderExpr("?TableAlias.version, ?TableAlias.position").Limit(maxRuns).Scan(ctx)
	return runs, translate(err)
}

// followExecution is follow for an execution, until it is finished and was seen.
func (t *Tenant) followExecution(ctx context.Context, id string, done func(), see func(*model.AgentTestExecution) error) error {
	return follow(ctx, t, id, t.AgentTestExecution, done, func(execution *model.AgentTestExecution) (bool, error) {
		return execution.IsFinished(), see(execution)
	})
}

// follow calls see with what has the id as it is now, and after each signal and each while, until see says
// that nothing follows, it is gone, or ctx ends; then done. It subscribes before it reads, so that nothing
// is written unseen between the two. An error of see has it called again.
func follow[R any](
	ctx context.Context, t *Tenant, id string, read func(context.Context, string) (R, error), done func(), see func(R) (bool, error),
) error {
	signals := t.store.hub.Subscribe(t.signalOf(id))
	if _, err := read(ctx, id); err != nil {
		signals.Close()
		return err
	}
	go func() {
		defer done()
		defer signals.Close()
		var retry time.Duration
		for ctx.Err() == nil {
			last := false
			row, err := read(ctx, id)
			if err == nil {
				last, err = see(row)
			}
			var known *model.Error
			switch {
			case errors.As(err, &known) && known.Code == model.NotFound:
				return
			case err != nil:
				retry = min(max(2*retry, firstRetry), lastReconnect)
			case last:
				return
			default:
				retry = 0
			}
			rest(ctx, signals, retry)
		}
	}()
	return nil
}

// rest returns when it is worth reading again: after the retry, when there is one, or else after a signal
// or a long while.
func rest(ctx context.Context, signals *notify.Subscription, retry time.Duration) {
	if retry == 0 {
		retry = leastRest + rand.N(mostRest-leastRest)
	}
	timer := time.NewTimer(retry)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-signals.Woken():
	}
}
