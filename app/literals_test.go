package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Object literals in a query keep the order of their keys. Numbers that no float can represent stay exact.
func TestObjectsInQueriesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Literal")
	const create = `mutation ($word: String, $whole: JSONObject, $unset: String) {
		a: createTool(input: {name: "A", technicalName: "a", parameters: {type: "object", required: ["z", "a"], properties: {
			z: {type: "number", maximum: 1234567890123456789, multipleOf: 0.10},
			a: {enum: [$word, null, true, -1.50e2, {y: 1, x: []}, {}], description: "say \"it\"",
				title: $unset}}}}) { tool { parameters } }
		b: createTool(input: {name: "B", technicalName: "b", parameters: $whole}) { tool { parameters } } }`
	variables := map[string]any{
		"word": "w", "whole": json.RawMessage(
			`{"type": "object", "properties": {"z": {"maximum": 1234567890123456789}, "a": {}}}`),
	}
	for _, name := range []string{"First", "Second, from the cache of queries"} {
		_, key := g.company(t, name)
		a := g.query(t, key, create, variables)
		require.Empty(t, a.Errors)
		require.Equal(t, `{"a":{"tool":{"parameters":{"type":"object","required":["z","a"],"properties":{`+
			`"z":{"type":"number","maximum":1234567890123456789,"multipleOf":0.10},`+
			`"a":{"enum":["w",null,true,-1.50e2,{"y":1,"x":[]},{}],"description":"say \"it\""}}}}},`+
			`"b":{"tool":{"parameters":{"type":"object","properties":{"z":{"maximum":1234567890123456789},"a":{}}}}}}`,
			string(a.Data))
	}

	a := g.query(t, key, `mutation ($p: JSONObject = {type: "object", properties: {b: {}, a: {}}}) {
		createTool(input: {name: "C", technicalName: "c", parameters: $p}) { tool { parameters } } }`, nil)
	require.Equal(t, `{"createTool":{"tool":{"parameters":{"type":"object","properties":{"b":{},"a":{}}}}}}`,
		string(a.Data), "a default keeps it too")

	const large = `{"type":"object","maximum":12345678901234567890123,"enum":[1e400,{"a":-1E+999}]}`
	a = g.query(t, key, `mutation { createTool(input: {name: "E", technicalName: "e", parameters: {type: "object",
		maximum: 12345678901234567890123, enum: [1e400, {a: -1E+999}]}}) { tool { parameters } } }`, nil)
	require.Empty(t, a.Errors)
	require.Equal(t, `{"createTool":{"tool":{"parameters":`+large+`}}}`, string(a.Data))
	for _, wrong := range []string{`[{a: 1}]`, `"{}"`, `7`, `A`} {
		a := g.query(t, key, `mutation { createTool(input: {name: "D", technicalName: "d", parameters: `+wrong+
			`}) { tool { id } } }`, nil)
		require.NotEmpty(t, a.Errors, wrong)
	}
}

// An empty list in a query is the same as in a variable.
func TestEmptyListsMatchNone(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Empty")
	runningCampaign(t, tenant, 1)
	for _, a := range []answer{
		g.query(t, key, `{ campaigns(filter: {statuses: []}) { totalCount } }`, nil),
		g.query(t, key, `query ($f: CampaignFilter) { campaigns(filter: $f) { totalCount } }`,
			map[string]any{"f": map[string]any{"statuses": []string{}}}),
	} {
		require.Empty(t, a.Errors)
		require.Equal(t, `{"campaigns":{"totalCount":0}}`, string(a.Data))
	}
}
