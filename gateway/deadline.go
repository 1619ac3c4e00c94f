package gateway

import (
	"cmp"
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

type deadline struct {
	extensionBase
	settings Settings
}

// InterceptResponse limits the time of a query or mutation. Subscriptions last as long as their connection.
func (d deadline) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	// A refused request has no operation.
	operation := graphql.GetOperationContext(ctx).Operation
	if operation == nil || operation.Operation == ast.Subscription {
		return next(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, d.settings.timeoutOf(ctx))
	defer cancel()
	return next(ctx)
}

func (s Settings) timeoutOf(ctx context.Context) time.Duration {
	if len(s.SlowFields) == 0 || !graphql.HasOperationContext(ctx) {
		return s.RequestTimeout
	}
	operation := graphql.GetOperationContext(ctx)
	if operation.Operation == nil {
		return s.RequestTimeout
	}
	var longest time.Duration
	for field := range rootFields(operation) {
		timeout, slow := s.SlowFields[field.Name]
		if !slow {
			timeout = s.RequestTimeout
		}
		longest = max(longest, timeout)
	}
	// longest is 0 if the operation skips all of its fields.
	return cmp.Or(longest, s.RequestTimeout)
}

func (s Settings) longestTimeout() time.Duration {
	longest := s.RequestTimeout
	for _, timeout := range s.SlowFields {
		longest = max(longest, timeout)
	}
	return longest
}
