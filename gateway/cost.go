package gateway

import (
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
	// usualLength is the length of a list of which neither the operation nor the schema says anything.
	usualLength = 5
	// skippedPerValue is how many rows that a page skips cost as much as one value.
	skippedPerValue = 10
	// mostSkipped is the most that they cost: a page far behind the end of a list, which is empty, skips no more than there is.
	mostSkipped = 20_000
	// mostCost is the largest number that a cost is counted to. Two of them can be multiplied.
	mostCost = 1_000_000_000
)

// checkCost refuses an operation that would cost too much to execute.
func (g guard) checkCost(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if g.settings.QueryCost == 0 {
		return nil
	}
	cost := g.documents.cost(operation.RawQuery, operation.Operation, func() int {
		return costOf(g.schema, operation.Operation, operation.Variables)
	})
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.cost = cost
	}
	if cost <= g.settings.QueryCost {
		return nil
	}
	return exceeded("the operation costs %d, more than the limit of %d: ask for fewer at a time, or for less of each",
		cost, g.settings.QueryCost)
}

// hasConstantCost reports whether no variable of the operation can say how long a list is, or what is left out.
func hasConstantCost(operation *ast.OperationDefinition) bool {
	return !slices.ContainsFunc(operation.VariableDefinitions, func(v *ast.VariableDefinition) bool {
		return v.Type.Elem != nil || v.Type.NamedType != "ID" && v.Type.NamedType != "String"
	})
}

// costOf estimates how many values the response to a valid operation holds. An object, a list and a leaf are one
// each, or the weight of their field's @cost, which counts once for all objects when it is shared. A list is as long as its page size says, or the argument that its
// field's @listSize names, and else as @listSize assumes. A field that is selected twice counts twice, and of an
// interface's types the dearest counts. The schema is priced by the lengths of its own lists. The cost stops growing at mostCost.
func costOf(schema *ast.Schema, operation *ast.OperationDefinition, variables map[string]any) int {
	root := map[ast.Operation]*ast.Definition{
		ast.Query: schema.Query, ast.Mutation: schema.Mutation, ast.Subscription: schema.Subscription,
	}[operation.Operation]
	c := costs{schema: schema, variables: variables, fragments: map[spread]price{}}
	return c.object(operation.SelectionSet, root, 0).sum()
}

// price is what a selection costs: for each object that has it, and once for all of them, which one statement reads.
type price struct{ each, once int }

func (p price) sum() int { return min(p.each+p.once, mostCost) }
func (p price) plus(other price) price {
	return price{plus(p.each, other.each), plus(p.once, other.once)}
}
func (p price) times(objects int) price { return price{times(p.each, objects), p.once} }

// costs adds up an operation, each fragment once for each type and page size however often it is spread.
type costs struct {
	schema    *ast.Schema
	variables map[string]any
	fragments map[spread]price
}

type spread struct {
	fragment, on string
	page         int
}

// object returns the cost of a selection on one object. The object's own lists have page elements, unless page is 0.
func (c costs) object(set ast.SelectionSet, definition *ast.Definition, page int) price {
	var dearest price
	if len(set) > 0 {
		for _, concrete := range c.schema.GetPossibleTypes(definition) {
			p := c.selection(set, concrete, page)
			dearest = price{max(dearest.each, p.each), max(dearest.once, p.once)}
		}
	}
	return dearest
}

func (c costs) selection(set ast.SelectionSet, on *ast.Definition, page int) price {
	var sum price
	for _, selected := range set {
		var cost price
		switch s := selected.(type) {
		case *ast.Field:
			if c.included(s.Directives) {
				cost = c.field(s, page)
			}
		case *ast.InlineFragment:
			if c.included(s.Directives) && c.applies(s.TypeCondition, on) {
				cost = c.selection(s.SelectionSet, on, page)
			}
		case *ast.FragmentSpread:
			if c.included(s.Directives) && c.applies(s.Definition.TypeCondition, on) {
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

// field returns the cost of a field of an object whose lists have page elements.
func (c costs) field(f *ast.Field, page int) price {
	own := price{each: 1}
	if weight, given := constant(f.Definition, "cost", "weight"); given {
		own = price{each: weight}
		if _, shared := constant(f.Definition, "cost", "isShared"); shared {
			own = price{each: 1, once: weight}
		}
	}
	own.once = plus(own.once, skipped(c.argument(f, []string{"offset"})))
	definition := c.schema.Types[f.Definition.Type.Name()]
	asked := c.asked(f)
	if f.Definition.Type.Elem == nil {
		return own.plus(c.object(f.SelectionSet, definition, asked))
	}
	length := usualLength
	assumed, given := constant(f.Definition, "listSize", "assumedSize")
	if strings.HasPrefix(f.ObjectDefinition.Name, "__") {
		assumed, given = c.described(f.Name), true
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

// described returns how long a list of the introspection of this schema is, or usually is in one of its types.
func (c costs) described(list string) int {
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

// asked returns how many elements the arguments of a field ask for, 0 when they do not say. What a page cannot
// hold is left to the field, which refuses it.
func (c costs) asked(f *ast.Field) int {
	if directive := f.Definition.Directives.ForName("listSize"); directive != nil {
		if names := directive.Arguments.ForName("slicingArguments"); names != nil {
			for _, path := range names.Value.Children {
				if n := lengthOf(c.argument(f, strings.Split(path.Value.Raw, "."))); n > 0 {
					return n
				}
			}
		}
	}
	return min(lengthOf(c.argument(f, []string{"first"})), model.MaxPageSize)
}

// skipped returns what the rows cost that a page by its offset reads and leaves out.
func skipped(offset any) int { return min(lengthOf(offset)/skippedPerValue, mostSkipped) }

// argument returns the value of an argument, or of a field within it; nil when there is none.
func (c costs) argument(f *ast.Field, path []string) any {
	definition := f.Definition.Arguments.ForName(path[0])
	if definition == nil {
		return nil
	}
	var value any
	if given := f.Arguments.ForName(path[0]); given != nil {
		value, _ = given.Value.Value(c.variables) // A number that is none is refused by the field.
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

// included tells whether @skip and @include leave a selection in.
func (c costs) included(directives ast.DirectiveList) bool {
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

// applies tells whether a fragment with the type condition applies to objects of the type.
func (c costs) applies(condition string, on *ast.Definition) bool {
	return condition == "" || condition == on.Name ||
		slices.Contains(c.schema.GetPossibleTypes(c.schema.Types[condition]), on)
}

// constant returns a number that a directive of the schema gives to a field.
func constant(definition *ast.FieldDefinition, directive, argument string) (number int, given bool) {
	if d := definition.Directives.ForName(directive); d != nil {
		if a := d.Arguments.ForName(argument); a != nil {
			value, _ := a.Value.Value(nil)
			return lengthOf(value), true
		}
	}
	return 0, false
}

// lengthOf returns the length that a value stands for: a list's own, or a number; 0 for anything else.
func lengthOf(value any) int {
	if n, ok := integer(value); ok {
		return int(max(0, min(n, mostCost)))
	}
	if list := reflect.ValueOf(value); list.IsValid() && list.Kind() == reflect.Slice {
		return list.Len()
	}
	return 0
}

func plus(a, b int) int  { return min(a+b, mostCost) }
func times(a, b int) int { return min(a*b, mostCost) }
