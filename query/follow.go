package query

import (
	"reflect"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

func (c *compiler) follow(rel *relation, from *read, field graphql.CollectedField, kind string) writeRow {
	if c.joins(rel, from, field) {
		return c.joined(rel, from, field)
	}
	child := c.child(rel, from, field.Field)
	if kind != "" && child.kinds != nil {
		child.kinds[kind] = true
	}
	write := c.leads(rel, child, field)
	if write == nil {
		return nil
	}
	return func(a *response, dst []byte, row int) []byte {
		return write(a, dst, a.lookups[child.index].keyOf(a, child, row))
	}
}

// child returns the read of a relation from the rows of another read. Fields that lead to the same rows share it.
func (c *compiler) child(rel *relation, from *read, field *ast.Field) *read {
	child := &read{relation: rel, parent: from, keyColumn: from.column(rel.column)}
	if from.host != nil {
		child.parent = from.host
	}
	for _, known := range c.plan.reads {
		if known.parent == child.parent && known.keyColumn == child.keyColumn &&
			known.relation.identity() == rel.identity() &&
			(rel.shape != toPage || sameArguments(known.field, field)) {
			return known
		}
	}
	if rel.shape == toPage {
		child.field = field
	}
	switch parent := child.parent; {
	case parent.isOneRow():
		child.key, child.isLookup = c.keyIn(parent, parent.columns[child.keyColumn]), true
	case from.host == nil && from.relation.shape == toOne && rel.column == "id":
		child.shares = true
	case isOfKinds(from):
		child.kinds, child.kindColumn = map[string]bool{}, from.column("kind")
	}
	return c.addRead(child)
}

// isOneRow reports whether the read finds at most one row, by a single key. The key is an argument, or the same round
// trip looks it up.
func (r *read) isOneRow() bool {
	return r.relation.shape == toOne && (r.argument != "" || r.isLookup)
}

// keyIn returns the expression for the key in a column of the read's only row.
func (c *compiler) keyIn(r *read, column string) pg.Key {
	if column == "id" {
		return r.key
	}
	alias, joined, isJoined := strings.Cut(column, ".")
	if !isJoined {
		return c.table.store.LookupKey(r.relation.rows, r.key, column)
	}
	join := r.joins[slices.IndexFunc(r.joins, func(j pg.Join) bool { return j.Alias == alias })]
	if joined == "id" {
		return c.table.store.LookupKey(r.relation.rows, r.key, join.Column)
	}
	return c.table.store.LookupKey(r.relation.rows, r.key, column, join)
}

// isOfKinds reports whether the rows of a read have several types.
func isOfKinds(r *read) bool {
	return r.relation.row() == reflect.TypeFor[model.AgentTestRow]()
}
