package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// execution is an operation that has started.
type execution struct {
	*Server
	exec      graphql.GraphExecutor
	ctx       context.Context
	operation *graphql.OperationContext
	next      graphql.ResponseHandler
	// broken has the error that ended the execution, or nil.
	broken *gqlerror.Error
	// isUnavailable is set if a subscription did not begin because the server lacks a service.
	isUnavailable bool
	// feed is open if the subscription reads its events from it instead of waiting in next.
	feed live.Feed
	// group is equal for subscriptions that have the same response to each event.
	group string
	// isExpensive is set if each event counts as a request.
	isExpensive bool
}

// expensiveEvent is the cost from which an event counts as a request. Most events cost tens or hundreds, and search no
// knowledge base.
const expensiveEvent = 10_000

// begin starts an operation, which runs until ctx ends.
func (s *Server) begin(ctx context.Context, exec graphql.GraphExecutor,
	operation *graphql.OperationContext) *execution {
	x := &execution{Server: s, exec: exec, operation: operation}
	inner := ctx
	if operation.Operation.Operation == ast.Subscription {
		inner = live.WithFeed(ctx, &x.feed)
	}
	x.broken = s.recoverPanic(ctx, func() { x.next, x.ctx = exec.DispatchOperation(inner, operation) })
	if x.feed.IsOpen() {
		x.group = groupKey(ctx, operation)
		rec, ok := ctx.Value(recordKey{}).(*record)
		x.isExpensive = ok && rec.cost >= expensiveEvent
	}
	return x
}

// responses yields the response of a query or mutation, or the responses of a subscription without a feed until it or
// its context ends.
func (x *execution) responses() iter.Seq[*graphql.Response] {
	return func(yield func(*graphql.Response) bool) {
		for x.broken == nil {
			response := x.respond()
			switch {
			case x.broken != nil:
			case x.operation.Operation.Operation != ast.Subscription && response == nil:
				// gqlgen returns nil if the context ended before gqlgen began.
				yield(x.exec.DispatchError(x.ctx, gqlerror.List{gqlerror.Wrap(x.ctx.Err())}))
				return
			case response == nil || !yield(response) || x.operation.Operation.Operation != ast.Subscription:
				return
			}
		}
		yield(&graphql.Response{Errors: gqlerror.List{x.broken}})
	}
}

func (x *execution) respond() (response *graphql.Response) {
	if x.operation.Operation.Operation == ast.Subscription {
		return x.respondToEvent()
	}
	x.broken = x.recoverPanic(x.ctx, func() { response = x.next(x.ctx) })
	return response
}

// respondToEvent adds to gqlgen's response what gqlgen omits for subscriptions: the paths of errors begin with the root
// field, and data is null if a root field that must not be null has no value. If data is null because the caller may
// not select a field, the execution is broken, because every other event would have the same error.
func (x *execution) respondToEvent() (response *graphql.Response) {
	ctx, null := x.ctx, ""
	for field := range rootFields(x.operation) { // there is one, or the operation was refused
		ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription",
			Field: graphql.CollectedField{Field: field, Selections: field.SelectionSet}})
		if field.Definition.Type.NonNull {
			null = `{"` + field.Alias + `":null}`
		}
	}
	x.broken = x.recoverPanic(x.ctx, func() { response = x.next(ctx) })
	if response != nil && null != "" && string(response.Data) == null {
		response.Data = []byte("null")
		for _, err := range response.Errors {
			if codeOf(err) == string(model.Forbidden) {
				x.broken = err
				return nil
			}
		}
	}
	return response
}

