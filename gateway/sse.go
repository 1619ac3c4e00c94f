package gateway

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// events is an open stream. Clients that accept text/event-stream get server-sent events in the distinct connections
// mode of graphql-sse: "next" events carry results, and a "complete" event ends the stream. Other clients get
// multipart/mixed, as in Apollo's protocol for subscriptions over HTTP.
type events struct {
	exchange
	control *http.ResponseController
	// operation is the name of the streamed operation.
	operation string
	isParts   bool
	// resumption gives events their ids.
	resumption resumption
}

// The frame of a part. A client reads a part only once the delimiter after it has arrived.
const (
	partDelimiter = "\r\n--graphql"
	partHeader    = "\r\nContent-Type: application/json\r\n\r\n"
)

func (x exchange) openEvents(operation string) events {
	h := x.w.Header()
	e := events{exchange: x, control: http.NewResponseController(x.w), operation: operation, isParts: x.accept.parts &&
		!x.accept.stream}
	h.Set("Content-Type", eventType+utf8Suffix)
	if e.isParts {
		h.Set("Content-Type", partsType+`;boundary="graphql";subscriptionSpec="1.0"`)
	}
	h.Set("X-Accel-Buffering", "no")
	x.w.WriteHeader(http.StatusOK)
	if e.isParts {
		_ = e.send([]byte(partDelimiter))
	} else {
		e.comment()
	}
	return e
}

// next sends a result. It reports false if the client has disconnected or is too slow.
func (e events) next(result []byte) bool {
	if e.isParts {
		return e.send([]byte(partHeader+`{"payload":`), result, []byte("}"+partDelimiter))
	}
	begin := "event: next\ndata: "
	if id := e.resumption.idOf(result); id != "" {
		begin = "event: next\nid: " + id + "\ndata: "
	}
	// In JSON, line breaks occur only between tokens, so each can start another data line.
	if bytes.ContainsAny(result, "\r\n") {
		result = bytes.ReplaceAll(result, []byte{'\r'}, nil)
		result = bytes.ReplaceAll(result, []byte{'\n'}, []byte("\ndata: "))
	}
	return e.send([]byte(begin), result, []byte("\n\n"))
}

// complete sends the last event. It has a data line, because clients ignore an event without one.
func (e events) complete() {
	if e.isParts {
		_ = e.send([]byte("--\r\n"))
		return
	}
	_ = e.send([]byte("event: complete\ndata:\n\n"))
}

// comment sends a keep-alive. It reports false if the client has disconnected or is too slow.
func (e events) comment() bool {
	if e.isParts {
		return e.send([]byte(partHeader + "{}" + partDelimiter))
	}
	return e.send([]byte(":\n\n"))
}

// send sends the parts of an event. It logs a client that does not receive them in time.
func (e events) send(parts ...[]byte) bool {
	_ = e.control.SetWriteDeadline(time.Now().Add(e.settings.WriteTimeout))
	var err error
	for _, part := range parts {
		if err == nil {
			_, err = e.w.Write(part)
		}
	}
	if err == nil {
		err = e.control.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		e.logSlowClient(e.r.Context(), e.operation, e.r.RemoteAddr)
	}
	return err == nil
}

// stream executes the operation and sends its results as they arrive. It stops when the operation ends, the client
// disconnects, the credential becomes invalid or the server drains. The operation has ended when stream returns.
//
//nolint:funlen // one loop over all events
func (x exchange) stream(ctx context.Context, operation *graphql.OperationContext) {
	principal, _ := model.PrincipalOf(ctx)
	revoked, revoke := context.WithCancel(context.Background())
	defer revoke()
	closed, err := x.sessions.begin(principal, revoke)
	if err != nil {
		x.reject(&graphql.Response{Errors: gqlerror.List{x.presenter.present(ctx, err)}})
		return
	}
	defer closed()
	ctx, cancel := context.WithCancel(withLastEvent(ctx, x.r.Header))
	results, written, left := make(chan []byte), make(chan struct{}), make(chan struct{})
	var started *execution // owned by the producer until results is closed
	var producer sync.WaitGroup
	producer.Go(func() {
		defer close(results)
		started = x.begin(ctx, x.exec, operation)
		for result := range started.texts() {
			select {
			case results <- result:
			case <-left:
				return
			}
			select { // The next result is made after the client has received this one.
			case <-written:
			case <-left:
				return
			}
		}
	})
	defer producer.Wait()
	defer cancel()
	defer close(left)

	out := x.openEvents(shortName(operation.Operation))
	out.resumption = resumptionOf(operation.Operation)
	ticker := time.NewTicker(x.settings.PingInterval)
	defer ticker.Stop()
	for {
		select {
		case result, more := <-results:
			if !more {
				if !started.isUnavailable { // without complete, clients connect again
					out.complete()
				}
				return
			}
			if !out.next(result) {
				return
			}
			if taken := outgoingOf(ctx); taken != nil {
				taken.release()
			}
			written <- struct{}{}
		case <-ticker.C:
			if x.isRevoked(ctx, credentialOf(x.r.Header)) {
				revoke()
			} else if !out.comment() {
				return
			}
		case <-revoked.Done():
			err := x.presenter.present(ctx, errRevoked)
			out.next(appendResponse(nil, &graphql.Response{Errors: gqlerror.List{err}}))
			out.complete()
			return
		case <-x.r.Context().Done():
			return
		case <-x.traffic.closing.Done():
			return
		}
	}
}
