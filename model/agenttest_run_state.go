package model

import (
	"cmp"
	"fmt"
	"time"
)

// The transitions of a run. Each method is called on the stored run with its execution, both of them locked. It
// returns the next state of the run, or nil to change nothing. The result may be the same run, changed.

// Claimed is the run taken up by a worker at its attempt, of which the queue has no two that are the same. An attempt
// behind a running one means that the worker before was lost: the run goes on with the new one, but is given up as an
// Error of the infrastructure after MaxLost of them, and ends when its execution was cancelled. Final runs, and those
// with this or a later attempt, stay as they are.
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
			Cause: RunErrorCauseInfrastructure, Message: fmt.Sprintf("%d workers ended before the run did", r.Lost+1),
		}
	default:
		r.Lost++
	}
	return r
}

// Finished is the outcome of the run, if the worker whose outcome it is still has the claim.
func (r *AgentTestRun) Finished(outcome *AgentTestRun) *AgentTestRun {
	if !r.isClaimedBy(outcome.Claim) {
		return nil
	}
	return outcome
}

// Released is the run given back by the worker with the claim, without what led nowhere; or the end of it, when its
// execution was cancelled. It counts as no lost worker.
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

// Abandoned is the end of a run that nobody works on any more and nobody will.
func (r *AgentTestRun) Abandoned(execution *AgentTestExecution) *AgentTestRun {
	switch {
	case r.Status.IsFinal():
		return nil
	case execution.State == AgentTestExecutionStatusCancelled:
		r.Status = AgentTestRunStatusCancelled
	default:
		r.Status, r.Error = AgentTestRunStatusError, &RunError{
			Cause: RunErrorCauseInfrastructure, Message: "the gateway could not carry out the run, although it tried several " +
				"times",
		}
	}
	return r
}

// isClaimedBy reports whether the worker with the claim still has the run.
func (r *AgentTestRun) isClaimedBy(claim int32) bool {
	return r.Status == AgentTestRunStatusRunning && r.Claim == claim
}

// Count makes a transition of a run of the execution part of it: its version, its own state and how many runs are left;
// and completes the run's version and times. It returns the position of the run that follows a run that has ended, if
// one may.
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
		// The clock of another replica, whose run it was first, may be ahead.
		ms := int32(max(0, at.Sub(*run.StartedAt).Milliseconds()))
		run.DurationMs = &ms
	}
	next = e.NextPosition
	e.NextPosition++
	e.end(1, at)
	return next, e.Unfinished > 0 && !isCancelled
}

// Skip records in the execution that the given number of queued runs is not needed.
func (e *AgentTestExecution) Skip(runs int32, at time.Time) {
	e.Version++
	e.end(runs, at)
}

func (e *AgentTestExecution) end(runs int32, at time.Time) {
	if e.Unfinished -= runs; e.Unfinished > 0 {
		return
	}
	e.FinishedAt = &at
	if e.State != AgentTestExecutionStatusCancelled {
		e.State = AgentTestExecutionStatusCompleted
	}
}
