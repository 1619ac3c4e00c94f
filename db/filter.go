package db

import (
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// Filter narrows a list: every condition holds.
type Filter []condition

// condition is SQL with a place for its value; a nil value has none.
type condition struct {
	sql   string
	value any
	// view is what is read in place of the table, for an index to serve the condition. It may be empty.
	view string
}

// Values are the values of the conditions, with their SQL.
func (f Filter) Values() []any {
	values := make([]any, 0, 2*len(f))
	for _, c := range f {
		values = append(values, c.sql, c.value)
	}
	return values
}

// and adds a condition.
func (f Filter) and(sql string, value any) Filter {
	return append(f, condition{sql: sql, value: value})
}

// searching adds a condition that an index serves only in the view.
func (f Filter) searching(view, sql string, value any) Filter {
	return append(f, condition{sql, value, view})
}

// from has a query read the view that a condition needs.
func (f Filter) from(q *bun.SelectQuery) *bun.SelectQuery {
	for _, c := range f {
		if c.view != "" {
			return q.ModelTableExpr("? AS ?TableAlias", bun.Ident(c.view))
		}
	}
	return q
}

// given adds that the column has the value, unless it is nil.
func given[V any](f Filter, column string, value *V) Filter {
	if value == nil {
		return f
	}
	return f.and("?TableAlias."+column+" = ?", *value)
}

// oneOf adds that the column has one of the values, unless there is no list of them. A single value is compared by itself:
// an index then has the rows in their order.
func oneOf[V any](f Filter, column string, values []V) Filter {
	switch {
	case values == nil:
		return f
	case len(values) == 1:
		return given(f, column, &values[0])
	}
	return f.and("?TableAlias."+column+" = ANY (?::text[])", values)
}

// NamedThat is the filter of a list of what has a name, which is valid or nil.
func NamedThat(wanted *model.NameFilter) (f Filter) {
	if wanted == nil {
		return nil
	}
	return f.named(wanted.NameContains)
}

// named adds that a text stands in the name, unless it is nil. The lists are short enough to be read.
func (f Filter) named(part *string) Filter {
	if part == nil {
		return f
	}
	return f.and("strpos(lower(?TableAlias.name), lower(?)) > 0", *part)
}

// apply narrows a query to what passes the filter, whose values are written into its text.
func (f Filter) apply(q *bun.SelectQuery) *bun.SelectQuery {
	q = f.from(q)
	for _, c := range f {
		if c.value == nil {
			q = q.Where(c.sql)
		} else {
			q = q.Where(c.sql, literal(c.value))
		}
	}
	return q
}

// literals are the values of the conditions, as they are written into a text.
func (f Filter) literals() []any {
	values := make([]any, len(f))
	for i, c := range f {
		if c.value != nil {
			values[i] = literal(c.value)
		}
	}
	return values
}

// places narrows a query to what passes the filter, whose values have places from the next one on, and returns the next.
func (f Filter) places(q *bun.SelectQuery, next int) (*bun.SelectQuery, int) {
	q = f.from(q)
	for _, c := range f {
		if c.value == nil {
			q = q.Where(c.sql)
			continue
		}
		q = q.Where(c.sql, parameter(next))
		next++
	}
	return q, next
}
