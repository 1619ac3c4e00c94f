package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

func TestAcceptSelectsTheMediaType(t *testing.T) {
	t.Parallel()
	f := start(t)
	for accept, want := range map[string]string{
		"":                                  jsonType,
		"*/*":                               jsonType,
		"application/*":                     jsonType,
		jsonType:                            jsonType,
		graphqlType:                         graphqlType,
		graphqlType + ", */*":               graphqlType,
		jsonType + ", " + graphqlType:       graphqlType,
		jsonType + ";q=0.9, " + graphqlType: graphqlType,
		graphqlType + ";q=0.1, " + jsonType + ";q=0.9": jsonType,
		graphqlType + ";q=0, */*":                      jsonType,
		"text/html, */*;q=0.1":                         jsonType,
		jsonType + ", " + eventType:                    jsonType,
		jsonType + ";q=0.5, " + eventType:              eventType,
		eventType:                                      eventType,
	} {
		a := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "{ hello }"),
			headers: []string{"Accept: " + accept}})
		require.Equal(t, http.StatusOK, a.status, accept)
		require.Equal(t, want+"; charset=utf-8", a.header.Get("Content-Type"), accept)
	}
}

func TestTrailingSlashIsAccepted(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.BasePath = "/agents" }))
	for _, path := range []string{"/graphql", "/graphql/", "/agents/graphql", "/agents/graphql/"} {
		require.Equal(t, http.StatusOK, f.do(t, call{method: "POST", path: path, body: body(t, "{ hello }")}).status, path)
		require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: path + "?query=%7Bhello%7D"}).status, path)
	}
	require.Equal(t, http.StatusNotFound, f.do(t, call{method: "POST", path: "/graphql//", body: body(t, "{ hello }")}).
		status)
}

// Each error has the same trace id as its log line.
func TestEveryErrorHasATraceID(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, c := range []call{
		{method: "POST", body: body(t, "{")}, {method: "POST", body: body(t, "{ nothing }")}, {method: "POST", body: "{"},
		{method: "PUT"},
		{method: "POST", body: body(t, "{ fail(how: MODEL) }")}, {method: "POST", body: body(t, "{ fail(how: PANIC) }")},
		{method: "GET"},
		{method: "POST", body: body(t, "{ hello }"), headers: []string{"X-Api-Key: ag_wrong"}},
		{method: "POST", body: body(t, deep(40))},
		{method: "POST", body: body(t, "query($of: [Int!]!) { list(of: $of) }")},
	} {
		c.path = "/graphql"
		a := f.do(t, c)
		err, _ := a.fault(t)
		require.Equal(t, a.header.Get("X-Trace-Id"), err["extensions"].(map[string]any)["traceId"], a.text)
		require.NotEmpty(t, a.header.Get("X-Trace-Id"))
	}
}

