package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// MaxLost is how many workers a run may lose before it ends with an error.
const MaxLost = 3

// AgentTestRun is one attempt of one test in an execution. A final state never changes.
type AgentTestRun struct {
	bun.BaseModel `bun:"table:agent_test_runs,alias:agent_test_run"`
	Owned

	ID          string `bun:",pk"`
	ExecutionID string
	// TestID is nil when the test was deleted.
	TestID *string
	// TestedID and TestName are the id and name at the time of the run.
	TestedID string
	TestName string
	// Position orders the runs of an execution.
	Position int32
	// RowKey is the key of the test's row, empty without rows. RowNumber, RowName and RowValues describe the row at the
	// time of the run. They are nil without rows.
	RowKey    string
	RowNumber *int32
	RowName   *string
	RowValues *JSONObject `bun:"type:json"`
	// Attempt numbers the runs of the same test, row and variant in the execution, from 1.
	Attempt int32
	// Variant is the label of the variant that is tried. Nil without variants.
	Variant *string
	// RejudgeOfID is the run whose conversation is judged again. Nil if the run has its own conversation.
	RejudgeOfID *string
	Status      AgentTestRunStatus
	// Snapshot is the test, without its rows, and the agent when the run was created. The execution stores them for
	// all of its runs, so the field is set only if the caller asked for it.
	Snapshot      RunSnapshot `bun:"type:json"`
	PromptVersion int32
	// IsDraft is set if the run tries a draft prompt or a variant.
	IsDraft bool `bun:",nullzero"`
	// Claim fences the work on the run. It grows each time a worker claims the run, and only the worker with the current
	// claim may write the result. It is 0 before the first claim. Lost counts the workers that were lost while they
	// worked on the run.
	Claim int32
	Lost  int32

	Messages  []TestMessage `bun:"type:json"`
	ToolCalls []*ToolCall   `bun:"type:json"`
	TurnCount int32
	EndReason *string
	// Held has the data that a judge of the conversation needs besides its messages and calls. It is nil until the
	// conversation is over, and in runs that an older version of the program stored.
	Held         *HeldConversation `bun:"type:json"`
	CheckResults []CheckResult     `bun:"type:json,nullzero"`
	// Score is nil without weights.
	Score                *float64
	CriteriaResults      []CriterionResult     `bun:"type:json"`
	ClassificationResult *ClassificationResult `bun:"type:json"`
	Error                *RunError             `bun:"type:json"`
	// Extracted has the extracted values of the agent, by name. It is nil if none were extracted. ExtractionError is the
	// reason if the extraction failed.
	Extracted       *JSONObject `bun:"type:json"`
	ExtractionError *string
	// Compared is how many criteria were also decided by an earlier judgment of the same conversation. Agreed is how
	// many of these results are the same.
	Compared *int32
	Agreed   *int32
	// JudgeModel has the names of the models that judged, separated by ", ". JudgePrompt is the version of the judge's
	// instructions. Both are nil if no criterion needed a judge.
	JudgeModel  *string
	JudgePrompt *string
	// IsDoubtful is true if people should check the verdict. It is nil in runs that an older version of the program stored
	// without their judge.
	IsDoubtful *bool
	// Version is the execution's version at the last change.
	Version    int32
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	DurationMs *int32

	// Spent is the run's cost, which is recorded when the run finishes. Nil if there is none.
	Spent *UsageEntry `bun:"-"`
}

// RunSnapshot is the test, the agent's own definition, and the prompt versions of its sub-agents, when the run was
// created. The run uses the current tools, and everything else of the current sub-agents.
type RunSnapshot struct {
	Test  *AgentTestRow `json:"test"`
	Agent *Agent        `json:"agent"`
	// VirtualTime records simulated delays without waiting for them.
	VirtualTime bool `json:"virtualTime"`
	// Votes is how often the judge evaluates each criterion. 0 means once.
	Votes int32 `json:"votes,omitempty"`
	// JudgeModel is the judge. Empty for the default judge.
	JudgeModel string `json:"judgeModel,omitempty"`
}

