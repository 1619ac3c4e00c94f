package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestServeHasMetricsOnlyOnRequest(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	_, key := newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Watched")
	plain := serve(t, address, key)
	require.Empty(t, plain.metrics)
	status, _ := plain.get(t, plain.url+"/metrics")
	require.Equal(t, http.StatusNotFound, status, "metrics are not served on the gateway's address")

	watched := serve(t, address, key, "--metrics-listen", "127.0.0.1:0", "--pprof", "--slow-statement", "1m",
		"--slow-operation", "1m")
	watched.must(t, `query Agents { agents { nodes { id } } }`, nil, nil)
	var text string
	require.Eventually(t, func() bool {
		status, text = watched.get(t, "http://"+watched.metrics+"/metrics")
		return status == http.StatusOK &&
			strings.Contains(text, `agentgraph_requests_total{code="OK",kind="query",operation="Agents"} 1`)
	}, 10*time.Second, 10*time.Millisecond, "a request is counted once it is answered")
	require.Contains(t, text, `agentgraph_build_info{version="`+version()+`"} 1`)
	status, _ = watched.get(t, "http://"+watched.metrics+"/debug/pprof/goroutine?debug=1")
	require.Equal(t, http.StatusOK, status)
}

func TestInvalidObserveFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--pprof"}, {"--slow-statement", "-1s"}, {"--slow-operation", "-1s"},
		{"--metrics-listen", "9090"}, {"--metrics-listen", ":99999"}} {
		var log bytes.Buffer
		arguments := append([]string{"serve", "--database-url", "postgres://nobody@127.0.0.1:1/none"}, flags...)
		require.Equal(t, 2, run(t.Context(), arguments, streams{out: io.Discard, log: &log}), flags)
		require.Contains(t, log.String(), flags[0])
	}
}

// get sends a GET request with the key and returns the status and the body.
func (s *served) get(t *testing.T, address string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	request.Header.Set("X-Api-Key", s.key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}
