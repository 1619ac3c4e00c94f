package engine

import (
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// mockingOf is the mocking of a chat, nothing of it left open.
func mockingOf(given *model.ToolMocking) *model.ToolMocking {
	mocking := model.ToolMocking{}
	if given != nil {
		mocking = *given
	}
	if mocking.SideEffects == "" {
		mocking.SideEffects = model.SideEffectsAllow
	}
	return &mocking
}

// mockOfTool returns how a tool is mocked; nil when it is not.
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

// mockOfSubAgent returns how a sub-agent is mocked; nil when it is not.
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

// delegated is the mocking in the conversations of sub-agents: what they are connected to cannot be mocked.
func delegated(mocking *model.ToolMocking) *model.ToolMocking {
	return &model.ToolMocking{MockCallTransfer: mocking.MockCallTransfer, SideEffects: mocking.SideEffects}
}

// checkMocking returns UNPROCESSABLE when something is mocked that is none of the targets, which are named
// then, or when it is mocked twice.
func checkMocking(mocking *model.ToolMocking, targets []*target) error {
	c := mockingCheck{targets: targets, seen: map[string]bool{}}
	for i, m := range mocking.MockedTools {
		c.look(fmt.Sprintf("toolMocking.mockedTools.%d.toolId", i), "tool", model.ToolCallKindTool, m.ToolID)
	}
	for i, m := range mocking.MockedSubAgents {
		c.look(fmt.Sprintf("toolMocking.mockedSubAgents.%d.subAgentId", i), "sub-agent", model.ToolCallKindSubAgent, m.SubAgentID)
	}
	if len(c.faults) == 0 {
		return nil
	}
	return &model.Error{Code: model.Unprocessable, Fields: c.faults, Message: strings.Join(c.sentences, "; ")}
}

// mockingCheck looks for what is mocked among the targets.
type mockingCheck struct {
	targets   []*target
	seen      map[string]bool
	faults    model.Fields
	sentences []string
}

func (c *mockingCheck) look(path, noun string, kind model.ToolCallKind, id string) {
	known := false
	connected := []string{}
	for _, t := range c.targets {
		if t.Kind == kind {
			known = known || *t.TargetID == id
			connected = append(connected, fmt.Sprintf("%s (%s)", *t.TargetID, t.TechnicalName))
		}
	}
	key := noun + " " + id
	switch {
	case !known:
		names := "none"
		if len(connected) > 0 {
			names = strings.Join(connected, ", ")
		}
		c.faults.Add(path, "is not connected to the agent")
		c.sentences = append(c.sentences, fmt.Sprintf("%s %q is not connected to the agent; connected: %s", noun, id, names))
	case c.seen[key]:
		c.faults.Add(path, "is mocked twice")
		c.sentences = append(c.sentences, fmt.Sprintf("%s %q is mocked twice", noun, id))
	}
	c.seen[key] = true
}

// unfillable returns warnings about placeholders of mocks that neither a declared parameter nor a variable fills.
func unfillable(targets []*target, variables map[string]string) []string {
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
			_, unknown := fill(*template, maxResult, func(name string) (string, bool) {
				first, _, _ := strings.Cut(name, ".")
				_, isVariable := variables[name]
				return "", isVariable || parameters[name] || parameters[first]
			})
			for _, name := range unknown {
				warnings = append(warnings, fmt.Sprintf(
					"the mock of %s has the placeholder {%s}, which is neither a parameter of it nor a variable; it stays as it is", t.TechnicalName, name))
			}
		}
	}
	return warnings
}