// These requests fail before a GraphQL request is parsed.
func TestInvalidRequestsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	good := body(t, "{ hello }")
	for name, c := range map[string]struct {
		call
		status int
		allow  string
	}{
		"accepts no type of ours": {call{method: "POST", headers: []string{"Accept: text/csv"}, body: good}, 406, ""},
		"refuses all":             {call{method: "POST", headers: []string{"Accept: */*;q=0"}, body: good}, 406, ""},
		"plain text": {call{method: "POST", headers: []string{"Content-Type: text/plain"}, body: good},
			415, ""},
		"form": {call{method: "POST", headers: []string{"Content-Type: " +
			"application/x-www-form-urlencoded"}, body: "query=%7Bhello%7D"}, 415, ""},
		"multipart": {call{method: "POST", headers: []string{"Content-Type: multipart/form-data; " +
			"boundary=x"}, body: good}, 415, ""},
		"no content type": {call{method: "POST", headers: []string{"Content-Type:"}, body: good}, 415, ""},
		"other charset": {call{method: "POST", headers: []string{"Content-Type: application/json; " +
			"charset=utf-16"}, body: good}, 415, ""},
		"compressed": {call{method: "POST", headers: []string{"Content-Encoding: gzip"}, body: good},
			415, ""},
		"too large":     {call{method: "POST", body: strings.Repeat(" ", 1<<20) + good}, 413, ""},
		"empty":         {call{method: "POST"}, 400, ""},
		"invalid JSON":  {call{method: "POST", body: `{"query": "SECRET`}, 400, ""},
		"invalid UTF-8": {call{method: "POST", body: "{\"query\": \"\xff\"}"}, 400, ""},
		"half of a surrogate pair": {call{method: "POST", body: `{"query": "{ hello }", "variables": {"a": ["\ud800b"]}}`},
			400, ""},
		"half of a surrogate pair over GET": {call{method: "GET",
			path: "?query=%7Bhello%7D&variables=%7B%22a%22%3A%22%5Cud800%22%7D"}, 400, ""},
		"half of a surrogate pair in the query": {call{method: "POST", headers: []string{"Accept: " +
			"application/graphql-response+json"}, body: body(t, `{ echo(input: {text: "é\ude00"}) }`)}, 400, ""},
		"text after the JSON":       {call{method: "POST", body: good + " SECRET"}, 400, ""},
		"batch":                     {call{method: "POST", body: "[" + good + "]"}, 400, ""},
		"null":                      {call{method: "POST", body: "null"}, 400, ""},
		"no query":                  {call{method: "POST", body: "{}"}, 400, ""},
		"query of another type":     {call{method: "POST", body: `{"query": ["SECRET"]}`}, 400, ""},
		"member in another case":    {call{method: "POST", body: `{"Query": "{ hello }"}`}, 400, ""},
		"variables of another type": {call{method: "POST", body: `{"query": "{ hello }", "variables": [1]}`}, 400, ""},
		"operationName of another type": {call{method: "POST", body: `{"query": "{ hello }", "operationName": {}}`}, 400,
			""},
		"PUT":                           {call{method: "PUT", body: good}, 405, "GET, HEAD, POST"},
		"OPTIONS":                       {call{method: "OPTIONS"}, 405, "GET, HEAD, POST"},
		"GET without query":             {call{method: "GET"}, 400, ""},
		"GET with invalid variables":    {call{method: "GET", path: "?query=%7Bhello%7D&variables=%7B"}, 400, ""},
		"GET with an invalid escape":    {call{method: "GET", path: "?query=%zz"}, 400, ""},
		"mutation over GET":             {call{method: "GET", path: "?query=mutation%7Bincrement%7D"}, 405, "POST"},
		"subscription for one response": {call{method: "POST", body: body(t, "subscription { count(to: 1) }")}, 406, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.path = "/graphql" + c.path
			a := f.do(t, c.call)
			require.Equal(t, c.status, a.status, a.text)
			require.Equal(t, c.allow, a.header.Get("Allow"))
			require.NotContains(t, a.text, "SECRET")
			require.NotContains(t, a.json, "data")
			a.fault(t)
		})
	}
	t.Cleanup(func() { require.Zero(t, f.root.Increments.Load()) })
}

func TestErrorsListTheOperationsOfADocument(t *testing.T) {
	t.Parallel()
	f := start(t)
	many := ""
	for i := range 12 {
		many += fmt.Sprintf("query Q%d { hello } ", i)
	}
	for _, test := range []struct{ query, name, wanted string }{
		{"query A { hello } query B { hello }", "",
			"the document has several operations. Choose one with operationName: A, B"},
		{"query A { hello } query B { hello }", "C", "operation C not found. The document has: A, B"},
		{"{ hello }", "C", "operation C not found. The document has: one without a name"},
		{many, "C", "operation C not found. The document has: Q0, Q1, Q2, Q3, Q4, Q5, Q6, Q7, Q8, Q9, …"},
	} {
		sent, err := json.Marshal(map[string]any{"query": test.query, "operationName": test.name})
		require.NoError(t, err)
		a := f.do(t, call{method: "POST", path: "/graphql", body: string(sent)})
		fault, code := a.fault(t)
		require.Equal(t, test.wanted, fault["message"])
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", code)
	}
	require.Contains(t, f.do(t, call{method: "POST", path: "/graphql",
		body: `{"query":"query A { hello } query B { hello }","operationName":"B"}`}).json, "data")
}

