package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// Observer watches requests, for metrics and traces. It is safe for concurrent use.
type Observer interface {
	// Begin is called when a request arrives over HTTP, except for health checks, and when an operation begins on a socket
	// or in a batch. The request is handled in the returned context.
	Begin(ctx context.Context) context.Context
	// End is called once with that context.
	End(ctx context.Context, r Request)
}

// Request is the outcome of a request over HTTP, or of an operation on a socket or in a batch.
type Request struct {
	// Operation is the client's name for the operation, at most 64 bytes. It may be "".
	Operation string
	// Kind is "" if the request had no valid operation.
	Kind ast.Operation
	// Code is the code of the first error, CANCELED if the client left before the response, or "".
	Code     string
	Duration time.Duration
}

// Load is how busy a Server is.
type Load struct {
	Requests, Sockets int
	// ResponseBytes counts the bytes of responses that are being made or that clients have not received yet.
	ResponseBytes int64
}

// Load returns the server's current load.
func (s *Server) Load() Load {
	sockets := int(s.sockets.Load())
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return Load{Requests: max(0, s.traffic.inProgress-sockets), Sockets: sockets, ResponseBytes: s.memory.held.Load()}
}

type recordKey struct{}

// record collects the facts to log about a request, or about an operation on a socket or in a batch.
type record struct {
	begin  time.Time
	remote string
	caller model.Principal
	// header is the response's header. On a socket and in a batch, method and path are "" and header is nil.
	method, path string
	header       http.Header
	// isObserved is set if Observer.Begin was called.
	isObserved bool
	// operation, kind, document and cost describe a valid operation.
	operation string
	kind      ast.Operation
	document  string
	cost      int
	// code is the code of the first error. It is atomic because resolvers can fail at the same time.
	code atomic.Pointer[string]
}

// codeCanceled is recorded instead of UNAVAILABLE if the client left before the response. No response has this code.
const codeCanceled = "CANCELED"

// hasClientLeft reports whether ctx ended because the client left. A timeout and draining give ctx another cause.
func hasClientLeft(ctx context.Context) bool { return errors.Is(context.Cause(ctx), context.Canceled) }

// fail records the code of an error if it is the first one.
func (r *record) fail(ctx context.Context, code string) {
	if code == string(model.Unavailable) && hasClientLeft(ctx) {
		code = codeCanceled
	}
	r.code.CompareAndSwap(nil, &code)
}

// codeOf returns the code of the first error. It derives a code from the status if another package wrote the error.
func (r *record) codeOf(ctx context.Context, status int) string {
	if code := r.code.Load(); code != nil {
		return *code
	}
	switch {
	case status < http.StatusBadRequest:
		return ""
	case status == http.StatusServiceUnavailable && hasClientLeft(ctx):
		return codeCanceled
	case status == http.StatusNotFound:
		return string(model.NotFound)
	case status == http.StatusConflict:
		return string(model.Conflict)
	case status == http.StatusRequestEntityTooLarge:
		return string(model.LimitExceeded)
	case status == http.StatusUnprocessableEntity:
		return string(model.Unprocessable)
	case status == http.StatusServiceUnavailable:
		return string(model.Unavailable)
	case status >= http.StatusInternalServerError:
		return string(model.Internal)
	}
	return string(model.BadInput)
}

// observe calls Observer.Begin, if there is an observer.
func (s *Server) observe(ctx context.Context, r *record) context.Context {
	if s.observer == nil {
		return ctx
	}
	r.isObserved = true
	return s.observer.Begin(ctx)
}

// logEnd logs a finished request and calls Observer.End. status is 0 on a socket and in a batch.
func (s *Server) logEnd(ctx context.Context, r *record, status int, message string) {
	duration, code := time.Since(r.begin), r.codeOf(ctx, status)
	attributes := make([]slog.Attr, 0, 12)
	if r.method != "" {
		attributes = append(attributes, slog.String("method", r.method), slog.String("path", r.path),
			slog.Int("status", status))
	}
	attributes = append(attributes,
		slog.Duration("duration", duration), slog.String("operation", r.operation), slog.String("code", code),
		slog.Int("cost", r.cost), slog.String("company", r.caller.CompanyID), slog.String("keyId", r.caller.KeyID),
		slog.String("remote", r.remote), slog.String("traceId", TraceID(ctx)))
	s.log.LogAttrs(ctx, slog.LevelInfo, message, attributes...)
	isBounded := r.kind == ast.Query || r.kind == ast.Mutation
	if slow := s.settings.SlowOperation; slow > 0 && isBounded && duration >= slow {
		sum := sha256.Sum256([]byte(r.document))
		s.log.LogAttrs(ctx, slog.LevelWarn, "slow operation",
			append(attributes, slog.String("document", hex.EncodeToString(sum[:8])))...)
	}
	if r.isObserved {
		s.observer.End(ctx, Request{Operation: r.operation, Kind: r.kind, Code: code, Duration: duration})
	}
}

// WithoutRecord returns a context whose operations the log and the metrics of the request leave out.
func WithoutRecord(ctx context.Context) context.Context {
	return context.WithValue(ctx, recordKey{}, &record{})
}

// noteOperation is an extension that records the requested operation for the log, even if it is refused later.
type noteOperation struct{ extensionBase }

// extensionBase names an extension of gqlgen's executor, and accepts every schema. The gateway's extensions embed it.
type extensionBase struct{}

func (extensionBase) ExtensionName() string                   { return "agentgraph" }
func (extensionBase) Validate(graphql.ExecutableSchema) error { return nil }

// longestName bounds the names of operations in the log, in bytes.
const longestName = 64

func (noteOperation) MutateOperationContext(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.operation, rec.kind, rec.document = shortName(operation.Operation), operation.Operation.Operation,
			operation.RawQuery
	}
	return nil
}

func shortName(operation *ast.OperationDefinition) string {
	return operation.Name[:min(len(operation.Name), longestName)]
}
