package gateway

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// usualLength is the assumed length of a list if neither the operation nor the schema gives one.
	usualLength = 5
	// skippedRow is the cost of a row that an offset skips. Postgres reads such rows too.
	skippedRow = 3
	// maxSkipped bounds the cost of skipped rows: an offset far beyond the end of a list skips only the list's rows. Only
	// REST's page numbers reach this bound.
	maxSkipped = 60_000
	// introspectionCost is the cost of a value of the schema, which the executor resolves more slowly than a column of a
	// row. With this cost, one operation can read the whole schema once, as tools do.
	introspectionCost = 2
	// mutationCost is the cost of a mutation's root field without @cost. It stands for the transaction.
	mutationCost = 20_000
	// maxCost is the highest cost. The product of two costs fits an int.
	maxCost = 1_000_000_000
)

func (g guard) checkCost(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if g.settings.QueryCost == 0 && !wantsCost(operation) {
		return nil
	}
	cost := g.documents.cost(operation.RawQuery, operation.Operation, func() int {
		return costOf(g.schema, operation.Operation, operation.Variables)
	})
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.cost = cost
	}
	if cost <= g.settings.QueryCost || g.settings.QueryCost == 0 {
		return nil
	}
	return exceeded("the operation costs %d, more than the limit of %d. The field %s costs most: request fewer "+
		"items, or fewer fields of each",
		cost, g.settings.QueryCost, costliestOf(g.schema, operation.Operation, operation.Variables))
}

// wantsCost reports whether the client asks for the cost, with "cost": true in the request's extensions.
func wantsCost(operation *graphql.OperationContext) bool { return operation.Extensions["cost"] == true }

// InterceptResponse adds the cost of a query or mutation to the response's extensions if the client asks for it.
func (g guard) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx)
	rec, _ := ctx.Value(recordKey{}).(*record)
	if rec != nil && rec.cost > 0 && rec.kind != ast.Subscription && wantsCost(operation) {
		graphql.RegisterExtension(ctx, "cost", map[string]int{"requested": rec.cost, "limit": g.settings.QueryCost})
	}
	return next(ctx)
}

// hasConstantCost reports whether no variable affects the cost: none can set the length of a list or leave out fields.
func hasConstantCost(operation *ast.OperationDefinition) bool {
	return !slices.ContainsFunc(operation.VariableDefinitions, func(v *ast.VariableDefinition) bool {
		return v.Type.Elem != nil || v.Type.NamedType != "ID" && v.Type.NamedType != "String"
	})
}

// costOf estimates the number of values in the response to a valid operation. Each object, list and leaf counts one, or
// the weight of its field's @cost; a shared weight counts once for all objects. The length of a list comes from its
// page size or from the arguments that @listSize names. Without these, it is @listSize's assumedSize. A field selected
// twice counts twice. For an interface, the most expensive of its types counts. For introspection, the real lengths of
// the schema's lists count. The cost stops growing at maxCost.
func costOf(schema *ast.Schema, operation *ast.OperationDefinition, variables map[string]any) int {
	c := costs{schema: schema, variables: variables, fragments: map[spread]price{}}
	return c.object(operation.SelectionSet, c.root(operation), 0).sum()
}

func (c costs) root(operation *ast.OperationDefinition) *ast.Definition {
	return map[ast.Operation]*ast.Definition{
		ast.Query: c.schema.Query, ast.Mutation: c.schema.Mutation, ast.Subscription: c.schema.Subscription,
	}[operation.Operation]
}

// price is the cost of a selection on a list of objects. The field each is the cost of every object. The field once is
// added once for the whole list, because one statement reads those values of all objects.
type price struct{ each, once int }

func (p price) sum() int { return min(p.each+p.once, maxCost) }
func (p price) plus(other price) price {
	return price{plus(p.each, other.each), plus(p.once, other.once)}
}
func (p price) times(objects int) price { return price{times(p.each, objects), p.once} }

// costs adds up an operation. Each fragment is priced once per type and page size.
type costs struct {
	schema    *ast.Schema
	variables map[string]any
	fragments map[spread]price
}

type spread struct {
	fragment, on string
	page         int
}

// object returns the cost of a selection on one object. The argument page is the length of the lists directly in the
// object, unless page is 0 or the list has a length of its own.
func (c costs) object(set ast.SelectionSet, definition *ast.Definition, page int) price {
	var costliest price
	if len(set) > 0 {
		for _, concrete := range c.schema.GetPossibleTypes(definition) {
			p := c.selection(set, concrete, page)
			costliest = price{max(costliest.each, p.each), max(costliest.once, p.once)}
		}
	}
	return costliest
}

func (c costs) selection(set ast.SelectionSet, on *ast.Definition, page int) price {
	var sum price
	for _, selected := range set {
		var cost price
		switch s := selected.(type) {
		case *ast.Field:
			if c.isIncluded(s.Directives) {
				cost = c.field(s, page)
			}
		case *ast.InlineFragment:
			if c.isIncluded(s.Directives) && c.applies(s.TypeCondition, on) {
				cost = c.selection(s.SelectionSet, on, page)
			}
		case *ast.FragmentSpread:
			if c.isIncluded(s.Directives) && c.applies(s.Definition.TypeCondition, on) {
				cost = c.fragment(s.Definition, on, page)
			}
		}
		sum = sum.plus(cost)
	}
	return sum
}

