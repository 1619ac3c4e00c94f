package gateway

import (
	"cmp"
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// deadline ends operations that take too long. It also ends slow ones, such as a turn of a chat, when their credential
// is revoked, so that they make no more calls.
type deadline struct {
	extensionBase
	settings Settings
	// slow has the slow operations in progress. It is apart from the open sockets and streams, whose number is limited.
	slow *sessions
}

var errRevoked = model.Errorf(model.Unauthenticated, "the credential is no longer valid")

// InterceptResponse limits the time of a query or mutation. Subscriptions last as long as their connection.
func (d deadline) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	// A refused request has no operation.
	operation := graphql.GetOperationContext(ctx).Operation
	if operation == nil || operation.Operation == ast.Subscription {
		return next(ctx)
	}
	timeout := d.settings.timeoutOf(ctx)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	principal, isKnown := model.PrincipalOf(ctx)
	if timeout <= d.settings.RequestTimeout || !isKnown {
		return next(ctx)
	}
	ctx, revoke := context.WithCancelCause(ctx)
	defer revoke(nil)
	principal.ExpiresAt = time.Time{} // a token may expire during its last operation
	if closed, err := d.slow.begin(principal, func() { revoke(errRevoked) }); err == nil {
		defer closed()
	}
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
