package query

import (
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// connection returns the writer of a page, or nil when a part of it cannot be planned.
func (c *compiler) connection(fieldType *ast.Type, r *read, field graphql.CollectedField) writeKey {
	return object(c, fieldType.Name(), field.Selections, func(field graphql.CollectedField) writeKey {
		var row writeRow
		r.wantsRows = r.wantsRows || field.Name == "nodes" || field.Name == "edges" || field.Name == "pageInfo"
		switch field.Name {
		case "nodes":
			row = c.object(field.Definition.Type.Name(), r, field.Selections)
		case "edges":
			row = c.edge(field.Definition.Type.Name(), r, field.Selections)
		case "pageInfo":
			return c.pageInfo(r, field.Selections)
		case "totalCount":
			return total(c.counted(r))
		}
		if row == nil {
			return nil
		}
		return list(r, row)
	})
}

// counted returns the read that counts the list of r. Several pages of a list share one count. Lists whose parents have
// several kinds are excluded, because their reads can have different keys.
func (c *compiler) counted(r *read) *read {
	for _, known := range c.plan.reads {
		if known.relation == r.relation && known.parent == r.parent && known.keyColumn == r.keyColumn && known.kinds == nil &&
			r.kinds == nil && sameList(known.field, r.field) {
			return known
		}
	}
	return r
}

// total writes the number of rows in the list of a key.
func total(r *read) writeKey {
	r.wantsTotal = true
	return func(a *response, dst []byte, key int) []byte {
		return strconv.AppendInt(dst, a.lookups[r.index].total(key), 10)
	}
}

func (c *compiler) edge(typeName string, r *read, set ast.SelectionSet) writeRow {
	return object(c, typeName, set, func(field graphql.CollectedField) writeRow {
		if field.Name == "cursor" {
			return cursor(r)
		}
		return c.object(field.Definition.Type.Name(), r, field.Selections) // node
	})
}

func cursor(r *read) writeRow {
	read, created, id, table := r.index, r.column("created_at"), r.column("id"), r.relation.list.Table()
	return func(a *response, dst []byte, row int) []byte {
		rows := &a.lookups[read].rows
		place := model.Cursor{CreatedAt: timeOf(rows.value(row, created)), ID: string(rows.value(row, id))}
		return appendText(dst, place.In(table).String())
	}
}

func (c *compiler) pageInfo(r *read, set ast.SelectionSet) writeKey {
	return object(c, "PageInfo", set, func(field graphql.CollectedField) writeKey {
		switch field.Name {
		case "hasNextPage":
			r.wantsNext = true
			return func(a *response, dst []byte, key int) []byte {
				return strconv.AppendBool(dst, a.lookups[r.index].hasNext(key))
			}
		case "hasPreviousPage":
			return func(a *response, dst []byte, _ int) []byte {
				part := a.lookups[r.index].part
				return strconv.AppendBool(dst, part.After != nil || part.Offset != nil && *part.Offset > 0)
			}
		case "startCursor":
			return cursorOf(r, (*lookup).first)
		case "endCursor":
			return cursorOf(r, (*lookup).last)
		}
		return nil
	})
}

// cursorOf writes the cursor of a row of the page, or null if there is no row.
func cursorOf(r *read, row func(*lookup, int) int) writeKey {
	write := cursor(r)
	return func(a *response, dst []byte, key int) []byte {
		if at := row(&a.lookups[r.index], key); at >= 0 {
			return write(a, dst, at)
		}
		return append(dst, "null"...)
	}
}
