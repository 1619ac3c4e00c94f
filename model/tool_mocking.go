package model

import "fmt"

// ToolMocking says what is mocked in a simulation. Its zero value mocks nothing.
type ToolMocking struct {
	MockedTools      []MockedTool     `json:"mockedTools"`
	MockAllTools     bool             `json:"mockAllTools"`
	MockedSubAgents  []MockedSubAgent `json:"mockedSubAgents"`
	MockAllSubAgents bool             `json:"mockAllSubAgents"`
	MockCallTransfer bool             `json:"mockCallTransfer"`
}

// MockedTool is a tool with the result that stands for its own.
type MockedTool struct {
	ToolID         string  `json:"toolId"`
	ResultTemplate *string `json:"resultTemplate"`
	DelaySeconds   float64 `json:"delaySeconds"`
}

// MockedSubAgent is a sub-agent with the answer that stands for its own.
type MockedSubAgent struct {
	SubAgentID     string  `json:"subAgentId"`
	ResultTemplate *string `json:"resultTemplate"`
	DelaySeconds   float64 `json:"delaySeconds"`
}

// IsNothing reports whether nothing is mocked.
func (m *ToolMocking) IsNothing() bool {
	return m == nil || len(m.MockedTools) == 0 && len(m.MockedSubAgents) == 0 &&
		!m.MockAllTools && !m.MockAllSubAgents && !m.MockCallTransfer
}

// mocking records the faults that the mocking alone shows.
func (f *Fields) mocking(path string, m *ToolMocking) {
	if m == nil {
		return
	}
	for i, t := range m.MockedTools {
		f.mock(fmt.Sprintf("%s.mockedTools.%d", path, i), "toolId", t.ToolID, t.DelaySeconds)
	}
	for i, s := range m.MockedSubAgents {
		f.mock(fmt.Sprintf("%s.mockedSubAgents.%d", path, i), "subAgentId", s.SubAgentID, s.DelaySeconds)
	}
}

func (f *Fields) mock(path, idName, id string, delay float64) {
	if id == "" {
		f.Add(path+"."+idName, "must not be empty")
	}
	f.number(path+".delaySeconds", &delay, 0, 60)
}
