package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/model"
)

// subprotocol is the only WebSocket subprotocol that the gateway speaks.
const subprotocol = "graphql-transport-ws"

type socketTransport struct{ *Server }

func (socketTransport) Supports(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Do opens the socket and returns, which releases net/http's goroutine and buffers. The socket runs in its own
// goroutine.
func (t socketTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	h := &handshake{ResponseWriter: w, timeout: t.settings.WriteTimeout}
	var s *socket // set before anything is read
	conn, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		Subprotocols:   []string{subprotocol},
		OriginPatterns: t.settings.AllowedOrigins,
		// Pages that may call the gateway may also open sockets.
		InsecureSkipVerify: t.cors != nil && t.cors.OriginAllowed(r),
		OnPingReceived:     func(context.Context, []byte) bool { return s.countFrame() },
		OnPongReceived:     func(context.Context, []byte) { s.countFrame() },
	})
	if err != nil {
		return // Accept has sent the response.
	}
	conn.SetReadLimit(min(smallBody, t.settings.BodyBytes)) // until the socket is acknowledged
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), traceKey{},
		r.Context().Value(traceKey{})))
	s = &socket{
		Server: t.Server, exec: exec, conn: conn, wire: h.wire, remote: r.RemoteAddr, ctx: ctx, cancel: cancel,
		credential: credentialOf(r.Header), origins: r.Header.Values(originHeader), operations: map[string]*operation{},
	}
	// Until Do returns, the traffic counts the request. From here on, it counts the socket.
	if !t.traffic.acquire() {
		s.close(closeDraining)
		return
	}
	go s.serve()
}

// serve runs the socket until it is closed and all of its operations have ended.
func (s *socket) serve() {
	begin := time.Now()
	defer s.traffic.release()
	s.sockets.Add(1)
	defer s.sockets.Add(-1)
	defer func() {
		s.log.LogAttrs(s.ctx, slog.LevelInfo, "socket", slog.Duration("duration", time.Since(begin)),
			slog.String("company", s.caller().CompanyID), slog.String("keyId", s.caller().KeyID),
			slog.String("remote", s.remote), slog.String("traceId", TraceID(s.ctx)))
	}()
	defer s.closeAndWait()
	if s.conn.Subprotocol() != subprotocol {
		s.close(closeSubprotocol)
		return
	}
	stop := context.AfterFunc(s.traffic.closing, func() { s.close(closeDraining) })
	defer stop()
	s.pulse = time.AfterFunc(s.settings.InitTimeout, func() { s.spawn(s.beat) })
	defer s.pulse.Stop()
	s.readMessages()
}

// socket is one connection of graphql-transport-ws. An idle socket is a single goroutine that reads.
type socket struct {
	*Server
	exec   graphql.GraphExecutor
	conn   *websocket.Conn
	wire   *wire
	remote string
	// origins are the Origin headers of the handshake.
	origins []string
	// ctx ends with the socket. Reads and writes do not use it: if their context ends, the library drops the connection
	// without a close frame.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// pulse closes the socket if it is not initialized in time. Once it is initialized, pulse pings the client every
	// PingInterval.
	pulse *time.Timer
	// Only the reading goroutine writes credential, and only until the socket is acknowledged.
	credential   string
	acknowledged atomic.Bool
	// controlMessages counts the messages that maxControlMessages bounds. Each ping of the server resets it to 0.
	controlMessages atomic.Int64
	// session closes the socket's session. It is nil before the socket is acknowledged.
	session func()

	running sync.WaitGroup
	backlog backlog
	// mu is held for every write, so that nothing is sent for an operation after its end.
	mu         sync.Mutex
	closed     bool
	operations map[string]*operation

	// queueMu guards the fields below. It is held only briefly.
	queueMu   sync.Mutex
	hasEnded  bool
	isPumping bool
	// ready lists the operations that may have an event, in order.
	ready []*operation
}

// caller returns the socket's principal, zero before the socket is acknowledged.
func (s *socket) caller() model.Principal {
	principal, _ := model.PrincipalOf(s.ctx)
	return principal
}

// spawn runs the function work in a goroutine of the socket, unless the socket has ended.
func (s *socket) spawn(work func()) {
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	if !s.hasEnded {
		s.running.Go(work)
	}
}

