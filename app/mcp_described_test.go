package app_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/graph"
)

// TestMCPDescriptionsNameWhatExists requires that every tool, input and output that a description names exists. The
// descriptions of inputs come from the GraphQL API, and can name inputs that the tool does not have.
func TestMCPDescriptionsNameWhatExists(t *testing.T) {
	t.Parallel()
	inputs := map[string]bool{}
	for _, definition := range graph.NewExecutableSchema(graph.Config{}).Schema().Types {
		for _, field := range definition.Fields {
			inputs[field.Name] = inputs[field.Name] || definition.Kind == ast.InputObject
			for _, argument := range field.Arguments {
				inputs[argument.Name] = true
			}
		}
	}
	g := startGateway(t)
	_, key := g.company(t, "Named")
	tools := listTools(t, assistant(t, g.url, key, nil))
	outputs := map[string]bool{}
	for _, one := range tools {
		properties(one.OutputSchema, func(name, _ string) { outputs[name] = true })
	}
	quoted, camel := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`\b[a-z]+[A-Z]\w*`)
	snake := regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)
	checked := 0
	for name, one := range tools {
		own := map[string]bool{}
		properties(one.InputSchema, func(property, _ string) { own[property] = true })
		for _, other := range snake.FindAllString(one.Description, -1) {
			require.Contains(t, tools, other, name)
			checked++
		}
		for _, other := range camel.FindAllString(one.Description, -1) {
			require.True(t, own[other] || outputs[other], "%s: %s is no input or output", name, other)
			checked++
		}
		properties(one.InputSchema, func(property, description string) {
			for _, other := range quoted.FindAllStringSubmatch(description, -1) {
				isMember := strings.Contains(description, "agent's "+other[0]) && outputs[other[1]]
				require.True(t, !inputs[other[1]] || own[other[1]] || isMember, "%s.%s: no input %s", name, property, other[1])
				require.NotContains(t, other[1], "Input.", "%s.%s names a type that the tool does not show", name, property)
				checked++
			}
		})
	}
	require.Greater(t, checked, 60)
}

// properties visits the properties of a JSON Schema at every depth, with their descriptions.
func properties(schema any, visit func(name, description string)) {
	switch node := schema.(type) {
	case []any:
		for _, one := range node {
			properties(one, visit)
		}
	case map[string]any:
		all, _ := node["properties"].(map[string]any)
		for name, one := range all {
			about, _ := one.(map[string]any)["description"].(string)
			visit(name, about)
		}
		for name, one := range node {
			if name != "default" && name != "enum" {
				properties(one, visit)
			}
		}
	}
}

func TestMCPFaultsListKnownProperties(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Known")
	s := assistant(t, g.url, key, nil)
	text, failed := callTool(t, s, "find_agents", map[string]any{"limit": 3})
	require.True(t, failed)
	require.Contains(t, text,
		"\n- limit: is not a known property: the known ones are nameContains, channel, first, after\n")
	text, _ = callTool(t, s, "start_chat",
		map[string]any{"agentId": "a", "toolMocking": map[string]any{"all": true}})
	require.Contains(t, text,
		"- toolMocking.all: is not a known property: the known ones are mockedTools, mockAllTools")
}

// Mocks of single tools do not allow real calls of the others.
func TestMCPRefusesRealCallsBesideMocks(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Mocks")
	s := assistant(t, g.url, key, nil)
	w := &worker{T: t, session: s}
	agent := w.use("create_agent", members{"name": "A", "channel": "Web", "direction": "Inbound", "language": "en",
		"prompt": "Answer."}).text("id")
	for given, wanted := range map[string]string{"": "Deny", "Deny": "Deny", "Allow": "Allow"} {
		mocking := members{"mockCallTransfer": true}
		if given != "" {
			mocking["sideEffects"] = given
		}
		id := w.use("create_test", members{"agentId": agent, "name": "Asks " + given, "scenario": "Asks.",
			"checks":      []members{{"expect": members{"says": members{"text": "hello"}}, "weight": 3}},
			"toolMocking": mocking}).text("id")
		test := w.use("get_test", members{"testId": id})
		require.Equal(t, wanted, test.text("toolMocking.sideEffects"))
		// update_test accepts the values that get_test returns.
		w.use("update_test", members{"testId": id, "checks": test["checks"], "toolMocking": test["toolMocking"]})
		require.Equal(t, test, w.use("get_test", members{"testId": id}))
	}
	require.NotEmpty(t, tenant)
	tool := listTools(t, s)["start_chat"].InputSchema.(map[string]any)
	require.Equal(t, "Deny", members(tool).at("properties.toolMocking.properties.sideEffects.default"))
}
