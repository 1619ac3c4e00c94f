package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// client is the other end of a socket.
type client struct {
	*websocket.Conn
	t *testing.T
}

// dial opens a socket with handshake headers of the form "Name: value".
func (f *front) dial(t *testing.T, headers ...string) *client {
	t.Helper()
	h := http.Header{}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	//nolint:bodyclose // A socket's response has no body.
	conn, response, err := websocket.Dial(t.Context(), f.url+"/graphql",
		&websocket.DialOptions{
			Subprotocols: []string{"graphql-ws", "graphql-transport-ws"}, HTTPHeader: h,
		})
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.Equal(t, "graphql-transport-ws", conn.Subprotocol())
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{conn, t}
}

// ready opens an acknowledged socket.
func (f *front) ready(t *testing.T) *client {
	t.Helper()
	c := f.dial(t, "X-Api-Key: "+goodKey)
	c.send(`{"type":"connection_init"}`)
	c.expect(`{"type":"connection_ack"}`)
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	require.NoError(c.t, c.Write(c.t.Context(), websocket.MessageText, []byte(text)))
}

func (c *client) subscribe(id, query string) {
	c.t.Helper()
	c.send(`{"id":"` + id + `","type":"subscribe","payload":` + body(c.t, query) + `}`)
}

func (c *client) receive() map[string]any {
	c.t.Helper()
	_, text, err := c.Read(c.t.Context())
	require.NoError(c.t, err)
	var m map[string]any
	require.NoError(c.t, json.Unmarshal(text, &m))
	return m
}

func (c *client) expect(want string) {
	c.t.Helper()
	_, text, err := c.Read(c.t.Context())
	require.NoError(c.t, err)
	require.JSONEq(c.t, want, string(text))
}

// closes reads until the socket is closed, and requires the close code.
func (c *client) closes(code websocket.StatusCode) {
	c.t.Helper()
	for {
		if _, _, err := c.Read(c.t.Context()); err != nil {
			require.Equal(c.t, code, websocket.CloseStatus(err), "%v", err)
			return
		}
	}
}

