package model

import (
	"time"

	"github.com/uptrace/bun"
)

// AgentTestRun is one attempt of one test inside an execution. Final states are final.
type AgentTestRun struct {
	bun.BaseModel `bun:"table:agent_test_runs,alias:agent_test_run"`
	Owned

	ID          string `bun:",pk"`
	ExecutionID string
	// TestID is nil when the test was deleted.
	TestID   *string
	TestName string
	// Position orders the runs of an execution.
	Position int32
	// Attempt counts the runs of the same test in the execution from 1.
	Attempt int32
	Status  AgentTestRunStatus
	// Snapshot is the test and the agent as they were when the run was created.
	Snapshot      RunSnapshot `bun:"type:jsonb"`
	PromptVersion int32
	// Claim fences the work on the run: it grows each time a worker takes it up, and only the worker
	// with the current claim may write its result. Lost counts workers that died with it.
	Claim int32
	Lost  int32

	Messages             []TestMessage `bun:"type:jsonb"`
	ToolCalls            []*ToolCall   `bun:"type:jsonb"`
	TurnCount            int32
	EndReason            *string
	CriteriaResults      []CriterionResult     `bun:"type:jsonb"`
	ClassificationResult *ClassificationResult `bun:"type:jsonb"`
	Error                *RunError             `bun:"type:jsonb"`
	// Version grows with every change.
	Version    int32
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	DurationMs *int32
}

// RunSnapshot is what a run runs: the test and the agent's own definition as they were. Tools and
// sub-agents are used as they are when it runs.
type RunSnapshot struct {
	Test  *AgentTestRow `json:"test"`
	Agent *Agent        `json:"agent"`
}

// CriterionResult is the verdict on one criterion.
type CriterionResult struct {
	Criterion string     `json:"criterion"`
	Passed    bool       `json:"passed"`
	Rationale string     `json:"rationale"`
	Evidence  []Evidence `json:"evidence"`
}

// Evidence is a quote that stands word for word in a message of the run.
type Evidence struct {
	MessageIndex int32  `json:"messageIndex"`
	Quote        string `json:"quote"`
}

// IsNode marks a Node.
func (*AgentTestRun) IsNode() {}

// Cursor is its place in a list of runs.
func (r *AgentTestRun) Cursor() Cursor { return Cursor{r.CreatedAt, r.ID} }

// IsFinal reports whether the status never changes again.
func (s AgentTestRunStatus) IsFinal() bool {
	return s != AgentTestRunStatusQueued && s != AgentTestRunStatusRunning
}
