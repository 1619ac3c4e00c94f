package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// Socket is a connection by graphql-transport-ws, with any number of operations at a time.
type Socket struct {
	client *Client
	conn   *websocket.Conn
	mu     sync.Mutex
	// operations are those that are open, by id. It is nil once the socket has ended, for the reason err.
	operations map[string]chan<- Event
	err        error
	started    int
}

// Event is something that an operation brings. The last one has an error or is Done.
type Event struct {
	Data json.RawMessage
	Err  error
	Done bool
}

type socketMessage struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// eventsAhead is how many events of an operation may wait to be taken before others have to wait, too.
const eventsAhead = 256

// Open opens a socket. It ends with ctx.
func (c *Client) Open(ctx context.Context) (*Socket, error) {
	opening, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, response, err := websocket.Dial(opening, "ws"+strings.TrimPrefix(c.address, "http"), &websocket.DialOptions{
		HTTPClient: c.http, HTTPHeader: http.Header{"User-Agent": {c.agent}}, Subprotocols: []string{"graphql-transport-ws"},
	})
	if response != nil && response.Body != nil {
		defer func() { _ = response.Body.Close() }()
	}
	if err != nil {
		if response != nil && response.StatusCode != 0 && response.StatusCode != http.StatusSwitchingProtocols {
			return nil, &refusal{status: response.StatusCode, message: fmt.Sprintf("the server answered %s and opened no "+
				"socket: is its address right?", response.Status)}
		}
		return nil, c.unreachable(err)
	}
	conn.SetReadLimit(maxAnswer)
	s := &Socket{client: c, conn: conn, operations: map[string]chan<- Event{}}
	key, err := json.Marshal(map[string]string{"X-Api-Key": c.key})
	if err != nil {
		return nil, err
	}
	var answer socketMessage
	if err = wsjson.Write(opening, conn, socketMessage{Type: "connection_init", Payload: key}); err == nil {
		err = wsjson.Read(opening, conn, &answer)
	}
	if err != nil || answer.Type != "connection_ack" {
		_ = conn.CloseNow()
		return nil, s.reason(err)
	}
	go s.read(ctx)
	return s, nil
}

// Start starts an operation. Its events have to be taken until its last one.
func (s *Socket) Start(ctx context.Context, request Request) (<-chan Event, error) {
	payload, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	events := make(chan Event, eventsAhead)
	s.mu.Lock()
	if s.operations == nil {
		s.mu.Unlock()
		return nil, s.err
	}
	s.started++
	id := strconv.Itoa(s.started)
	s.operations[id] = events
	s.mu.Unlock()
	if err := wsjson.Write(ctx, s.conn, socketMessage{ID: id, Type: "subscribe", Payload: payload}); err != nil {
		return nil, s.reason(err)
	}
	return events, nil
}

// Close closes the socket and ends its operations.
func (s *Socket) Close() { _ = s.conn.Close(websocket.StatusNormalClosure, "") }

// read passes on events until the socket ends.
func (s *Socket) read(ctx context.Context) {
	for {
		var m socketMessage
		if err := wsjson.Read(ctx, s.conn, &m); err != nil {
			s.end(s.reason(err))
			return
		}
		switch m.Type {
		case "ping":
			_ = wsjson.Write(ctx, s.conn, socketMessage{Type: "pong"})
		case "next":
			data, err := result(http.StatusOK, m.Payload)
			s.pass(ctx, m.ID, Event{Data: data, Err: err})
		case "error":
			_, err := result(http.StatusOK, []byte(`{"errors":`+string(m.Payload)+`}`))
			s.pass(ctx, m.ID, Event{Err: err})
		case "complete":
			s.pass(ctx, m.ID, Event{Done: true})
		}
	}
}

// pass hands an event to its operation, which is over with an error or when it is done.
func (s *Socket) pass(ctx context.Context, id string, event Event) {
	s.mu.Lock()
	events := s.operations[id]
	if event.Done || event.Err != nil {
		delete(s.operations, id)
	}
	s.mu.Unlock()
	if events == nil {
		return
	}
	select {
	case events <- event:
	case <-ctx.Done():
	}
}

// end tells all operations why the socket has ended. Nobody else passes events any more.
func (s *Socket) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, events := range s.operations {
		select {
		case events <- Event{Err: err}:
		default:
			close(events)
		}
	}
	s.operations, s.err = nil, err
}

// reason is why the server closed the socket, or that it cannot be reached.
func (s *Socket) reason(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.StatusGoingAway &&
		closed.Code != websocket.StatusNormalClosure {
		return &refusal{status: http.StatusForbidden, message: fmt.Sprintf("the server closed the socket: %s", closed.Reason)}
	}
	if err == nil {
		err = errors.New("it did not acknowledge the socket")
	}
	return s.client.unreachable(err)
}
