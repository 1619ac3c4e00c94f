package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Faults of variables have the path of the field that is absent, unknown or of the wrong type.
func TestFaultsOfVariablesNameTheField(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Inputs")
	a := g.query(t, key, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }`,
		map[string]any{"input": map[string]any{"name": "Desk", "channel": "web", "language": "en", "prompt": "Help.", "nmae": "x",
			"fields": []any{map[string]any{"isMandatory": true}}}})
	fields := map[string][]string{}
	for _, e := range a.Errors {
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", e.Extensions.Code)
		for path, texts := range e.Extensions.Fields {
			fields[path] = texts
		}
	}
	require.Equal(t, map[string][]string{
		"input.channel":       {`Value does not exist in "Channel" enum.`},
		"input.direction":     {"is required"},
		"input.fields.0.name": {"is required"},
		"input.nmae":          {"is unknown"},
	}, fields)
	a = g.query(t, key, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }`, nil)
	require.Equal(t, map[string][]string{"input": {"is required"}}, a.Errors[0].Extensions.Fields)
}
