// Package graph has the executable schema. All other files are generated.
package graph

import (
	"bytes"
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// NewSchema returns the executable schema. Unlike gqlgen's, it makes the response to each event of a subscription in a
// new buffer. gqlgen's buffer stays as large as the largest event until the subscription ends.
func NewSchema(c Config) graphql.ExecutableSchema {
	return schema{NewExecutableSchema(c).(*executableSchema)}
}

type schema struct{ *executableSchema }

// Exec returns a function that executes an operation. For a subscription, each call waits for one event, and returns
// nil after the last one.
func (s schema) Exec(ctx context.Context) graphql.ResponseHandler {
	operation := graphql.GetOperationContext(ctx)
	if operation.Operation.Operation != ast.Subscription {
		return s.executableSchema.Exec(ctx)
	}
	execution := newExecutionContext(operation, s.executableSchema, nil)
	next := execution._Subscription(ctx, operation.Operation.SelectionSet)
	return func(ctx context.Context) *graphql.Response {
		event := next(ctx)
		if event == nil {
			return nil
		}
		var data bytes.Buffer
		event.MarshalGQL(&data)
		return &graphql.Response{Data: data.Bytes()}
	}
}
