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

// events is an open stream. To clients that name them it is server-sent events, in the distinct connections mode of
// graphql-sse: "next" events carry results, and one "complete" event ends it. To others it is the parts of
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

// The frame of a part. A client only reads a part once the delimiter behind it has arrived.
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

// next sends a result. It reports false if the client is gone or too slow.
func (e events) next(result []byte) bool {
	if e.isParts {
		return e.send([]byte(partHeader+`{"payload":`), result, []byte("}"+partDelimiter))
	}
	begin := "event: next\ndata: "
	if id := e.resumption.idOf(result); id != "" {
		begin = "event: next\nid: " + id + "\ndata: "
	}
	// In JSON a line break can only stand between values, so it may start another data line.
	if bytes.ContainsAny(result, "\r\n") {
		result = bytes.ReplaceAll(result, []byte{'\r'}, nil)
		result = bytes.ReplaceAll(result, []byte{'\n'}, []byte("\ndata: "))
	}
	return e.send([]byte(begin), result, []byte("\n\n"))
}

// complete has a data line, because an event without one is not delivered.
func (e events) complete() {
	if e.isParts {
		_ = e.send([]byte("--\r\n"))
		return
	}
	_ = e.send([]byte("event: complete\ndata:\n\n"))
}

// comment keeps the connection from looking dead.
func (e events) comment() bool {
	if e.isParts {
		return e.send([]byte(partHeader + "{}" + partDelimiter))
	}
	return e.send([]byte(":\n\n"))
}

// send sends the parts of an event. It logs a client that does not take them in time.
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
		e.slow(e.r.Context(), e.operation, e.r.RemoteAddr)
	}
	return err == nil
}

// stream executes the operation and sends its results as they come. It stops when the operation ends, the client
// leaves, the credential is no longer good or the server drains. When it returns, nothing of the operation runs any
// more.
//
//nolint:funlen // one loop over what may happen
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
	var producer sync.WaitGroup
	producer.Go(func() {
		defer close(results)
		for result := range x.begin(ctx, x.exec, operation).texts() {
			select {
			case results <- result:
			case <-left:
				return
			}
			select { // Nothing more is made before the client has taken this.
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
				out.complete()
				return
			}
			if !out.next(result) {
				return
			}
			if taken := outgoingOf(ctx); taken != nil {
				taken.written()
			}
			written <- struct{}{}
		case <-ticker.C:
			if x.revoked(ctx, credentialOf(x.r.Header)) {
				revoke()
			} else if !out.comment() {
				return
			}
		case <-revoked.Done():
			err := x.presenter.present(ctx, model.Errorf(model.Unauthenticated, "the credential is no longer valid"))
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