func (c costs) fragment(fragment *ast.FragmentDefinition, on *ast.Definition, page int) price {
	key := spread{fragment.Name, on.Name, page}
	cost, known := c.fragments[key]
	if !known {
		cost = c.selection(fragment.SelectionSet, on, page)
		c.fragments[key] = cost
	}
	return cost
}

// field returns the cost of a field. The argument page has the same meaning as in the method object.
func (c costs) field(f *ast.Field, page int) price {
	own := price{each: 1}
	switch {
	case isIntrospection(f):
		own = price{each: introspectionCost}
	case f.ObjectDefinition == c.schema.Mutation:
		own = price{each: mutationCost}
	}
	if weight, given := constant(f.Definition, "cost", "weight"); given {
		own = price{each: weight}
		if _, shared := constant(f.Definition, "cost", "isShared"); shared {
			own = price{each: 1, once: weight}
		}
	}
	skipped := times(lengthOf(c.argument(f, []string{"offset"})), skippedRow)
	own.each = plus(own.each, min(skipped, maxSkipped))
	definition := c.schema.Types[f.Definition.Type.Name()]
	asked := c.requestedLength(f)
	if f.Definition.Type.Elem == nil {
		return own.plus(c.object(f.SelectionSet, definition, asked))
	}
	length := usualLength
	assumed, given := constant(f.Definition, "listSize", "assumedSize")
	if isIntrospection(f) {
		assumed, given = c.introspectionLength(f.Name), true
	}
	switch {
	case asked > 0:
		length = asked
	case given:
		length = assumed
	case page > 0:
		length = page
	}
	return own.plus(c.object(f.SelectionSet, definition, 0).plus(price{each: 1}).times(length))
}

// isIntrospection reports whether the field belongs to an introspection type, such as __Type.
func isIntrospection(f *ast.Field) bool { return strings.HasPrefix(f.ObjectDefinition.Name, "__") }

// introspectionLength returns the length of an introspection list: exact for lists of the schema, typical for lists of
// a type.
func (c costs) introspectionLength(list string) int {
	switch list {
	case "types":
		return len(c.schema.Types)
	case "directives":
		return len(c.schema.Directives)
	case "interfaces", "possibleTypes":
		return 1
	case "args":
		return 2
	}
	return usualLength
}

// requestedLength returns how many elements a field's arguments ask for, or 0. A page has at most model.MaxPageSize
// elements, because the field itself refuses an invalid page size.
func (c costs) requestedLength(f *ast.Field) int {
	if directive := f.Definition.Directives.ForName("listSize"); directive != nil {
		if names := directive.Arguments.ForName("slicingArguments"); names != nil {
			for _, path := range names.Value.Children {
				if n := lengthOf(c.argument(f, strings.Split(path.Value.Raw, "."))); n > 0 {
					return n
				}
			}
		}
	}
	size := lengthOf(c.argument(f, []string{"first"}))
	if size == 0 && f.Definition.Arguments.ForName("last") != nil {
		size = cmp.Or(lengthOf(c.argument(f, []string{"last"})), model.DefaultPageSize)
	}
	return min(size, model.MaxPageSize)
}

// argument returns the value at a path of an argument, or nil.
func (c costs) argument(f *ast.Field, path []string) any {
	definition := f.Definition.Arguments.ForName(path[0])
	if definition == nil {
		return nil
	}
	var value any
	if given := f.Arguments.ForName(path[0]); given != nil {
		value, _ = given.Value.Value(c.variables) // The field itself refuses a malformed number.
	}
	if value == nil {
		value, _ = definition.DefaultValue.Value(nil)
	}
	for _, name := range path[1:] {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}

// isIncluded reports whether @skip and @include keep a selection.
func (c costs) isIncluded(directives ast.DirectiveList) bool {
	for _, directive := range directives {
		condition := directive.Arguments.ForName("if")
		if condition == nil {
			continue
		}
		value, _ := condition.Value.Value(c.variables)
		if directive.Name == "skip" && value == true || directive.Name == "include" && value == false {
			return false
		}
	}
	return true
}

// applies reports whether a fragment with the type condition applies to objects of the type.
func (c costs) applies(condition string, on *ast.Definition) bool {
	return condition == "" || condition == on.Name ||
		slices.Contains(c.schema.GetPossibleTypes(c.schema.Types[condition]), on)
}

func constant(definition *ast.FieldDefinition, directive, argument string) (number int, given bool) {
	if d := definition.Directives.ForName(directive); d != nil {
		if a := d.Arguments.ForName(argument); a != nil {
			value, _ := a.Value.Value(nil)
			return lengthOf(value), true
		}
	}
	return 0, false
}

// lengthOf returns the length of a list, the value of a number, or 0 for anything else.
func lengthOf(value any) int {
	if n, ok := integer(value); ok {
		return int(max(0, min(n, maxCost)))
	}
	if list := reflect.ValueOf(value); list.IsValid() && list.Kind() == reflect.Slice {
		return list.Len()
	}
	return 0
}

func plus(a, b int) int  { return min(a+b, maxCost) }
func times(a, b int) int { return min(a*b, maxCost) }
