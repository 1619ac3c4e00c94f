package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// MaxLost is how many workers may die with a run before it is given up.
const MaxLost = 3

// AgentTestRun is one attempt of one test inside an execution. Final states are final.
type AgentTestRun struct {
	bun.BaseModel `bun:"table:agent_test_runs,alias:agent_test_run"`
	Owned

	ID          string `bun:",pk"`
	ExecutionID string
	// TestID is nil when the test was deleted.
	TestID *string
	// TestedID and TestName are those that the test had.
	TestedID string
	TestName string
	// Position orders the runs of an execution.
	Position int32
	// RowKey is that of the test's row that it runs, empty without rows. The others are the row as it was, nil without
	// rows.
	RowKey    string
	RowNumber *int32
	RowName   *string
	RowValues *JSONObject `bun:"type:json"`
	// Attempt counts the runs of the same test and row in the execution from 1.
	Attempt int32
	// RejudgeOfID is the run whose conversation is judged again; nil if it holds its own.
	RejudgeOfID *string
	Status      AgentTestRunStatus
	// Snapshot is the test, without its rows, and the agent as they were when the run was created. The execution keeps
	// them for all of its runs, so it is there only where it was asked for.
	Snapshot      RunSnapshot `bun:"type:json"`
	PromptVersion int32
	// IsDraft says that the agent of the snapshot has the draft prompt of the execution.
	IsDraft bool `bun:",nullzero"`
	// Claim fences the work on the run: it grows each time a worker takes it up, and only the worker
	// with the current claim may write its result; 0 before the first. Lost counts workers that died with it.
	Claim int32
	Lost  int32

	Messages  []TestMessage `bun:"type:json"`
	ToolCalls []*ToolCall   `bun:"type:json"`
	TurnCount int32
	EndReason *string
	// Held is nil until the conversation is over, and in runs of versions that did not keep it.
	Held         *HeldConversation `bun:"type:json"`
	CheckResults []CheckResult     `bun:"type:json,nullzero"`
	// Score is nil without weights.
	Score                *float64
	CriteriaResults      []CriterionResult     `bun:"type:json"`
	ClassificationResult *ClassificationResult `bun:"type:json"`
	Error                *RunError             `bun:"type:json"`
	// Extracted are the values that the agent wants to know, by name; nil if none were extracted. ExtractionError is why
	// they could not be.
	Extracted       *JSONObject `bun:"type:json"`
	ExtractionError *string
	// Compared criteria were decided before too, on the same conversation, and Agreed of them came to the same.
	Compared *int32
	Agreed   *int32
	// Version is that of the execution at the last change.
	Version    int32
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	DurationMs *int32

	// Spent is the run's cost, recorded when the run finishes; nil for nothing.
	Spent *UsageEntry `bun:"-"`
}

// RunSnapshot is what a run runs: the test and the agent's own definition as they were. Tools and
// sub-agents are used as they are when it runs.
type RunSnapshot struct {
	Test  *AgentTestRow `json:"test"`
	Agent *Agent        `json:"agent"`
	// VirtualTime records simulated delays without waiting for them.
	VirtualTime bool `json:"virtualTime"`
	// Votes is how often the judge is asked about a criterion; 0 means once.
	Votes int32 `json:"votes,omitempty"`
	// JudgeModel is the judge; empty for the one that judges unless another is asked for.
	JudgeModel string `json:"judgeModel,omitempty"`
}

// CriterionResult is the verdict on one criterion.
type CriterionResult struct {
	Criterion string `json:"criterion"`
	// Filled is the criterion with its placeholders filled; empty if it has none.
	Filled string `json:"expected,omitempty"`
	// Weight is what it counts for; nil if it is required.
	Weight    *int32     `json:"weight,omitempty"`
	Passed    bool       `json:"passed"`
	Rationale string     `json:"rationale"`
	Evidence  []Evidence `json:"evidence"`
	// DoesNotApply is true if the criterion is neither met nor missed.
	DoesNotApply bool `json:"doesNotApply,omitempty"`
	// ByProgram is true if rules decided, and not the judge.
	ByProgram bool `json:"byProgram,omitempty"`
	// Agreement is the share of the judge's votes that say so; nil without votes.
	Agreement *float64 `json:"agreement,omitempty"`
}

