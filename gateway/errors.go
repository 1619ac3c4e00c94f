package gateway

import (
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

// statuses is the HTTP status of each code, for a response that is nothing but the error.
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
	// A document that does not parse or does not fit the schema keeps the code that GraphQL tools know.
	errcode.ParseFailed:      http.StatusBadRequest,
	errcode.ValidationFailed: http.StatusBadRequest,
}

// extensions is what a client is told beside the message, by code; every code adds "code" itself.
func extensions(ctx context.Context, e *model.Error) map[string]any {
	members := map[string]any{"code": string(e.Code)}
	if len(e.Fields) > 0 {
		members["fields"] = e.Fields
	}
	if e.Code == model.Internal {
		members["traceId"] = TraceID(ctx)
	}
	return members
}

// StatusOf returns the HTTP status for a code of extensions.code, 500 for one that is not known.
func StatusOf(code string) int {
	if status, known := statuses[model.Code(code)]; known {
		return status
	}
	return http.StatusInternalServerError
}

func codeOf(err *gqlerror.Error) string {
	code, _ := err.Extensions["code"].(string)
	return code
}

// isGraphQL reports whether the error is the document's: it does not parse or does not fit the schema.
func isGraphQL(err *gqlerror.Error) bool {
	code := codeOf(err)
	return code == errcode.ParseFailed || code == errcode.ValidationFailed
}

// presenter turns any error into what the client may see, and logs what it may not. It makes a new
// value each time, so that an error which several requests hold is never written to.
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
	}
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.fail(codeOf(out))
	}
	return out
}

// splitPath returns the path of the field, and what follows it when an argument of the field could not be read:
// the path of the input at fault as the domain names inputs, without the argument "input" that holds it.
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
	steps := make([]string, len(rest))
	for i, step := range rest {
		steps[i] = fmt.Sprint(step)
	}
	return path[:begins], strings.Join(steps, ".")
}

func (p presenter) translate(ctx context.Context, err error, located *gqlerror.Error) *gqlerror.Error {
	var known *model.Error
	var number *graphql.IntegerError
	switch {
	case errors.As(err, &known):
		if known.Code == model.Internal {
			return p.mask(ctx, err, located)
		}
		return shownTo(ctx, known)
	case isGraphQL(located):
		return &gqlerror.Error{Message: located.Message, Extensions: map[string]any{"code": codeOf(located)}}
	case errors.As(err, &number):
		// A literal that is an integer and too large for Int passes gqlparser's validation.
		return shownTo(ctx, model.Errorf(model.BadInput, "%s", number.Message))
	case errors.Is(ctx.Err(), context.Canceled):
		return shownTo(ctx, model.Errorf(model.Unavailable, "the request was cancelled"))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		p.log.WarnContext(ctx, "request timed out", "error", err, "path", located.Path.String(), "traceId", TraceID(ctx))
		return shownTo(ctx, model.Errorf(model.Unavailable, "the request took longer than %s", p.settings.timeoutOf(ctx)))
	case errors.Is(err, context.DeadlineExceeded):
		p.log.WarnContext(ctx, "a step timed out", "error", err, "path", located.Path.String(), "traceId", TraceID(ctx))
		return shownTo(ctx, model.Errorf(model.Unavailable, "the request waited too long for something it needs; try again"))
	default:
		return p.mask(ctx, err, located)
	}
}

// reason is the sentence of an error that a client may see.
func (p presenter) reason(err error) string {
	var known *model.Error
	if errors.As(err, &known) && known.Code != model.Internal {
		return known.Message
	}
	return "something that the gateway needs does not answer"
}

// mask keeps the cause in the log and shows only where to find it there.
func (p presenter) mask(ctx context.Context, err error, located *gqlerror.Error) *gqlerror.Error {
	attributes := []any{"error", err, "path", located.Path.String(), "traceId", TraceID(ctx)}
	var panicked panicError
	if errors.As(err, &panicked) {
		attributes = append(attributes, "stack", string(panicked.stack))
	}
	p.log.ErrorContext(ctx, "internal error", attributes...)
	return shownTo(ctx, model.Errorf(model.Internal, "internal error"))
}

func shownTo(ctx context.Context, e *model.Error) *gqlerror.Error {
	return &gqlerror.Error{Message: e.Message, Extensions: extensions(ctx, e)}
}

// panicError is a panic as an error, for the presenter to mask.
type panicError struct {
	value any
	stack []byte
}

func (e panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// recovered is the executor's recover function.
func recovered(_ context.Context, value any) error {
	return panicError{value: value, stack: debug.Stack()}
}