type message struct {
	ID      *string         `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (s *socket) readMessages() {
	for {
		kind, content, err := s.conn.Reader(context.Background())
		if err != nil {
			return
		}
		body := s.bodies.body(content, s.caller().CompanyID, s.settings.BodyBytes)
		text, err := io.ReadAll(body)
		why := closeInvalid
		switch {
		case errors.Is(err, form.ErrBusy):
			why = closeNoMemory
		case err != nil:
			body.release()
			return
		case kind == websocket.MessageText:
			why = s.handleApart(text)
		}
		body.release()
		if why != nil {
			s.close(why)
			return
		}
	}
}

// handleApart runs handle on a temporary stack, so that the stack of an idle socket stays small.
func (s *socket) handleApart(text []byte) (why *closure) {
	var handling sync.WaitGroup
	handling.Go(func() {
		why = closeBroken
		_ = s.recoverPanic(s.ctx, func() { why = s.handle(text) })
	})
	handling.Wait()
	return why
}

// handle handles one message. It returns why the socket must be closed, or nil.
func (s *socket) handle(text []byte) *closure {
	var m message
	if unmarshal(text, &m) != nil || (m.ID != nil && *m.ID == "") {
		return closeInvalid
	}
	if m.Type == "subscribe" {
		s.controlMessages.Add(-1) // the client may send a "complete" later
	} else if !s.countMessage(len(text)) {
		return closeBusy
	}
	switch {
	case m.Type == "connection_init":
		return s.initialize(m.Payload)
	case m.Type == "ping" && isObjectOrAbsent(m.Payload):
		s.write(message{Type: "pong", Payload: m.Payload})
	case m.Type == "pong":
	case m.Type == "subscribe" && m.ID != nil:
		return s.subscribe(*m.ID, m.Payload)
	case m.Type == "complete" && m.ID != nil:
		s.complete(*m.ID)
	default:
		return closeInvalid
	}
	return nil
}

func isObjectOrAbsent(payload json.RawMessage) bool {
	return len(payload) == 0 || payload[0] == '{' || string(payload) == "null"
}

// initialize checks the payload's credential, and acknowledges the socket. Without a credential in the payload, it
// checks the handshake's.
func (s *socket) initialize(payload json.RawMessage) *closure {
	if s.acknowledged.Load() {
		return closeInitTwice
	}
	if !isObjectOrAbsent(payload) {
		return closeInvalid
	}
	s.pulse.Stop()
	var members map[string]json.RawMessage
	if len(payload) > 0 && json.Unmarshal(payload, &members) != nil {
		return closeInvalid
	}
	h, ok := credentialHeaders(members)
	if !ok {
		return closeForbidden
	}
	if h != nil {
		s.credential = credentialOf(h)
	}
	principal, err := s.checkCaller(s.ctx, s.credential, s.remote, s.origins)
	if err != nil {
		switch StatusOf(codeOf(s.presenter.present(s.ctx, err))) {
		case http.StatusUnauthorized, http.StatusForbidden:
			return closeForbidden
		default:
			return closeTryLater
		}
	}
	s.ctx = model.WithPrincipal(s.ctx, principal)
	if s.session, err = s.sessions.begin(principal, func() { go s.close(closeForbidden) }); err != nil {
		return &closure{websocket.StatusTryAgainLater, s.presenter.publicMessage(err)}
	}
	s.acknowledged.Store(true)
	s.conn.SetReadLimit(s.settings.BodyBytes)
	s.write(message{Type: "connection_ack"})
	s.pulse.Reset(s.settings.PingInterval)
	return nil
}

// beat closes a socket that was not initialized in time or whose credential is no longer valid. It drops a socket whose
// client does not answer a ping.
func (s *socket) beat() {
	if !s.acknowledged.Load() {
		s.close(closeInitTimeout)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.settings.WriteTimeout)
	err := s.conn.Ping(ctx)
	cancel()
	if err != nil {
		_ = s.conn.CloseNow()
		return
	}
	if s.isRevoked(s.ctx, s.credential) {
		s.close(closeForbidden)
		return
	}
	s.controlMessages.Store(0)
	s.pulse.Reset(s.settings.PingInterval)
}

// write sends a message that belongs to no operation.
func (s *socket) write(m message) {
	text, _ := json.Marshal(m) // a payload that was read as JSON can be written as JSON
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.send("", [][]byte{text})
	}
}

// send writes messages. The caller holds mu. It drops and logs a client that does not receive them in time.
func (s *socket) send(operation string, messages ...[][]byte) {
	err := s.wire.send(messages...)
	if err == nil {
		return
	}
	s.closed = true
	s.cancel(nil)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.logSlowClient(s.ctx, operation, s.remote)
	}
	_ = s.conn.CloseNow()
}

// drop closes the connection of a client that does not read while other responses need the memory. It sends no close
// frame, because the connection stopped in the middle of another message.
func (s *socket) drop(operation string) {
	s.logSlowClient(s.ctx, operation, s.remote)
	_ = s.wire.Close()
}

// errDraining is the cause of the end of operations on sockets when the server drains.
var errDraining = errors.New("the server drains")

// close ends all operations and sends the closure.
func (s *socket) close(why *closure) {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if !already {
		var cause error
		if why == closeDraining {
			cause = errDraining // the client did not leave
		}
		s.cancel(cause)
		_ = s.conn.Close(why.code, why.reason)
	}
}

// closeAndWait closes the connection and waits for the socket's goroutines.
func (s *socket) closeAndWait() {
	s.queueMu.Lock()
	s.hasEnded = true
	s.queueMu.Unlock()
	s.mu.Lock()
	s.closed = true
	for id := range s.operations {
		s.removeOperation(id)
	}
	s.mu.Unlock()
	s.cancel(nil)
	_ = s.conn.CloseNow()
	if s.session != nil {
		s.session()
	}
	s.running.Wait()
}
