package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

func TestExpensiveOperationsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.QueryCost = 4 }))
	require.Equal(t, http.StatusOK, f.post(t, "{ hello tree { child { name } } }").status)
	require.Equal(t, http.StatusOK, f.post(t, "query ($no: Boolean!) { hello company live a: hello b: hello "+
		"@include(if: $no) }", map[string]any{"no": false}).status)

	a := f.post(t, "query ($yes: Boolean!) { hello company live a: hello b: hello @include(if: $yes) }",
		map[string]any{"yes": true})
	require.Equal(t, http.StatusBadRequest, a.status)
	err, code := a.fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code)
	require.Equal(t, "the operation costs 5, more than the limit of 4. The field hello costs most: request fewer items, "+
		"or fewer fields of each", err["message"])
	require.NotContains(t, a.json, "data")

	for query, costliest := range map[string]string{
		"{ hello tree { child { child { name } child { name } } } }":                                      "tree.child",
		"{ tree { ...f } } fragment f on Tree { it: child { child { name } name } }":                      "tree.it.child.name",
		"{ tree { ... { child { child { child { name } } } } name a: name b: name } }":                    "tree.child.child.child.name",
		"query ($yes: Boolean! = true) { hello tree { child { a: name b: name } name @skip(if: $yes) } }": "tree.child",
	} {
		err, _ := f.post(t, query).fault(t)
		require.Contains(t, err["message"], " The field "+costliest+" costs most", query)
	}

	f.post(t, "mutation { a: increment b: increment c: increment d: increment e: increment }")
	require.Zero(t, f.root.Increments.Load(), "refused before anything runs")

	a = f.do(t, call{method: "POST", path: "/graphql", body: `{"query":"{ hello live }","extensions":{"cost":true}}`})
	require.JSONEq(t, `{"requested":2,"limit":4}`, jsonOf(t, a.json["extensions"].(map[string]any)["cost"]))
	a = f.do(t, call{method: "POST", path: "/graphql",
		body: `{"query":"{ hello live company a: hello b: hello }","extensions":{"cost":true}}`})
	require.JSONEq(t, `{"requested":5,"limit":4}`, jsonOf(t, a.json["extensions"].(map[string]any)["cost"]))
	require.NotContains(t, f.post(t, "{ hello }").json, "extensions")

	free := start(t, settings(func(s *gateway.Settings) { s.QueryCost = 0 }))
	require.Equal(t, http.StatusOK, free.post(t, "{ hello company live a: hello b: hello }").status)
}

func TestLargeResponsesAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.ResponseBytes = 1000 }))
	echo := func(bytes int) answer {
		return f.post(t, "query ($text: String) { echo(input: {text: $text}) hello }",
			map[string]any{"text": strings.Repeat("x", bytes)})
	}
	require.NotContains(t, echo(500).json, "errors")

	large := echo(1000)
	err, code := large.fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code)
	require.Contains(t, err["message"], "1000 bytes")
	require.Len(t, large.json["errors"], 1)
	require.Nil(t, large.json["data"])

	// Names count, and so do values with neither name nor text.
	_, code = f.post(t, "{ "+strings.Repeat("x", 1000)+": live }").fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code)
	_, code = f.post(t, "{ a: live b: live c: live d: live e: live f: live g: live h: live i: live j: live k: live l: "+
		"live m: live n: live o: live p: live }").fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code)
}

// The executor writes type names without calling a resolver.
func TestResponseLimitCountsTypenames(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.ResponseBytes = 1000 }))
	require.Equal(t, map[string]any{"tree": map[string]any{"__typename": "Tree"}}, f.post(t, "{ tree { __typename ...T "+
		"...T } } fragment T on Tree { __typename ...U } fragment U on Tree { __typename }").json["data"])
	long := strings.Repeat("x", 1000) + ": __typename"
	for _, query := range []string{
		"{ tree { " + long + " } }",
		"{ tree { ... on Tree { " + long + " } } }",
		"{ tree { ...T } } fragment T on Tree { ...U } fragment U on Tree { " + long + " }",
	} {
		a := f.post(t, query)
		_, code := a.fault(t)
		require.Equal(t, "LIMIT_EXCEEDED", code)
		require.Nil(t, a.json["data"])
	}
}

// The work of the executor is bounded too, even if it produces few bytes.
func TestResponseWorkIsBounded(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.ResponseWork = 4 }))
	require.NotContains(t, f.post(t, "{ a: live b: live c: live d: live }").json, "errors")
	a := f.post(t, "{ a: live b: live c: live d: live e: live }")
	err, code := a.fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code)
	require.Contains(t, err["message"], "more than the limit of 4 units of work (")
	require.Len(t, a.json["errors"], 1)
	require.Nil(t, a.json["data"])

	require.NotContains(t, f.post(t, "{ tree { a: __typename b: __typename name } }").json, "errors")
	_, code = f.post(t, "{ tree { a: __typename b: __typename c: __typename name } }").fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code, "type names are work too")

	a = f.post(t, "mutation { a: increment b: increment c: increment d: increment e: increment }")
	require.NotContains(t, a.json, "errors", "an error after the commit would hide what a mutation has done")
	require.EqualValues(t, 5, f.root.Increments.Load())

	free := start(t, settings(func(s *gateway.Settings) { s.ResponseWork = 0 }))
	require.NotContains(t, free.post(t, "{ a: live b: live c: live d: live e: live }").json, "errors")
}

// Mutations after the limit still run.
func TestMutationsRunPastTheResponseLimit(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.ResponseBytes = 100 }))
	err, code := f.post(t, "mutation { a: increment b: increment c: increment }").fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code)
	require.Contains(t, err["message"], "the mutation was executed, but its response is left out, because making it takes")
	require.EqualValues(t, 3, f.root.Increments.Load())
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