// Weigh sets the score of the results, and reports whether the run has failed, whatever has no verdict yet.
func (r *AgentTestRun) Weigh() bool {
	isMissed, held, decided, left := false, int32(0), int32(0), r.Snapshot.Test.weight()
	add := func(weight *int32, passed bool) {
		switch {
		case weight == nil:
			isMissed = isMissed || !passed
			return
		case passed:
			held += *weight
		}
		decided += *weight
	}
	for _, result := range r.CheckResults {
		add(result.Check.Weight, result.Passed)
	}
	for _, result := range r.CriteriaResults {
		switch {
		case !result.DoesNotApply:
			add(result.Weight, result.Passed)
		case result.Weight != nil:
			left -= *result.Weight
		}
	}
	r.Score = share(held, decided)
	most := share(held+left-decided, left)
	return isMissed || most != nil && *most < r.Snapshot.Test.passAt()
}

// share returns the quotient, nil of nothing.
func share(part, whole int32) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

func (t *AgentTestRow) passAt() float64 {
	if t.PassAt == nil {
		return 1
	}
	return *t.PassAt
}

func (t *AgentTestRow) weight() (sum int32) {
	for _, weight := range t.CriteriaWeights {
		if weight != nil {
			sum += *weight
		}
	}
	for _, check := range t.Checks {
		if check.Weight != nil {
			sum += *check.Weight
		}
	}
	return sum
}

// HasIdleWeights reports whether weights count for nothing: without a score below 1 to reach, all that has a weight
// must hold.
func (t *AgentTestRow) HasIdleWeights() bool {
	return t.weight() > 0 && (t.PassAt == nil || *t.PassAt >= 1)
}

// Expected is the criterion as it was judged.
func (r *CriterionResult) Expected() string { return cmp.Or(r.Filled, r.Criterion) }

// Applies reports whether the criterion is met or missed.
func (r *CriterionResult) Applies() bool { return !r.DoesNotApply }

// DecidedBy returns who decided the criterion.
func (r *CriterionResult) DecidedBy() CriterionDecider {
	if r.ByProgram {
		return CriterionDeciderProgram
	}
	return CriterionDeciderModel
}

// Evidence is a quote that stands word for word in a message of the run.
type Evidence struct {
	MessageIndex int32  `json:"messageIndex"`
	Quote        string `json:"quote"`
	// ToolCallID is the call of the message in which the quote stands; nil for the message itself.
	ToolCallID *string `json:"toolCallId,omitempty"`
	// Speaker is whose message it is; nil in verdicts of versions that did not keep it.
	Speaker *MessageRole `json:"speaker,omitempty"`
	// Kind is where the quote stands; nil in verdicts of versions that did not keep it.
	Kind *EvidenceKind `json:"kind,omitempty"`
}

// AgentTestRunFilter narrows a list of runs. Empty fields narrow nothing.
type AgentTestRunFilter struct {
	ExecutionID *string
	// TestID may be that of a test which was deleted since, AgentID is that of tests which were not.
	TestID, AgentID *string
	Status          *AgentTestRunStatus
	Statuses        []AgentTestRunStatus
}

// HasState reports whether runs in the state pass.
func (f AgentTestRunFilter) HasState(status AgentTestRunStatus) bool {
	return (f.Status == nil || *f.Status == status) && (f.Statuses == nil || slices.Contains(f.Statuses, status))
}

// Validate returns BAD_INPUT when an id is empty or there are too many states.
func (f AgentTestRunFilter) Validate() error {
	var faults Fields
	faults.Filter("testId", f.TestID)
	faults.list("statuses", len(f.Statuses), len(AllAgentTestRunStatus))
	return faults.Err()
}

// Cursor is its place in a list of runs.
func (r *AgentTestRun) Cursor() Cursor { return Cursor{r.CreatedAt, r.ID} }

// IsFinal reports whether the status never changes again.
func (s AgentTestRunStatus) IsFinal() bool {
	return s != AgentTestRunStatusQueued && s != AgentTestRunStatusRunning
}
