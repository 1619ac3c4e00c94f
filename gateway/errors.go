package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// statuses maps each code to the HTTP status of a response that consists of the error alone.
var statuses = map[model.Code]int{
	model.Unauthenticated: http.StatusUnauthorized,
	model.Forbidden:       http.StatusForbidden,
	model.NotFound:        http.StatusNotFound,
	model.BadInput:        http.StatusBadRequest,
	model.Unprocessable:   http.StatusUnprocessableEntity,
	model.Conflict:        http.StatusConflict,
	model.LimitExceeded:   http.StatusBadRequest,
	model.RateLimited:     http.StatusTooManyRequests,
	model.BudgetExceeded:  http.StatusUnprocessableEntity,
	model.UpstreamFailed:  http.StatusBadGateway,
	model.Unavailable:     http.StatusServiceUnavailable,
	model.Internal:        http.StatusInternalServerError,
	// Documents that do not parse or do not match the schema keep the codes that GraphQL tools know.
	errcode.ParseFailed:      http.StatusBadRequest,
	errcode.ValidationFailed: http.StatusBadRequest,
	// Clients of persisted queries expect these with status 200, and then send the whole query.
	persistedNotFoundCode:     http.StatusOK,
	persistedNotSupportedCode: http.StatusOK,
}

// extensions returns an error's extensions: its code, the request's trace ID, and the faults of fields, if any.
func extensions(ctx context.Context, code string, fields model.Fields) map[string]any {
	members := map[string]any{"code": code}
	if id := TraceID(ctx); id != "" {
		members["traceId"] = id
	}
	if len(fields) > 0 {
		members["fields"] = fields
	}
	return members
}

// StatusOf returns the HTTP status for an error code, 500 for an unknown code.
func StatusOf(code string) int {
	return cmp.Or(statuses[model.Code(code)], http.StatusInternalServerError)
}

func codeOf(err *gqlerror.Error) string {
	code, _ := err.Extensions["code"].(string)
	return code
}

// isGraphQL reports whether the error is that the document does not parse or does not match the schema.
func isGraphQL(err *gqlerror.Error) bool {
	code := codeOf(err)
	return code == errcode.ParseFailed || code == errcode.ValidationFailed
}

// isPersisted reports whether the error is that the gateway does not know the document that the request names.
func isPersisted(err *gqlerror.Error) bool {
	code := codeOf(err)
	return code == persistedNotFoundCode || code == persistedNotSupportedCode
}

// presenter turns any error into the error that the client may see, and logs the rest. It always returns a new value,
// because requests can share an error.
type presenter struct {
	log      *slog.Logger
	settings Settings
}

func (p presenter) present(ctx context.Context, err error) *gqlerror.Error {
	var located *gqlerror.Error
	if !errors.As(err, &located) {
		located = &gqlerror.Error{Path: graphql.GetPath(ctx)}
	}
	out := p.translate(ctx, err, located)
	field, argument := splitPath(ctx, located.Path)
	out.Path, out.Locations = field, located.Locations
	if _, named := out.Extensions["fields"]; argument != "" && !named && codeOf(out) == string(model.BadInput) {
		out.Extensions["fields"] = model.Fields{argument: {out.Message}}
		out.Message = argument + " " + out.Message
	}
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.fail(ctx, codeOf(out))
	}
	return out
}

// splitPath returns the path of the field. If one of the field's arguments is faulty, it also returns the path of the
// faulty input, without the wrapping argument "input".
func splitPath(ctx context.Context, path ast.Path) (field ast.Path, argument string) {
	at := graphql.GetFieldContext(ctx)
	if at == nil {
		return path, ""
	}
	begins := len(at.Path())
	if len(path) <= begins {
		return path, ""
	}
	name, isName := path[begins].(ast.PathName)
	if !isName || at.Field.Definition == nil || at.Field.Definition.Arguments.ForName(string(name)) == nil {
		return path, ""
	}
	rest := path[begins:]
	if name == "input" && len(rest) > 1 {
		rest = rest[1:]
	}
	steps := model.Map(rest, func(step ast.PathElement) string { return fmt.Sprint(step) })
	return path[:begins], strings.Join(steps, ".")
}

func (p presenter) translate(ctx context.Context, err error, located *gqlerror.Error) *gqlerror.Error {
	var known *model.Error
	switch {
	case errors.As(err, &known):
		if known.Code == model.Internal {
			return p.mask(ctx, err, located)
		}
		return publicError(ctx, known)
	case isGraphQL(located), isPersisted(located):
		fields, _ := located.Extensions["fields"].(model.Fields)
		return &gqlerror.Error{Message: located.Message, Extensions: extensions(ctx, codeOf(located), fields)}
	case errors.Is(context.Cause(ctx), errRevoked):
		return publicError(ctx, errRevoked)
	case errors.Is(ctx.Err(), context.Canceled):
		return publicError(ctx, model.Errorf(model.Unavailable, "the request was cancelled"))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.log.WarnContext(ctx, "request timed out", "error", err, "path", located.Path.String(), "traceId", TraceID(ctx))
		return publicError(ctx, model.Errorf(model.Unavailable, "the request took longer than %s", p.settings.timeoutOf(ctx)))
	case errors.Is(err, context.DeadlineExceeded):
		p.log.WarnContext(ctx, "a step timed out", "error", err, "path", located.Path.String(), "traceId", TraceID(ctx))
		return publicError(ctx, model.Errorf(model.Unavailable, "the request waited too long for a service that it needs; "+
			"try again"))
	default:
		return p.mask(ctx, err, located)
	}
}

// publicMessage returns an error's message as a client may see it.
func (p presenter) publicMessage(err error) string {
	if known, ok := errors.AsType[*model.Error](err); ok && known.Code != model.Internal {
		return known.Message
	}
	return "a service that the server needs does not answer; try again later"
}

// mask logs the cause, and returns an error with only the trace ID of the log record.
func (p presenter) mask(ctx context.Context, err error, located *gqlerror.Error) *gqlerror.Error {
	attributes := []any{"error", err, "path", located.Path.String(), "traceId", TraceID(ctx)}
	if panicked, ok := errors.AsType[panicError](err); ok {
		attributes = append(attributes, "stack", string(panicked.stack))
	}
	p.log.ErrorContext(ctx, "internal error", attributes...)
	return publicError(ctx, model.Errorf(model.Internal, "internal error"))
}

func publicError(ctx context.Context, e *model.Error) *gqlerror.Error {
	return &gqlerror.Error{Message: e.Message, Extensions: extensions(ctx, string(e.Code), e.Fields)}
}

// panicError is a panic as an error, which the presenter masks.
type panicError struct {
	value any
	stack []byte
}

func (e panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// recovered turns a panic in a resolver into a panicError.
func recovered(_ context.Context, value any) error {
	return panicError{value: value, stack: debug.Stack()}
}
