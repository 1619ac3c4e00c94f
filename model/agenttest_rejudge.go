package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxRejudgements bounds how often the conversations of an execution are judged again.
const MaxRejudgements = 20

// HeldConversation is the data about a run's conversation other than its messages and calls, which a judge of the
// conversation needs.
type HeldConversation struct {
	// EndedBy is "agent", "contact", or "limit" if the turns were used up.
	EndedBy string `json:"endedBy"`
	// IsMeasured is true if TookMs and SpentMicro are known.
	IsMeasured bool `json:"isMeasured,omitempty"`
	// TookMs is how long the agent took for its answers, and SpentMicro what agent and contact cost, in millionths of a
	// credit.
	TookMs     float64 `json:"tookMs,omitempty"`
	SpentMicro int64   `json:"spentMicro,omitempty"`
	// Tag is what the agent's classifier said, if it was asked; empty for no tag.
	Tag *string `json:"tag,omitempty"`
}

// JudgeAgreement is how often verdicts on the same conversations are the same.
type JudgeAgreement struct {
	// Runs passed or failed both times, and SameRuns of them came to the same.
	Runs, SameRuns int32
	// Criteria were decided both times, and SameCriteria of them came to the same.
	Criteria, SameCriteria int32
}

// Choose completes the input with the first of the models that can judge, if it asks for none. BAD_INPUT when it asks
// for another.
func (in *RejudgeAgentTestExecutionInput) Choose(models []string) error {
	if in.Model == nil {
		in.Model = &models[0]
	}
	var faults Fields
	if !slices.Contains(models, *in.Model) {
		faults.Add("model", "must be one of %s", strings.Join(models, ", "))
	}
	return faults.Err()
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in *RejudgeAgentTestExecutionInput) Validate() error {
	var faults Fields
	if in.Model != nil {
		faults.text("model", *in.Model, 1, 200)
	}
	faults.votes(in.Votes)
	faults.count("concurrency", &in.Concurrency, 1, maxConcurrency)
	if !in.Criteria.IsValid() {
		faults.Add("criteria", "must be one of %v", AllRejudgedCriteria)
	}
	if faults.list("tests", len(in.Tests), MaxRuns) {
		named := map[string]bool{}
		for i, test := range in.Tests {
			if named[test.TestID] {
				faults.Add(fmt.Sprintf("tests.%d.testId", i), "must name each test once")
			}
			named[test.TestID] = true
		}
	}
	return faults.Err()
}

// NewExecution returns the execution that judges the conversations of another one again, before it is created.
func (in *RejudgeAgentTestExecutionInput) NewExecution(of *AgentTestExecution) *AgentTestExecution {
	return &AgentTestExecution{
		Repeats: of.Repeats, Concurrency: in.Concurrency, Votes: votes(in.Votes), RejudgeOfID: &of.ID, JudgeModel: in.Model,
		AgentID: of.AgentID, IsDraft: of.IsDraft, DraftPrompt: of.DraftPrompt,
	}
}

// JudgedAs returns the test as it was with what the present one is judged by.
func (t *AgentTestRow) JudgedAs(present *AgentTestRow) *AgentTestRow {
	judged := *t
	judged.Criteria, judged.CriteriaWeights, judged.Checks = present.Criteria, present.CriteriaWeights, present.Checks
	judged.PassAt, judged.JudgeSees = present.PassAt, present.JudgeSees
	return &judged
}

// Judged returns a test of which the input says otherwise by what it is judged: the test itself where it says nothing.
// BAD_INPUT names what breaks a bound.
func (in *RejudgeAgentTestExecutionInput) Judged(test *AgentTestRow) (*AgentTestRow, error) {
	at := slices.IndexFunc(in.Tests, func(t *RejudgedTestInput) bool { return t.TestID == test.ID })
	if at < 0 {
		return test, nil
	}
	judged, other := *test, in.Tests[at]
	err := (&SimulationTest{&judged}).Update(UpdateSimulationTestInput{
		Criteria: other.Criteria, CriteriaWeights: other.CriteriaWeights, Checks: other.Checks, PassAt: other.PassAt,
		JudgeSees: other.JudgeSees,
	}, test.UpdatedAt)
	var fault *Error
	if errors.As(err, &fault) {
		var faults Fields
		faults.AddAll(fmt.Sprintf("tests.%d.", at), fault.Fields)
		return nil, faults.Err()
	}
	return &judged, err
}

// Compare notes how many criteria of the run were decided by another one too, which held its conversation, and how many
// of them came to the same.
func (r *AgentTestRun) Compare(held *AgentTestRun) {
	before := map[string]*CriterionResult{}
	for i := range held.CriteriaResults {
		before[held.CriteriaResults[i].Criterion] = &held.CriteriaResults[i]
	}
	compared, agreed := int32(0), int32(0)
	for _, now := range r.CriteriaResults {
		if was := before[now.Criterion]; was != nil {
			compared++
			if was.Passed == now.Passed && was.Applies() == now.Applies() {
				agreed++
			}
		}
	}
	r.Compared, r.Agreed = &compared, &agreed
}
