package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var runStatuses = []AgentTestRunStatus{
	AgentTestRunStatusQueued, AgentTestRunStatusRunning, AgentTestRunStatusPassed, AgentTestRunStatusFailed,
	AgentTestRunStatusError,
	AgentTestRunStatusCancelled, AgentTestRunStatusSkipped,
}

// after returns the state of a run after an event, empty if the event changes nothing.
func after(run *AgentTestRun) string {
	if run == nil {
		return ""
	}
	return run.Status.String()
}

// Every event is tried in every state of a run, in running and in cancelled executions.
func TestEveryEventInEveryStateIsDefined(t *testing.T) {
	t.Parallel()
	require.Len(t, AllAgentTestRunStatus, len(runStatuses))
	const claim = 3
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	passed := func(claim int32) *AgentTestRun { return &AgentTestRun{Status: AgentTestRunStatusPassed, Claim: claim} }
	events := []struct {
		name  string
		event func(*AgentTestRun, *AgentTestExecution) *AgentTestRun
		// queued has the next states of a queued run, and running those of a running one: first in a running execution,
		// then in a cancelled one.
		queued, running [2]string
	}{
		{
			"claimed", func(r *AgentTestRun, e *AgentTestExecution) *AgentTestRun { return r.Claimed(e, claim+1, at) },
			[2]string{"Running", "Running"}, [2]string{"Running", "Cancelled"},
		},
		{
			"claimed by an attempt that is known",
			func(r *AgentTestRun, e *AgentTestExecution) *AgentTestRun { return r.Claimed(e, claim, at) },
			[2]string{}, [2]string{},
		},
		{
			"claimed when too many workers were lost", func(r *AgentTestRun, e *AgentTestExecution) *AgentTestRun {
				r.Lost = MaxLost
				return r.Claimed(e, claim+1, at)
			},
			[2]string{"Running", "Running"}, [2]string{"Error", "Cancelled"},
		},
		{
			"finished", func(r *AgentTestRun, _ *AgentTestExecution) *AgentTestRun { return r.Finished(passed(claim)) },
			[2]string{}, [2]string{"Passed", "Passed"},
		},
		{
			"finished by a worker that lost it",
			func(r *AgentTestRun, _ *AgentTestExecution) *AgentTestRun { return r.Finished(passed(claim - 1)) },
			[2]string{}, [2]string{},
		},
		{
			"released", func(r *AgentTestRun, e *AgentTestExecution) *AgentTestRun { return r.Released(e, claim) },
			[2]string{}, [2]string{"Queued", "Cancelled"},
		},
		{
			"released by a worker that lost it",
			func(r *AgentTestRun, e *AgentTestExecution) *AgentTestRun { return r.Released(e, claim-1) },
			[2]string{}, [2]string{},
		},
		{
			"abandoned", (*AgentTestRun).Abandoned, [2]string{"Error", "Cancelled"}, [2]string{"Error", "Cancelled"},
		},
	}
	for _, e := range events {
		for _, status := range runStatuses {
			for i, executionStatus := range []AgentTestExecutionStatus{AgentTestExecutionStatusRunning,
				AgentTestExecutionStatusCancelled} {
				want := ""
				switch status {
				case AgentTestRunStatusQueued:
					want = e.queued[i]
				case AgentTestRunStatusRunning:
					want = e.running[i]
				}
				run := &AgentTestRun{Status: status, Claim: claim}
				require.Equal(t, want, after(e.event(run, &AgentTestExecution{State: executionStatus})),
					"%s %s in an execution that is %s", status, e.name, executionStatus)
			}
		}
	}
}

func TestClaimedCountsLostWorkers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	going := &AgentTestExecution{State: AgentTestExecutionStatusRunning}
	run := (&AgentTestRun{Status: AgentTestRunStatusQueued}).Claimed(going, 1, at)
	require.Equal(t, &at, run.StartedAt)
	for lost := range int32(MaxLost) {
		run = run.Claimed(going, lost+2, at.Add(time.Minute))
		require.Equal(t, lost+1, run.Lost)
		require.Equal(t, lost+2, run.Claim)
		require.Equal(t, &at, run.StartedAt, "it began with its first worker")
	}
	run = run.Claimed(going, MaxLost+2, at)
	require.Equal(t, "the run was stopped, because 4 workers ended during the run", run.Error.Message)
	require.Equal(t, RunErrorCauseInfrastructure, run.Error.Cause)
}

func TestFinishedRunsAreCounted(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	e := &AgentTestExecution{State: AgentTestExecutionStatusQueued, Unfinished: 3, NextPosition: 1, Version: 7}
	started := at.Add(-time.Second)
	run := &AgentTestRun{Status: AgentTestRunStatusRunning, StartedAt: &started}
	_, follows := e.Count(run, at)
	require.False(t, follows)
	require.EqualValues(t, 8, run.Version)
	require.Equal(t, AgentTestExecutionStatusRunning, e.Status())
	require.Equal(t, &started, e.StartedAt, "it begins when its first run does")

	end := func() (int32, bool) {
		run = &AgentTestRun{Status: AgentTestRunStatusPassed, StartedAt: &started}
		return e.Count(run, at)
	}
	next, follows := end()
	require.True(t, follows)
	require.EqualValues(t, 1, next)
	require.EqualValues(t, 1000, *run.DurationMs)
	next, follows = end()
	require.True(t, follows)
	require.EqualValues(t, 2, next)
	require.Nil(t, e.FinishedAt)
	_, follows = end()
	require.False(t, follows, "nothing is left")
	require.Equal(t, AgentTestExecutionStatusCompleted, e.Status())
	require.Equal(t, &at, e.FinishedAt)

	cancelled := &AgentTestExecution{State: AgentTestExecutionStatusCancelled, Unfinished: 2}
	later := at.Add(time.Hour)
	run = &AgentTestRun{Status: AgentTestRunStatusCancelled, StartedAt: &later}
	_, follows = cancelled.Count(run, at)
	require.False(t, follows, "nothing follows in an execution that was cancelled")
	require.Zero(t, *run.DurationMs, "the clock of another replica was ahead")
	require.Nil(t, cancelled.FinishedAt)
	_, _ = cancelled.Count(&AgentTestRun{Status: AgentTestRunStatusPassed}, at)
	require.Equal(t, &at, cancelled.FinishedAt)
	require.Equal(t, AgentTestExecutionStatusCancelled, cancelled.Status())
}
