package gateway_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// resolutions counts resolved fields.
type resolutions struct{ atomic.Int64 }

func (*resolutions) ExtensionName() string                   { return "Resolutions" }
func (*resolutions) Validate(graphql.ExecutableSchema) error { return nil }

func (r *resolutions) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	r.Add(1)
	return next(ctx)
}

func TestIntrospectionResponsesAreCached(t *testing.T) {
	t.Parallel()
	resolved := &resolutions{}
	f := start(t, func(o *gateway.Options) { o.Extensions = append(o.Extensions, resolved) })
	send := func(body string) string {
		return f.do(t, call{method: "POST", path: "/graphql", body: body, headers: []string{"Accept: " + graphqlType}}).text
	}
	// again sends a request twice, and reports whether the second request resolved any field.
	again := func(body string) bool {
		first, before := send(body), resolved.Load()
		require.NotContains(t, first, "errors")
		require.Equal(t, first, send(body))
		return resolved.Load() > before
	}
	require.False(t, again(body(t, `{ __schema { types { name } } }`)))
	const two = `{"query": "query A { __type(name: \"Tree\") { name } } query B { __type(name: \"Int\") { name } }",
		"operationName": "`
	require.False(t, again(two+`A"}`))
	require.Contains(t, send(two+`B"}`), `"Int"`)
	require.True(t, again(body(t, `query ($name: String!) { __type(name: $name) { name } }`,
		map[string]any{"name": "Tree"})), "it depends on variables")
	require.True(t, again(body(t, `{ __type(name: "Tree") { name } hello }`)), "the query reads more than the schema")
}
