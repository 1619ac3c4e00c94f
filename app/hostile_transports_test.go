package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// isPossible reports whether the transport can carry the request. A GET cannot be longer than a header, and cannot
// change anything.
func (s shape) isPossible(by string) bool {
	return by != "GET" || len(s.query) < 20_000 && s.variables == nil && !strings.HasPrefix(s.query, "mutation")
}

// outcome is the response to a request.
type outcome struct {
	status, bytes int
	code          string
}

// transports send a query and read the whole response, but keep only its beginning.
var transports = map[string]func(t testing.TB, address string, s shape, key string) outcome{
	"POST": func(t testing.TB, address string, s shape, key string) outcome {
		return exchanged(t, http.MethodPost, address+"/graphql", s.body(t), key, "application/json")
	},
	"GET": func(t testing.TB, address string, s shape, key string) outcome {
		return exchanged(t, http.MethodGet, address+"/graphql?query="+url.QueryEscape(s.query), nil, key, "application/json")
	},
	"SSE": func(t testing.TB, address string, s shape, key string) outcome {
		return exchanged(t, http.MethodPost, address+"/graphql", s.body(t), key, "text/event-stream")
	},
	"WebSocket": func(t testing.TB, address string, s shape, key string) outcome {
		socket := opened(t, address, key)
		defer func() { _ = socket.CloseNow() }()
		require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(`{"id":"1","type":"subscribe","payload":`+
			string(s.body(t))+`}`)))
		var o outcome
		for {
			_, message, err := socket.Reader(t.Context())
			if websocket.CloseStatus(err) == 4400 { // the server refused the message
				o.code = string(model.BadInput)
				return o
			}
			require.NoError(t, err)
			head, bytes := readHead(t, message)
			o.bytes += bytes
			if o.code == "" {
				o.code = codeIn(head)
			}
			if strings.Contains(head, `"complete"`) || strings.Contains(head, `"type":"error"`) {
				return o
			}
		}
	},
}

func (s shape) body(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"query": s.query, "variables": s.variables})
	require.NoError(t, err)
	return text
}

func exchanged(t testing.TB, method, address string, body []byte, key, accept string) outcome {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("X-Api-Key", key)
	request.Header.Set("Accept", accept)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	head, bytes := readHead(t, response.Body)
	return outcome{response.StatusCode, bytes, codeIn(head)}
}

// opened opens a socket.
func opened(t testing.TB, address, key string) *websocket.Conn {
	t.Helper()
	addressed := strings.Replace(address, "http", "ws", 1) + "/graphql"
	//nolint:bodyclose // A socket's response has no body.
	socket, _, err := websocket.Dial(t.Context(), addressed,
		&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(t, err)
	socket.SetReadLimit(-1)
	require.NoError(t, socket.Write(t.Context(), websocket.MessageText,
		[]byte(`{"type":"connection_init","payload":{"X-Api-Key":"`+key+`"}}`)))
	_, _, err = socket.Read(t.Context())
	require.NoError(t, err)
	return socket
}

// readHead reads to the end, and returns the first bytes and the length.
func readHead(t testing.TB, from io.Reader) (head string, length int) {
	t.Helper()
	reader := bufio.NewReaderSize(from, 4<<10)
	peeked, _ := reader.Peek(4 << 10)
	head = string(peeked)
	n, err := io.Copy(io.Discard, reader)
	require.NoError(t, err)
	return head, int(n)
}

var firstCode = regexp.MustCompile(`"code":"(\w+)"`)

func codeIn(head string) string {
	if found := firstCode.FindStringSubmatch(head); found != nil {
		return found[1]
	}
	return ""
}

// A client that sends its whole body before it reads still receives the refusal of a body that is too large.
func TestTooLargeBodiesAreAnswered(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Large")
	address, err := url.Parse(g.url)
	require.NoError(t, err)
	large := strings.Repeat(" ", 8<<20)
	for _, path := range []string{"/graphql", "/Dataset/x/document", "/mcp"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address.Host)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %s\r\n"+
			"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
			path, key, len(large), large)
		require.NoError(t, err, path)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, path)
		require.NoError(t, response.Body.Close())
		require.NoError(t, conn.Close())
		require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode, path)
	}
}
