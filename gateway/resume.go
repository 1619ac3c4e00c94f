package gateway

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// lastEventHeader is the header in which a reconnecting EventSource sends the id of its last event.
const lastEventHeader = "Last-Event-ID"

// resumption is how a subscription resumes after the events that a client has. Its argument, such as afterSequence, is
// named after the field that numbers its results.
type resumption struct {
	argument string
	// path is the path of the number in a response, or "" if the client does not select it.
	path string
}

// resumptionOf returns the resumption of a subscription. It is zero if the subscription has no such argument.
func resumptionOf(operation *ast.OperationDefinition) resumption {
	for _, selected := range operation.SelectionSet {
		field, isField := selected.(*ast.Field)
		if !isField || field.Definition == nil {
			continue
		}
		for _, argument := range field.Definition.Arguments {
			number, isAfter := strings.CutPrefix(argument.Name, "after")
			if !isAfter || number == "" || argument.Type.Name() != "Int" {
				continue
			}
			r := resumption{argument: argument.Name}
			if alias := aliasOf(field.SelectionSet, strings.ToLower(number[:1])+number[1:]); alias != "" {
				r.path = "data." + field.Alias + "." + alias
			}
			return r
		}
	}
	return resumption{}
}

// aliasOf returns the response name of a field in a selection, or "". Fragments have no cycles.
func aliasOf(set ast.SelectionSet, name string) string {
	for _, selected := range set {
		alias := ""
		switch s := selected.(type) {
		case *ast.Field:
			if s.Name == name {
				alias = s.Alias
			}
		case *ast.InlineFragment:
			alias = aliasOf(s.SelectionSet, name)
		case *ast.FragmentSpread:
			alias = aliasOf(s.Definition.SelectionSet, name)
		}
		if alias != "" {
			return alias
		}
	}
	return ""
}

// idOf returns the number in a response, which is the id of its event, or "".
func (r resumption) idOf(response []byte) string {
	if r.path == "" {
		return ""
	}
	return gjson.GetBytes(response, r.path).Raw
}

type lastEventKey struct{}

// withLastEvent puts the id of the client's last event into the context, if the client sends one.
func withLastEvent(ctx context.Context, h http.Header) context.Context {
	last := h.Get(lastEventHeader)
	if last == "" {
		return ctx
	}
	return context.WithValue(ctx, lastEventKey{}, last)
}

// parseEventID returns the number of an event, or BAD_INPUT if no event can have the id.
func parseEventID(id string) (int32, error) {
	number, err := strconv.ParseInt(id, 10, 32)
	var faults model.Fields
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != id {
		faults.Add(lastEventHeader, "is not the id of an event of this subscription")
	}
	return int32(number), faults.Err()
}

// resume is an extension that resumes subscriptions after the client's last event.
type resume struct{ extensionBase }

// InterceptOperation replaces the argument of the field that opens a subscription. It leaves other operations alone,
// because field middleware runs for each field and would slow them down.
func (resume) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	operation := graphql.GetOperationContext(ctx)
	last, given := ctx.Value(lastEventKey{}).(string)
	if !given || operation.Operation.Operation != ast.Subscription {
		return next(ctx)
	}
	r := resumptionOf(operation.Operation)
	if r.argument == "" {
		return next(ctx)
	}
	number, err := parseEventID(last)
	around := operation.ResolverMiddleware
	operation.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
		if field := graphql.GetFieldContext(ctx); field.Object == "Subscription" {
			if err != nil {
				return nil, err
			}
			field.Args[r.argument] = number
		}
		return around(ctx, next)
	}
	return next(ctx)
}
