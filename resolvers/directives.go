package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/model"
)

// requires answers a field only when the caller holds the scope.
func requires(ctx context.Context, _ any, next graphql.Resolver, scope model.APIKeyScope) (any, error) {
	principal, ok := model.PrincipalOf(ctx)
	if !ok {
		return nil, model.Errorf(model.Unauthenticated, "an API key is needed")
	}
	if !principal.Can(scope) {
		return nil, model.Errorf(model.Forbidden, "the API key does not have the scope %s", scope)
	}
	return next(ctx)
}
