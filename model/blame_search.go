package model

import (
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of searches.
const (
	// minBlameRepeats is one less than the fewest runs of a step that can decide it.
	minBlameRepeats = 4
	// MaxBlameChanges is the largest number of changes that a search examines.
	MaxBlameChanges = 200
	maxBlameSteps   = 20
	// usualSteps is the number of steps of a search whose first suspect is the cause. They try the old prompt, the new
	// one, the new one with the suspect restored, and the old one without the suspect.
	usualSteps = 4
	// maxTries is how often a search repeats the steps with all changes restored and with none before it gives up.
	maxTries = 4
)

// OtherCauses are what can break a test besides the agent's prompt.
const OtherCauses = "sub-agents, models, tools, documents and the test"

// BlameSearch is a search for the changes of a prompt that broke a test.
type BlameSearch struct {
	bun.BaseModel `bun:"table:blame_searches,alias:blame_search"`
	Owned

	ID     string `bun:",pk"`
	TestID string
	// RowKey is the key of the test's row, empty without rows.
	RowKey      string
	RowNumber   *int32
	RowName     *string
	GoodVersion int32
	BadVersion  int32
	Repeats     int32
	Changes     []*PromptChange `bun:"type:json"`
	Status      BlameStatus
	Steps       []*BlameStep `bun:"type:json"`
	// ExecutionID is the execution of the last step.
	ExecutionID string
	// Outcome is the verdict, empty before there is one.
	Outcome BlameVerdict `bun:"verdict,nullzero"`
	// CauseNumbers are the numbers of the changes that broke the test.
	CauseNumbers   []int32 `bun:"cause,type:json"`
	IsOnlyCause    *bool
	RestoredPrompt *string
	Error          *string
	// APIKeyID is the key that started the search, or nil if the key was not recorded.
	APIKeyID *string
	// Version grows with every change.
	Version    int32
	CreatedAt  time.Time
	FinishedAt *time.Time
}

// BlameStep is a draft execution with some changes restored.
type BlameStep struct {
	Restored    []int32 `json:"restored"`
	ExecutionID string  `json:"executionId"`
	// Judged and Passed count the runs. They are nil while the step is in progress.
	Judged *int32 `json:"judged,omitempty"`
	Passed *int32 `json:"passed,omitempty"`
	// IsRepaired takes all steps with the same changes into account. It is nil if they restore all changes or none, if
	// they do not decide it, and while the step is in progress.
	IsRepaired *bool `json:"isRepaired,omitempty"`
}

// Cursor returns the position of this object in a list.
func (s *BlameSearch) Cursor() Cursor { return Cursor{s.CreatedAt, s.ID} }

// IsFinished reports whether the search never changes again.
func (s *BlameSearch) IsFinished() bool { return s.Status != BlameStatusRunning }

// Verdict returns the result, or nil before there is one.
func (s *BlameSearch) Verdict() *BlameVerdict {
	if s.Outcome == "" {
		return nil
	}
	return &s.Outcome
}

// RunsAtMost is the most runs that the search starts.
func (s *BlameSearch) RunsAtMost() int32 { return maxSteps(len(s.Changes)) * s.Repeats }

// Cause returns the changes that broke the test.
func (s *BlameSearch) Cause() []*PromptChange {
	return slices.DeleteFunc(slices.Clone(s.Changes),
		func(c *PromptChange) bool { return !slices.Contains(s.CauseNumbers, c.Number) })
}

// maxSteps bounds the steps of a search.
func maxSteps(changes int) int32 { return int32(min(2*maxTries*changes, maxBlameSteps)) }

// NewBlameSearch returns a search for the cause of the failure. blame is nil if the test is not red. It returns
// BAD_INPUT when repeats are out of bounds, and UNPROCESSABLE when there is nothing to search.
func NewBlameSearch(in StartBlameInput, blame *AgentTestBlame, now time.Time) (*BlameSearch, error) {
	var faults Fields
	if faults.count("repeats", &in.Repeats, minBlameRepeats, MaxRepeats); len(faults) > 0 {
		return nil, faults.Err()
	}
	switch {
	case blame == nil:
		faults.Add("testId", "names a test that is not red: its newest judged run must have failed, and an earlier "+
			"one passed")
	case len(blame.Changes) == 0:
		faults.Add("testId", "names a test whose prompt did not change between the run that passed and the one that "+
			"failed; check "+OtherCauses+", changed since")
	case len(blame.Changes) > MaxBlameChanges:
		faults.Add("testId", "names a test with %d changes between its prompts, but a search can examine at most %d",
			len(blame.Changes), MaxBlameChanges)
	}
	if len(faults) > 0 {
		return nil, faults.As(Unprocessable)
	}
	return &BlameSearch{
		ID: NewID("blame"), TestID: in.TestID, RowKey: blame.RowKey, RowNumber: blame.RowNumber, RowName: blame.RowName,
		GoodVersion: blame.GoodVersion, BadVersion: blame.BadVersion, Repeats: in.Repeats, Changes: blame.Changes,
		Status: BlameStatusRunning, Steps: []*BlameStep{}, CauseNumbers: []int32{}, Version: 1, CreatedAt: now,
	}, nil
}

// Execution returns the draft execution of the last step, with the prompt.
func (s *BlameSearch) Execution(prompt string) StartAgentTestExecutionInput {
	return StartAgentTestExecutionInput{TestIds: []string{s.TestID}, Repeats: s.Repeats, Concurrency: blameConcurrency,
		VirtualTime: true, Prompt: &prompt}
}

// blameConcurrency is how many runs of a step may be in progress at once.
const blameConcurrency = 5

// Record ends the last step with the counts of its execution. It ends the search when no run was judged.
func (s *BlameSearch) Record(counts *AgentTestRunCounts, isCancelled bool, now time.Time) {
	step := s.Steps[len(s.Steps)-1]
	step.Judged, step.Passed = new(counts.Judged()), &counts.Passed
	switch {
	case isCancelled:
		s.End(BlameStatusCancelled, now)
	case *step.Judged == 0:
		s.Fail("no run of the last step was judged: read its execution "+step.ExecutionID, now)
	case len(step.Restored) > 0 && len(step.Restored) < len(s.Changes):
		if isRepaired, isKnown := s.repairs(s.sum(step.Restored)); isKnown {
			step.IsRepaired = &isRepaired
		}
	}
}

// Fail ends the search with a reason.
func (s *BlameSearch) Fail(reason string, now time.Time) {
	s.Error = &reason
	s.End(BlameStatusFailed, now)
}

// End ends the search with a status.
func (s *BlameSearch) End(status BlameStatus, now time.Time) {
	s.Status, s.FinishedAt = status, &now
}

// Conclude ends the search with a verdict. bad is the failing prompt.
func (s *BlameSearch) Conclude(verdict BlameVerdict, bad string, now time.Time) {
	s.Outcome = verdict
	if len(s.CauseNumbers) > 0 {
		s.RestoredPrompt = new(RestorePrompt(bad, s.Changes, s.CauseNumbers))
	}
	s.End(BlameStatusCompleted, now)
}
