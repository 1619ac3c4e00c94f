package app_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
)

// Large bodies of one company that never arrive whole take a bounded amount of memory. Above it, the company's large
// requests are refused, and those of other companies are not.
func TestBodiesOfACompanyAreBounded(t *testing.T) {
	t.Parallel()
	const size, held = 64 << 10, 42 // 64 bodies have a place, 32 of one company; 16 KiB of each are not counted
	for _, path := range []string{"/graphql", "/mcp", "/Dataset"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			settings := gateway.DefaultSettings()
			settings.BodyBytes = size
			store := dbtest.New(t)
			g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
			_, key := g.company(t, "Large")
			_, other := g.company(t, "Other")
			var refused *head
			var stalled []net.Conn
			for range held + 1 {
				conn, answered := g.stall(t, path, key, size)
				stalled, refused = append(stalled, conn), answered
			}
			require.NotNil(t, refused)
			require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
			require.Equal(t, "5", refused.Header.Get("Retry-After"))
			a := g.query(t, other, `query ($a: ID!) { node(id: $a) { id } }`, map[string]any{"a": strings.Repeat("a", size/2)})
			require.Empty(t, a.Errors)
			require.Equal(t, websocket.StatusTryAgainLater, closedAfterLarge(t, g, key, size-1_000))
			for _, conn := range stalled {
				require.NoError(t, conn.Close())
			}
			require.Eventually(t, func() bool {
				conn, refused := g.stall(t, path, key, size)
				_ = conn.Close()
				return refused == nil
			}, 10*time.Second, 10*time.Millisecond)
		})
	}
}

// stall sends all but the last byte of a body. It returns the head of the response if there is one soon.
func (g *gatewayUnderTest) stall(t *testing.T, path, key string, size int) (net.Conn, *head) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %s\r\n"+
		"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", path, key, size,
		strings.Repeat(" ", size-1))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return conn, nil
	}
	_ = response.Body.Close() // it ends only when the request does
	require.True(t, response.Close, "the rest of the body is not another request")
	return conn, &head{response.StatusCode, response.Header}
}

// closedAfterLarge sends a large message on a new socket, and returns the code with which the server closes it.
func closedAfterLarge(t *testing.T, g *gatewayUnderTest, key string, size int) websocket.StatusCode {
	t.Helper()
	//nolint:bodyclose // A socket's response has no body.
	socket, _, err := websocket.Dial(t.Context(), strings.Replace(g.url, "http", "ws", 1)+"/graphql",
		&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(t, err)
	defer func() { _ = socket.CloseNow() }()
	require.NoError(t, socket.Write(t.Context(), websocket.MessageText,
		[]byte(`{"type":"connection_init","payload":{"X-Api-Key":"`+key+`"}}`)))
	_, _, err = socket.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, socket.Write(t.Context(), websocket.MessageText,
		[]byte(`{"id":"1","type":"subscribe","payload":{"query":"`+strings.Repeat(" ", size)+`"}}`)))
	_, _, err = socket.Read(t.Context())
	return websocket.CloseStatus(err)
}
