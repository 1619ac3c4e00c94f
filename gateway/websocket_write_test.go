package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
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
			for _, part := range []string{operation, `"keyId":"k1"`, `"company":"c1"`, `"remote":"127.0.0.1"`, `"traceId":"`} {
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
	conn := f.upgrade(t, `{"type":"ping","payload":{"n":7}}`)
	const want = `{"type":"pong","payload":{"n":7}}`
	frame := make([]byte, 2+len(want))
	_, err := io.ReadFull(conn, frame)
	require.NoError(t, err)
	require.Equal(t, string([]byte{0x81, byte(len(want))})+want, string(frame))
}

// A message is one packet, because it is written in one call. A waiting client's read returns whole messages.
func TestSocketWritesAMessageAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	conn := f.upgrade(t, `{"type":"connection_init","payload":{"X-Api-Key":"`+goodKey+`"}}`)
	buffer := make([]byte, 64<<10)
	for range 200 {
		for sent := false; !sent; {
			n, err := conn.Read(buffer)
			require.NoError(t, err)
			frames := buffer[:n]
			for len(frames) > 0 {
				require.GreaterOrEqual(t, len(frames), 2, "a header")
				require.Less(t, frames[1], byte(126), "a short message")
				require.GreaterOrEqual(t, len(frames), 2+int(frames[1]), "a whole message in one read")
				message := string(frames[2 : 2+frames[1]])
				sent = sent || strings.Contains(message, "ack") || strings.Contains(message, "complete")
				frames = frames[2+frames[1]:]
			}
		}
		_, err := conn.Write(masked(`{"id":"1","type":"subscribe","payload":{"query":"{ hello }"}}`))
		require.NoError(t, err)
	}
}

// upgrade opens a socket, sends its first message together with the handshake, and reads the response to the handshake.
func (f *front) upgrade(t *testing.T, first string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write(append([]byte("GET /graphql HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
		"Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"), masked(first)...))
	require.NoError(t, err)
	// A byte at a time, so that only the response is read.
	response, err := http.ReadResponse(bufio.NewReader(iotest.OneByteReader(conn)), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	return conn
}

// masked returns a client's frame with a short text, masked with zeros.
func masked(text string) []byte {
	return append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)
}
