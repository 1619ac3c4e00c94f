package gateway_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// largeQuery asks for a response of about 600 kB.
func largeQuery() (query string, variables map[string]any) {
	var fields strings.Builder
	for i := range 30 {
		fmt.Fprintf(&fields, " a%d: echo(input: {text: $text})", i)
	}
	return "query ($text: String) {" + fields.String() + " }", map[string]any{"text": strings.Repeat("x", 20_000)}
}

// dialSmallBuffer dials a connection with a small receive buffer, which the test never reads.
func dialSmallBuffer(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetReadBuffer(4 << 10)
	}
	return conn, err
}

// unreadSocket sends operations and never reads their results.
func unreadSocket(t *testing.T, f *front, request string, operations int) (leave func()) {
	t.Helper()
	//nolint:bodyclose // A socket's response has no body.
	conn, _, err := websocket.Dial(t.Context(), f.url+"/graphql", &websocket.DialOptions{
		Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"X-Api-Key": {goodKey}},
		HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dialSmallBuffer}},
	})
	require.NoError(t, err)
	c := &client{conn, t}
	c.send(`{"type":"connection_init"}`)
	c.expect(`{"type":"connection_ack"}`)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // the server stops reading, too
		defer close(done)
		for i := range operations {
			message := fmt.Appendf(nil, `{"id":"%d","type":"subscribe","payload":%s}`, i, request)
			_ = conn.Write(ctx, websocket.MessageText, message)
		}
	}()
	return func() {
		end()
		_ = conn.CloseNow()
		<-done
	}
}

// unreadRequests sends requests on one connection and never reads their responses.
func unreadRequests(accept string) func(*testing.T, *front, string, int) (leave func()) {
	return func(t *testing.T, f *front, request string, operations int) (leave func()) {
		t.Helper()
		conn, err := dialSmallBuffer(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range operations {
				_, _ = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: test\r\nX-Api-Key: %s\r\nAccept: %s\r\n"+
					"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", goodKey, accept, len(request), request)
			}
		}()
		return func() {
			_ = conn.Close()
			<-done
		}
	}
}

// Clients that never read their responses take a bounded amount of memory, and clients with another key are still
// served. This test must not run in parallel with tests that allocate.
func TestUnreadResponsesTakeBoundedMemory(t *testing.T) { //nolint:paralleltest // It measures the heap.
	const mb = 1 << 20
	for name, c := range map[string]struct {
		open                func(*testing.T, *front, string, int) (leave func())
		clients, operations int
	}{
		"many sockets": {unreadSocket, 60, 10},
		"few sockets":  {unreadSocket, 4, 100},
		"requests":     {unreadRequests(jsonType), 60, 10},
		"streams":      {unreadRequests(eventType), 60, 10},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // It measures the heap.
			f := start(t, func(o *gateway.Options) {
				o.Settings.ResponseBytes, o.Settings.WriteTimeout = 4*mb, time.Minute
				good := o.Authenticate
				o.Authenticate = func(ctx context.Context, key string) (model.Principal, error) {
					if key == "ag_other" {
						return model.Principal{CompanyID: "c1", KeyID: "k2"}, nil
					}
					return good(ctx, key)
				}
			})
			query, variables := largeQuery()
			request := body(t, query, variables)
			before := heap()
			var leave []func()
			for range c.clients {
				leave = append(leave, c.open(t, f, request, c.operations))
				t.Cleanup(leave[len(leave)-1])
			}
			require.Eventually(t, func() bool { return f.Load().ResponseBytes > 6*mb }, patience, time.Millisecond)
			for range 20 {
				require.Less(t, f.Load().ResponseBytes, int64(24*mb), "one and a half times the budget")
				<-time.After(50 * time.Millisecond)
			}
			require.Less(t, heap()-before, int64(48*mb))

			small := call{method: "POST", path: "/graphql", body: body(t, "{ hello }"), headers: []string{"X-Api-Key: ag_other"}}
			other := f.do(t, small)
			require.Equal(t, http.StatusOK, other.status)
			require.NotContains(t, other.json, "errors")

			for _, leave := range leave {
				leave()
			}
			require.Eventually(t, func() bool { return f.Load().ResponseBytes == 0 }, patience, time.Millisecond,
				"memory of unread responses is released")
		})
	}
}

// heap returns the live bytes of the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
