package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPathsMatchAsTheV1ServerDid(t *testing.T) {
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

func TestPathsThatAreNotThere(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	for _, path := range []string{
		"/", "/Agent", "/Agent/", "/Agent//chat", "/Agent/a/b", "/Agent/a/chat/b", "//Agent/a", "/Agent/a//", "/Nothing",
		"/Agent/a%00b", "/Agent/%ff", "/{agentId}",
	} {
		w := call(server, "GET", path, "")
		require.Equal(t, 404, w.Code, path)
		p := problemOf(t, w)
		require.Equal(t, "NOT_FOUND", string(p.Code))
	}
	require.Zero(t, b.calls)
}

func TestMethods(t *testing.T) {
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

func TestHead(t *testing.T) {
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

func TestSupports(t *testing.T) {
	t.Parallel()
	transport := &Transport{}
	for path, want := range map[string]bool{
		"/graphql": false, "/healthz": false, "/readyz": false, "/Agent/a": true, "/": true, "/nothing": true,
	} {
		require.Equal(t, want, transport.Supports(httptest.NewRequestWithContext(t.Context(), "GET", path, nil)), path)
	}
}
