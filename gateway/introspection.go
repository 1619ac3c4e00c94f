package gateway

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/ast"
)

// exactIntrospection is an extension that answers null for the lists of a type that its kind does not have, as the
// specification wants it. gqlgen answers empty lists, by which tools cannot tell "none" from "does not apply".
type exactIntrospection struct{}

func (exactIntrospection) ExtensionName() string                   { return "ExactIntrospection" }
func (exactIntrospection) Validate(graphql.ExecutableSchema) error { return nil }

// listsOfKinds are the kinds of types that have each list.
var listsOfKinds = map[string][2]ast.DefinitionKind{
	"fields":        {ast.Object, ast.Interface},
	"interfaces":    {ast.Object, ast.Interface},
	"possibleTypes": {ast.Interface, ast.Union},
	"enumValues":    {ast.Enum},
	"inputFields":   {ast.InputObject},
}

// InterceptField answers null for such a list.
func (exactIntrospection) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	field := graphql.GetFieldContext(ctx)
	if field.Object != "__Type" {
		return next(ctx)
	}
	kinds, isList := listsOfKinds[field.Field.Name]
	if of, known := typeOf(field.Parent); isList && known {
		if kind := ast.DefinitionKind(of.Kind()); kind != kinds[0] && kind != kinds[1] {
			return nil, nil
		}
	}
	return next(ctx)
}

// typeOf returns the type whose field is answered.
func typeOf(parent *graphql.FieldContext) (of *introspection.Type, known bool) {
	if parent == nil {
		return nil, false
	}
	switch result := parent.Result.(type) {
	case *introspection.Type:
		return result, result != nil
	case **introspection.Type:
		return *result, *result != nil
	}
	return nil, false
}
