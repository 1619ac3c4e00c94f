package rest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestSingleObjectsHaveEntityTags(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	first := call(server, "GET", "/Dataset/d", "")
	tag := first.Header().Get("ETag")
	require.Regexp(t, `^"[A-Za-z0-9_-]{16}"$`, tag)
	require.Equal(t, tag, call(server, "HEAD", "/Dataset/d", "").Header().Get("ETag"))
	require.Equal(t, tag, call(server, "PATCH", "/Dataset/d", `{"name":"D"}`).Header().Get("ETag"), "the body is the same")
	for _, request := range []string{"GET /Dataset", "PUT /Agent/a/prompt", "POST /Dataset", "DELETE /Dataset/d"} {
		method, path, _ := strings.Cut(request, " ")
		require.Empty(t, call(server, method, path, map[string]string{"PUT": `{"prompt":"x"}`,
			"POST": `{"name":"D"}`}[method]).Header().Get("ETag"), request)
	}
	for known, status := range map[string]int{tag: 304, `"x", W/` + tag: 304, "*": 304, `"x"`: 200, "": 200} {
		w := call(server, "GET", "/Dataset/d", "", "If-None-Match: "+known)
		require.Equal(t, status, w.Code, known)
		require.Equal(t, tag, w.Header().Get("ETag"))
		if status == 304 {
			require.Empty(t, w.Body.String())
		}
	}
	b.gives(`{"dataset":{"id":"other"}}`)
	require.NotEqual(t, tag, call(server, "GET", "/Dataset/d", "").Header().Get("ETag"))
}

func TestChangesOfOutdatedVersionsAreRefused(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	for path, body := range map[string]string{
		"/Agent/a/prompt": `{"prompt":"x"}`, "/Agent/a/chat": `{"chatId":"c"}`, "/AgentTest/t": `{}`,
		"/AgentTestFolder/f":   `{}`,
		"/KnowledgeBaseChat/c": `{}`, "/Dataset/d": `{}`,
	} {
		method, read := "PATCH", path
		switch path {
		case "/Agent/a/prompt":
			method, read = "PUT", "/Agent/a"
		case "/Agent/a/chat":
			method = "PUT"
		}
		tag := call(server, "GET", read, "").Header().Get("ETag")
		before := b.calls
		p := problemOf(t, call(server, method, path, body, `If-Match: "other", W/`+tag))
		require.Equal(t, 412, p.Status, path)
		require.Equal(t, model.Conflict, p.Code)
		require.Equal(t, before+2, b.calls, "the object was read, and nothing was changed")
		for _, condition := range []string{tag, `"other", ` + tag} {
			w := call(server, method, path, body, "If-Match: "+condition)
			require.Equal(t, 200, w.Code, "%s: %s", path, w.Body)
			require.NotEmpty(t, b.variables[expectedUpdatedAt], path)
		}
		for _, headers := range [][]string{nil, {"If-Match: *"}} {
			require.Equal(t, 200, call(server, method, path, body, headers...).Code)
			require.NotContains(t, b.variables, expectedUpdatedAt)
		}
	}
	require.Equal(t, 400, call(server, "DELETE", "/Dataset/d", "", `If-Match: "x"`).Code)
	require.Equal(t, 400, call(server, "POST", "/Dataset", `{"name":"D"}`, `If-Match: "x"`).Code)
	require.Equal(t, 204, call(server, "DELETE", "/Dataset/d", "", "If-Match: *").Code)
	taken(t, "PATCH /Dataset/d", `{"expectedUpdatedAt":5}`)

	b.fails(model.Conflict, "changed meanwhile", model.Fields{expectedUpdatedAt: {"must be the time of the last change"}})
	require.Equal(t, 412, call(server, "PATCH", "/Dataset/d", `{}`).Code)
}
