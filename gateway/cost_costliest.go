package gateway

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// costliestOf returns the path, in response names, of the field that makes an operation expensive. The path starts with
// the most expensive root field, and descends while one field has more than half the cost of its object.
func costliestOf(schema *ast.Schema, operation *ast.OperationDefinition, variables map[string]any) string {
	c := costs{schema: schema, variables: variables, fragments: map[spread]price{}}
	set, on, page := operation.SelectionSet, c.root(operation), 0
	var path []string
	for {
		field, cost := c.costliest(set, on, page, map[spread]bool{})
		if field == nil || len(path) > 0 && 2*cost <= c.object(set, on, page).sum() {
			return strings.Join(path, ".")
		}
		path = append(path, field.Alias)
		set, on, page = field.SelectionSet, c.schema.Types[field.Definition.Type.Name()], 0
		if field.Definition.Type.Elem == nil {
			page = c.requestedLength(field)
		}
	}
}

// costliest returns the most expensive field of a selection, or nil. It visits each fragment once.
func (c costs) costliest(set ast.SelectionSet, on *ast.Definition, page int,
	seen map[spread]bool) (costliest *ast.Field, cost int) {
	consider := func(field *ast.Field, price int) {
		if price > cost {
			costliest, cost = field, price
		}
	}
	for _, concrete := range c.schema.GetPossibleTypes(on) {
		for _, selected := range set {
			switch s := selected.(type) {
			case *ast.Field:
				if c.isIncluded(s.Directives) {
					consider(s, c.field(s, page).sum())
				}
			case *ast.InlineFragment:
				if c.isIncluded(s.Directives) && c.applies(s.TypeCondition, concrete) {
					consider(c.costliest(s.SelectionSet, concrete, page, seen))
				}
			case *ast.FragmentSpread:
				key := spread{s.Name, concrete.Name, page}
				if !seen[key] && c.isIncluded(s.Directives) && c.applies(s.Definition.TypeCondition, concrete) {
					seen[key] = true
					consider(c.costliest(s.Definition.SelectionSet, concrete, page, seen))
				}
			}
		}
	}
	return costliest, cost
}
