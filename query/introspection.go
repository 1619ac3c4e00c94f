package query

import (
	"context"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// ExactIntrospection is an extension that answers null for the fields of a type that its kind does not have, as the
// specification wants it. gqlgen answers empty lists and false, by which tools cannot tell "none" from "does not apply".
// Plans do the same.
type ExactIntrospection struct{}

// ExtensionName implements [graphql.HandlerExtension].
func (ExactIntrospection) ExtensionName() string { return "ExactIntrospection" }

// Validate implements [graphql.HandlerExtension].
func (ExactIntrospection) Validate(graphql.ExecutableSchema) error { return nil }

// fieldsOfKinds are the kinds of types that have each field.
var fieldsOfKinds = map[string][]ast.DefinitionKind{
	"fields":        {ast.Object, ast.Interface},
	"interfaces":    {ast.Object, ast.Interface},
	"possibleTypes": {ast.Interface, ast.Union},
	"enumValues":    {ast.Enum},
	"inputFields":   {ast.InputObject},
	"isOneOf":       {ast.InputObject},
}

// has reports whether the kind of a type has the field.
func has(of *introspection.Type, field string) bool {
	kinds, isOfKinds := fieldsOfKinds[field]
	return !isOfKinds || slices.Contains(kinds, ast.DefinitionKind(of.Kind()))
}

// possible returns the object types that an interface or a union stands for: gqlgen lists interfaces that implement the
// interface, too.
func possible(types []introspection.Type) []introspection.Type {
	return slices.DeleteFunc(types, func(t introspection.Type) bool { return t.Kind() != string(ast.Object) })
}

// MutateOperationContext implements [graphql.OperationContextMutator]. It leaves operations alone that do not introspect: what stands
// around the fields of one is paid for by each of them.
func (ExactIntrospection) MutateOperationContext(_ context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if around := operation.ResolverMiddleware; introspects(operation.Operation.SelectionSet) {
		operation.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
			return around(ctx, func(ctx context.Context) (any, error) { return exact(ctx, next) })
		}
	}
	return nil
}

// introspects reports whether fields of a root are those of the schema.
func introspects(set ast.SelectionSet) bool {
	return slices.ContainsFunc(set, func(selected ast.Selection) bool {
		switch s := selected.(type) {
		case *ast.Field:
			return s.Name == "__schema" || s.Name == "__type"
		case *ast.InlineFragment:
			return introspects(s.SelectionSet)
		case *ast.FragmentSpread:
			return introspects(s.Definition.SelectionSet)
		}
		return false
	})
}

