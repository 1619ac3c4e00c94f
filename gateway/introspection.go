package gateway

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/ast"
)

// exactIntrospection is an extension that answers null for the fields of a type that its kind does not have, as the
// specification wants it. gqlgen answers empty lists and false, by which tools cannot tell "none" from "does not apply".
type exactIntrospection struct{}

func (exactIntrospection) ExtensionName() string                   { return "ExactIntrospection" }
func (exactIntrospection) Validate(graphql.ExecutableSchema) error { return nil }

// fieldsOfKinds are the kinds of types that have each field.
var fieldsOfKinds = map[string][2]ast.DefinitionKind{
	"fields":        {ast.Object, ast.Interface},
	"interfaces":    {ast.Object, ast.Interface},
	"possibleTypes": {ast.Interface, ast.Union},
	"enumValues":    {ast.Enum},
	"inputFields":   {ast.InputObject},
	"isOneOf":       {ast.InputObject},
}

// InterceptField answers null for such a field.
func (exactIntrospection) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	field := graphql.GetFieldContext(ctx)
	if field.Object != "__Type" {
		return next(ctx)
	}
	kinds, isOfKinds := fieldsOfKinds[field.Field.Name]
	if of, known := typeOf(field.Parent); isOfKinds && known {
		if kind := ast.DefinitionKind(of.Kind()); kind != kinds[0] && kind != kinds[1] {
			return nil, nil
		}
	}
	value, err := next(ctx)
	if types, isTypes := value.([]introspection.Type); isTypes && field.Field.Name == "possibleTypes" {
		// gqlgen lists interfaces that implement the interface, too.
		value = slices.DeleteFunc(types, func(t introspection.Type) bool { return t.Kind() != string(ast.Object) })
	}
	return value, err
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
