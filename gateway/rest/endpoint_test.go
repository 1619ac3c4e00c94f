package rest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
)

func TestPathsMatchLikeV1(t *testing.T) {
	t.Parallel()
	for path, id := range map[string]string{
		"/agent/agent_1":       "agent_1",
		"/AGENT/Agent_1":       "Agent_1",
		"/Agent/agent_1/":      "agent_1",
		"/Agent/a%2Fb%20c":     "a/b c",
		"/Agent/%C3%A9":        "é",
		"/Agent/%7BagentId%7D": "{agentId}",
		"/%41gent/agent_1":     "agent_1",
	} {
		b, server := newServer(t)
		w := call(server, "GET", path, "")
		require.Equal(t, 200, w.Code, path)
		require.Equal(t, id, b.variables["agentId"], path)
	}
}

func TestUnknownPathsAreNotFound(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	for _, path := range []string{
		"/", "/Agent", "/Agent/", "/Agent//chat", "/Agent/a/b", "/Agent/a/chat/b", "/Agent/a//", "/Nothing",
		"/Agent/a%00b", "/Agent/%ff", "/{agentId}",
	} {
		w := call(server, "GET", path, "")
		require.Equal(t, 404, w.Code, path)
		p := problemOf(t, w)
		require.Equal(t, "NOT_FOUND", string(p.Code))
	}
	require.Zero(t, b.calls)
}

func TestWrongMethodsAreRefused(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	for _, test := range []struct{ method, path, allow string }{
		{"POST", "/Agent/a", "GET, HEAD"},
		{"OPTIONS", "/agent/a/CHAT/", "DELETE, GET, HEAD, PUT"},
		{"GET", "/Agent/a/prompt", "PUT"},
		{"HEAD", "/Agent/a/prompt", "PUT"},
		{"DELETE", "/Dataset", "GET, HEAD, POST"},
		{"PUT", "/SimulationChat/start", "GET, HEAD, POST"},
		{"get", "/Agent/a", "GET, HEAD"},
	} {
		w := call(server, test.method, test.path, "")
		require.Equal(t, 405, w.Code, test.path)
		require.Equal(t, test.allow, w.Header().Get("Allow"), test.path)
		problemOf(t, w)
	}
	require.Zero(t, b.calls)
}

func TestLiteralSegmentIsAnIdForAnotherMethod(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	require.Equal(t, 200, call(server, "GET", "/SimulationChat/start", "").Code)
	require.Equal(t, "start", b.variables["simulationChatId"])
}

func TestHeadIsAnsweredLikeGet(t *testing.T) {
	t.Parallel()
	_, handler := newServer(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+"/Agent/a", nil)
	require.NoError(t, err)
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 200, response.StatusCode)
	require.EqualValues(t, len(agentBody), response.ContentLength)
}

func TestTransportSupportsOnlyREST(t *testing.T) {
	t.Parallel()
	transport := &Transport{}
	for path, want := range map[string]bool{
		"/graphql": false, "/healthz": false, "/readyz": false, "/Agent/a": true, "/": true, "/nothing": true,
	} {
		require.Equal(t, want, transport.Supports(httptest.NewRequestWithContext(t.Context(), "GET", path, nil)), path)
	}
}

func TestDoubledSlashesAreIgnored(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/v1/Agent/a": 200, "//Agent/a": 200, "///v1//Agent/a/": 200, "/V1/agent/a": 200, "/v1//Agent/a": 200,
		"/v1": 404, "/v1/": 404, "/v2/Agent/a": 404, "/v1/v1/Agent/a": 404, "/Agent//a": 404, "/Agent//chat": 404,
	} {
		_, server := newServer(t)
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, path)
	}
}

// A number outside of Int's range becomes the nearest Int, so each Int in a body needs its own bound.
func TestEveryIntOfABodyHasABound(t *testing.T) {
	t.Parallel()
	schema := theSchema(t)
	all, err := stored.Read(operations)
	require.NoError(t, err)
	endpoints, err := newEndpoints(schema, all, routes)
	require.NoError(t, err)
	found := map[string]bool{}
	var look func(fields ast.FieldList)
	look = func(fields ast.FieldList) {
		for _, field := range fields {
			switch fieldType := schema.Types[field.Type.Name()]; {
			case fieldType.Name == "Int":
				found[field.Name] = true
			case fieldType.Kind == ast.InputObject:
				look(stored.V1Fields(fieldType.Fields))
			}
		}
	}
	for _, e := range endpoints {
		look(e.members)
	}
	require.Equal(t, []string{
		"chunkTokenNum", "concurrency", "criteriaWeights", "max", "maxTurns", "min", "patience", "repeats", "taskPageSize",
		"topN", "turn", "turnsAtMost", "weight",
	}, slices.Sorted(maps.Keys(found)), "the tests of app check the bound of each")
}
