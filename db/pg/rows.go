package pg

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// ByID is the key of rows that are read by their own ids.
const ByID = "?TableAlias.id"

// Rows describes how rows of one type are read by keys: by their own ids, or by the ids of their parents.
type Rows struct {
	// Type is the name of the type. Set it if rows are read by their own ids.
	Type string
	// Model is a nil pointer to the struct of a row.
	Model any
	// Join joins a table of relations as "relation". It is empty when the rows hold the key themselves.
	Join string
	// Key is the expression for the key of a row.
	Key string
	// Order orders the rows of one key. It is empty where a key has at most one row.
	Order string
}

// List describes a paginated list of rows of one type: all rows of the company, or the rows of each of several
// parents.
type List struct {
	// Model is a nil pointer to the struct of a row.
	Model any
	// Of narrows the list to the rows of the parent ?1 in the company ?0. It is empty for a list of the company.
	Of    string
	Order Order
	// Orders are the orders that arguments may choose instead of Order.
	Orders *map[model.AgentOrder]Order
}

// Order is the order of a list: by the expression By, then by id. Behind is the operator that selects the rows after a
// cursor. Place is the expression for the cursor's key, which is compared with By. Column is the column that By needs,
// empty for the time of creation.
type Order struct {
	Direction, Behind bun.Safe
	By, Place, Column string
}

// The orders of lists by time of creation.
var (
	NewestFirst = Order{Direction: "DESC", Behind: "<", By: "?TableAlias.created_at", Place: "?1"}
	OldestFirst = Order{Direction: "ASC", Behind: ">", By: "?TableAlias.created_at", Place: "?1"}
)

// orderOf returns the order in which a page is read. A page that is counted from the end of the list is read in
// reverse.
func (l List) orderOf(args model.PageArgs) Order {
	o := l.Order
	if l.Orders != nil {
		if by, ok := (*l.Orders)[args.OrderBy]; ok {
			o = by
		}
	}
	if args.IsBackward() {
		back := OldestFirst
		if o.Direction == OldestFirst.Direction {
			back = NewestFirst
		}
		o.Direction, o.Behind = back.Direction, back.Behind
	}
	return o
}

// Table returns the name of the list's table.
func (l List) Table() string { return unconnected.Table(l.Row()).Name }

// Row returns the struct type of a row.
func (r Rows) Row() reflect.Type { return reflect.TypeOf(r.Model).Elem() }

// Row returns the struct type of a row.
func (l List) Row() reflect.Type { return reflect.TypeOf(l.Model).Elem() }

// Join joins at most one row to each row of a statement, by the id in Column. Both are read together: the columns of
// the joined row are named Alias.column.
type Join struct {
	Alias  string
	Rows   Rows
	Column string
}

// Part is one page of a filtered list. Its arguments are already validated.
type Part struct {
	model.PageArgs
	Filter Filter
	// AndNext reads one more row, which shows whether another page follows.
	AndNext bool
}

// rows returns the maximum number of rows of the part.
func (p Part) rows() int64 {
	if p.AndNext {
		return int64(p.Size()) + 1
	}
	return int64(p.Size())
}

// Shape is everything that the text of a part's statement depends on.
type Shape struct {
	rows                int64
	hasAfter, hasOffset bool
	filter              string
}

// Shape returns the shape of the part.
func (p Part) Shape() Shape {
	shape := Shape{rows: p.rows(), hasAfter: p.After != nil, hasOffset: p.Offset != nil}
	for i, c := range p.Filter {
		if i > 0 {
			shape.filter += " AND "
		}
		shape.filter += c.SQL
	}
	return shape
}

// The functions below render the SQL of each kind of read, with literals or with placeholders. The arguments company,
// parent, parents and keys may be literals or placeholders.

// rowsOf selects the rows of one key, or of several.
func (t *Tables) rowsOf(r Rows, company any, joins []Join) *bun.SelectQuery {
	q := t.join(visible(t, unconnected.NewSelect().Model(r.Model), r.Model, company), company, joins)
	if r.Join != "" {
		q = q.Join(r.Join).Where("relation.company_id = ?", company)
	}
	if r.Order != "" {
		q = q.OrderExpr(r.Order)
	}
	return q
}

