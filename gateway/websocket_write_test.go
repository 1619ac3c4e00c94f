package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// A client that does not read is disconnected, and its operations end.
func TestSlowSocketReaderIsDropped(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.WriteTimeout = 50 * time.Millisecond }))
	s := f.ready(t)
	s.subscribe("1", "subscription Flood { flood(bytes: 1000000) }")
	require.Eventually(t, func() bool { return f.root.Started.Load() == 1 }, patience, time.Millisecond)
	f.settles(t)
	f.names(t, `"operation":"Flood"`)
}

// names waits for the log line of a dropped client. The line must not contain the client's credential.
func (f *front) names(t *testing.T, operation string) {
	t.Helper()
	isClosed := func() bool { return strings.Contains(f.log.String(), "closed the connection of a slow client") }
	require.Eventually(t, isClosed, patience,
		time.Millisecond)
	for line := range strings.Lines(f.log.String()) {
		require.NotContains(t, line, goodKey)
		if strings.Contains(line, "closed the connection of a slow client") {
			for _, part := range []string{operation, `"keyId":"k1"`, `"company":"c1"`, `"remote":"127.0.0.1:`, `"traceId":"`} {
				require.Contains(t, line, part)
			}
		}
	}
}

// The gateway writes its own frames, so the test covers every length encoding.
func TestSocketSendsMessagesOfEveryLength(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.ready(t)
	for _, length := range []int{0, 60, 61, 62, 65_000, 65_536, 1 << 20} {
		s.subscribe("1", fmt.Sprintf("subscription { flood(bytes: %d) }", length))
		data := s.receive()["payload"].(map[string]any)["data"].(map[string]any)
		require.Len(t, data["flood"], length)
		s.send(`{"type":"complete","id":"1"}`)
		s.subscribe("2", "{ hello }")
		for m := s.receive(); m["type"] != "complete"; m = s.receive() {
			require.Equal(t, "next", m["type"])
		}
	}
	f.settles(t)
}

// A client may send data right after its handshake, before it has received the response.
func TestSocketReadsDataSentWithTheHandshake(t *testing.T) {
	t.Parallel()
	f := start(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	const first = `{"type":"ping","payload":{"n":7}}`
	_, err = conn.Write([]byte("GET /graphql HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " +
		"graphql-transport-ws\r\n\r\n" +
		string([]byte{0x81, 0x80 | byte(len(first)), 0, 0, 0, 0}) + first)) // masked with zeros
	require.NoError(t, err)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	const want = `{"type":"pong","payload":{"n":7}}`
	frame := make([]byte, 2+len(want))
	_, err = io.ReadFull(reader, frame)
	require.NoError(t, err)
	require.Equal(t, string([]byte{0x81, byte(len(want))})+want, string(frame))
}
