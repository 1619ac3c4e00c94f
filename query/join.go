package query

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/db/pg"
)

// joins reports whether a relation is read by a join. The relation must have at most one target row per row. If the
// read can have several rows, the target's values must be short, because a join repeats them.
func (c *compiler) joins(rel *relation, from *read, field graphql.CollectedField) bool {
	target := field.Definition.Type.Name()
	if rel.shape != toOne || from.host != nil || len(implementations[target]) > 0 {
		return false
	}
	if from.argument != "" {
		return true
	}
	row := rel.row()
	if rel.value != "" {
		return isShort(c.table.member(row, rel.value))
	}
	for _, selected := range graphql.CollectFields(c.operation, field.Selections, c.table.typeConditions[target]) {
		name := target + "." + selected.Name
		if selected.Name == "__typename" || c.table.relations[name] != nil {
			continue
		}
		if member, known := goField(row, selected.Name); !known || !isShort(member) {
			return false // a computed field is not known: no column has its name
		}
	}
	return true
}

// isShort reports whether the values of a field are short: booleans, numbers, times, ids, names and enum values.
func isShort(member reflect.StructField) bool {
	t := member.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == timeType, t.Kind() == reflect.Bool, t.Kind() == reflect.Int32, t.Kind() == reflect.Int64,
		t.Kind() == reflect.Float64:
		return true
	case t.Kind() != reflect.String:
		return false
	}
	return t != reflect.TypeFor[string]() || strings.HasSuffix(member.Name, "ID") ||
		strings.HasSuffix(member.Name, "Name")
}

// joined returns the writer of a relation's single row, which is read by a join.
func (c *compiler) joined(rel *relation, from *read, field graphql.CollectedField) writeRow {
	fieldType := field.Definition.Type
	key := from.column(rel.column)
	target := from.join(rel)
	var write writeRow
	if rel.value != "" {
		write = c.part(fieldType, rel, target)
	} else {
		write = c.object(fieldType.Name(), target, field.Selections)
	}
	if write == nil {
		return nil
	}
	read, id := from.index, target.column("id")
	return func(a *response, dst []byte, row int) []byte {
		rows := &a.lookups[read].rows
		switch {
		case rows.value(row, id) != nil:
			return write(a, dst, row)
		case rows.value(row, key) != nil || fieldType.NonNull:
			return a.fallBack(dst)
		}
		return append(dst, "null"...)
	}
}

// join adds the rows of a relation to the read's own statement. Fields that lead to the same rows share one join.
func (r *read) join(rel *relation) *read {
	for _, known := range r.joins {
		if known.Rows == rel.rows && known.Column == rel.column {
			return &read{index: r.index, relation: rel, host: r, alias: known.Alias}
		}
	}
	alias := fmt.Sprintf("joined%d", len(r.joins))
	r.joins = append(r.joins, pg.Join{Alias: alias, Rows: rel.rows, Column: rel.column})
	return &read{index: r.index, relation: rel, host: r, alias: alias}
}
