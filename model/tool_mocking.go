package model

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of mocks.
const (
	maxMocks          = 256
	maxRules          = 20
	maxExpressions    = 20
	maxResultTemplate = 50_000
	maxFailureBody    = 10_000
)

// ToolMocking configures what a simulation mocks. Its zero value mocks nothing.
type ToolMocking struct {
	MockedTools      []MockedTool     `json:"mockedTools"`
	MockAllTools     bool             `json:"mockAllTools"`
	MockedSubAgents  []MockedSubAgent `json:"mockedSubAgents"`
	MockAllSubAgents bool             `json:"mockAllSubAgents"`
	MockCallTransfer bool             `json:"mockCallTransfer"`
	// CallTransferFailure is how the mocked transfer fails, or nil if it succeeds.
	CallTransferFailure *CallTransferFailure `json:"callTransferFailure,omitempty"`
	// SideEffects allows or denies unmocked calls. Empty means Allow.
	SideEffects SideEffects `json:"sideEffects"`
}

// Validate returns BAD_INPUT with every bound that the mocking of the argument toolMocking breaks. A nil mocking is
// valid.
func (m *ToolMocking) Validate() error {
	var faults Fields
	faults.mocking("toolMocking", m)
	return faults.Err()
}

// CountsCalls reports whether an answer depends on the number of earlier calls of its target.
func (m *ToolMocking) CountsCalls() bool {
	counts := func(mock Mock) bool {
		return slices.ContainsFunc(mock.Rules, func(rule MockRule) bool { return rule.CallIndex != nil })
	}
	return slices.ContainsFunc(m.MockedTools, func(t MockedTool) bool { return counts(t.Mock) }) ||
		slices.ContainsFunc(m.MockedSubAgents, func(s MockedSubAgent) bool { return counts(s.Mock) })
}

// Mock configures the answers of a mocked target.
type Mock struct {
	// ResultTemplate is the result, with placeholders. Nil or empty means a default that reports success.
	ResultTemplate *string `json:"resultTemplate"`
	DelaySeconds   float64 `json:"delaySeconds"`
	// Rules take precedence over the template. The first one that matches answers.
	Rules []MockRule `json:"rules"`
}

// MockedTool is a tool with its mock.
type MockedTool struct {
	ToolID string `json:"toolId"`
	Mock
}

// MockedSubAgent is a sub-agent with its mock.
type MockedSubAgent struct {
	SubAgentID string `json:"subAgentId"`
	Mock
}

// MockRule answers the calls that have the index and satisfy every condition.
type MockRule struct {
	When []MockCondition `json:"when"`
	// CallIndex is the number of the target's call in the conversation, from 0. Nil matches any call.
	CallIndex      *int32       `json:"callIndex"`
	ResultTemplate *string      `json:"resultTemplate"`
	DelaySeconds   float64      `json:"delaySeconds"`
	Failure        *MockFailure `json:"failure"`
}

// MockCondition is a condition on one argument. All of its set fields must hold.
type MockCondition struct {
	Argument string  `json:"argument"`
	Equals   *string `json:"equals"`
	Matches  *string `json:"matches"`
	Present  *bool   `json:"present"`
}

// MockFailure is a failure that a mock simulates.
type MockFailure struct {
	Kind MockFailureKind `json:"kind"`
	// Status is the status of an HttpError. Nil means 500.
	Status *int32 `json:"status"`
	// Body is the body of an HttpError.
	Body *string `json:"body,omitempty"`
}

// Denies reports whether unmocked calls are refused.
func (m *ToolMocking) Denies() bool { return m.SideEffects == SideEffectsDeny }

// expressions counts the regular expressions of all conditions.
func (m *ToolMocking) expressions() (n int) {
	count := func(rules []MockRule) (n int) {
		for _, r := range rules {
			for _, c := range r.When {
				if c.Matches != nil {
					n++
				}
			}
		}
		return n
	}
	for _, t := range m.MockedTools {
		n += count(t.Rules)
	}
	for _, s := range m.MockedSubAgents {
		n += count(s.Rules)
	}
	return n
}

