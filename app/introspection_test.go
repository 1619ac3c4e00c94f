package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// everything is what tools ask of a schema.
const everything = `{ __schema {
	description queryType { name } mutationType { name } subscriptionType { name } types { ...full }
	directives { name description isRepeatable locations args(includeDeprecated: true) { ...input } }
} }
fragment full on __Type {
	__typename kind name description specifiedByURL isOneOf interfaces { ...reference } possibleTypes { ...reference }
	fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...input } type { ...reference } isDeprecated deprecationReason }
	inputFields(includeDeprecated: true) { ...input }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
}
fragment input on __InputValue { name description defaultValue isDeprecated deprecationReason type { ...reference } }
fragment reference on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`

// Plans describe the schema as the generated executor does.
func TestPlansDescribeTheSchema(t *testing.T) {
	t.Parallel()
	b := startBothWays(t)
	listsOfIntrospection(t, b)
	for _, text := range []string{
		everything,
		`query ($deprecated: Boolean = true, $name: String! = "Agent") { __type(name: $name) { fields(includeDeprecated: $deprecated) { name } } }`,
		`query ($deprecated: Boolean, $name: String! = "Channel") { __type(name: $name) { enumValues(includeDeprecated: $deprecated) { name } } }`,
		`{ __type(name: "Agent") { fields { name } all: fields(includeDeprecated: true) { name } } agents { totalCount } __typename }`,
		`{ __type(name: "Unknown") { name } agent(id: "Unknown") { id } }`,
	} {
		require.Equal(t, b.ask(t, b.resolved, operation{text: text}), b.ask(t, b.planned, operation{text: text}), text)
	}
	_, good := b.same(t, operation{text: everything})
	require.True(t, good)
}

// Tools tell "none" from "does not apply".
func listsOfIntrospection(t *testing.T, b *bothWays) {
	t.Helper()
	ask := operation{text: `{
		object: __type(name: "Agent") { ...lists }
		interface: __type(name: "Node") { ...lists }
		input: __type(name: "TestExpectationInput") { ...lists }
		enum: __type(name: "Channel") { ...lists }
		scalar: __type(name: "Int") { ...lists }
		__schema { queryType { ...lists fields { name type { ...lists ofType { ...lists } } } } }
	} fragment lists on __Type { kind isOneOf fields { name } interfaces { name } possibleTypes { kind } enumValues { name } inputFields { name } }`}
	text := b.ask(t, b.planned, ask)
	require.Equal(t, b.ask(t, b.resolved, ask), text)
	var answer struct{ Data map[string]map[string]any }
	require.NoError(t, json.Unmarshal([]byte(text[len("200 "):]), &answer))
	nulls := func(of map[string]any) (names []string) {
		for _, name := range []string{"fields", "interfaces", "possibleTypes", "enumValues", "inputFields", "isOneOf"} {
			if of[name] == nil {
				names = append(names, name)
			}
		}
		return names
	}
	require.Equal(t, []string{"possibleTypes", "enumValues", "inputFields", "isOneOf"}, nulls(answer.Data["object"]))
	require.Equal(t, []string{"enumValues", "inputFields", "isOneOf"}, nulls(answer.Data["interface"]))
	require.NotContains(t, answer.Data["interface"]["possibleTypes"], map[string]any{"kind": "INTERFACE"})
	require.Equal(t, []string{"fields", "interfaces", "possibleTypes", "enumValues"}, nulls(answer.Data["input"]))
	require.Equal(t, true, answer.Data["input"]["isOneOf"])
	require.Equal(t, []string{"fields", "interfaces", "possibleTypes", "inputFields", "isOneOf"}, nulls(answer.Data["enum"]))
	require.Len(t, nulls(answer.Data["scalar"]), 6)
	query := answer.Data["__schema"]["queryType"].(map[string]any)
	require.Equal(t, []string{"possibleTypes", "enumValues", "inputFields", "isOneOf"}, nulls(query))
	kinds := map[any]bool{}
	for _, field := range query["fields"].([]any) {
		of := field.(map[string]any)["type"].(map[string]any)
		if kinds[of["kind"]] = true; of["kind"] == "NON_NULL" {
			require.Len(t, nulls(of), 6)
		}
	}
	require.True(t, kinds["NON_NULL"])
}