func TestRequestErrorsHaveNoDataEntry(t *testing.T) {
	t.Parallel()
	f := start(t)
	for query, code := range map[string]string{
		"{":                                   "GRAPHQL_PARSE_FAILED",
		"{ nothing }":                         "GRAPHQL_VALIDATION_FAILED",
		"query A { hello } query B { hello }": "GRAPHQL_VALIDATION_FAILED",
		"query($a: Int!) { slow(milliseconds: $a) }": "GRAPHQL_VALIDATION_FAILED",
		"{ ... @defer { hello } }":                   "GRAPHQL_VALIDATION_FAILED",
	} {
		for accept, status := range map[string]int{graphqlType: 400, jsonType: 200} {
			a := f.do(t, call{method: "POST", path: "/graphql", body: body(t, query), headers: []string{"Accept: " + accept}})
			require.Equal(t, status, a.status, "%s as %s: %s", query, accept, a.text)
			require.NotContains(t, a.json, "data")
			_, got := a.fault(t)
			require.Equal(t, code, got)
		}
	}
}

func TestGetRunsQueries(t *testing.T) {
	t.Parallel()
	f := start(t)
	query := url.Values{"query": {"query Q($ms: Int!) { slow(milliseconds: $ms) }"}, "operationName": {""},
		"variables": {`{"ms": 1}`}, "extensions": {""}}
	a := f.do(t, call{method: "GET", path: "/graphql?" + query.Encode()})
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"data":{"slow":"done"}}`, a.text)

	a = f.do(t, call{method: "HEAD", path: "/graphql?query=%7Bhello%7D"})
	require.Equal(t, http.StatusOK, a.status)
	require.Empty(t, a.text)

	a = f.do(t, call{method: "HEAD", path: "/graphql?query=subscription%7Btick%7D",
		headers: []string{"Accept: " + eventType + ", */*"}})
	require.Equal(t, http.StatusNotAcceptable, a.status)
}

func TestMutationRunsOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	require.JSONEq(t, `{"data":{"increment":1}}`, f.post(t, "mutation { increment }").text)
	require.EqualValues(t, 1, f.root.Increments.Load())
}

func TestSlowRequestsTimeOut(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.RequestTimeout = 50 * time.Millisecond }))
	a := f.post(t, "{ slow(milliseconds: 60000) }")
	err, code := a.fault(t)
	require.Equal(t, "UNAVAILABLE", code)
	require.Equal(t, "the request took longer than 50ms", err["message"])
}

func TestSlowFieldsMayTakeLonger(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) {
		s.RequestTimeout = 50 * time.Millisecond
		s.SlowFields = map[string]time.Duration{"slow": 40 * time.Second}
	}))
	require.JSONEq(t, `{"data":{"slow":"done"}}`, f.post(t, "query { ...f } fragment f on Query { slow(milliseconds: "+
		"200) }").text)
}

func TestIntrospectionCanBeDisabled(t *testing.T) {
	t.Parallel()
	const query = `{ __type(name: "Tree") { name } }`
	require.JSONEq(t, `{"data":{"__type":{"name":"Tree"}}}`, start(t).post(t, query).text)

	closed := start(t, settings(func(s *gateway.Settings) { s.Introspection = false }))
	for _, q := range []string{query, "{ ...f } fragment f on Query { __schema { description } }"} {
		a := closed.post(t, q)
		err, code := a.fault(t)
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", code)
		require.Equal(t, "introspection is switched off on this server", err["message"])
	}
	open := start(t)
	for q, suggests := range map[string]bool{
		"{ helo }": true, "{ echo(inputs: {}) { text } }": true, "{ echo(input: {txt: 1}) { text } }": true,
		"{ ...f } fragment f on Quer { hello }": false,
	} {
		require.Equal(t, suggests, strings.Contains(open.post(t, q).text, "Did you mean"), q)
		require.NotContains(t, closed.post(t, q).text, "Did you mean", q)
	}
	require.JSONEq(t, `{"data":{"__typename":"Query"}}`, closed.post(t, "{ __typename }").text)
}
