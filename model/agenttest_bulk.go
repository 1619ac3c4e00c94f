package model

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxBulk bounds the tests that one mutation creates, moves, copies or deletes.
const maxBulk = 100

// Path returns the path of the faults of the i-th test.
func (in CreateAgentTestsInput) Path(i int) string {
	kind := "simulation"
	if in.Tests[i].Classification != nil {
		kind = "classification"
	}
	return fmt.Sprintf("tests.%d.%s.", i, kind)
}

// NewTests returns the tests that the input describes, or BAD_INPUT with every bound that they break.
func (in CreateAgentTestsInput) NewTests(now time.Time) ([]*AgentTestRow, error) {
	var faults Fields
	if len(in.Tests) == 0 {
		faults.Add("tests", "must have at least one test")
	}
	if !faults.list("tests", len(in.Tests), maxBulk) {
		return nil, faults.Err()
	}
	tests := make([]*AgentTestRow, len(in.Tests))
	for i, one := range in.Tests {
		var err error
		switch {
		case (one.Simulation == nil) == (one.Classification == nil):
			faults.Add(fmt.Sprintf("tests.%d", i), "must be either a simulation or a classification")
			continue
		case one.Simulation != nil:
			var test *SimulationTest
			test, err = NewSimulationTest(*one.Simulation, now)
			tests[i] = test.AgentTestRow
		default:
			var test *ClassificationTest
			test, err = NewClassificationTest(*one.Classification, now)
			tests[i] = test.AgentTestRow
		}
		var known *Error
		if errors.As(err, &known) {
			faults.AddAll(in.Path(i), known.Fields)
		} else if err != nil {
			return nil, err
		}
	}
	return tests, faults.Err()
}

// CheckTestIDs returns the distinct ids of tests, or BAD_INPUT when there are none or too many.
func CheckTestIDs(ids []string) ([]string, error) {
	var faults Fields
	if len(ids) == 0 {
		faults.Add("testIds", "must have at least one test")
	}
	faults.list("testIds", len(ids), maxBulk)
	return Unique(ids), faults.Err()
}

// Copy returns a copy of the test for the target in the input. mocked lists the sub-agents that the test mocks. own
// lists the sub-agents of the target agent. Mocks move to the target's sub-agents with the same technical names.
func (t *AgentTestRow) Copy(in CopyAgentTestsInput, mocked, own []*SubAgent, now time.Time) *AgentTestRow {
	test := *t
	test.ID, test.CreatedAt, test.UpdatedAt = NewID("test"), now, now
	test.LastRunID, test.LastRunStatus, test.LastRunAt = nil, nil, nil
	if in.AgentID != nil && *in.AgentID != t.AgentID {
		test.AgentID, test.FolderID = *in.AgentID, nil
		if t.ToolMocking != nil {
			mocking := *t.ToolMocking
			mocking.MockedSubAgents = slices.Clone(mocking.MockedSubAgents)
			for i, mock := range mocking.MockedSubAgents {
				mocking.MockedSubAgents[i].SubAgentID = counterpart(mock.SubAgentID, mocked, own)
			}
			test.ToolMocking = &mocking
		}
	}
	if in.FolderID != nil {
		test.FolderID = in.FolderID
	}
	return &test
}

// counterpart returns the id of the own sub-agent with the same technical name. If there is none, it returns id.
func counterpart(id string, mocked, own []*SubAgent) string {
	from := slices.IndexFunc(mocked, func(s *SubAgent) bool { return s.ID == id })
	if from < 0 {
		return id
	}
	at := slices.IndexFunc(own, func(s *SubAgent) bool { return s.TechnicalName == mocked[from].TechnicalName })
	if at < 0 {
		return id
	}
	return own[at].ID
}
