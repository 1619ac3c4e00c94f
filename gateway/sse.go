package gateway

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// events is an open stream in the distinct connections mode of graphql-sse: "next" events that
// carry results, one "complete" event at the end.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (x exchange) openEvents() events {
	h := x.w.Header()
	h.Set("Content-Type", eventType+utf8Suffix)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	x.w.WriteHeader(http.StatusOK)
	e := events{w: x.w, control: http.NewResponseController(x.w), timeout: x.settings.WriteTimeout}
	e.comment()
	return e
}

// next sends a result; false when the client is gone or too slow.
func (e events) next(result []byte) bool {
	// A line break in JSON stands between values only, so it may become another data line.
	result = bytes.ReplaceAll(result, []byte{'\r'}, nil)
	result = bytes.ReplaceAll(result, []byte{'\n'}, []byte("\ndata: "))
	return e.send([]byte("event: next\ndata: "), result, []byte("\n\n"))
}

// complete has a data line, as an event without one is not delivered.
func (e events) complete() { _ = e.send([]byte("event: complete\ndata:\n\n")) }

// comment keeps the connection from looking dead.
func (e events) comment() bool { return e.send([]byte(":\n\n")) }

func (e events) send(parts ...[]byte) bool {
	_ = e.control.SetWriteDeadline(time.Now().Add(e.timeout))
	for _, part := range parts {
		if _, err := e.w.Write(part); err != nil {
			return false
		}
	}
	return e.control.Flush() == nil
}

// stream executes the operation and sends its results as they come, until it ends, the client
// leaves, its credential is not good any more or the server drains. When it returns, nothing of it runs any more.
func (x exchange) stream(ctx context.Context, operation *graphql.OperationContext) {
	ctx, cancel := context.WithCancel(ctx)
	results, left := make(chan []byte), make(chan struct{})
	var producer sync.WaitGroup
	producer.Go(func() {
		defer close(results)
		for response := range x.results(ctx, x.exec, operation) {
			select {
			case results <- appendResponse(nil, response):
			case <-left:
				return
			}
		}
	})
	defer producer.Wait()
	defer cancel()
	defer close(left)

	out := x.openEvents()
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
		case <-ticker.C:
			if x.revoked(ctx, credentialOf(x.r.Header)) {
				err := x.presenter.present(ctx, model.Errorf(model.Unauthenticated, "the credential is no longer valid"))
				out.next(appendResponse(nil, &graphql.Response{Errors: gqlerror.List{err}}))
				out.complete()
				return
			}
			if !out.comment() {
				return
			}
		case <-x.r.Context().Done():
			return
		case <-x.traffic.closing.Done():
			return
		}
	}
}
