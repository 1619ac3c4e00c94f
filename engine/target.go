package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// target is a possible call of an agent, and the effect of the call.
type target struct {
	model.CallCoverage
	description string
	// parameters is a JSON Schema of type object.
	parameters json.RawMessage
	// requiredText names the parameter that must not be blank, if any. The schema has no pattern for this rule, because a
	// model might mistake a string with a pattern for a code.
	requiredText string
	// tool or subAgent is the target. Both are nil for the transfer and the end.
	tool     *model.Tool
	subAgent *model.SubAgent
	// mock answers the calls. It is nil unless the effect is Mocked.
	mock *model.Mock
}

const requestSchema = `{"type":"object","properties":{"request":{"type":"string",` +
	`"description":"What is asked of it, with everything that it has to know: it does not see this conversation."}},` +
	`"required":["request"],"additionalProperties":false}`

// endTarget is the target with which the agent ends the conversation. A call of it is recorded only if it is invalid.
var endTarget = target{
	CallCoverage: model.CallCoverage{TechnicalName: llm.EndConversation},
	description:  "Ends the conversation for good, after what you say in the same answer.",
	parameters:   json.RawMessage(llm.ReasonSchema), requiredText: "reason",
}

// targets returns what the speaker can call in a chat with this mocking. The model gets the targets in this order.
func (s *Speaker) targets(mocking *model.ToolMocking, canTransfer bool) []*target {
	targets := make([]*target, 0, len(s.Tools)+len(s.SubAgents)+1)
	for _, tool := range s.Tools {
		targets = append(targets, (&target{
			CallCoverage: model.CallCoverage{Kind: model.ToolCallKindTool, TargetID: &tool.ID,
				TechnicalName: tool.TechnicalName},
			description: tool.Description, parameters: json.RawMessage(tool.Parameters), tool: tool,
			mock: mockOfTool(mocking, tool.ID),
		}).setEffect(mocking.Denies() || tool.Approval == model.ToolApprovalDeny, tool.CanBeCalled()))
	}
	for _, sub := range s.SubAgents {
		// Delegating is not a side effect, though the other agent may have side effects.
		targets = append(targets, (&target{
			CallCoverage: model.CallCoverage{Kind: model.ToolCallKindSubAgent, TargetID: &sub.ID,
				TechnicalName: sub.TechnicalName},
			description: sub.Description, parameters: json.RawMessage(requestSchema), requiredText: "request", subAgent: sub,
			mock: mockOfSubAgent(mocking, sub.ID),
		}).setEffect(false, sub.DelegateAgentID != s.Agent.ID))
	}
	if s.Agent.CanTransfer() {
		transfer := &target{
			CallCoverage: model.CallCoverage{Kind: model.ToolCallKindCallTransfer, TechnicalName: llm.TransferCall},
			description:  "Transfers the contact to a human, which ends the conversation with you.",
			parameters:   json.RawMessage(llm.ReasonSchema), requiredText: "reason",
		}
		if mocking.MockCallTransfer {
			transfer.mock = &model.Mock{}
		}
		targets = append(targets, transfer.setEffect(mocking.Denies(), canTransfer))
	}
	return targets
}

// setEffect sets the effect of a target. The target's mock must be set before.
func (t *target) setEffect(denied, possible bool) *target {
	switch {
	case t.mock != nil:
		t.Effect = model.CallEffectMocked
	case denied:
		t.Effect = model.CallEffectDenied
	case !possible:
		t.Effect = model.CallEffectUnavailable
	default:
		t.Effect = model.CallEffectReal
	}
	return t
}

// sample makes the sample of a tool's endpoint answer the calls, if there is one. The sample replaces real calls, and a
// mock that has neither a result nor rules.
func (t *target) sample(samples map[string]*model.Mock) *target {
	if t.tool == nil || t.tool.Endpoint == nil {
		return t
	}
	sample := samples[string(t.tool.Endpoint.Method)+" "+t.tool.Endpoint.URL]
	isBare := t.mock != nil && t.mock.ResultTemplate == nil && len(t.mock.Rules) == 0
	if sample != nil && (isBare || t.Effect == model.CallEffectReal) {
		t.mock, t.Effect = sample, model.CallEffectMocked
	}
	return t
}

// unfillable returns warnings about placeholders of mocks that no declared parameter or variable can fill.
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

// parametersOf returns the names of the parameters that a schema declares. The second result is false if the schema has
// a keyword, such as $ref, that might declare further parameters.
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