func exact(ctx context.Context, next graphql.Resolver) (any, error) {
	field := graphql.GetFieldContext(ctx)
	if field.Object != "__Type" {
		return next(ctx)
	}
	if of, known := typeOf(field.Parent); known && !has(of, field.Field.Name) {
		return nil, nil
	}
	value, err := next(ctx)
	if types, isTypes := value.([]introspection.Type); isTypes && field.Field.Name == "possibleTypes" {
		value = possible(types)
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

// describe writes what a field says of a part of the schema.
type describe[T any] func(a *response, dst []byte, of *T) []byte

// introspect returns how __schema or __type is written.
func (c *compiler) introspect(field graphql.CollectedField) writeKey {
	if c.operation.DisableIntrospection {
		return nil
	}
	if field.Name == "__schema" {
		write, of := c.describeSchema(field.Selections), introspection.WrapSchema(c.table.schema)
		if write == nil {
			return nil
		}
		return func(a *response, dst []byte, _ int) []byte { return write(a, dst, of) }
	}
	write := c.describeType(field.Selections)
	if write == nil {
		return nil
	}
	return func(a *response, dst []byte, _ int) []byte {
		name, _ := field.ArgumentMap(a.variables)["name"].(string)
		return writeNullable(a, dst, introspection.WrapTypeFromDef(c.table.schema, c.table.schema.Types[name]), write)
	}
}

func (c *compiler) describeSchema(set ast.SelectionSet) describe[introspection.Schema] {
	return object(c, "__Schema", set, func(field graphql.CollectedField) describe[introspection.Schema] {
		switch field.Name {
		case "description":
			return nullableText((*introspection.Schema).Description)
		case "types":
			return each((*introspection.Schema).Types, c.describeType(field.Selections))
		case "queryType":
			return nullable((*introspection.Schema).QueryType, c.describeType(field.Selections))
		case "mutationType":
			return nullable((*introspection.Schema).MutationType, c.describeType(field.Selections))
		case "subscriptionType":
			return nullable((*introspection.Schema).SubscriptionType, c.describeType(field.Selections))
		case "directives":
			return each((*introspection.Schema).Directives, c.describeDirective(field.Selections))
		}
		return nil
	})
}

func (c *compiler) describeType(set ast.SelectionSet) describe[introspection.Type] {
	type of = *introspection.Type
	return object(c, "__Type", set, func(field graphql.CollectedField) describe[introspection.Type] {
		write := func() describe[introspection.Type] {
			switch field.Name {
			case "kind":
				return requiredText(of.Kind)
			case "name":
				return nullableText(of.Name)
			case "description":
				return nullableText(of.Description)
			case "specifiedByURL":
				return nullableText(of.SpecifiedByURL)
			case "isOneOf":
				return boolean(of.IsOneOf)
			case "ofType":
				return nullable(of.OfType, c.describeType(field.Selections))
			case "interfaces":
				return each(of.Interfaces, c.describeType(field.Selections))
			case "possibleTypes":
				return each(func(t of) []introspection.Type { return possible(t.PossibleTypes()) }, c.describeType(field.Selections))
			case "inputFields":
				return each(of.InputFields, c.describeInput(field.Selections))
			case "fields":
				write := c.describeField(field.Selections)
				return eachGiven(func(a *response, t of) []introspection.Field { return t.Fields(includesDeprecated(a, field)) }, write)
			case "enumValues":
				write := c.describeEnumValue(field.Selections)
				return eachGiven(func(a *response, t of) []introspection.EnumValue { return t.EnumValues(includesDeprecated(a, field)) }, write)
			}
			return nil
		}()
		if _, isOfKinds := fieldsOfKinds[field.Name]; write == nil || !isOfKinds {
			return write
		}
		return func(a *response, dst []byte, t of) []byte {
			if !has(t, field.Name) {
				return append(dst, "null"...)
			}
			return write(a, dst, t)
		}
	})
}

// includesDeprecated reads the argument of a list.
func includesDeprecated(a *response, field graphql.CollectedField) bool {
	include, _ := field.ArgumentMap(a.variables)["includeDeprecated"].(bool)
	return include
}

func (c *compiler) describeField(set ast.SelectionSet) describe[introspection.Field] {
	type of = *introspection.Field
	return object(c, "__Field", set, func(field graphql.CollectedField) describe[introspection.Field] {
		switch field.Name {
		case "name":
			return requiredText(func(f of) string { return f.Name })
		case "description":
			return nullableText(of.Description)
		case "args":
			return each(func(f of) []introspection.InputValue { return f.Args }, c.describeInput(field.Selections))
		case "type":
			return nullable(func(f of) *introspection.Type { return f.Type }, c.describeType(field.Selections))
		case "isDeprecated":
			return boolean(of.IsDeprecated)
		case "deprecationReason":
			return nullableText(of.DeprecationReason)
		}
		return nil
	})
}

func (c *compiler) describeInput(set ast.SelectionSet) describe[introspection.InputValue] {
	type of = *introspection.InputValue
	return object(c, "__InputValue", set, func(field graphql.CollectedField) describe[introspection.InputValue] {
		switch field.Name {
		case "name":
			return requiredText(func(v of) string { return v.Name })
		case "description":
			return nullableText(of.Description)
		case "type":
			return nullable(func(v of) *introspection.Type { return v.Type }, c.describeType(field.Selections))
		case "defaultValue":
			return nullableText(func(v of) *string { return v.DefaultValue })
		case "isDeprecated":
			return boolean(of.IsDeprecated)
		case "deprecationReason":
			return nullableText(of.DeprecationReason)
		}
		return nil
	})
}

func (c *compiler) describeEnumValue(set ast.SelectionSet) describe[introspection.EnumValue] {
	type of = *introspection.EnumValue
	return object(c, "__EnumValue", set, func(field graphql.CollectedField) describe[introspection.EnumValue] {
		switch field.Name {
		case "name":
			return requiredText(func(v of) string { return v.Name })
		case "description":
			return nullableText(of.Description)
		case "isDeprecated":
			return boolean(of.IsDeprecated)
		case "deprecationReason":
			return nullableText(of.DeprecationReason)
		}
		return nil
	})
}

func (c *compiler) describeDirective(set ast.SelectionSet) describe[introspection.Directive] {
	type of = *introspection.Directive
	return object(c, "__Directive", set, func(field graphql.CollectedField) describe[introspection.Directive] {
		switch field.Name {
		case "name":
			return requiredText(func(d of) string { return d.Name })
		case "description":
			return nullableText(of.Description)
		case "isRepeatable":
			return boolean(func(d of) bool { return d.IsRepeatable })
		case "locations":
			return each(func(d of) []string { return d.Locations }, func(_ *response, dst []byte, of *string) []byte { return appendText(dst, *of) })
		case "args":
			return each(func(d of) []introspection.InputValue { return d.Args }, c.describeInput(field.Selections))
		}
		return nil
	})
}

// requiredText writes a text that everything of its type has.
func requiredText[T any](of func(*T) string) describe[T] {
	return func(_ *response, dst []byte, t *T) []byte { return appendText(dst, of(t)) }
}

// nullableText writes a text, or null.
func nullableText[T any](of func(*T) *string) describe[T] {
	return func(_ *response, dst []byte, t *T) []byte {
		if text := of(t); text != nil {
			return appendText(dst, *text)
		}
		return append(dst, "null"...)
	}
}

func boolean[T any](of func(*T) bool) describe[T] {
	return func(_ *response, dst []byte, t *T) []byte { return strconv.AppendBool(dst, of(t)) }
}

// nullable writes an object, or null; nil when the object is not planned.
func nullable[T, U any](of func(*T) *U, write describe[U]) describe[T] {
	if write == nil {
		return nil
	}
	return func(a *response, dst []byte, t *T) []byte { return writeNullable(a, dst, of(t), write) }
}

func writeNullable[T any](a *response, dst []byte, of *T, write describe[T]) []byte {
	if of == nil {
		return append(dst, "null"...)
	}
	return write(a, dst, of)
}

// each writes a list; nil when its elements are not planned.
func each[T, U any](of func(*T) []U, write describe[U]) describe[T] {
	return eachGiven(func(_ *response, t *T) []U { return of(t) }, write)
}

// eachGiven is each of a list that depends on arguments.
func eachGiven[T, U any](of func(*response, *T) []U, write describe[U]) describe[T] {
	if write == nil {
		return nil
	}
	return func(a *response, dst []byte, t *T) []byte {
		dst = append(dst, '[')
		list := of(a, t)
		for i := range list {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst = write(a, dst, &list[i]); a.isLeft {
				return dst
			}
		}
		return append(dst, ']')
	}
}
