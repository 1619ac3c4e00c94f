package db

import (
	"context"
	"math"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// FollowExecution delivers the current state of an execution, and again after each change of the execution or its
// runs. Changes in quick succession are delivered once, with the last state. It closes the channel after delivering
// the finished execution, when the execution was deleted, and when ctx ends.
func (t *Tenant) FollowExecution(ctx context.Context, id string) (<-chan *model.AgentTestExecution, error) {
	p, r, err := t.followExecution(ctx, id)
	if err != nil {
		return nil, err
	}
	return live.Channel(ctx, r.executions.Follow(0, p.release)), nil
}

// FollowRuns delivers the current state of every run of an execution, without its snapshot, and again after each
// change. Changes in quick succession are delivered once, with the last state. It closes the channel after the
// execution is finished and every run is delivered in its final state, when the execution was deleted, and when ctx
// ends.
func (t *Tenant) FollowRuns(ctx context.Context, executionID string) (<-chan *model.AgentTestRun, error) {
	p, r, err := t.followExecution(ctx, executionID)
	if err != nil {
		return nil, err
	}
	return live.Channel(ctx, r.runs.Follow(0, p.release)), nil
}

// followExecution returns the topic of an execution. The caller must release the topic.
func (t *Tenant) followExecution(ctx context.Context, id string) (*topic, *executionReader, error) {
	p := t.acquireTopic(followedExecutions, id, newExecutionReader(id))
	execution, err := t.AgentTestExecution(ctx, id)
	if err != nil {
		p.release()
		return nil, nil, err
	}
	r := p.reader.(*executionReader)
	p.begin(execution.Version, execution.IsFinished(), func() {
		r.executions.Begin(live.Position(execution.Version))
		r.runs.Begin(endOfVersion(execution.Version))
	})
	return p, r, nil
}

type executionReader struct {
	tenant     *Tenant
	id         string
	executions *live.Log[*model.AgentTestExecution]
	runs       *live.Log[*model.AgentTestRun]
}

func newExecutionReader(id string) func(*Tenant, *live.MemoryBudget) reader {
	return func(t *Tenant, budget *live.MemoryBudget) reader {
		r := &executionReader{tenant: t, id: id}
		r.executions = newLog(t, budget, readCurrent(t.AgentTestExecution, id,
			func(e *model.AgentTestExecution) live.Position { return live.Position(e.Version) }))
		r.runs = newLog(t, budget, r.readRuns)
		return r
	}
}

func (r *executionReader) poll(ctx context.Context, p *topic, isWoken bool) (pollResult, error) {
	if !isWoken {
		return waitForSignal, nil
	}
	execution, err := r.tenant.AgentTestExecution(ctx, r.id)
	if err != nil {
		return waitForSignal, err
	}
	if at := live.Position(execution.Version); at > r.executions.End() {
		r.executions.Add(live.Stored[*model.AgentTestExecution]{Value: execution, At: at, Size: sizeOfEvent})
	}
	if err := catchUp(ctx, r.runs, endOfVersion(execution.Version), r.readRuns); err != nil {
		return waitForSignal, err
	}
	p.version.Store(execution.Version)
	if execution.IsFinished() {
		return topicEnded, nil
	}
	return waitForSignal, nil
}

func (r *executionReader) closeFollowers() {
	r.executions.Close()
	r.runs.Close()
}

// maxRuns bounds the runs that readRuns returns at once.
const maxRuns = 100

// Live positions order runs by version, then by their position in the execution. runLivePosition returns the live
// position after one run. endOfVersion returns the one after all runs of a version.
func runLivePosition(version, position int32) live.Position {
	return live.Position(int64(version)<<32 | (int64(position) + 1))
}

func endOfVersion(version int32) live.Position { return runLivePosition(version, math.MaxInt32-1) }

// readRuns reads runs that changed after the position, in the order of their last changes. Every change of a run locks
// its execution, which numbers the changes. So changes become visible in the order of their numbers.
func (r *executionReader) readRuns(ctx context.Context, after,
	known live.Position) ([]live.Stored[*model.AgentTestRun], live.Position, error) {
	runs := []*model.AgentTestRun{}
	err := pageOf(r.tenant, &runs, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.execution_id = ?", r.id).
			Where("(?TableAlias.version, ?TableAlias.position) > (?, ?)", int64(after)>>32, int64(after)&math.MaxUint32-1)
	}, "version, position", "octet_length(concat(messages, tool_calls, check_results, criteria_results))", maxRuns).
		Apply(r.tenant.withoutSnapshots).Scan(ctx)
	if err != nil {
		return nil, after, err
	}
	position := func(r *model.AgentTestRun) live.Position { return runLivePosition(r.Version, r.Position) }
	kept, after := eventsOf(runs, position, after, known)
	return kept, after, nil
}
