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

// Rows are the rows of one type that keys lead to: their own ids, or the ids of what they hang on.
type Rows struct {
	// Type is the name of the type, if rows are read by their own ids.
	Type string
	// Model is a nil pointer to the struct of a row.
	Model any
	// Join reaches a table of relations as "relation"; empty when the rows hold the key themselves.
	Join string
	// Key is the expression that tells which key a row was read for.
	Key string
	// Order is that of the rows of one key; empty where there is one at most.
	Order string
}

// List is rows of one type in pages: all of the company, or those that hang on each of several parents.
type List struct {
	// Model is a nil pointer to the struct of a row.
	Model any
	// Of narrows the list to the rows of the parent ?1 in the company ?0. Empty for a list of the company.
	Of    string
	Order Order
	// Orders are those that arguments may ask for instead.
	Orders *map[model.AgentOrder]Order
}

// Order is how a list is ordered, by an expression and then by id, and what is behind a row of it. Place makes of a
// cursor's key what the expression is compared with. Column is what the expression needs, unless it is the time of
// creation.
type Order struct {
	Direction, Behind bun.Safe
	By, Place, Column string
}

// The orders of lists by time of creation.
var (
	NewestFirst = Order{Direction: "DESC", Behind: "<", By: "?TableAlias.created_at", Place: "?1"}
	OldestFirst = Order{Direction: "ASC", Behind: ">", By: "?TableAlias.created_at", Place: "?1"}
)

// orderOf is the order in which a page is read: one that is counted from its end comes last row first.
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

// Row is the struct of a row.
func (r Rows) Row() reflect.Type { return reflect.TypeOf(r.Model).Elem() }

// Row is the struct of a row.
func (l List) Row() reflect.Type { return reflect.TypeOf(l.Model).Elem() }

// Join is a row that each row of a statement leads to, if it is there, by the id in a column. It is read with the row:
// its columns are named Alias.column.
type Join struct {
	Alias  string
	Rows   Rows
	Column string
}

// Part is one page of a list that is narrowed by a filter. Its arguments are valid.
type Part struct {
	model.PageArgs
	Filter Filter
	// AndNext asks for one row more, which tells that another page follows.
	AndNext bool
}

// rows is how many rows a part has at most.
func (p Part) rows() int64 {
	if p.AndNext {
		return int64(p.Size()) + 1
	}
	return int64(p.Size())
}

// Shape is what the text of the statement of a part depends on.
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

// The functions below describe each read once. company, parent, parents and keys are literals, or places of a
// statement.

// rowsOf is the rows of one key, or of several.
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

// rowsOfKeys is the rows of several keys. Each row begins with its key, unless that is its own id.
func (t *Tables) rowsOfKeys(r Rows, company, keys any, columns []string, joins []Join) *bun.SelectQuery {
	q := t.rowsOf(r, company, joins)
	if r.Key != ByID {
		q = q.ColumnExpr(r.Key + " AS parent_id")
	}
	return t.columned(q, r.Row(), columns, joins).Where(r.Key+" = ANY (?::text[])", keys)
}

// parentID is the id of a parent among several.
const parentID = bun.Safe("parent.id")

// listOf is the rows of a list that pass the filter, whose values are those.
func (t *Tables) listOf(l List, company, parent any, f Filter, values []any) *bun.SelectQuery {
	q := f.apply(visible(t, unconnected.NewSelect().Model(l.Model), l.Model, company), values)
	if l.Of == "" {
		return q
	}
	return q.Where(l.Of, company, parent)
}

// pageOf is a page of a list, but for its columns.
func (t *Tables) pageOf(l List, company, parent any, p Part, place placing, joins []Join) *bun.SelectQuery {
	q := t.join(t.listOf(l, company, parent, p.Filter, p.Filter.values(place)), company, joins).Limit(p.rows())
	o := l.orderOf(p.PageArgs)
	order := o.By + " ?0, ?TableAlias.id ?0"
	if p.Offset != nil {
		q = q.OrderExpr(order+" OFFSET ?1", o.Direction, place(*p.Offset))
	} else {
		q = q.OrderExpr(order, o.Direction)
	}
	if p.Cursor() == nil {
		return q
	}
	key, id := p.Place()
	return q.Where("("+o.By+", ?TableAlias.id) ?0 ("+o.Place+", ?2)", o.Behind, place(key), place(id))
}

// parentsOf is several parents with what is read of each.
func parentsOf(parents any) *bun.SelectQuery {
	return unconnected.NewSelect().TableExpr("unnest(?::text[]) WITH ORDINALITY AS parent (id, place)", parents)
}

// pagesOf is a page of the list of each of several parents. Each row begins with the expression, which tells the
// parent. The rows of one parent come in order, as Postgres reads them for one parent after the other and limits each;
// to sort them all again took it as long as to read them.
func (t *Tables) pagesOf(l List, company, parents any, tells string, columns []string, p Part, place placing,
	joins []Join) *bun.SelectQuery {
	inner := t.pageOf(l, company, parentID, p, place, joins)
	outer := parentsOf(parents).ColumnExpr(tells)
	for _, column := range columns {
		name := strings.ReplaceAll(column, ".", "_")
		outer, inner = outer.ColumnExpr("child.?", bun.Ident(name)), t.column(inner, l.Row(), column, name, joins)
	}
	if len(columns) == 0 {
		inner = inner.ColumnExpr("?TableAlias.id")
	}
	return outer.Join("CROSS JOIN LATERAL (?) AS child", inner)
}

