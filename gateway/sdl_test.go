package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

func TestSchemaIsServedAsOneFile(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.do(t, call{method: "GET", path: "/schema.graphql"})
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "application/graphql; charset=utf-8", a.header.Get("Content-Type"))
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: a.text})
	require.NoError(t, err)
	require.NotNil(t, schema.Types["EchoInput"])
	require.NotContains(t, a.text, "__schema")
	require.Equal(t, http.StatusMethodNotAllowed, f.do(t, call{method: "POST", path: "/schema.graphql"}).status)
	require.Equal(t, http.StatusUnauthorized,
		f.do(t, call{method: "GET", path: "/schema.graphql", headers: []string{"X-Api-Key:"}}).status)
	page := start(t, func(o *gateway.Options) {
		o.Authenticate = func(context.Context, string) (model.Principal, error) {
			return model.Principal{CompanyID: "c1", KeyID: "k1", Reach: &model.Reach{}}, nil
		}
	})
	require.Equal(t, http.StatusForbidden, page.do(t, call{method: "GET", path: "/schema.graphql"}).status)
	closed := start(t, settings(func(s *gateway.Settings) { s.Introspection = false }))
	require.Equal(t, http.StatusNotFound, closed.do(t, call{method: "GET", path: "/schema.graphql"}).status)
}

func TestDescriptionsNameScopesAndCosts(t *testing.T) {
	t.Parallel()
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: `
		directive @requires(scope: String!, keyOnly: Boolean! = false) on FIELD_DEFINITION
		directive @openTo(scope: String!) on FIELD_DEFINITION
		directive @cost(weight: Int!, isShared: Boolean! = false) on FIELD_DEFINITION
		directive @listSize(assumedSize: Int) on FIELD_DEFINITION
		directive @modelDriven on FIELD_DEFINITION
		type Query {
			"Says hello."
			hello: String @requires(scope: "read") @openTo(scope: "chat") @cost(weight: 7) @modelDriven
			many: [Int!] @requires(scope: "admin", keyOnly: true) @cost(weight: 9, isShared: true) @listSize(assumedSize: 3)
			free: Int
		}`})
	for range 2 {
		text := gateway.SDL(schema)
		require.Equal(t, 1, strings.Count(text, "Says hello.\n  \n  Needs the scope `read`, or `chat`. Costs 7. Uses a "+
			"language model."), text)
		require.Equal(t, 1, strings.Count(text, "Needs the scope `admin`, and an API key rather than a token. Costs 9, "+
			"once for all objects on a level. Counts as 3 elements."))
	}
	require.Empty(t, schema.Query.Fields.ForName("free").Description)
}