// CriterionResult is the verdict on one criterion.
type CriterionResult struct {
	Criterion string `json:"criterion"`
	// Filled is the criterion with its placeholders filled. Empty if it has none.
	Filled string `json:"expected,omitempty"`
	// Weight is the weight of the criterion in the score. Nil if the criterion is required.
	Weight    *int32     `json:"weight,omitempty"`
	Passed    bool       `json:"passed"`
	Rationale string     `json:"rationale"`
	Evidence  []Evidence `json:"evidence"`
	// DoesNotApply is true if the criterion is neither met nor missed.
	DoesNotApply bool `json:"doesNotApply,omitempty"`
	// ByProgram is true if rules decided instead of the judge.
	ByProgram bool `json:"byProgram,omitempty"`
	// Agreement is the share of the judge's votes for the result. Nil without votes.
	Agreement *float64 `json:"agreement,omitempty"`
}

// Weigh computes and sets the score. It reports whether the run fails regardless of the missing verdicts.
func (r *AgentTestRun) Weigh() bool {
	isMissed, earned, decided, remaining := false, int32(0), int32(0), r.Snapshot.Test.weight()
	add := func(weight *int32, passed bool) {
		switch {
		case weight == nil:
			isMissed = isMissed || !passed
			return
		case passed:
			earned += *weight
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
			remaining -= *result.Weight
		}
	}
	r.Score = ratio(earned, decided)
	most := ratio(earned+remaining-decided, remaining)
	return isMissed || most != nil && *most < r.Snapshot.Test.passAt()
}

// ratio returns the quotient, or nil if the divisor is 0.
func ratio(part, whole int32) *float64 {
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

// HasIdleWeights reports whether the weights have no effect. They have none unless PassAt is below 1: a score of 1
// needs all weighted criteria.
func (t *AgentTestRow) HasIdleWeights() bool {
	return t.weight() > 0 && (t.PassAt == nil || *t.PassAt >= 1)
}

// Expected returns the criterion as it was judged.
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

// Evidence is a verbatim quote from a message of the run.
type Evidence struct {
	MessageIndex int32  `json:"messageIndex"`
	Quote        string `json:"quote"`
	// ToolCallID is the call of the message that contains the quote. Nil for the message itself.
	ToolCallID *string `json:"toolCallId,omitempty"`
	// Speaker is the author of the message. Nil in verdicts that an older version of the program stored.
	Speaker *MessageRole `json:"speaker,omitempty"`
	// Kind is the part that contains the quote. Nil in verdicts that an older version of the program stored.
	Kind *EvidenceKind `json:"kind,omitempty"`
}

// AgentTestRunFilter narrows a list of runs. Empty fields add no condition.
type AgentTestRunFilter struct {
	ExecutionID *string
	// TestID may be the id of a deleted test. AgentID selects only the runs of tests that still exist.
	TestID, AgentID *string
	Status          *AgentTestRunStatus
	Statuses        []AgentTestRunStatus
}

// HasState reports whether the filter includes runs in the state.
func (f AgentTestRunFilter) HasState(status AgentTestRunStatus) bool {
	return (f.Status == nil || *f.Status == status) && (f.Statuses == nil || slices.Contains(f.Statuses, status))
}

// Validate returns BAD_INPUT when TestID is empty or there are too many statuses.
func (f AgentTestRunFilter) Validate() error {
	var faults Fields
	faults.Filter("testId", f.TestID)
	faults.list("statuses", len(f.Statuses), len(AllAgentTestRunStatus))
	return faults.Err()
}

// Cursor returns the position of this object in a list of runs.
func (r *AgentTestRun) Cursor() Cursor { return Cursor{r.CreatedAt, r.ID} }

// IsFinal reports whether the status never changes again.
func (s AgentTestRunStatus) IsFinal() bool {
	return s != AgentTestRunStatusQueued && s != AgentTestRunStatusRunning
}
