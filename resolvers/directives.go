package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/model"
)

// requires resolves a field only if the caller has the scope and, with keyOnly, uses an API key rather than a token.
func requires(ctx context.Context, _ any, next graphql.Resolver, scope model.APIKeyScope, keyOnly bool) (any, error) {
	principal, ok := model.PrincipalOf(ctx)
	if !ok {
		return nil, model.Errorf(model.Unauthenticated, "a credential is needed")
	}
	if !principal.Can(scope) {
		return nil, model.Errorf(model.Forbidden, "the credential does not have the scope %s", scope)
	}
	if keyOnly && principal.IsToken {
		return nil, model.Errorf(model.Forbidden, "an access token cannot do this, only an API key")
	}
	return next(ctx)
}
