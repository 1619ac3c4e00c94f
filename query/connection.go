package query

import (
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// connection returns how a page is written; nil when something of it is not planned.
func (c *compiler) connection(of *ast.Type, r *read, field graphql.CollectedField) writeKey {
	name := of.Name()
	fields := c.fields(name, field.Selections)
	outputs := make([]output[writeKey], len(fields))
	for i, field := range fields {
		var write writeKey
		switch field.Name {
		case "__typename":
			write = literal[writeKey](`"` + name + `"`)
		case "nodes":
			if node := c.object(field.Definition.Type.Name(), r, field.Selections); node != nil {
				write = nodes(r.index, node)
			}
		case "edges":
			if edge := c.edge(field.Definition.Type.Name(), r, field.Selections); edge != nil {
				write = nodes(r.index, edge)
			}
		case "pageInfo":
			write = c.pageInfo(r, field.Selections)
		case "totalCount":
			r.wantsTotal = true
			write = func(a *answer, dst []byte, key int) []byte {
				return strconv.AppendInt(dst, a.found[r.index].total(key), 10)
			}
		}
		if write == nil {
			return nil
		}
		outputs[i] = output[writeKey]{headOf(i, field.Alias), write}
	}
	return object(outputs)
}

func object(outputs []output[writeKey]) writeKey {
	return func(a *answer, dst []byte, key int) []byte {
		dst = append(dst, '{')
		for i := range outputs {
			dst = outputs[i].write(a, append(dst, outputs[i].head...), key)
		}
		return append(dst, '}')
	}
}

// nodes writes the rows of a page, without the one that only tells that another page follows.
func nodes(read int, write writeRow) writeKey {
	return func(a *answer, dst []byte, key int) []byte {
		dst = append(dst, '[')
		found := &a.found[read]
		row := found.first(key)
		for n := int32(0); row >= 0 && n < found.part.First && !a.isLeft; n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = a.spend(write(a, dst, row))
			row = found.next(row)
		}
		return append(dst, ']')
	}
}

func (c *compiler) edge(of string, r *read, set ast.SelectionSet) writeRow {
	fields := c.fields(of, set)
	outputs := make([]output[writeRow], len(fields))
	for i, field := range fields {
		var write writeRow
		switch field.Name {
		case "__typename":
			write = literal[writeRow](`"` + of + `"`)
		case "cursor":
			write = cursor(r)
		case "node":
			write = c.object(field.Definition.Type.Name(), r, field.Selections)
		}
		if write == nil {
			return nil
		}
		outputs[i] = output[writeRow]{headOf(i, field.Alias), write}
	}
	return func(a *answer, dst []byte, row int) []byte {
		dst = append(dst, '{')
		for i := range outputs {
			dst = outputs[i].write(a, append(dst, outputs[i].head...), row)
		}
		return append(dst, '}')
	}
}

// cursor writes the place of a row in its list.
func cursor(r *read) writeRow {
	read, created, id := r.index, r.column("created_at"), r.column("id")
	return func(a *answer, dst []byte, row int) []byte {
		rows := &a.found[read].rows
		place := model.Cursor{CreatedAt: timeOf(rows.value(row, created)), ID: string(rows.value(row, id))}
		return appendText(dst, place.String())
	}
}

func (c *compiler) pageInfo(r *read, set ast.SelectionSet) writeKey {
	fields := c.fields("PageInfo", set)
	outputs := make([]output[writeKey], len(fields))
	for i, field := range fields {
		var write writeKey
		switch field.Name {
		case "__typename":
			write = literal[writeKey](`"PageInfo"`)
		case "hasNextPage":
			write = func(a *answer, dst []byte, key int) []byte {
				return strconv.AppendBool(dst, a.found[r.index].hasNext(key))
			}
		case "hasPreviousPage":
			write = func(a *answer, dst []byte, _ int) []byte {
				part := a.found[r.index].part
				return strconv.AppendBool(dst, part.After != nil || part.Offset != nil && *part.Offset > 0)
			}
		case "startCursor":
			write = cursorOf(r, (*found).first)
		case "endCursor":
			write = cursorOf(r, (*found).last)
		}
		if write == nil {
			return nil
		}
		outputs[i] = output[writeKey]{headOf(i, field.Alias), write}
	}
	return object(outputs)
}

// cursorOf writes the place of one of a page's rows, null where it has none.
func cursorOf(r *read, row func(*found, int) int) writeKey {
	write := cursor(r)
	return func(a *answer, dst []byte, key int) []byte {
		if at := row(&a.found[r.index], key); at >= 0 {
			return write(a, dst, at)
		}
		return append(dst, "null"...)
	}
}