// totalOf counts the rows of a list that pass the filter.
func (t *Tables) totalOf(l List, company, parent any, f Filter, place placing) *bun.SelectQuery {
	values := f.values(place)
	rows := t.listOf(l, company, parent, f, values).ColumnExpr("count(*)::int")
	if count := t.typeOf(l.Model).Count; count != nil {
		return count(Count{List: l, Filter: f, Company: company, Parent: parent, Values: values, Rows: rows})
	}
	return rows
}

// totalsOf counts the rows of the list of each of several parents, which the expression tells.
func (t *Tables) totalsOf(l List, company, parents any, tells string, f Filter, place placing) *bun.SelectQuery {
	return parentsOf(parents).ColumnExpr(tells+", (?) AS total", t.totalOf(l, company, parentID, f, place))
}

// join joins rows to those of a query, but for those that are marked as deleted.
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

func (t *Tables) columned(q *bun.SelectQuery, row reflect.Type, columns []string, joins []Join) *bun.SelectQuery {
	for _, column := range columns {
		name := column
		if _, of, isJoined := strings.Cut(column, "."); isJoined {
			name = of
		}
		q = t.column(q, row, column, name, joins)
	}
	return q
}

// column adds a column to those that a query reads, under the name: of its table, or of what is joined.
func (t *Tables) column(q *bun.SelectQuery, row reflect.Type, column, name string, joins []Join) *bun.SelectQuery {
	alias, of, isJoined := strings.Cut(column, ".")
	if !isJoined {
		return t.Column(q, row, column, name)
	}
	for _, j := range joins {
		if j.Alias == alias {
			row = j.Rows.Row()
		}
	}
	return q.ColumnExpr(t.expression(row, of)+" AS ?2", bun.Ident(alias), bun.Ident(of), bun.Ident(name))
}

// Column adds a column of its table to those that a query reads, under the name.
func (t *Tables) Column(q *bun.SelectQuery, row reflect.Type, column, name string) *bun.SelectQuery {
	expression := strings.ReplaceAll(t.expression(row, column), "?0", "?TableAlias")
	return q.ColumnExpr(expression+" AS ?2", nil, bun.Ident(column), bun.Ident(name))
}

func (t *Tables) expression(row reflect.Type, column string) string {
	if expression := t.types[row].Expressions[column]; expression != "" {
		return expression
	}
	return "?0.?1"
}

// Key is the one key whose rows a statement reads, as SQL.
type Key string

// Given is the key that comes with the Read.
const Given Key = "$2"

// Found is the key that stands in the column of the one row that another key leads to. A statement takes it from there
// by itself, and need not wait for the row.
func (t *Tables) Found(r Rows, key Key, column string, joins ...Join) Key {
	return "(" + Key(t.OneRow(r, key, []string{column}, joins...).text) + ")"
}

// OneRow returns the statement that reads the rows of one key. Each row is the columns.
func (t *Tables) OneRow(r Rows, key Key, columns []string, joins ...Join) Statement {
	return statementOf(t.columned(t.rowsOf(r, Place(1), joins), r.Row(), columns, joins).
		Where(r.Key+" = ?", bun.Safe(key)))
}

// ManyRows returns the statement that reads rows by a list of keys. Each row begins with its key, which of rows that
// are read by their own ids is the first of the columns, and goes on with the columns.
func (t *Tables) ManyRows(r Rows, columns []string, joins ...Join) Statement {
	return statementOf(t.rowsOfKeys(r, Place(1), Place(2), columns, joins))
}

// nextPlace is the first place behind those of the company and of the parents or keys.
func (l List) nextPlace() placing {
	if l.Of == "" {
		return placesFrom(2)
	}
	return placesFrom(3)
}

// Page returns the statement that reads a page of a list of the company, or of the list of one parent. Its rows are the
// columns.
func (t *Tables) Page(l List, parent Key, columns []string, p Part, joins ...Join) Statement {
	return statementOf(t.columned(t.pageOf(l, Place(1), bun.Safe(parent), p, l.nextPlace(), joins), l.Row(), columns,
		joins))
}

// Pages returns the statement that reads a page of the list of each of several parents. Its rows begin with the place
// of the parent among the keys, from 1, and go on with the columns.
func (t *Tables) Pages(l List, columns []string, p Part, joins ...Join) Statement {
	return statementOf(t.pagesOf(l, Place(1), Place(2), "parent.place", columns, p, l.nextPlace(), joins))
}

// Total returns the statement that counts the rows of a list of the company, or of the list of one parent, which pass
// the filter. Its row is the number.
func (t *Tables) Total(l List, parent Key, f Filter) Statement {
	return statementOf(t.totalOf(l, Place(1), bun.Safe(parent), f, l.nextPlace()))
}

// Totals returns the statement that counts the rows of the list of each of several parents. Its rows are the place of
// the parent among the keys, from 1, and the number.
func (t *Tables) Totals(l List, f Filter) Statement {
	return statementOf(t.totalsOf(l, Place(1), Place(2), "parent.place", f, l.nextPlace()))
}

func statementOf(q fmt.Stringer) Statement { return NewStatement(q.String()) }
