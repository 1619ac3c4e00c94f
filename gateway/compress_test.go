package gateway_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// plainTexts is a transport that serves texts of any length, whole or, with ?stream, in chunks.
type plainTexts struct{}

func (plainTexts) Supports(*http.Request) bool { return true }

func (plainTexts) Do(w http.ResponseWriter, r *http.Request, _ graphql.GraphExecutor) {
	text := `"` + strings.Repeat("x", 8_000) + `"`
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if !r.URL.Query().Has("stream") {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	}
	_, _ = io.WriteString(w, text)
}

func TestLargeResponsesAreCompressed(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *gateway.Options) {
		o.Transports = []graphql.Transport{plainTexts{}}
		o.Claim = (&claims{}).claim
	})
	large := body(t, `query ($of: [Int!]) { list(of: $of) }`, map[string]any{"of": make([]int, 4_000)})
	small := body(t, "{ hello }")
	for name, c := range map[string]struct {
		call
		compressed bool
	}{
		"large": {call{method: "POST", path: "/graphql", body: large,
			headers: []string{"Accept-Encoding: gzip"}}, true},
		"large, by weight": {call{method: "POST", path: "/graphql", body: large,
			headers: []string{"Accept-Encoding: br;q=1.0, gzip;q=0.8"}}, true},
		"not wanted": {call{method: "POST", path: "/graphql", body: large,
			headers: []string{"Accept-Encoding: gzip;q=0"}}, false},
		"of another encoding": {call{method: "POST", path: "/graphql", body: large,
			headers: []string{"Accept-Encoding: br, zstd"}}, false},
		"small": {call{method: "POST", path: "/graphql", body: small,
			headers: []string{"Accept-Encoding: gzip"}}, false},
		"stream": {call{method: "POST", path: "/graphql", body: large, headers: []string{"Accept-Encoding: gzip",
			"Accept: " + eventType}}, false},
		"saved for retries": {call{method: "POST", path: "/graphql", body: large, headers: []string{"Accept-Encoding: gzip",
			"Idempotency-Key: a"}}, true},
		"another path": {call{method: "GET", path: "/other", headers: []string{"Accept-Encoding: gzip"}}, true},
		"another path, streamed": {call{method: "GET", path: "/other?stream", headers: []string{"Accept-Encoding: gzip"}},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := f.open(t, c.call)
			defer func() { require.NoError(t, response.Body.Close()) }()
			require.Equal(t, http.StatusOK, response.StatusCode)
			reader := io.Reader(response.Body)
			if c.compressed {
				require.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
				require.Contains(t, strings.Join(response.Header.Values("Vary"), ", "), "Accept-Encoding")
				unzipped, err := gzip.NewReader(response.Body)
				require.NoError(t, err)
				reader = unzipped
			} else {
				require.Empty(t, response.Header.Get("Content-Encoding"))
			}
			require.Empty(t, response.Header.Get("No-Gzip-Compression"))
			text, err := io.ReadAll(reader)
			require.NoError(t, err)
			require.Contains(t, string(text), map[bool]string{true: "hello", false: ""}[c.body == small])
			if c.body != small {
				require.Greater(t, len(text), 4_000)
			}
		})
	}
}

func TestCompressionCanBeDisabled(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.Compress = false }))
	large := body(t, `query ($of: [Int!]) { list(of: $of) }`, map[string]any{"of": make([]int, 4_000)})
	response := f.open(t, call{method: "POST", path: "/graphql", body: large, headers: []string{"Accept-Encoding: gzip"}})
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Empty(t, response.Header.Get("Content-Encoding"))
}
