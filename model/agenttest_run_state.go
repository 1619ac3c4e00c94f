package model

import (
	"cmp"
	"fmt"
	"time"
)

// The transitions of a run. Each method is called on the stored run with its execution, both of them locked. It returns
// the run in its next state, or nil if nothing changes. It may change and return the run itself.
//
// Two more transitions end queued runs. Each is one statement of the package db, for many runs: cancelQueued when the
// execution is cancelled, and skip when the tests of the runs are decided.

// Claimed returns the run as it is after a worker claims it with this attempt number. The queue never repeats an
// attempt. If a running run is claimed with a later attempt, the previous worker was lost, and the run continues with
// the new one. When it has lost more than MaxLost workers, it ends in the state Error. If the execution was cancelled,
// a lost run is cancelled. Final runs, and runs with this or a later attempt, do not change.
func (r *AgentTestRun) Claimed(execution *AgentTestExecution, attempt int32, at time.Time) *AgentTestRun {
	if r.Status.IsFinal() || r.Claim >= attempt {
		return nil
	}
	r.Claim = attempt
	switch {
	case r.Status == AgentTestRunStatusQueued:
		r.Status, r.StartedAt = AgentTestRunStatusRunning, &at
	case execution.State == AgentTestExecutionStatusCancelled:
		r.Status = AgentTestRunStatusCancelled
	case r.Lost >= MaxLost:
		r.Status, r.Error = AgentTestRunStatusError, &RunError{
			Cause: RunErrorCauseInfrastructure, Message: fmt.Sprintf("the run was stopped, because %d workers ended during "+
				"the run", r.Lost+1),
		}
	default:
		r.Lost++
	}
	return r
}

// Finished returns the run with its outcome, if the worker still has the claim.
func (r *AgentTestRun) Finished(outcome *AgentTestRun) *AgentTestRun {
	if !r.isClaimedBy(outcome.Claim) {
		return nil
	}
	return outcome
}

// Released returns the run as it is after the worker with the claim releases it, without its partial results. If the
// execution was cancelled, the run ends. The worker does not count as lost.
func (r *AgentTestRun) Released(execution *AgentTestExecution, claim int32) *AgentTestRun {
	if !r.isClaimedBy(claim) {
		return nil
	}
	released := &AgentTestRun{
		Owned: r.Owned, ID: r.ID, ExecutionID: r.ExecutionID, TestedID: r.TestedID, Status: AgentTestRunStatusQueued,
		Claim: r.Claim, Lost: r.Lost,
		Messages: []TestMessage{}, ToolCalls: []*ToolCall{}, CheckResults: []CheckResult{},
		CriteriaResults: []CriterionResult{},
	}
	if execution.State == AgentTestExecutionStatusCancelled {
		released.Status, released.StartedAt = AgentTestRunStatusCancelled, r.StartedAt
	}
	return released
}

// Abandoned ends a run that no worker has or will get, and returns it.
func (r *AgentTestRun) Abandoned(execution *AgentTestExecution) *AgentTestRun {
	switch {
	case r.Status.IsFinal():
		return nil
	case execution.State == AgentTestExecutionStatusCancelled:
		r.Status = AgentTestRunStatusCancelled
	default:
		r.Status, r.Error = AgentTestRunStatusError, &RunError{
			Cause: RunErrorCauseInfrastructure, Message: "the server started the run several times, and it failed each time",
		}
	}
	return r
}

// isClaimedBy reports whether the worker with the claim still has the run.
func (r *AgentTestRun) isClaimedBy(claim int32) bool {
	return r.Status == AgentTestRunStatusRunning && r.Claim == claim
}

// Count records a transition of a run in its execution. It updates the execution's version, state and number of
// unfinished runs, and the run's version and times. If the run has ended, it returns the position of the next run to
// enqueue. There may be no run at that position. follows is false if all runs have ended or the execution was
// cancelled.
func (e *AgentTestExecution) Count(run *AgentTestRun, at time.Time) (next int32, follows bool) {
	e.Version++
	run.Version = e.Version
	isCancelled := e.State == AgentTestExecutionStatusCancelled
	if !isCancelled {
		e.State = AgentTestExecutionStatusRunning
		if e.StartedAt == nil {
			e.StartedAt = cmp.Or(run.StartedAt, &at)
		}
	}
	if !run.Status.IsFinal() {
		return 0, false
	}
	run.FinishedAt = &at
	if run.StartedAt != nil {
		// The clock of the replica that first claimed the run may be ahead.
		ms := int32(max(0, at.Sub(*run.StartedAt).Milliseconds()))
		run.DurationMs = &ms
	}
	next = e.NextPosition
	e.NextPosition++
	e.endRuns(1, at)
	return next, e.Unfinished > 0 && !isCancelled
}

// EndQueued records in the execution that the given number of queued runs was skipped or cancelled.
func (e *AgentTestExecution) EndQueued(runs int32, at time.Time) {
	e.Version++
	e.endRuns(runs, at)
}

func (e *AgentTestExecution) endRuns(runs int32, at time.Time) {
	if e.Unfinished -= runs; e.Unfinished > 0 {
		return
	}
	e.FinishedAt = &at
	if e.State != AgentTestExecutionStatusCancelled {
		e.State = AgentTestExecutionStatusCompleted
	}
}
