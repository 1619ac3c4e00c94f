package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

func withOrigins(origins ...string) func(*gateway.Options) {
	return settings(func(s *gateway.Settings) { s.CORSOrigins = origins })
}

func preflight(method, path, origin string) call {
	return call{method: "OPTIONS", path: path, headers: []string{
		"X-Api-Key:", "Origin: " + origin, "Access-Control-Request-Method: " + method,
		"Access-Control-Request-Headers: authorization,content-type,idempotency-key,x-api-key,x-api-version",
	}}
}

func TestPreflightAllowsListedOrigins(t *testing.T) {
	t.Parallel()
	f := start(t, withOrigins("https://console.example.com", "https://*.example.org"))
	for _, path := range []string{"/graphql", "/Agent/a1/prompt", "/nowhere"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			for _, origin := range []string{"https://console.example.com", "https://a.b.example.org"} {
				a := f.do(t, preflight(method, path, origin))
				require.Equal(t, http.StatusNoContent, a.status)
				require.Equal(t, origin, a.header.Get("Access-Control-Allow-Origin"))
				require.Equal(t, method, a.header.Get("Access-Control-Allow-Methods"))
				for _, name := range []string{"authorization", "content-type", "idempotency-key", "x-api-key", "x-api-version"} {
					require.Contains(t, a.header.Get("Access-Control-Allow-Headers"), name)
				}
				require.Equal(t, "7200", a.header.Get("Access-Control-Max-Age"))
				require.Contains(t, strings.Join(a.header.Values("Vary"), ", "), "Origin")
				require.Empty(t, a.header.Values("Access-Control-Allow-Credentials"))
				require.Empty(t, a.text)
			}
		}
	}
	for _, origin := range []string{"http://console.example.com", "https://console.example.com:8443",
		"https://example.org", "https://evil.example", "null"} {
		a := f.do(t, preflight("POST", "/graphql", origin))
		require.Empty(t, a.header.Values("Access-Control-Allow-Origin"), origin)
		require.Len(t, a.header.Values("Vary"), 1)
		require.Contains(t, a.header.Get("Vary"), "Origin", "caches must distinguish origins")
	}
	require.Empty(t, f.do(t, preflight("TRACE", "/graphql", "https://console.example.com")).
		header.Values("Access-Control-Allow-Origin"))
}

func TestAllowedOriginsReadAllResponses(t *testing.T) {
	t.Parallel()
	const origin = "https://console.example.com"
	f := start(t, withOrigins(origin))
	for status, c := range map[int]call{
		200: {method: "POST", path: "/graphql", body: body(t, "{ hello }")},
		400: {method: "POST", path: "/graphql", body: "{"},
		401: {method: "GET", path: "/Agent/a1", headers: []string{"X-Api-Key: ag_wrong"}},
		404: {method: "GET", path: "/Agent/a1"},
		405: {method: "PUT", path: "/graphql"},
	} {
		c.headers = append(c.headers, "Origin: "+origin)
		a := f.do(t, c)
		require.Equal(t, status, a.status, a.text)
		require.Equal(t, origin, a.header.Get("Access-Control-Allow-Origin"))
		for _, name := range []string{"X-Trace-Id", "X-Api-Version", "Ratelimit-Remaining", "Retry-After", "Location"} {
			require.Contains(t, a.header.Get("Access-Control-Expose-Headers"), name)
		}
		require.Empty(t, a.header.Values("Access-Control-Allow-Credentials"))
	}
	stranger := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "{ hello }"),
		headers: []string{"Origin: https://evil.example"}})
	require.Empty(t, stranger.header.Values("Access-Control-Allow-Origin"), "its page cannot read the response")

	stream, _ := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { count(to: 1) }"),
		headers: []string{"Origin: " + origin}})
	for range stream {
	}
}

func TestWildcardAllowsAnyOrigin(t *testing.T) {
	t.Parallel()
	f := start(t, withOrigins("*"))
	require.Equal(t, "*", f.do(t, preflight("POST", "/graphql", "https://anywhere.example")).
		header.Get("Access-Control-Allow-Origin"))
	a := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "{ hello }"),
		headers: []string{"Origin: https://anywhere.example"}})
	require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, http.StatusSwitchingProtocols, f.handshake(t, "https://anywhere.example"))
}

func TestCORSIsOffByDefault(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.do(t, preflight("POST", "/graphql", "https://console.example.com"))
	require.Equal(t, http.StatusUnauthorized, a.status)
	b := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "{ hello }"),
		headers: []string{"Origin: https://console.example.com"}})
	require.Equal(t, http.StatusOK, b.status)
	for _, h := range []http.Header{a.header, b.header} {
		require.Empty(t, h.Values("Access-Control-Allow-Origin"))
		require.NotContains(t, strings.Join(h.Values("Vary"), ", "), "Origin")
	}
}

func TestSocketsRequireAnAllowedOrigin(t *testing.T) {
	t.Parallel()
	f := start(t, withOrigins("https://console.example.com", "https://*.example.org"),
		settings(func(s *gateway.Settings) { s.AllowedOrigins = []string{"partner.example"} }))
	for origin, status := range map[string]int{
		"https://console.example.com": 101, "https://a.example.org": 101, "https://partner.example": 101, f.url: 101, "": 101,
		"http://console.example.com": 403, "https://example.org": 403, "https://evil.example": 403, "null": 403,
	} {
		require.Equal(t, status, f.handshake(t, origin), origin)
	}
}

// handshake opens a socket for a page of the origin and returns the response's status.
func (f *front) handshake(t *testing.T, origin string) int {
	t.Helper()
	h := http.Header{}
	if origin != "" {
		h.Set("Origin", origin)
	}
	//nolint:bodyclose // A socket's response has no body.
	conn, response, err := websocket.Dial(t.Context(), f.url+"/graphql",
		&websocket.DialOptions{
			Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: h,
		})
	if err == nil {
		require.NoError(t, conn.CloseNow())
	}
	return response.StatusCode
}