// mocking records the faults that do not depend on the agent. The engine checks that the targets are connected to the
// agent, and mocked once.
func (f *Fields) mocking(path string, m *ToolMocking) {
	if m == nil {
		return
	}
	if m.CallTransferFailure != nil && !m.MockCallTransfer {
		f.Add(path+".callTransferFailure", "must be given together with mockCallTransfer")
	}
	isShort := f.list(path+".mockedTools", len(m.MockedTools), maxMocks)
	if !f.list(path+".mockedSubAgents", len(m.MockedSubAgents), maxMocks) || !isShort {
		return
	}
	if n := m.expressions(); n > maxExpressions {
		f.Add(path, "must have at most %d regular expressions, not %d", maxExpressions, n)
		return
	}
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
		f.condition(fmt.Sprintf("%s.when.%d", path, i), c)
	}
	if r.Failure == nil {
		return
	}
	if r.ResultTemplate != nil {
		f.Add(path+".resultTemplate", "must not be given together with failure")
	}
	f.count(path+".failure.status", r.Failure.Status, 400, 599)
	f.optional(path+".failure.body", r.Failure.Body, maxFailureBody)
	if r.Failure.Body != nil && r.Failure.Kind != MockFailureKindHTTPError {
		f.Add(path+".failure.body", "can be given only for HttpError")
	}
	if r.Failure.Status != nil && r.Failure.Kind != MockFailureKindHTTPError {
		f.Add(path+".failure.status", "can be given only for HttpError")
	}
}

func (f *Fields) condition(path string, c MockCondition) {
	f.text(path+".argument", c.Argument, 1, 200)
	f.optional(path+".equals", c.Equals, 10_000)
	f.optional(path+".matches", c.Matches, 1_000)
	if c.Equals == nil && c.Matches == nil && c.Present == nil {
		f.Add(path, "must give at least one of equals, matches and present")
	}
	f.expression(path+".matches", c.Matches)
}

// Check returns UNPROCESSABLE if a target of a mock is not among the tools and sub-agents, or is mocked twice. The
// error lists the connected ones.
func (m *ToolMocking) Check(tools []*Tool, subAgents []*SubAgent) error {
	connectedTools := Map(tools, func(t *Tool) connection { return connection{t.ID, t.TechnicalName} })
	connectedSubAgents := Map(subAgents, func(s *SubAgent) connection { return connection{s.ID, s.TechnicalName} })
	var faults Fields
	var sentences []string
	checkTarget := func(path, typeName string, connected []connection, id string, seen map[string]bool) {
		switch {
		case !slices.ContainsFunc(connected, func(c connection) bool { return c.id == id }):
			faults.Add(path, "is not connected to the agent")
			sentences = append(sentences, fmt.Sprintf("%s %q is not connected to the agent; connected: %s", typeName, id,
				listed(connected)))
		case seen[id]:
			faults.Add(path, "is mocked twice")
			sentences = append(sentences, fmt.Sprintf("%s %q is mocked twice", typeName, id))
		}
		seen[id] = true
	}
	seen := map[string]bool{}
	for i, t := range m.MockedTools {
		checkTarget(fmt.Sprintf("toolMocking.mockedTools.%d.toolId", i), "tool", connectedTools, t.ToolID, seen)
	}
	seen = map[string]bool{}
	for i, s := range m.MockedSubAgents {
		checkTarget(fmt.Sprintf("toolMocking.mockedSubAgents.%d.subAgentId", i), "sub-agent", connectedSubAgents,
			s.SubAgentID, seen)
	}
	if len(faults) == 0 {
		return nil
	}
	const most = 10
	if left := len(sentences) - most; left > 0 {
		sentences = append(sentences[:most], fmt.Sprintf("and %d more faults", left))
	}
	return &Error{Code: Unprocessable, Fields: faults, Message: strings.Join(sentences, "; ")}
}

type connection struct{ id, technicalName string }

func listed(connected []connection) string {
	if len(connected) == 0 {
		return "none"
	}
	const most = 10
	var names []string
	for _, c := range connected[:min(len(connected), most)] {
		names = append(names, fmt.Sprintf("%s (%s)", c.id, c.technicalName))
	}
	if len(connected) > most {
		names = append(names, fmt.Sprintf("and %d more", len(connected)-most))
	}
	return strings.Join(names, ", ")
}
