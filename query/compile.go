package query

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of a planned operation: the values that it selects, and the statements that it sends.
const (
	maxValues = 2_000
	maxReads  = pg.MaxReads / 2 // half, because a read can have a second statement that counts rows
)

type compiler struct {
	operation *graphql.OperationContext
	table     *Table
	plan      *queryPlan
}

// compile returns the plan of an operation, or nil when none of its fields can be planned or it exceeds a bound.
func compile(operation *graphql.OperationContext, t *Table) *queryPlan {
	c := &compiler{operation: operation, table: t, plan: &queryPlan{store: t.store}}
	for i, field := range c.fields("Query", operation.Operation.SelectionSet) {
		reads, needs := len(c.plan.reads), len(c.plan.requirements)
		write := c.root(field)
		if c.plan.selected > maxValues || len(c.plan.reads) > maxReads {
			return nil
		}
		if write == nil {
			c.plan.reads, c.plan.requirements = c.plan.reads[:reads], c.plan.requirements[:needs]
			rest := *field.Field
			rest.SelectionSet, rest.Directives = field.Selections, nil
			c.plan.fallbackFields = append(c.plan.fallbackFields, &rest)
		}
		c.plan.fields = append(c.plan.fields, output[writeKey]{headOf(i, field.Alias), write})
	}
	if len(c.plan.fallbackFields) == len(c.plan.fields) {
		return nil
	}
	for _, r := range c.plan.reads {
		r.bindConstantPage()
		switch r.relation.shape {
		case toPage:
			if len(r.columns) == 0 {
				r.column("id") // without a column, all columns would be read
			}
		case toOne:
			r.column("id")
			fallthrough
		case toMany:
			r.statements = [2]pg.Statement{t.store.OneRow(r.relation.rows, r.key, r.columns, r.joins...),
				t.store.ManyRows(r.relation.rows, r.columns, r.joins...)}
		}
	}
	return c.plan
}

// bindConstantPage parses a page's arguments at compile time if they do not depend on variables.
func (r *read) bindConstantPage() {
	if r.field == nil || r.argument != "" ||
		slices.ContainsFunc(r.field.Arguments, func(a *ast.Argument) bool { return readsVariable(a.Value) }) {
		return
	}
	var f lookup
	if f.bind(r, nil) == nil {
		r.constantPage = &f.part
	}
}

func readsVariable(value *ast.Value) bool {
	return value.Kind == ast.Variable ||
		slices.ContainsFunc(value.Children, func(c *ast.ChildValue) bool { return readsVariable(c.Value) })
}

func (c *compiler) fields(typeName string, set ast.SelectionSet) []graphql.CollectedField {
	if c.plan.selected > maxValues {
		return nil // the operation will have no plan
	}
	fields := graphql.CollectFields(c.operation, set, c.table.typeConditions[typeName])
	c.plan.selected += len(fields)
	for _, field := range fields {
		if field.Definition == nil {
			continue
		}
		if d := field.Definition.Directives.ForName("requires"); d != nil {
			given := d.ArgumentMap(nil)
			scope, _ := given["scope"].(string)
			keyOnly, _ := given["keyOnly"].(bool)
			if n := (requirement{model.APIKeyScope(scope), keyOnly}); !slices.Contains(c.plan.requirements, n) {
				c.plan.requirements = append(c.plan.requirements, n)
			}
		}
	}
	return fields
}

type writer interface {
	~func(a *response, dst []byte, index int) []byte
}

func literal[W writer](text string) W {
	return func(_ *response, dst []byte, _ int) []byte { return append(dst, text...) }
}

// root returns the writer of a field of Query.
func (c *compiler) root(field graphql.CollectedField) writeKey {
	if field.Name == "__typename" {
		return literal[writeKey](`"Query"`)
	}
	known, ok := c.table.roots[field.Name]
	if !ok || field.Arguments.ForName(known.unplannedArgument) != nil {
		return nil
	}
	for _, r := range c.plan.reads {
		if r.parent == nil && r.relation == &known.relation && sameArguments(r.field, field.Field) {
			return c.leads(r.relation, r, field)
		}
	}
	for argument, rows := range known.existing {
		if field.Arguments.ForName(argument) != nil {
			c.addRead(&read{relation: &relation{shape: toOne, rows: rows}, field: field.Field, argument: argument,
				mustExist: true})
		}
	}
	r := c.addRead(&read{relation: &known.relation, field: field.Field})
	if known.shape == toOne {
		r.argument, r.mustExist = "id", true
	}
	return c.leads(r.relation, r, field)
}

// sameArguments reports whether the arguments of two fields are written identically. If so, both read the same rows.
func sameArguments(a, b *ast.Field) bool {
	return slices.EqualFunc(a.Arguments, b.Arguments, func(a, b *ast.Argument) bool {
		return a.Name == b.Name && a.Value.String() == b.Value.String()
	})
}

// sameList does the same as sameArguments, but ignores the arguments that select the page.
func sameList(a, b *ast.Field) bool {
	texts := func(f *ast.Field) map[string]string {
		texts := map[string]string{}
		for _, argument := range f.Arguments {
			switch argument.Name {
			case "first", "after", "offset", "last", "before", "orderBy":
			default:
				texts[argument.Name] = argument.Value.String()
			}
		}
		return texts
	}
	return maps.Equal(texts(a), texts(b))
}

