package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	// Begin is called when a request arrives over HTTP, health checks aside, and when an operation begins on a socket. What
	// is done for it has the returned context.
	Begin(ctx context.Context) context.Context
	// End is called once with that context.
	End(ctx context.Context, r Request)
}

// Request is what came of a request over HTTP, or of an operation on a socket.
type Request struct {
	// Operation is the name that the client gave the operation, at most 64 bytes; "" for none.
	Operation string
	// Kind is "" for a request in which no valid operation was found.
	Kind ast.Operation
	// Code is that of the first error; "" for none.
	Code     string
	Duration time.Duration
}

// Load is what a Server is busy with now.
type Load struct{ Requests, Sockets int }

// Load returns what the server is busy with now.
func (s *Server) Load() Load {
	sockets := int(s.sockets.Load())
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return Load{Requests: max(0, s.traffic.underWay-sockets), Sockets: sockets}
}

type recordKey struct{}

// record gathers what the log says of a request, or of an operation on a socket.
type record struct {
	begin  time.Time
	remote string
	caller model.Principal
	// method and path are "" on a socket, and header is nil. It is the response's.
	method, path string
	header       http.Header
	// isObserved says that the observer was told of its begin.
	isObserved bool
	// operation, kind, document and cost are those of a valid operation.
	operation string
	kind      ast.Operation
	document  string
	cost      int
	// code is that of the first error. Resolvers may fail at the same time.
	code atomic.Pointer[string]
}

func (r *record) fail(code string) { r.code.CompareAndSwap(nil, &code) }

// codeOf returns the code of the first error, or what the status tells of an error that was worded elsewhere.
func (r *record) codeOf(status int) string {
	if code := r.code.Load(); code != nil {
		return *code
	}
	switch {
	case status < http.StatusBadRequest:
		return ""
	case status == http.StatusNotFound:
		return string(model.NotFound)
	case status == http.StatusConflict:
		return string(model.Conflict)
	case status == http.StatusRequestEntityTooLarge:
		return string(model.LimitExceeded)
	case status == http.StatusUnprocessableEntity:
		return string(model.Unprocessable)
	case status >= http.StatusInternalServerError:
		return string(model.Internal)
	}
	return string(model.BadInput)
}

// observe tells the observer that a request begins.
func (s *Server) observe(ctx context.Context, r *record) context.Context {
	if s.observer == nil {
		return ctx
	}
	r.isObserved = true
	return s.observer.Begin(ctx)
}

// ended logs a request that has ended, and tells the observer. status is 0 on a socket.
func (s *Server) ended(ctx context.Context, r *record, status int, message string) {
	duration, code := time.Since(r.begin), r.codeOf(status)
	attributes := make([]slog.Attr, 0, 12)
	if r.method != "" {
		attributes = append(attributes, slog.String("method", r.method), slog.String("path", r.path), slog.Int("status", status))
	}
	attributes = append(attributes,
		slog.Duration("duration", duration), slog.String("operation", r.operation), slog.String("code", code),
		slog.Int("cost", r.cost), slog.String("company", r.caller.CompanyID), slog.String("keyId", r.caller.KeyID),
		slog.String("remote", r.remote), slog.String("traceId", TraceID(ctx)))
	s.log.LogAttrs(ctx, slog.LevelInfo, message, attributes...)
	isBounded := r.kind == ast.Query || r.kind == ast.Mutation
	if slow := s.settings.SlowOperation; slow > 0 && isBounded && duration >= slow {
		sum := sha256.Sum256([]byte(r.document))
		s.log.LogAttrs(ctx, slog.LevelWarn, "slow operation", append(attributes, slog.String("document", hex.EncodeToString(sum[:8])))...)
	}
	if r.isObserved {
		s.observer.End(ctx, Request{Operation: r.operation, Kind: r.kind, Code: code, Duration: duration})
	}
}

// noteOperation is an extension that notes for the log which operation was asked for, also when it is then refused.
type noteOperation struct{}

func (noteOperation) ExtensionName() string                   { return "NoteOperation" }
func (noteOperation) Validate(graphql.ExecutableSchema) error { return nil }

// longestName keeps a client from filling the log.
const longestName = 64

func (noteOperation) MutateOperationContext(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.operation, rec.kind, rec.document = shortName(operation.Operation), operation.Operation.Operation, operation.RawQuery
	}
	return nil
}

func shortName(operation *ast.OperationDefinition) string {
	return operation.Name[:min(len(operation.Name), longestName)]
}
