package gateway_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// countedListener counts the writes of its connections.
type countedListener struct {
	net.Listener
	writes atomic.Int64
	// If fails is set, writes stop halfway.
	fails atomic.Bool
}

func (l *countedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, l}, err
}

type countedConn struct {
	net.Conn
	listener *countedListener
}

func (c countedConn) Write(p []byte) (int, error) {
	if c.listener.writes.Add(1); c.listener.fails.Load() {
		n, _ := c.Conn.Write(p[:len(p)/2])
		return n, os.ErrDeadlineExceeded
	}
	return c.Conn.Write(p)
}

func (c countedConn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// letters responds with as many bytes as the path says. It declares the length unless the URL has a query.
type letters struct{}

func (letters) Supports(*http.Request) bool { return true }

func (letters) Do(w http.ResponseWriter, r *http.Request, _ graphql.GraphExecutor) {
	length, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if r.URL.RawQuery == "" {
		w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	_, _ = io.WriteString(w, strings.Repeat("x", length))
}

// serveLetters serves letters, and counts the writes.
func serveLetters(t *testing.T) *countedListener {
	t.Helper()
	f := start(t, func(o *gateway.Options) { o.Transports = []graphql.Transport{letters{}} })
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	counted := &countedListener{Listener: listener}
	server := &http.Server{Handler: f} //nolint:gosec // The only client is the test.
	go func() { _ = server.Serve(gateway.Connections{}.Listen(server, counted)) }()
	t.Cleanup(func() { _ = server.Close() })
	return counted
}

// No response may follow a partial one, because the client would read it as the rest.
func TestConnectionClosesAfterAPartialResponse(t *testing.T) {
	t.Parallel()
	listener := serveLetters(t)
	listener.fails.Store(true)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	request := "GET /9000 HTTP/1.1\r\nHost: test\r\nX-Api-Key: " + goodKey + "\r\n\r\n"
	_, err = io.WriteString(conn, request+request)
	require.NoError(t, err)
	sent, _ := io.ReadAll(conn) // the second request was not read, so the connection may be reset
	require.LessOrEqual(t, strings.Count(string(sent), "HTTP/1.1"), 1)
	require.EqualValues(t, 1, listener.writes.Load(), "the second request does not run")
}

func TestSmallResponsesTakeOneWrite(t *testing.T) {
	t.Parallel()
	counted := serveLetters(t)
	listener := counted.Listener
	for _, c := range []struct {
		path   string
		method string
		body   int
		writes int64
	}{
		{"/10", http.MethodGet, 10, 1},
		{"/9000", http.MethodGet, 9_000, 1},
		{"/65536", http.MethodGet, 65_536, 1},
		{"/65537", http.MethodGet, 65_537, 2},
		{"/9000?chunked", http.MethodGet, 9_000, 3},
		{"/9000", http.MethodHead, 0, 1},
		{"/0", http.MethodGet, 0, 1},
		{"/9000", http.MethodGet, 9_000, 1},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+listener.Addr().String()+c.path, nil)
		require.NoError(t, err)
		request.Header.Set("X-Api-Key", goodKey)
		before := counted.writes.Load()
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Len(t, body, c.body, c.path)
		require.LessOrEqual(t, counted.writes.Load()-before, c.writes, "%s %s", c.method, c.path)
	}
}

// A server that responds before it has read the whole request closes the sending half of the connection first, so that
// the client receives the response.
func TestUnreadRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	listener := serveLetters(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nX-Long: "+strings.Repeat("x", http.DefaultMaxHeaderBytes+8<<10)+
		"\r\n\r\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "431 Request Header Fields Too Large")
	require.Eventually(t, func() bool {
		_, err := conn.Write([]byte("x"))
		return err != nil
	}, patience, 10*time.Millisecond, "the server also closes the receiving half a little later")
}
