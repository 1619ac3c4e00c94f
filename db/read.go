package db

import (
	"reflect"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// byOwnID is the key of rows that are read by their own ids.
const byOwnID = "?TableAlias.id"

// Rows are the rows of one type that keys lead to: their own ids, or the ids of what they hang on.
type Rows struct {
	// typeName is the name of the type, if rows are read by their own ids.
	typeName string
	// none is a nil pointer to the struct of a row.
	none any
	// join reaches a table of relations as "relation"; empty when the rows hold the key themselves.
	join string
	// key is the expression that tells which key a row was read for.
	key string
	// order is that of the rows of one key; empty where there is one at most.
	order string
}

// List is rows of one type in pages: all of the company, or those that hang on each of several parents.
type List struct {
	none any
	// of narrows the list to the rows of the parent ?1 in the company ?0. Empty for a list of the company.
	of    string
	order order
}

// Type is the name of the type, empty if rows are not read by their own ids.
func (r Rows) Type() string { return r.typeName }

// Row is the struct of a row.
func (r Rows) Row() reflect.Type { return reflect.TypeOf(r.none).Elem() }

// Row is the struct of a row.
func (l List) Row() reflect.Type { return reflect.TypeOf(l.none).Elem() }

// read narrows a query to the rows that the keys lead to. company and keys are values, or places of a statement.
func (r Rows) read(q *bun.SelectQuery, company, keys any) *bun.SelectQuery {
	return r.reach(q, company).Where(r.key+" = ANY (?::text[])", keys)
}

// reach joins the relations to the rows, and orders them.
func (r Rows) reach(q *bun.SelectQuery, company any) *bun.SelectQuery {
	if r.join != "" {
		q = q.Join(r.join).Where("relation.company_id = ?", company)
	}
	if r.order != "" {
		q = q.OrderExpr(r.order)
	}
	return q
}

// parentID is the id of a parent among several.
const parentID = bun.Safe("parent.id")

// narrow narrows a query to the rows of the parent, where the list has parents.
func (l List) narrow(q *bun.SelectQuery, company, parent any) *bun.SelectQuery {
	if l.of == "" {
		return q
	}
	return q.Where(l.of, company, parent)
}

// Join is a row that each row of a statement leads to, if it is there, by the id in a column. It is read with the row: its
// columns are named Alias.column.
type Join struct {
	Alias  string
	Rows   Rows
	Column string
}

// join joins rows to those of a query, but for those that are marked as deleted.
func (s *Store) join(q *bun.SelectQuery, joins []Join) *bun.SelectQuery {
	for _, j := range joins {
		on := "?1.company_id = ?TableAlias.company_id AND ?1.id = ?TableAlias.?2"
		if is, _ := unmarkedOf(j.Rows.none, nil); is != "" {
			on += " AND " + strings.NewReplacer("?TableAlias", "?1", "?0", "?3").Replace(is)
		}
		q = q.Join("LEFT JOIN ? AS ?1 ON "+on, bun.Ident(s.db.Table(j.Rows.Row()).Name), bun.Ident(j.Alias), bun.Ident(j.Column), parameter(1))
	}
	return q
}

// Select returns the statement that reads rows by a list of keys. Each row begins with its key, which of rows that are read by
// their own ids is the first of the columns, and goes on with the columns.
func (s *Store) Select(r Rows, columns []string, joins ...Join) Statement {
	q := s.join(s.own(r.none), joins)
	if r.key != byOwnID {
		q = q.ColumnExpr(r.key)
	}
	return statement(r.read(columned(q, columns), parameter(1), parameter(2)).String())
}

// Key is the one key whose rows a statement reads, as SQL.
type Key string

// Given is the key that comes with the Read.
const Given Key = "$2"

// Found is the key that stands in the column of the one row that another key leads to. A statement takes it from there by
// itself, and need not wait for the row.
func (s *Store) Found(r Rows, key Key, column string, joins ...Join) Key {
	return "(" + Key(s.SelectOne(r, key, []string{column}, joins...).text) + ")"
}

// SelectOne returns the statement that reads the rows of one key. Each row is the columns.
func (s *Store) SelectOne(r Rows, key Key, columns []string, joins ...Join) Statement {
	q := columned(s.join(s.own(r.none), joins), columns)
	return statement(r.reach(q, parameter(1)).Where(r.key+" = ?", bun.Safe(key)).String())
}

func columned(q *bun.SelectQuery, columns []string) *bun.SelectQuery {
	for _, column := range columns {
		if alias, of, isJoined := strings.Cut(column, "."); isJoined {
			q = read(q, alias, of, of)
			continue
		}
		q = read(q, "", column, column)
	}
	return q
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
		return int64(p.First) + 1
	}
	return int64(p.First)
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
		shape.filter += c.sql
	}
	return shape
}