// rowsOfKeys selects the rows of several keys. Each row begins with its key, unless the key is its own id.
func (t *Tables) rowsOfKeys(r Rows, company, keys any, columns []string, joins []Join) *bun.SelectQuery {
	q := t.rowsOf(r, company, joins)
	if r.Key != ByID {
		q = q.ColumnExpr(r.Key + " AS parent_id")
	}
	return t.selectColumns(q, r.Row(), company, columns, joins).Where(r.Key+" = ANY (?::text[])", keys)
}

// parentID is the expression for the id of one of several parents.
const parentID = bun.Safe("parent.id")

// listOf selects the rows of a list that pass the filter, with the rendered values of its conditions.
func (t *Tables) listOf(l List, company, parent any, f Filter, values []any) *bun.SelectQuery {
	q := f.apply(visible(t, unconnected.NewSelect().Model(l.Model), l.Model, company), company, values)
	if l.Of == "" {
		return q
	}
	return q.Where(l.Of, company, parent)
}

// pageOf selects a page of a list, without its columns.
func (t *Tables) pageOf(l List, company, parent any, p Part, render renderValue, joins []Join) *bun.SelectQuery {
	q := t.join(t.listOf(l, company, parent, p.Filter, p.Filter.values(render)), company, joins).Limit(p.rows())
	o := l.orderOf(p.PageArgs)
	order := o.By + " ?0, ?TableAlias.id ?0"
	if p.Offset != nil {
		q = q.OrderExpr(order+" OFFSET ?1", o.Direction, render(*p.Offset))
	} else {
		q = q.OrderExpr(order, o.Direction)
	}
	if p.Cursor() == nil {
		return q
	}
	key, id := p.Position()
	return q.Where("("+o.By+", ?TableAlias.id) ?0 ("+o.Place+", ?2)", o.Behind, render(key), render(id))
}

// parentsOf selects several parents, with their positions.
func parentsOf(parents any) *bun.SelectQuery {
	return unconnected.NewSelect().TableExpr("unnest(?::text[]) WITH ORDINALITY AS parent (id, place)", parents)
}

// pagesOf selects, for each of several parents, a page of the parent's list. Each row begins with the expression
// identity, which identifies the parent. Postgres reads the parents one after the other, so each parent's rows arrive
// in the list's order. An ORDER BY over all rows took as long as reading them.
func (t *Tables) pagesOf(l List, company, parents any, identity string, columns []string, p Part, render renderValue,
	joins []Join) *bun.SelectQuery {
	inner := t.pageOf(l, company, parentID, p, render, joins)
	outer := parentsOf(parents).ColumnExpr(identity)
	for _, column := range columns {
		name := strings.ReplaceAll(column, ".", "_")
		outer, inner = outer.ColumnExpr("child.?", bun.Ident(name)), t.column(inner, l.Row(), company, column, name, joins)
	}
	if len(columns) == 0 {
		inner = inner.ColumnExpr("?TableAlias.id")
	}
	return outer.Join("CROSS JOIN LATERAL (?) AS child", inner)
}

// totalOf counts the rows of a list that pass the filter.
func (t *Tables) totalOf(l List, company, parent any, f Filter, render renderValue) *bun.SelectQuery {
	values := f.values(render)
	rows := t.listOf(l, company, parent, f, values).ColumnExpr("count(*)::int")
	if count := t.typeOf(l.Model).Count; count != nil {
		return count(Count{List: l, Filter: f, Company: company, Parent: parent, Values: values, Rows: rows})
	}
	return rows
}

// totalsOf counts, for each of several parents, the rows of the parent's list. Each row begins with the expression
// identity, which identifies the parent.
func (t *Tables) totalsOf(l List, company, parents any, identity string, f Filter,
	render renderValue) *bun.SelectQuery {
	return parentsOf(parents).ColumnExpr(identity+", (?) AS total", t.totalOf(l, company, parentID, f, render))
}

// join joins rows to the rows of a query, except rows that are marked as deleted.
func (t *Tables) join(q *bun.SelectQuery, company any, joins []Join) *bun.SelectQuery {
	for _, j := range joins {
		on := "?1.company_id = ?TableAlias.company_id AND ?1.id = ?TableAlias.?2"
		if is := t.typeOf(j.Rows.Model).Visible; is != "" {
			on += " AND " + strings.NewReplacer("?TableAlias", "?1", "?0", "?3").Replace(is)
		}
		q = q.Join("LEFT JOIN ? AS ?1 ON "+on, bun.Ident(t.Table(j.Rows.Row())), bun.Ident(j.Alias), bun.Ident(j.Column),
			company)
	}
	return q
}

