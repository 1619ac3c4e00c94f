package evaluation

import (
	"fmt"
	"slices"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// unknownTo returns warnings about tags, extracted values and calls that checks name and the agent does not have, and
// about turns that the test does not reach. Calls of agents that it delegates to count as its own.
func unknownTo(s *engine.Speaker, test *model.AgentTestRow, callable []*model.CallCoverage) []string {
	var warnings []string
	for i, check := range test.Checks {
		e := check.Expect
		if e.Tag != nil && !content.Placeholder().MatchString(*e.Tag) && !s.Agent.KnowsTag(*e.Tag) {
			warnings = append(warnings, fmt.Sprintf("check %d expects the tag %q, which the agent does not have", i+1, *e.Tag))
		}
		if e.Extracts != nil && !slices.ContainsFunc(s.Agent.ExtractedValues,
			func(v model.ExtractedValue) bool { return v.Name == e.Extracts.Name }) {
			warnings = append(warnings, fmt.Sprintf("check %d expects the value %q, which the agent does not extract", i+1,
				e.Extracts.Name))
		}
		for _, call := range checkedCalls(e) {
			if !canBeCalled(&call.NeverCalledExpectation, callable) {
				warnings = append(warnings, fmt.Sprintf("check %d expects %s %s, which the agent cannot make", i+1, call.role,
					&call.NeverCalledExpectation))
			}
		}
		for _, said := range []*model.SaidExpectation{e.Says, e.NeverSays} {
			if said != nil && said.Turn != nil && max(*said.Turn, -*said.Turn) > test.MaxTurns {
				warnings = append(warnings, fmt.Sprintf("check %d is about turn %d, but the test has at most %d", i+1, *said.Turn,
					test.MaxTurns))
			}
		}
	}
	return warnings
}

// checkedCall is a call that a check names. Its role follows the word "expects" in a warning.
type checkedCall struct {
	model.NeverCalledExpectation
	role string
}

// checkedCalls returns the calls that an expectation names, without the conditions on their arguments. An expectation
// that forbids a whole kind of calls names none.
func checkedCalls(e model.TestExpectation) (calls []checkedCall) {
	add := func(role string, name *string, kind *model.ToolCallKind) {
		calls = append(calls, checkedCall{model.NeverCalledExpectation{TechnicalName: name, Kind: kind}, role})
	}
	if e.Called != nil {
		add("a call of", e.Called.TechnicalName, e.Called.Kind)
		if e.Called.Before != nil {
			add("a call before a call of", e.Called.Before, nil)
		}
	}
	if e.NeverCalled != nil && e.NeverCalled.TechnicalName != nil {
		add("no call of", e.NeverCalled.TechnicalName, e.NeverCalled.Kind)
	}
	if e.ResultJSON != nil && e.ResultJSON.TechnicalName != nil {
		add("a result of a call of", e.ResultJSON.TechnicalName, nil)
	}
	return calls
}

// canBeCalled reports whether one of the calls is the expected one, whatever its arguments.
func canBeCalled(expected *model.NeverCalledExpectation, callable []*model.CallCoverage) bool {
	return slices.ContainsFunc(callable, func(c *model.CallCoverage) bool {
		return (expected.TechnicalName == nil || *expected.TechnicalName == c.TechnicalName) &&
			(expected.Kind == nil || *expected.Kind == c.Kind)
	})
}
