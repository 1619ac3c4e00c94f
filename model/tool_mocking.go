package model

import (
	"fmt"
	"regexp"
)

// Bounds of mocks.
const (
	maxMocks          = 256
	maxRules          = 20
	maxResultTemplate = 50_000
)

// ToolMocking says what is mocked in a simulation. Its zero value mocks nothing.
type ToolMocking struct {
	MockedTools      []MockedTool     `json:"mockedTools"`
	MockAllTools     bool             `json:"mockAllTools"`
	MockedSubAgents  []MockedSubAgent `json:"mockedSubAgents"`
	MockAllSubAgents bool             `json:"mockAllSubAgents"`
	MockCallTransfer bool             `json:"mockCallTransfer"`
	// SideEffects says whether what is not mocked may happen; empty means Allow.
	SideEffects SideEffects `json:"sideEffects"`
}

// Mock is how a mocked target answers.
type Mock struct {
	// ResultTemplate is handed back, its placeholders filled; nil or empty means DefaultMockResult.
	ResultTemplate *string `json:"resultTemplate"`
	DelaySeconds   float64 `json:"delaySeconds"`
	// Rules go before the template, the first that matches.
	Rules []MockRule `json:"rules"`
}

// MockedTool is a tool with the result that stands for its own.
type MockedTool struct {
	ToolID string `json:"toolId"`
	Mock
}

// MockedSubAgent is a sub-agent with the answer that stands for its own.
type MockedSubAgent struct {
	SubAgentID string `json:"subAgentId"`
	Mock
}

// MockRule is how a mock answers the calls that match: every condition holds and the call has the index.
type MockRule struct {
	When []MockCondition `json:"when"`
	// CallIndex counts the calls of the target in the conversation from 0; nil for any.
	CallIndex      *int32       `json:"callIndex"`
	ResultTemplate *string      `json:"resultTemplate"`
	DelaySeconds   float64      `json:"delaySeconds"`
	Failure        *MockFailure `json:"failure"`
}

// MockCondition is a condition on one argument: all that is given must hold.
type MockCondition struct {
	Argument string  `json:"argument"`
	Equals   *string `json:"equals"`
	Matches  *string `json:"matches"`
	Present  *bool   `json:"present"`
}

// MockFailure is a failure that a mock simulates.
type MockFailure struct {
	Kind MockFailureKind `json:"kind"`
	// Status is that of an HttpError; nil means 500.
	Status *int32 `json:"status"`
}

// Denies reports whether what is not mocked must not happen.
func (m *ToolMocking) Denies() bool { return m.SideEffects == SideEffectsDeny }

// mocking records the faults that the mocking alone shows. Whether its targets are connected to the
// agent, and named once, is for the engine, which knows the agent.
func (f *Fields) mocking(path string, m *ToolMocking) {
	if m == nil {
		return
	}
	f.list(path+".mockedTools", len(m.MockedTools), maxMocks)
	f.list(path+".mockedSubAgents", len(m.MockedSubAgents), maxMocks)
	for i, t := range m.MockedTools {
		at := fmt.Sprintf("%s.mockedTools.%d", path, i)
		f.text(at+".toolId", t.ToolID, 1, 64)
		f.mock(at, t.Mock)
	}
	for i, s := range m.MockedSubAgents {
		at := fmt.Sprintf("%s.mockedSubAgents.%d", path, i)
		f.text(at+".subAgentId", s.SubAgentID, 1, 64)
		f.mock(at, s.Mock)
	}
}

func (f *Fields) mock(path string, m Mock) {
	f.optional(path+".resultTemplate", m.ResultTemplate, maxResultTemplate)
	f.number(path+".delaySeconds", &m.DelaySeconds, 0, 60)
	f.list(path+".rules", len(m.Rules), maxRules)
	for i, r := range m.Rules {
		f.mockRule(fmt.Sprintf("%s.rules.%d", path, i), r)
	}
}

func (f *Fields) mockRule(path string, r MockRule) {
	f.list(path+".when", len(r.When), maxRules)
	f.count(path+".callIndex", r.CallIndex, 0, 10_000)
	f.optional(path+".resultTemplate", r.ResultTemplate, maxResultTemplate)
	f.number(path+".delaySeconds", &r.DelaySeconds, 0, 60)
	for i, c := range r.When {
		at := fmt.Sprintf("%s.when.%d", path, i)
		f.text(at+".argument", c.Argument, 1, 200)
		f.optional(at+".equals", c.Equals, 10_000)
		f.optional(at+".matches", c.Matches, 1_000)
		if c.Equals == nil && c.Matches == nil && c.Present == nil {
			f.Add(at, "must give at least one of equals, matches and present")
		}
		if c.Matches != nil {
			if _, err := regexp.Compile(*c.Matches); err != nil {
				f.Add(at+".matches", "must be a regular expression in RE2 syntax")
			}
		}
	}
	if r.Failure == nil {
		return
	}
	if r.ResultTemplate != nil {
		f.Add(path+".resultTemplate", "must not be given together with failure")
	}
	f.count(path+".failure.status", r.Failure.Status, 400, 599)
	if r.Failure.Status != nil && r.Failure.Kind != MockFailureKindHTTPError {
		f.Add(path+".failure.status", "must be given for HttpError alone")
	}
}
