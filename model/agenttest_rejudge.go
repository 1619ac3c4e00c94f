package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxRejudgements bounds how often the conversations of an execution can be judged again.
const MaxRejudgements = 20

// HeldConversation has the data that a judge needs about a conversation, other than its messages and calls.
type HeldConversation struct {
	// EndedBy is "agent", "contact", or "limit" if the turn limit was reached.
	EndedBy string `json:"endedBy"`
	// IsMeasured is set if TookMs and SpentMicro are known.
	IsMeasured bool `json:"isMeasured,omitempty"`
	// TookMs is the total time of the agent's answers in milliseconds. SpentMicro is the cost of agent and contact,
	// in millionths of a credit.
	TookMs     float64 `json:"tookMs,omitempty"`
	SpentMicro int64   `json:"spentMicro,omitempty"`
	// ReviewMicro is the cost of the review of the contact, in millionths of a credit.
	ReviewMicro int64 `json:"reviewMicro,omitempty"`
	// Tag is the result of the agent's classifier, if it ran. Empty for no tag.
	Tag *string `json:"tag,omitempty"`
}

// JudgeAgreement counts how often two verdicts on the same conversations agree.
type JudgeAgreement struct {
	// Runs is how many runs passed or failed both times, and SameRuns how many had the same result.
	Runs, SameRuns int32
	// Criteria is how many criteria were decided both times, and SameCriteria how many had the same result.
	Criteria, SameCriteria int32
}

// Choose sets the judge to the first of the models if the input names none. It returns BAD_INPUT when the input names a
// model that is not in the list.
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

// NewExecution returns an execution, not yet created, that judges the conversations of another one again.
func (in *RejudgeAgentTestExecutionInput) NewExecution(original *AgentTestExecution) *AgentTestExecution {
	return &AgentTestExecution{
		Repeats: original.Repeats, Concurrency: in.Concurrency, Votes: votes(in.Votes),
		RejudgeOfID: &original.ID, JudgeModel: in.Model,
		AgentID: original.AgentID, IsDraft: original.IsDraft, DraftPrompt: original.DraftPrompt, Tried: original.Tried,
	}
}

// JudgedAs returns the test as it was at the time of the run, with the criteria that it has at present.
func (t *AgentTestRow) JudgedAs(present *AgentTestRow) *AgentTestRow {
	judged := *t
	judged.Criteria, judged.CriteriaWeights, judged.Checks = present.Criteria, present.CriteriaWeights, present.Checks
	judged.PassAt, judged.JudgeSees = present.PassAt, present.JudgeSees
	return &judged
}

// Judged returns the test with the criteria and checks that the input gives for it, or the test itself if the input
// gives none. It returns BAD_INPUT with each bound that they break.
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

// Compare compares the run with the earlier run that held its conversation. It records how many criteria both runs
// decided, and how many of these results agree.
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