// cursor is where the part begins, behind which it is.
func (p Part) cursor() model.Cursor {
	cursor, _ := model.ParseCursor(*p.After) // it is valid
	return cursor
}

// Page returns the statement that reads a page of a list of the company, or of the list of one parent. Its rows are the
// columns.
func (s *Store) Page(l List, parent Key, columns []string, p Part, joins ...Join) Statement {
	q, offset := s.page(l, bun.Safe(parent), p, joins)
	return statement(columned(q, columns).String() + offset)
}

// Pages returns the statement that reads a page of the list of each of several parents. Its rows begin with the place of the
// parent among the keys, from 1, and go on with the columns. Those of one parent come in order, as Postgres reads them for one
// parent after the other and limits each; to sort them all again took it as long as to read them.
func (s *Store) Pages(l List, columns []string, p Part, joins ...Join) Statement {
	inner, offset := s.page(l, parentID, p, joins)
	outer := s.db.NewSelect().TableExpr("unnest(?::text[]) WITH ORDINALITY AS parent (id, place)", parameter(2)).ColumnExpr("parent.place")
	for _, column := range columns {
		if alias, of, isJoined := strings.Cut(column, "."); isJoined {
			name := alias + "_" + of
			outer, inner = outer.ColumnExpr("child.?", bun.Ident(name)), read(inner, alias, of, name)
			continue
		}
		outer, inner = outer.ColumnExpr("child.?", bun.Ident(column)), read(inner, "", column, column)
	}
	if len(columns) == 0 {
		inner = inner.ColumnExpr("?TableAlias.id")
	}
	return statement(outer.Join("CROSS JOIN LATERAL (?) AS child", bun.Safe(inner.String()+offset)).String())
}

// page is a page of a list, but for its columns, and what is to stand behind it.
func (s *Store) page(l List, parent bun.Safe, p Part, joins []Join) (q *bun.SelectQuery, offset string) {
	q, next := s.filtered(l, parent, p.Filter)
	q = s.join(q, joins).OrderExpr("?TableAlias.created_at ?0, ?TableAlias.id ?0", l.order.direction).Limit(p.rows())
	if p.Offset != nil {
		offset = " OFFSET " + string(parameter(next))
		next++
	}
	if p.After != nil {
		q = q.Where("(?TableAlias.created_at, ?TableAlias.id) ? (?, ?)", l.order.behind, parameter(next), parameter(next+1))
	}
	return q, offset
}

// filtered is the rows of a list that pass the filter, and the place of the next value.
func (s *Store) filtered(l List, parent bun.Safe, f Filter) (*bun.SelectQuery, int) {
	next := 2
	if l.of != "" {
		next = 3
	}
	q := s.own(l.none)
	return f.places(l.narrow(q, parameter(1), parent), next)
}

// Total returns the statement that counts the rows of a list of the company, or of the list of one parent, which pass the
// filter. Its row is the number.
func (s *Store) Total(l List, parent Key, f Filter) Statement {
	return statement(s.total(l, bun.Safe(parent), f).String())
}

// Totals returns the statement that counts the rows of the list of each of several parents. Its rows are the place of the
// parent among the keys, from 1, and the number.
func (s *Store) Totals(l List, f Filter) Statement {
	return statement(s.db.NewSelect().TableExpr("unnest(?::text[]) WITH ORDINALITY AS parent (id, place)", parameter(2)).
		ColumnExpr("parent.place, (?)", s.total(l, parentID, f)).String())
}

func (s *Store) total(l List, parent bun.Safe, f Filter) *bun.SelectQuery {
	q, next := s.filtered(l, parent, f)
	places := make([]any, len(f))
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].value != nil {
			next--
			places[i] = parameter(next)
		}
	}
	return l.counted(s.db, parameter(1), parent, f, places, q.ColumnExpr("count(*)::int"))
}
