package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// everything is the introspection query of GraphQL tools.
const everything = `{ __schema {
	description queryType { name } mutationType { name } subscriptionType { name } types { ...full }
	directives { name description isRepeatable locations args(includeDeprecated: true) { ...input } }
} }
fragment full on __Type {
	__typename kind name description specifiedByURL isOneOf interfaces { ...reference } possibleTypes { ...reference }
	fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...input } type { ...reference }
		isDeprecated deprecationReason }
	inputFields(includeDeprecated: true) { ...input }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
}
fragment input on __InputValue { name description defaultValue isDeprecated deprecationReason type { ...reference } }
fragment reference on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`

// The longest introspection query of GraphQL tools is within the default limits. The second answer is cached.
func TestFullIntrospectionFitsTheDefaultLimits(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Reader")
	var first, second, unknown json.RawMessage
	g.must(t, key, everything, nil, &first)
	g.must(t, key, everything, nil, &second)
	require.Greater(t, len(first), 400_000)
	require.Equal(t, first, second)
	g.must(t, key, `{ __type(name: "Unknown") { name } agents { totalCount } __typename }`, nil, &unknown)
	require.JSONEq(t, `{"__type":null,"agents":{"totalCount":0},"__typename":"Query"}`, string(unknown))
}

// GraphQL tools distinguish an empty list ("none") from null ("does not apply").
func TestIntrospectionDistinguishesNullFromEmpty(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Reader")
	var answer map[string]map[string]any
	g.must(t, key, `{
		object: __type(name: "Agent") { ...lists }
		interface: __type(name: "Node") { ...lists }
		input: __type(name: "TestExpectationInput") { ...lists }
		enum: __type(name: "Channel") { ...lists }
		scalar: __type(name: "Int") { ...lists }
		__schema { queryType { ...lists fields { name type { ...lists ofType { ...lists } } } } }
	} fragment lists on __Type { kind isOneOf fields { name } interfaces { name } possibleTypes { kind } enumValues { name
		} inputFields { name } }`, nil, &answer)
	nulls := func(typeShown map[string]any) (names []string) {
		for _, name := range []string{"fields", "interfaces", "possibleTypes", "enumValues", "inputFields", "isOneOf"} {
			if typeShown[name] == nil {
				names = append(names, name)
			}
		}
		return names
	}
	require.Equal(t, []string{"possibleTypes", "enumValues", "inputFields", "isOneOf"}, nulls(answer["object"]))
	require.Equal(t, []string{"enumValues", "inputFields", "isOneOf"}, nulls(answer["interface"]))
	require.NotContains(t, answer["interface"]["possibleTypes"], map[string]any{"kind": "INTERFACE"})
	require.Equal(t, []string{"fields", "interfaces", "possibleTypes", "enumValues"}, nulls(answer["input"]))
	require.Equal(t, true, answer["input"]["isOneOf"])
	require.Equal(t, []string{"fields", "interfaces", "possibleTypes", "inputFields", "isOneOf"}, nulls(answer["enum"]))
	require.Len(t, nulls(answer["scalar"]), 6)
	query := answer["__schema"]["queryType"].(map[string]any)
	require.Equal(t, []string{"possibleTypes", "enumValues", "inputFields", "isOneOf"}, nulls(query))
	kinds := map[any]bool{}
	for _, field := range query["fields"].([]any) {
		typeShown := field.(map[string]any)["type"].(map[string]any)
		if kinds[typeShown["kind"]] = true; typeShown["kind"] == "NON_NULL" {
			require.Len(t, nulls(typeShown), 6)
		}
	}
	require.True(t, kinds["NON_NULL"])
}
