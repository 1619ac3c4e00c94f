package pg

import (
	"github.com/uptrace/bun"
)

// Filter narrows a list: every condition holds.
type Filter []Condition

// Condition is SQL with a place for its value; a nil value has none.
type Condition struct {
	SQL   string
	Value any
	// View is what is read instead of the table, for an index to serve the condition. It may be empty.
	View string
}

// Values are the values of the conditions, with their SQL.
func (f Filter) Values() []any {
	values := make([]any, 0, 2*len(f))
	for _, c := range f {
		values = append(values, c.SQL, c.Value)
	}
	return values
}

// And adds a condition.
func (f Filter) And(sql string, value any) Filter {
	return append(f, Condition{SQL: sql, Value: value})
}

// Searching adds a condition that an index serves only in the view.
func (f Filter) Searching(view, sql string, value any) Filter {
	return append(f, Condition{sql, value, view})
}

// Equal adds that the column has the value, unless it is nil.
func Equal[V any](f Filter, column string, value *V) Filter {
	if value == nil {
		return f
	}
	return f.And("?TableAlias."+column+" = ?", *value)
}

// OneOf adds that the column has one of the values, unless there is no list of them. A single value is compared by
// itself: an index then has the rows in their order.
func OneOf[V any](f Filter, column string, values []V) Filter {
	switch {
	case values == nil:
		return f
	case len(values) == 1:
		return Equal(f, column, &values[0])
	}
	return f.And("?TableAlias."+column+" = ANY (?::text[])", values)
}

// Named adds that a text stands in the name, unless it is nil. The lists are short enough to be read.
func (f Filter) Named(part *string) Filter {
	if part == nil {
		return f
	}
	return f.And("strpos(lower(?TableAlias.name), lower(?)) > 0", *part)
}

// values writes the values of the conditions, nil for none.
func (f Filter) values(place placing) []any {
	values := make([]any, len(f))
	for i, c := range f {
		if c.Value != nil {
			values[i] = place(c.Value)
		}
	}
	return values
}

// Apply narrows a query to what passes the filter.
func (f Filter) Apply(q *bun.SelectQuery) *bun.SelectQuery { return f.apply(q, f.values(literal)) }

// apply narrows a query to what passes the filter, whose values are those.
func (f Filter) apply(q *bun.SelectQuery, values []any) *bun.SelectQuery {
	for _, c := range f {
		if c.View != "" {
			q = q.ModelTableExpr("? AS ?TableAlias", bun.Ident(c.View))
			break
		}
	}
	for i, c := range f {
		if c.Value == nil {
			q = q.Where(c.SQL)
		} else {
			q = q.Where(c.SQL, values[i])
		}
	}
	return q
}
