package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// requires resolves a field only if the caller has the scope, or a scope for which the schema opens the field. With
// keyOnly the caller must use an API key rather than a token.
func requires(ctx context.Context, _ any, next graphql.Resolver, scope model.APIKeyScope, keyOnly bool) (any, error) {
	principal, ok := model.PrincipalOf(ctx)
	if !ok {
		return nil, model.Errorf(model.Unauthenticated, "the request has no credential")
	}
	if !principal.Can(scope) && !isOpen(graphql.GetFieldContext(ctx).Field.Definition, principal) {
		return nil, model.Errorf(model.Forbidden, "the credential does not have the scope %s", scope)
	}
	if keyOnly && principal.IsToken() {
		return nil, model.Errorf(model.Forbidden, "an access token cannot do this: use an API key")
	}
	return next(ctx)
}

// isOpen reports whether the schema opens the field to the scope chat, and the caller has that scope.
func isOpen(field *ast.FieldDefinition, principal model.Principal) bool {
	open := field.Directives.ForName("openTo")
	return open != nil && principal.Reach != nil && open.Arguments.ForName("scope").
		Value.Raw == string(model.APIKeyScopeChat)
}

// Confinement is the gqlgen extension for restricted credentials. With the scope chat, a caller may select only fields
// that the schema opens to that scope. With a token for one subscription, it may select only that subscription. The
// extension refuses all other operations before they are executed.
type Confinement struct{}

// ExtensionName names the extension.
func (Confinement) ExtensionName() string { return "Confinement" }

// Validate accepts every schema.
func (Confinement) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext refuses an operation with fields that the caller may not select.
func (Confinement) MutateOperationContext(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	principal, known := model.PrincipalOf(ctx)
	if only := principal.Subscription; only != "" && !selectsOnly(operation.Operation, string(only)) {
		return gqlerror.Wrap(model.Errorf(model.Forbidden, "the access token is valid only for the subscription %s", only))
	}
	if !known || principal.Reach == nil {
		return nil
	}
	c := scopeChecker{principal: principal, seen: map[*ast.FragmentDefinition]bool{}}
	if err := c.check(operation.Operation.SelectionSet); err != nil {
		return gqlerror.Wrap(err)
	}
	return nil
}

// selectsOnly reports whether the operation is the subscription and selects nothing else.
func selectsOnly(operation *ast.OperationDefinition, subscription string) bool {
	if operation.Operation != ast.Subscription || len(operation.SelectionSet) != 1 {
		return false
	}
	field, isField := operation.SelectionSet[0].(*ast.Field)
	return isField && field.Name == subscription
}

// scopeChecker finds fields that a caller may not select.
type scopeChecker struct {
	principal model.Principal
	seen      map[*ast.FragmentDefinition]bool
}

func (c scopeChecker) check(selections ast.SelectionSet) error {
	for _, selected := range selections {
		below := ast.SelectionSet(nil)
		switch selected := selected.(type) {
		case *ast.Field:
			if selected.Name == "__typename" {
				continue
			}
			if !isOpen(selected.Definition, c.principal) {
				return model.Errorf(model.Forbidden, "the scope %s does not include %s.%s: use a credential with the scope %s",
					model.APIKeyScopeChat, selected.ObjectDefinition.Name, selected.Name, scopeOf(selected.Definition))
			}
			below = selected.SelectionSet
		case *ast.InlineFragment:
			below = selected.SelectionSet
		case *ast.FragmentSpread:
			if c.seen[selected.Definition] {
				continue
			}
			c.seen[selected.Definition] = true
			below = selected.Definition.SelectionSet
		}
		if err := c.check(below); err != nil {
			return err
		}
	}
	return nil
}

func scopeOf(field *ast.FieldDefinition) string {
	if required := field.Directives.ForName("requires"); required != nil {
		return required.Arguments.ForName("scope").Value.Raw
	}
	return string(model.APIKeyScopeBrowse)
}