func TestSocketsRequireAKey(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, c := range map[string]struct {
		header, init string
		code         websocket.StatusCode
	}{
		"none":                           {"", `{"type":"connection_init"}`, 4403},
		"wrong payload":                  {"", `{"type":"connection_init","payload":{"X-Api-Key":"ag_wrong"}}`, 4403},
		"wrong payload over good header": {goodKey, `{"type":"connection_init","payload":{"X-Api-Key":"ag_wrong"}}`, 4403},
		"payload of another type":        {"", `{"type":"connection_init","payload":{"X-Api-Key":1}}`, 4403},
		"wrong header":                   {"ag_wrong", `{"type":"connection_init","payload":{}}`, 4403},
		"payload only":                   {"", `{"type":"connection_init","payload":{"x-api-KEY":"` + goodKey + `"}}`, 0},
		"good payload over wrong header": {"ag_wrong", `{"type":"connection_init","payload":{"X-Api-Key":"` + goodKey + `"}}`,
			0},
		"header only": {goodKey, `{"type":"connection_init","payload":null}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			if c.header != "" {
				headers = append(headers, "X-Api-Key: "+c.header)
			}
			s := f.dial(t, headers...)
			s.send(c.init)
			if c.code != 0 {
				s.closes(c.code)
				return
			}
			s.expect(`{"type":"connection_ack"}`)
			s.subscribe("1", "{ company }")
			s.expect(`{"id":"1","type":"next","payload":{"data":{"company":"c1"}}}`)
			s.expect(`{"id":"1","type":"complete"}`)
		})
	}
}

func TestUncheckedSocketKeyIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.broken.Store(true)
	s := f.dial(t, "X-Api-Key: "+goodKey)
	s.send(`{"type":"connection_init"}`)
	s.closes(websocket.StatusTryAgainLater)
}

func TestSocketClosesWhenItsKeyIsRevoked(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.PingInterval = 5 * time.Millisecond }))
	s := f.ready(t)
	s.subscribe("1", "subscription { tick }")
	s.receive()
	f.revoked.Store(true)
	s.closes(4403)
	f.settles(t)
}

func TestSocketClosesOnProtocolErrors(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.BodyBytes = 2000 }))
	init, endless := `{"type":"connection_init"}`,
		`{"id":"1","type":"subscribe","payload":{"query":"subscription { tick }"}}`
	for name, c := range map[string]struct {
		messages []string
		code     websocket.StatusCode
	}{
		"invalid JSON":                  {[]string{"{"}, 4400},
		"a list":                        {[]string{"[]"}, 4400},
		"no type":                       {[]string{"{}"}, 4400},
		"unknown type":                  {[]string{`{"type":"start"}`}, 4400},
		"the server's type":             {[]string{init, `{"type":"next","id":"1","payload":{}}`}, 4400},
		"init payload that is a string": {[]string{`{"type":"connection_init","payload":"text"}`}, 4400},
		"ping payload that is a string": {[]string{`{"type":"ping","payload":"text"}`}, 4400},
		"no id":                         {[]string{init, `{"type":"subscribe","payload":{"query":"{ hello }"}}`}, 4400},
		"empty id":                      {[]string{init, `{"id":"","type":"subscribe","payload":{"query":"{ hello }"}}`}, 4400},
		"numeric id":                    {[]string{init, `{"id":1,"type":"subscribe","payload":{"query":"{ hello }"}}`}, 4400},
		"no payload":                    {[]string{init, `{"id":"1","type":"subscribe"}`}, 4400},
		"no query":                      {[]string{init, `{"id":"1","type":"subscribe","payload":{}}`}, 4400},
		"complete without id":           {[]string{init, `{"type":"complete"}`}, 4400},
		"subscribe before init":         {[]string{endless}, 4401},
		"init twice":                    {[]string{init, init}, 4429},
		"id in use":                     {[]string{init, endless, endless}, 4409},
		"a message over the limit": {[]string{init, `{"type":"ping","payload":{"x":"` + strings.Repeat("x", 2000) + `"}}`},
			websocket.StatusMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := f.dial(t, "X-Api-Key: "+goodKey)
			for _, m := range c.messages {
				s.send(m)
			}
			s.closes(c.code)
		})
	}
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		s := f.ready(t)
		require.NoError(t, s.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)))
		s.closes(4400)
	})
	t.Cleanup(func() { f.settles(t) })
}

func TestSocketWithoutInitIsClosed(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.InitTimeout = 10 * time.Millisecond }))
	f.dial(t).closes(4408)
}

func TestSocketOfAnotherProtocolIsClosed(t *testing.T) {
	t.Parallel()
	f := start(t)
	//nolint:bodyclose // A socket's response has no body.
	conn, _, err := websocket.Dial(t.Context(), f.url+"/graphql",
		&websocket.DialOptions{Subprotocols: []string{"graphql-ws"}})
	require.NoError(t, err)
	(&client{conn, t}).closes(4406)
}

func TestSocketsCheckTheirOrigin(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.AllowedOrigins = []string{"https://console.example"} }))
	for origin, status := range map[string]int{"https://console.example": 101, "http://console.example": 403,
		"https://evil.example": 403} {
		//nolint:bodyclose // A socket's response has no body.
		conn, response, err := websocket.Dial(t.Context(), f.url+"/graphql",
			&websocket.DialOptions{
				Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Origin": {origin}},
			})
		require.Equal(t, status, response.StatusCode, origin)
		if err == nil {
			require.NoError(t, conn.CloseNow())
		}
	}
}

func TestSocketAnswersPings(t *testing.T) {
	t.Parallel()
	s := start(t).dial(t)
	s.send(`{"type":"pong"}`)
	s.send(`{"type":"ping","payload":{"n":7}}`)
	s.expect(`{"type":"pong","payload":{"n":7}}`)
}

func TestSocketRunsOperations(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.ready(t)
	for range 2 { // after complete, the id can be used again
		s.subscribe("1", "subscription { count(to: 2) }")
		s.expect(`{"id":"1","type":"next","payload":{"data":{"count":1}}}`)
		s.expect(`{"id":"1","type":"next","payload":{"data":{"count":2}}}`)
		s.expect(`{"id":"1","type":"complete"}`)
	}
	for query, code := range map[string]string{
		"{": "GRAPHQL_PARSE_FAILED", "{ nothing }": "GRAPHQL_VALIDATION_FAILED", "subscription { refused }": "NOT_FOUND",
		deep(26): "LIMIT_EXCEEDED",
	} {
		s.subscribe("1", query)
		m := s.receive()
		require.Equal(t, "error", m["type"])
		errs := m["payload"].([]any)
		require.Len(t, errs, 1)
		require.Equal(t, code, errs[0].(map[string]any)["extensions"].(map[string]any)["code"])
	}
	s.subscribe("1", "{ hello fail(how: PLAIN) }")
	m := s.receive()
	require.Equal(t, "next", m["type"])
	require.Equal(t, map[string]any{"hello": "hello", "fail": nil}, m["payload"].(map[string]any)["data"])
	s.expect(`{"id":"1","type":"complete"}`)
	s.send(`{"type":"complete","id":"unknown"}`)
	s.subscribe("a \\\" quote", "{ hello }")
	require.Equal(t, `a " quote`, s.receive()["id"])
}

// After complete, the operation sends nothing more, and its id can be used again immediately.
func TestCompleteEndsTheOperation(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.ready(t)
	for range 20 {
		s.subscribe("1", "subscription { flood(bytes: 3) }")
		require.Equal(t, "next", s.receive()["type"])
		s.send(`{"type":"complete","id":"1"}`)
		s.subscribe("1", "{ hello }")
		for m := s.receive(); m["type"] != "complete"; m = s.receive() {
			require.Equal(t, "next", m["type"])
		}
	}
	f.settles(t)
	s.send(`{"type":"ping"}`)
	s.expect(`{"type":"pong"}`)
}

func TestSocketOperationsEndWithTheSocket(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, leave := range []func(*client) error{
		func(c *client) error { return c.Close(websocket.StatusNormalClosure, "") },
		func(c *client) error { return c.CloseNow() },
	} {
		s := f.ready(t)
		s.subscribe("1", "subscription { tick }")
		s.subscribe("2", "subscription { flood(bytes: 10) }")
		s.receive()
		require.NoError(t, leave(s))
		f.settles(t)
	}
}

func TestSocketRunsManyOperationsAtOnce(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.SocketOperations = 2 }))
	s := f.ready(t)
	for _, id := range []string{"1", "2", "3"} {
		s.subscribe(id, "subscription { tick(milliseconds: 60000) }")
	}
	m := s.receive()
	require.Equal(t, "3", m["id"])
	require.Equal(t, "error", m["type"])
	s.send(`{"type":"complete","id":"1"}`)
	s.subscribe("3", "{ hello }")
	s.expect(`{"id":"3","type":"next","payload":{"data":{"hello":"hello"}}}`)
}

func TestSlowSocketQueriesTimeOut(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.RequestTimeout = 50 * time.Millisecond }))
	s := f.ready(t)
	s.subscribe("1", "{ slow(milliseconds: 60000) }")
	m := s.receive()
	require.Contains(t, []any{"next", "error"}, m["type"])
	text, err := json.Marshal(m)
	require.NoError(t, err)
	require.Contains(t, string(text), "longer than 50ms")
}

func TestDrainClosesSockets(t *testing.T) {
	t.Parallel()
	f := start(t)
	s := f.ready(t)
	s.subscribe("1", "subscription { tick }")
	s.receive()
	drained := make(chan error, 1)
	go func() { drained <- f.Drain(t.Context()) }()
	s.closes(websocket.StatusGoingAway)
	require.NoError(t, <-drained)
	f.settles(t)
}