func (c *compiler) addRead(r *read) *read {
	r.index = len(c.plan.reads)
	r.key = cmp.Or(r.key, pg.KeyArgument)
	c.plan.reads = append(c.plan.reads, r)
	return r
}

func (c *compiler) leads(rel *relation, r *read, field graphql.CollectedField) writeKey {
	fieldType := field.Definition.Type
	switch rel.shape {
	case toTotal:
		return total(r)
	case toPage:
		return c.connection(fieldType, r, field)
	}
	element := fieldType
	if rel.shape == toMany && !rel.isFirst {
		element = fieldType.Elem
	}
	var write writeRow
	if rel.value != "" {
		write = c.part(element, rel, r)
	} else {
		write = c.object(element.Name(), r, field.Selections)
	}
	if write == nil {
		return nil
	}
	if rel.shape == toMany && !rel.isFirst {
		return list(r, write)
	}
	return func(a *response, dst []byte, key int) []byte {
		row := -1
		if key >= 0 {
			row = a.lookups[r.index].first(key)
		}
		switch {
		case row >= 0:
			return write(a, dst, row)
		case key >= 0 && !rel.isFirst || fieldType.NonNull:
			return a.fallBack(dst)
		}
		return append(dst, "null"...)
	}
}

// list writes the rows of a list. Of a page, it leaves out the extra row that shows whether another page follows.
func list(r *read, write writeRow) writeKey {
	read, isPage := r.index, r.relation.shape == toPage
	return func(a *response, dst []byte, key int) []byte {
		dst = append(dst, '[')
		found := &a.lookups[read]
		row := found.first(key)
		for n := int32(0); row >= 0 && (!isPage || n < found.part.First) && !a.isFallback; n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = a.reserveWritten(write(a, dst, row))
			row = found.next(row)
		}
		return append(dst, ']')
	}
}

// part returns the writer of a field that selects one column of a row.
func (c *compiler) part(fieldType *ast.Type, rel *relation, r *read) writeRow {
	return c.value(c.column(fieldType, c.table.member(rel.row(), rel.value).Type, nil), r, rel.value)
}

func (c *compiler) value(write writeValue, r *read, column string) writeRow {
	if write == nil || column == "" {
		return nil
	}
	read, at := r.index, r.column(column)
	return func(a *response, dst []byte, row int) []byte {
		dst, ok := write(a, dst, a.lookups[read].rows.value(row, at))
		if !ok {
			return a.fallBack(dst)
		}
		return dst
	}
}

// object returns the writer of a read's row as an object of the type, or nil when it cannot be planned.
func (c *compiler) object(typeName string, r *read, set ast.SelectionSet) writeRow {
	names, isInterface := implementations[typeName]
	if !isInterface {
		return c.objectOf(typeName, r, set, "")
	}
	writes := make(map[string]writeRow, len(names))
	for kind, name := range names {
		if writes[kind] = c.objectOf(name, r, set, kind); writes[kind] == nil {
			return nil
		}
	}
	read, at := r.index, r.column("kind")
	return func(a *response, dst []byte, row int) []byte {
		write, known := writes[string(a.lookups[read].rows.value(row, at))]
		if !known {
			return a.fallBack(dst)
		}
		return write(a, dst, row)
	}
}

// objectOf does the same as object, for one type. kind is the value of the column kind, "" for a type without kinds.
func (c *compiler) objectOf(typeName string, r *read, set ast.SelectionSet, kind string) writeRow {
	return object(c, typeName, set, func(field graphql.CollectedField) writeRow {
		return c.field(typeName, r, field, kind)
	})
}

// object returns the writer of an object with the fields that write returns, or nil when one of them cannot be
// planned.
func object[W writer](c *compiler, typeName string, set ast.SelectionSet, write func(graphql.CollectedField) W) W {
	fields := c.fields(typeName, set)
	outputs := make([]output[W], len(fields))
	for i, field := range fields {
		outputs[i].head = headOf(i, field.Alias)
		if field.Name == "__typename" {
			outputs[i].write = literal[W](`"` + typeName + `"`)
		} else {
			outputs[i].write = write(field)
		}
		if outputs[i].write == nil {
			return nil
		}
	}
	return func(a *response, dst []byte, index int) []byte {
		dst = append(dst, '{')
		for i := range outputs {
			// Aliases can repeat a field without limit, so reserve the bytes of each value before writing the next.
			if dst = a.reserveWritten(outputs[i].write(a, append(dst, outputs[i].head...), index)); a.isFallback {
				return dst
			}
		}
		return append(dst, '}')
	}
}

// field returns the writer of a row's field, or nil when it cannot be planned.
func (c *compiler) field(typeName string, r *read, field graphql.CollectedField, kind string) writeRow {
	row := reflect.TypeOf(rowTypes[typeName])
	if row == nil {
		return nil
	}
	if rel, known := c.table.relations[typeName+"."+field.Name]; known && rel.resolverColumn == "" {
		return c.follow(rel, r, field, kind)
	}
	if made, known := computed[typeName+"."+field.Name]; known {
		return made.writer(r)
	}
	member, known := goField(row, field.Name)
	if !known {
		return nil
	}
	return c.value(c.column(field.Definition.Type, member.Type, field.Selections), r,
		c.table.columns[row][strings.ToLower(member.Name)])
}