func (t *Tables) selectColumns(q *bun.SelectQuery, row reflect.Type, company any, columns []string,
	joins []Join) *bun.SelectQuery {
	for _, column := range columns {
		name := column
		if _, joined, isJoined := strings.Cut(column, "."); isJoined {
			name = joined
		}
		q = t.column(q, row, company, column, name, joins)
	}
	return q
}

// column adds a column of the query's table or of a joined row, under the name.
func (t *Tables) column(q *bun.SelectQuery, row reflect.Type, company any, column, name string,
	joins []Join) *bun.SelectQuery {
	alias, joined, isJoined := strings.Cut(column, ".")
	if !isJoined {
		expression := strings.ReplaceAll(t.expression(row, column), "?0", "?TableAlias")
		return q.ColumnExpr(expression+" AS ?2", nil, bun.Ident(column), bun.Ident(name), company)
	}
	for _, j := range joins {
		if j.Alias == alias {
			row = j.Rows.Row()
		}
	}
	return q.ColumnExpr(t.expression(row, joined)+" AS ?2", bun.Ident(alias), bun.Ident(joined), bun.Ident(name),
		company)
}

func (t *Tables) expression(row reflect.Type, column string) string {
	if expression := t.types[row].Expressions[column]; expression != "" {
		return expression
	}
	return "?0.?1"
}

// Key is an SQL expression for the single key whose rows a statement reads.
type Key string

// KeyArgument is the key that is passed with the Read.
const KeyArgument Key = "$2"

// LookupKey returns a key that Postgres looks up: a subquery for the column in the row of r with the given key. A
// statement that uses it can be sent before that row has been received.
func (t *Tables) LookupKey(r Rows, key Key, column string, joins ...Join) Key {
	return "(" + Key(t.OneRow(r, key, []string{column}, joins...).text) + ")"
}

// OneRow returns the statement that reads the columns of the rows of one key.
func (t *Tables) OneRow(r Rows, key Key, columns []string, joins ...Join) Statement {
	return statementOf(t.selectColumns(t.rowsOf(r, Param(1), joins), r.Row(), Param(1), columns, joins).
		Where(r.Key+" = ?", bun.Safe(key)))
}

// ManyRows returns the statement that reads rows by a list of keys. Each row is its key, followed by the columns. For
// rows that are read by their own ids, no key is added, because the id is the first column.
func (t *Tables) ManyRows(r Rows, columns []string, joins ...Join) Statement {
	return statementOf(t.rowsOfKeys(r, Param(1), Param(2), columns, joins))
}

// nextParam returns the placeholders after those for the company and for the parents or keys.
func (l List) nextParam() renderValue {
	if l.Of == "" {
		return paramsFrom(2)
	}
	return paramsFrom(3)
}

// Page returns the statement that reads the columns of one page. The list is the company's or, with a parent, the
// parent's.
func (t *Tables) Page(l List, parent Key, columns []string, p Part, joins ...Join) Statement {
	return statementOf(t.selectColumns(t.pageOf(l, Param(1), bun.Safe(parent), p, l.nextParam(), joins), l.Row(),
		Param(1), columns, joins))
}

// Pages returns the statement that reads, for each of several parents, a page of the parent's list. Each row is the
// position of the parent among the keys, from 1, followed by the columns.
func (t *Tables) Pages(l List, columns []string, p Part, joins ...Join) Statement {
	return statementOf(t.pagesOf(l, Param(1), Param(2), "parent.place", columns, p, l.nextParam(), joins))
}

// Total returns the statement that counts the rows of a list that pass the filter. The list is the company's or, with a
// parent, the parent's. The statement returns one row with the number.
func (t *Tables) Total(l List, parent Key, f Filter) Statement {
	return statementOf(t.totalOf(l, Param(1), bun.Safe(parent), f, l.nextParam()))
}

// Totals returns the statement that counts, for each of several parents, the rows of the parent's list. Each row has
// the parent's position among the keys, from 1, and the number.
func (t *Tables) Totals(l List, f Filter) Statement {
	return statementOf(t.totalsOf(l, Param(1), Param(2), "parent.place", f, l.nextParam()))
}

func statementOf(q fmt.Stringer) Statement { return NewStatement(q.String()) }