// texts yields the responses as JSON, with or without a feed.
func (x *execution) texts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !x.feed.IsOpen() {
			for response := range x.responses() {
				x.isUnavailable = x.operation.Operation.Operation == ast.Subscription && lacksService(response)
				if !yield(appendResponse(nil, response)) {
					return
				}
			}
			return
		}
		woken := make(chan struct{}, 1)
		x.feed.OnWake(func() { woken <- struct{}{} })
		for {
			event, err := x.feed.Next(x.ctx)
			if err != nil {
				return
			}
			if event == nil {
				select {
				case <-woken:
				case <-x.ctx.Done():
				}
				continue
			}
			text := x.responseTo(event)
			if x.broken != nil {
				text = appendResponse(nil, &graphql.Response{Errors: gqlerror.List{x.broken}})
			}
			if text == nil || !yield(text) || x.broken != nil {
				return
			}
		}
	}
}

// lacksService reports whether nothing was executed because of an UNAVAILABLE error.
func lacksService(response *graphql.Response) bool {
	return len(response.Data) == 0 && slices.ContainsFunc(response.Errors,
		func(err *gqlerror.Error) bool { return codeOf(err) == string(model.Unavailable) })
}

// responseTo returns the response to an event of the feed as JSON. Subscriptions of one group share it, unless it has
// errors. It is nil if the execution is broken or its context has ended.
func (x *execution) responseTo(event *live.Event) []byte {
	return event.Render(x.ctx, x.group, func() ([]byte, bool) {
		if x.broken = x.chargeEvent(); x.broken != nil {
			return nil, false
		}
		x.feed.Deliver(event)
		response := x.respond()
		if response == nil || x.broken != nil {
			return nil, false
		}
		return appendResponse(nil, response), len(response.Errors) == 0
	})
}

// chargeEvent counts an expensive event as a request of the caller. In a group, it counts only for the caller whose
// subscription makes the shared response.
func (x *execution) chargeEvent() *gqlerror.Error {
	if !x.isExpensive {
		return nil
	}
	principal, _ := model.PrincipalOf(x.ctx)
	if err := x.takeRequest(nil, principal, time.Now()); err != nil {
		return x.presenter.present(x.ctx, err)
	}
	return nil
}

// groupKey returns equal groups for subscriptions with equal responses to the same event: the same operation and
// variables, by callers of one company with equal rights. Arguments of the root field do not matter, because the event
// is the same. The conditions of root fields do: they choose the field and its alias.
func groupKey(ctx context.Context, operation *graphql.OperationContext) string {
	principal, _ := model.PrincipalOf(ctx)
	used := map[string]any{}
	usedBelow(operation.Operation.SelectionSet, false, operation.Variables, used)
	// The variables were decoded from JSON, so they can be encoded.
	text, _ := json.Marshal([]any{
		principal.CompanyID, principal.Scopes, principal.IsToken(), principal.Reach, operation.RawQuery,
		operation.OperationName, used,
	})
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// usedBelow collects the variables that are used in directives and below the root fields. Fragments have no cycles.
func usedBelow(selections ast.SelectionSet, isBelow bool, variables, used map[string]any) {
	arguments := func(arguments ast.ArgumentList, directives ast.DirectiveList) {
		for _, a := range arguments {
			if isBelow {
				usedIn(a.Value, variables, used)
			}
		}
		for _, d := range directives {
			for _, a := range d.Arguments {
				usedIn(a.Value, variables, used)
			}
		}
	}
	for _, selected := range selections {
		switch selected := selected.(type) {
		case *ast.Field:
			arguments(selected.Arguments, selected.Directives)
			usedBelow(selected.SelectionSet, true, variables, used)
		case *ast.InlineFragment:
			arguments(nil, selected.Directives)
			usedBelow(selected.SelectionSet, isBelow, variables, used)
		case *ast.FragmentSpread:
			arguments(nil, selected.Directives)
			usedBelow(selected.Definition.SelectionSet, isBelow, variables, used)
		}
	}
}

func usedIn(value *ast.Value, variables, used map[string]any) {
	if value.Kind == ast.Variable {
		used[value.Raw] = variables[value.Raw]
	}
	for _, child := range value.Children {
		usedIn(child.Value, variables, used)
	}
}
