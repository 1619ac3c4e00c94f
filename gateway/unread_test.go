package gateway_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// Requests that no handler gets are answered with problem details, as all others are.
func TestRequestsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, c := range map[string]struct {
		request string
		status  int
		code    model.Code
		detail  string
	}{
		"no HTTP":            {"hello\r\n\r\n", 400, model.BadInput, "not valid HTTP"},
		"no host":            {"GET / HTTP/1.1\r\n\r\n", 400, model.BadInput, "not valid HTTP: missing required Host header"},
		"a bad header":       {"GET / HTTP/1.1\r\nHost: a\r\nA B: c\r\n\r\n", 400, model.BadInput, "not valid HTTP"},
		"two hosts":          {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, model.BadInput, "not valid HTTP"},
		"an expectation":     {"GET /graphql HTTP/1.1\r\nHost: a\r\nExpect: a cake\r\n\r\n", 417, model.BadInput, "100-continue"},
		"one, in HTTP/1.0":   {"GET /graphql HTTP/1.0\r\nHost: a\r\nExpect: a cake\r\n\r\n", 417, model.BadInput, "100-continue"},
		"large headers":      {"GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", 431, model.LimitExceeded, "headers are larger"},
		"another encoding":   {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, model.BadInput, "Transfer-Encoding"},
		"HTTP of the future": {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, model.BadInput, "version of HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			go func() { _, _ = io.WriteString(conn, c.request) }() // nobody may read it to its end
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, c.status, response.StatusCode)
			require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
			require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
			require.True(t, response.Close)
			var problem struct {
				Status        int
				Title, Detail string
				Code          model.Code
			}
			require.NoError(t, json.Unmarshal(text, &problem), string(text))
			require.Equal(t, c.status, problem.Status)
			require.Equal(t, http.StatusText(c.status), problem.Title)
			require.Equal(t, c.code, problem.Code)
			require.Contains(t, problem.Detail, c.detail)
		})
	}
}
