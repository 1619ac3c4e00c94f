package gateway

import (
	"iter"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

var rootTypes = []string{"Query", "Mutation", "Subscription"}

// rootFields yields the operation's root fields, one for each response name, without those that @skip and @include
// leave out. It yields nothing if a condition has no value: the operation was refused, and CollectFields would panic.
func rootFields(operation *graphql.OperationContext) iter.Seq[*ast.Field] {
	return func(yield func(*ast.Field) bool) {
		set := operation.Operation.SelectionSet
		if isCollected(set) {
			for _, selected := range set {
				if !yield(selected.(*ast.Field)) {
					return
				}
			}
			return
		}
		if slices.ContainsFunc(operation.Operation.VariableDefinitions, func(v *ast.VariableDefinition) bool {
			return lacksCondition(operation, v)
		}) {
			return
		}
		for _, field := range graphql.CollectFields(operation, set, rootTypes) {
			if !yield(field.Field) {
				return
			}
		}
	}
}

// lacksCondition reports whether the variable is a Boolean without a value, and is used where the schema has no default
// either, such as in @skip and @include.
func lacksCondition(operation *graphql.OperationContext, v *ast.VariableDefinition) bool {
	if _, hasValue := operation.Variables[v.Variable].(bool); hasValue || v.Type.NamedType != "Boolean" {
		return false
	}
	return slices.ContainsFunc(nonNullUses(operation.Operation.SelectionSet, v.Variable),
		func(use *ast.Value) bool { return !use.ExpectedTypeHasDefault })
}

// isCollected reports whether a selection has only a few distinct fields without directives, so that
// graphql.CollectFields would change nothing. That holds for most operations.
func isCollected(set ast.SelectionSet) bool {
	const few = 4
	if len(set) > few {
		return false
	}
	for i, selected := range set {
		field, isField := selected.(*ast.Field)
		if !isField || len(field.Directives) > 0 {
			return false
		}
		for _, earlier := range set[:i] {
			if earlier.(*ast.Field).Alias == field.Alias {
				return false
			}
		}
	}
	return true
}
