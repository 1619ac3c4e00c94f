package query

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// columnsOf returns the sorted columns that the resolved field selects from its rows. An empty result means all
// columns.
func (t *Table) columnsOf(ctx context.Context) []string {
	operation, field := graphql.GetOperationContext(ctx), graphql.GetFieldContext(ctx).Field
	typeName := field.Definition.Type.Name()
	selections := []ast.SelectionSet{field.Selections}
	if name, isPage := strings.CutSuffix(typeName, "Connection"); isPage {
		typeName, selections = name, nil
		for _, part := range graphql.CollectFields(operation, field.Selections,
			t.typeConditions[field.Definition.Type.Name()]) {
			switch part.Name {
			case "nodes":
				selections = append(selections, part.Selections)
			case "edges":
				for _, edge := range graphql.CollectFields(operation, part.Selections, t.typeConditions[name+"Edge"]) {
					if edge.Name == "node" {
						selections = append(selections, edge.Selections)
					}
				}
			}
		}
	}
	types := []string{typeName}
	for _, kind := range implementations[typeName] {
		types = append(types, kind)
	}
	columns := []string{"id"} // the id is always read, because an empty result would mean all columns
	for _, objectType := range types {
		for _, set := range selections {
			for _, selected := range graphql.CollectFields(operation, set, t.typeConditions[objectType]) {
				if selected.Name == "__typename" {
					continue
				}
				needed, known := t.fieldColumns[objectType+"."+selected.Name]
				if !known {
					return nil
				}
				columns = append(columns, needed...)
			}
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// findFieldColumns returns the columns that a field needs, or false when they are unknown. Looking up a struct's field
// by name is slow, so NewTable calls findFieldColumns once per field.
func (t *Table) findFieldColumns(typeName, field string) ([]string, bool) {
	name := typeName + "." + field
	if columns, known := t.fieldColumns[name]; known {
		return columns, true
	}
	if r, known := t.relations[name]; known {
		return []string{r.column}, true
	}
	if c, known := computed[name]; known {
		return c.columns, true
	}
	row := reflect.TypeOf(rowTypes[typeName])
	if row == nil {
		return nil, false
	}
	member, known := goField(row, field)
	if !known {
		return nil, false
	}
	column, known := t.columns[row][strings.ToLower(member.Name)]
	return []string{column}, known
}
