package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/console"
)

// opens lists the headers of a browser that opens an address.
var opens = []string{"X-Api-Key:", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}

func withConsole(o *gateway.Options) { o.Console = console.New(nil) }

func TestBrowsersOpenTheConsole(t *testing.T) {
	t.Parallel()
	f := start(t, withConsole, settings(func(s *gateway.Settings) { s.RateLimit = 1 }))
	for range 3 {
		page := f.do(t, call{method: "GET", path: "/console/agents", headers: opens})
		require.Equal(t, http.StatusOK, page.status)
		require.Contains(t, page.header.Get("Content-Security-Policy"), "require-trusted-types-for")
	}
	root := f.do(t, call{method: "GET", path: "/", headers: opens})
	require.Equal(t, http.StatusFound, root.status)
	require.Equal(t, "console/", root.header.Get("Location"))

	api := f.do(t, call{method: "GET", path: "/graphql", headers: opens})
	require.Equal(t, http.StatusUnauthorized, api.status)
	require.Equal(t, "ApiKey", api.header.Get("WWW-Authenticate"))
	require.Contains(t, api.text, `href="console/"`)
}

// Paths outside of the console show browsers a page with links. Programs get the same answers as without the console.
func TestBrowsersGetAPageWithLinks(t *testing.T) {
	t.Parallel()
	f := start(t, withConsole, func(o *gateway.Options) {
		o.Pages = map[string]gateway.Page{"/docs": {Type: "text/html", Content: []byte("docs")}}
	})
	for path, want := range map[string]struct {
		status      int
		title, link string
	}{
		"/schema.graphql": {http.StatusUnauthorized, "This is the schema of a GraphQL API", `href="console/"`},
		"/nowhere":        {http.StatusNotFound, "There is nothing at this address", `href="docs"`},
		"/no/where/":      {http.StatusNotFound, "There is nothing at this address", `href="../../console/"`},
	} {
		page := f.do(t, call{method: "GET", path: path, headers: opens})
		require.Equal(t, want.status, page.status, path)
		require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"), path)
		require.Contains(t, page.text, "<h1>"+want.title+"</h1>")
		require.Contains(t, page.text, want.link)
		require.Equal(t, want.status, f.do(t, call{method: "HEAD", path: path, headers: opens}).status, path)
		program := f.do(t, call{method: "GET", path: path, headers: []string{"X-Api-Key:"}})
		require.Equal(t, http.StatusUnauthorized, program.status, path)
		require.NotEmpty(t, program.json["errors"], path)
	}
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/healthz", headers: opens}).status)
	require.Equal(t, "docs", f.do(t, call{method: "GET", path: "/docs", headers: opens}).text)
	icon := f.do(t, call{method: "GET", path: "/favicon.ico",
		headers: []string{"X-Api-Key:", "Accept: image/avif,image/*,*/*;q=0.8"}})
	require.Equal(t, http.StatusOK, icon.status)
	require.Equal(t, "image/svg+xml", icon.header.Get("Content-Type"))
	require.NotContains(t, icon.header.Get("Cache-Control"), "immutable")
}

func TestProgramsGetNoPage(t *testing.T) {
	t.Parallel()
	f := start(t, withConsole)
	for _, accept := range []string{"Accept: */*", "Accept: application/json", "Accept: text/*"} {
		for _, path := range []string{"/", "/graphql"} {
			a := f.do(t, call{method: "GET", path: path, headers: []string{"X-Api-Key:", accept}})
			require.Equal(t, http.StatusUnauthorized, a.status)
			require.NotEmpty(t, a.json["errors"], path)
		}
	}
	// A browser with a credential is treated like any other client.
	a := f.do(t, call{method: "GET", path: "/graphql?query={__typename}", headers: opens[1:]})
	require.NotContains(t, a.text, "console")
}

func TestForeignOriginsCannotReadTheConsole(t *testing.T) {
	t.Parallel()
	f := start(t, withConsole, settings(func(s *gateway.Settings) { s.CORSOrigins = []string{"*"} }))
	a := f.do(t, call{method: "GET", path: "/console/", headers: append([]string{"Origin: https://elsewhere.example.com"},
		opens...)})
	require.Equal(t, http.StatusOK, a.status)
	require.Empty(t, a.header.Get("Access-Control-Allow-Origin"))
}

func TestConsoleCanBeDisabled(t *testing.T) {
	t.Parallel()
	f := start(t)
	require.Equal(t, http.StatusUnauthorized, f.do(t, call{method: "GET", path: "/console/", headers: opens}).status)
	require.Equal(t, http.StatusNotFound, f.do(t, call{method: "GET", path: "/console/"}).status)
	require.Equal(t, http.StatusUnauthorized, f.do(t, call{method: "GET", path: "/", headers: opens}).status)
}

func TestConsoleIsServedWhileDraining(t *testing.T) {
	t.Parallel()
	f := start(t, withConsole)
	require.NoError(t, f.Drain(context.WithoutCancel(t.Context())))
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/console/", headers: opens}).status)
}
