package rest

import (
	"context"
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
)

// things is a schema with a deprecated field, a deprecated operation and a deprecated input.
const things = `
	directive @requires(scope: Scope!) on FIELD_DEFINITION
	enum Scope { browse }
	"A thing."
	type Thing {
		"Its id." id: ID!
		"Its old name." label: String @deprecated(reason: "It is called name.")
	}
	type Query {
		"One thing." thing(id: ID!): Thing @requires(scope: browse)
		"An old thing." oldThing(id: ID!): Thing @requires(scope: browse) @deprecated(reason: "Use thing.")
		"A thing by name." named(name: String @deprecated(reason: "Use thing.")): Thing @requires(scope: browse)
	}`

const thingOperations = `
	query GetLabel($id: ID!) { thing(id: $id) { ...ThingResource } }
	query GetId($id: ID!) { thing(id: $id) { thingId: id } }
	query GetOld($id: ID!) { oldThing(id: $id) { thingId: id } }
	query GetNamed($name: String) { named(name: $name) { thingId: id } }
	fragment ThingResource on Thing { id label }`

var dates = deprecation{since: "2026-01-31", sunset: "2026-08-01"}

// thingServer serves the routes of a table over the schema things.
func thingServer(t *testing.T, table ...route) (http.Handler, error) {
	t.Helper()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: things})
	require.NoError(t, err)
	all, err := stored.Read(fstest.MapFS{"operations/a.graphql": {Data: []byte(thingOperations)}})
	require.NoError(t, err)
	endpoints, err := newEndpoints(schema, all, table)
	server := handler.New(&backend{schema: schema})
	server.AddTransport(&Transport{
		Options:   Options{Status: statusOf, TraceID: func(context.Context) string { return "trace-1" }},
		endpoints: endpoints, types: schema.Types,
	})
	return server, err
}

func thingRoutes() []route {
	return []route{
		{method: "GET", path: "/Label/{id}", operation: "GetLabel", result: "thing", deprecated: dates},
		{method: "GET", path: "/Thing/{id}", operation: "GetId", result: "thing"},
		{method: "GET", path: "/Old/{id}", operation: "GetOld", result: "oldThing", deprecated: dates},
		{method: "GET", path: "/Named", operation: "GetNamed", result: "named", deprecated: dates},
	}
}

func TestDeprecatedRoutesSendTheirEndDate(t *testing.T) {
	t.Parallel()
	server, err := thingServer(t, thingRoutes()...)
	require.NoError(t, err)
	for path, deprecated := range map[string]bool{"/Label/t": true, "/Thing/t": false, "/Old/t": true, "/Named": true,
		"/Old/t?wrong=1": true} {
		header := call(server, "GET", path, "").Header()
		if !deprecated {
			require.NotContains(t, header, "Deprecation", path)
			require.NotContains(t, header, "Sunset", path)
			continue
		}
		require.Equal(t, "@1769817600", header.Get("Deprecation"), path)
		require.Equal(t, "Sat, 01 Aug 2026 00:00:00 GMT", header.Get("Sunset"), path)
	}
}

func TestDeprecationNeedsDates(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]deprecation{
		"it has no date of the deprecation": {},
		"less than 6 months":                {since: "2026-01-31", sunset: "2026-07-30"},
		"cannot parse":                      {since: "31 January", sunset: "2026-07-30"},
		`parsing time ""`:                   {since: "2026-01-31"},
	} {
		table := thingRoutes()
		table[2].deprecated = d
		_, err := thingServer(t, table...)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "/Old/{id}")
	}
	table := thingRoutes()
	table[1].deprecated = dates
	_, err := thingServer(t, table...)
	require.ErrorContains(t, err, "the schema marks none of its fields as @deprecated")
}
