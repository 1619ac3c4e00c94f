package pg

import (
	"github.com/uptrace/bun"
)

// Filter narrows a list to the rows that satisfy all of its conditions.
type Filter []Condition

// Condition is an SQL condition with a placeholder for Value, unless Value is nil. ?1 is the company.
type Condition struct {
	SQL   string
	Value any
	// View is read instead of the table, so that an index can serve the condition. It may be empty.
	View string
}

// Values returns the SQL and the value of each condition, alternately.
func (f Filter) Values() []any {
	values := make([]any, 0, 2*len(f))
	for _, c := range f {
		values = append(values, c.SQL, c.Value)
	}
	return values
}

// And returns the filter with another condition.
func (f Filter) And(sql string, value any) Filter {
	return append(f, Condition{SQL: sql, Value: value})
}

// AndInView returns the filter with a condition that an index serves only through the view.
func (f Filter) AndInView(view, sql string, value any) Filter {
	return append(f, Condition{sql, value, view})
}

// Equal returns the filter with the condition that the column has the value. It returns f if value is nil.
func Equal[V any](f Filter, column string, value *V) Filter {
	if value == nil {
		return f
	}
	return f.And("?TableAlias."+column+" = ?", *value)
}

// OneOf returns the filter with the condition that the column has one of the values. It returns f if values is nil. A
// single value is compared with =, so that an index returns the rows in order.
func OneOf[V any](f Filter, column string, values []V) Filter {
	switch {
	case values == nil:
		return f
	case len(values) == 1:
		return Equal(f, column, &values[0])
	}
	return f.And("?TableAlias."+column+" = ANY (?::text[])", values)
}

// NameContains returns the filter with the condition that the name contains the given part, ignoring case and the form
// of characters (NFC). It returns f if part is nil. No index serves the condition: the lists are short enough to scan.
func (f Filter) NameContains(part *string) Filter {
	if part == nil {
		return f
	}
	return f.And("strpos(lower(normalize(?TableAlias.name)), lower(normalize(?))) > 0", *part)
}

// values returns the rendered value of each condition, and nil for conditions without a value.
func (f Filter) values(render renderValue) []any {
	values := make([]any, len(f))
	for i, c := range f {
		if c.Value != nil {
			values[i] = render(c.Value)
		}
	}
	return values
}

// Apply returns a Selection of the company's rows that pass the filter.
func (f Filter) Apply(companyID string) Selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery { return f.apply(q, companyID, f.values(literal)) }
}

// apply narrows a query to the rows that pass the filter, with the rendered values of its conditions.
func (f Filter) apply(q *bun.SelectQuery, company any, values []any) *bun.SelectQuery {
	for _, c := range f {
		if c.View != "" {
			q = q.ModelTableExpr("? AS ?TableAlias", bun.Ident(c.View))
			break
		}
	}
	for i, c := range f {
		q = q.Where(c.SQL, values[i], company)
	}
	return q
}
