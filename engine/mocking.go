package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// MockingOf returns the mocking of a chat with its defaults filled in.
func MockingOf(given *model.ToolMocking) *model.ToolMocking {
	mocking := model.ToolMocking{}
	if given != nil {
		mocking = *given
	}
	if mocking.SideEffects == "" {
		mocking.SideEffects = model.SideEffectsAllow
	}
	return &mocking
}

// mockOfTool returns the mock of a tool, or nil.
func mockOfTool(mocking *model.ToolMocking, id string) *model.Mock {
	for i := range mocking.MockedTools {
		if mocking.MockedTools[i].ToolID == id {
			return &mocking.MockedTools[i].Mock
		}
	}
	if mocking.MockAllTools {
		return &model.Mock{}
	}
	return nil
}

// mockOfSubAgent returns the mock of a sub-agent, or nil.
func mockOfSubAgent(mocking *model.ToolMocking, id string) *model.Mock {
	for i := range mocking.MockedSubAgents {
		if mocking.MockedSubAgents[i].SubAgentID == id {
			return &mocking.MockedSubAgents[i].Mock
		}
	}
	if mocking.MockAllSubAgents {
		return &model.Mock{}
	}
	return nil
}

// delegated returns the mocking in the conversations of sub-agents, whose own tools and sub-agents cannot be mocked.
func delegated(mocking *model.ToolMocking) *model.ToolMocking {
	return &model.ToolMocking{
		MockCallTransfer: mocking.MockCallTransfer, CallTransferFailure: mocking.CallTransferFailure, SideEffects: mocking.SideEffects,
	}
}

// unfillable returns warnings about placeholders of mocks that no declared parameter or variable fills.
func unfillable(targets []*target, variables content.Values) []string {
	var warnings []string
	for _, t := range targets {
		parameters, closed := parametersOf(t.parameters)
		if t.mock == nil || !closed {
			continue
		}
		templates := []*string{t.mock.ResultTemplate}
		for i := range t.mock.Rules {
			templates = append(templates, t.mock.Rules[i].ResultTemplate)
		}
		for _, template := range templates {
			if template == nil {
				continue
			}
			_, unknown := fillResult(*template, func(name string) any {
				first, _, _ := strings.Cut(name, ".")
				if value, isVariable := variables.Text(name); isVariable {
					return value
				}
				if parameters[name] || parameters[first] {
					return ""
				}
				return nil
			})
			warnings = append(warnings, content.Unfilled("the mock of "+t.TechnicalName, unknown)...)
		}
	}
	return warnings
}

// parametersOf returns the names that a schema declares, and whether the schema is simple enough for these to be all.
func parametersOf(schema json.RawMessage) (map[string]bool, bool) {
	var keywords map[string]json.RawMessage
	if err := json.Unmarshal(schema, &keywords); err != nil {
		return nil, false
	}
	plain := []string{"type", "properties", "required", "additionalProperties", "title", "description", "$schema"}
	for keyword := range keywords {
		if !slices.Contains(plain, keyword) {
			return nil, false
		}
	}
	var properties map[string]json.RawMessage
	if declared, ok := keywords["properties"]; ok {
		if err := json.Unmarshal(declared, &properties); err != nil {
			return nil, false
		}
	}
	names := make(map[string]bool, len(properties))
	for name := range properties {
		names[name] = true
	}
	return names, true
}
