package db

import (
	"context"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// byOwnID is the key of rows that are read by their own ids.
const byOwnID = "?TableAlias.id"

// Rows are the rows of one noun that keys lead to: their own ids, or the ids of what they hang on.
type Rows struct {
	// noun is what a row is called, where rows are read by their own ids.
	noun string
	// none is a nil pointer to the struct of a row.
	none any
	// join reaches a table of edges as "edge"; empty when the rows hold the key themselves.
	join string
	// key is the expression that tells which key a row was read for.
	key string
	// order is that of the rows of one key; empty where there is one at most.
	order string
}

// List is rows of one noun in pages: all of the company, or those that hang on each of several parents.
type List struct {
	none any
	// of narrows the list to the rows of the parent whose id is parent.id. Empty for a list of the company.
	of    string
	order order
}

// Noun is what a row is called; empty for rows that are not read by their own ids.
func (r Rows) Noun() string { return r.noun }

// Row is the struct of a row.
func (r Rows) Row() reflect.Type { return reflect.TypeOf(r.none).Elem() }

// Row is the struct of a row.
func (l List) Row() reflect.Type { return reflect.TypeOf(l.none).Elem() }

// Filter narrows a list: every condition holds.
type Filter []condition

// condition is SQL with a place for its value; a nil value has none.
type condition struct {
	sql   string
	value any
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
func (f Filter) and(sql string, value any) Filter { return append(f, condition{sql, value}) }

// given adds that the column has the value, unless it is nil.
func given[V any](f Filter, column string, value *V) Filter {
	if value == nil {
		return f
	}
	return f.and("?TableAlias."+column+" = ?", *value)
}

// The filters of lists that are narrowed to one agent, dataset, execution or campaign; to nothing when it is nil.

// OfAgent narrows a list to what belongs to the agent.
func OfAgent(id *string) Filter { return given(nil, "agent_id", id) }

// OfDataset narrows a list to what belongs to the dataset.
func OfDataset(id *string) Filter { return given(nil, "dataset_id", id) }

// OfExecution narrows a list to what belongs to the execution.
func OfExecution(id *string) Filter { return given(nil, "execution_id", id) }

// OfCampaign narrows a list to what belongs to the campaign.
func OfCampaign(id *string) Filter { return given(nil, "campaign_id", id) }

// apply narrows a query to what passes the filter, whose values are written into its text.
func (f Filter) apply(q *bun.SelectQuery) *bun.SelectQuery {
	for _, c := range f {
		if c.value == nil {
			q = q.Where(c.sql)
		} else {
			q = q.Where(c.sql, literal(c.value))
		}
	}
	return q
}

// literal makes what bun writes as an array of a slice.
func literal(value any) any {
	if reflect.ValueOf(value).Kind() == reflect.Slice {
		return pgdialect.Array(value)
	}
	return value
}

// read narrows a query to the rows that the keys lead to. company and keys are values, or places of a statement.
func (r Rows) read(q *bun.SelectQuery, company, keys any) *bun.SelectQuery {
	if r.join != "" {
		q = q.Join(r.join).Where("edge.company_id = ?", company)
	}
	q = q.Where(r.key+" = ANY (?::text[])", keys)
	if r.order != "" {
		q = q.OrderExpr(r.order)
	}
	return q
}

// narrow narrows a query to the rows of the parent, where the list has parents.
func (l List) narrow(q *bun.SelectQuery, company any) *bun.SelectQuery {
	if l.of == "" {
		return q
	}
	// A list that hangs on its parents by a table of edges asks for the company once more.
	return q.Where(l.of, company)
}

// Statement is a read of one company's rows. Its text is written once, and Postgres plans it once on each connection: the
// values have places in it, the first of which is the company's.
type Statement struct{ text string }

// parameter is where a statement has its nth value.
func parameter(n int) bun.Safe {
	return bun.Safe("$" + string(rune('0'+n)))
}

// Select returns the statement that reads rows by a list of keys, its one argument. Each row begins with its key, and
// goes on with the columns.
func (s *Store) Select(r Rows, columns []string) Statement {
	q := s.root.NewSelect().Model(r.none).Where(own, parameter(1)).ColumnExpr(r.key)
	return Statement{r.read(columned(q, columns), parameter(1), parameter(2)).String()}
}

func columned(q *bun.SelectQuery, columns []string) *bun.SelectQuery {
	for _, column := range columns {
		q = q.ColumnExpr("?TableAlias.?", bun.Ident(column))
	}
	return q
}

// Part is one page of a list that is narrowed by a filter. Its arguments are valid.
type Part struct {
	model.PageArgs
	Filter Filter
}

// Shape is what the text of the statement of a part depends on.
type Shape struct {
	first               int32
	hasAfter, hasOffset bool
	filter              string
}

// Shape returns the shape of the part.
func (p Part) Shape() Shape {
	shape := Shape{first: p.First, hasAfter: p.After != nil, hasOffset: p.Offset != nil}
	for i, c := range p.Filter {
		if i > 0 {
			shape.filter += " AND "
		}
		shape.filter += c.sql
	}
	return shape
}

// arguments are the values of the part, in the order of their places.
func (p Part) arguments(arguments []any) []any {
	arguments = p.Filter.arguments(arguments)
	if p.Offset != nil {
		arguments = append(arguments, *p.Offset)
	}
	if p.After != nil {
		cursor, _ := model.ParseCursor(*p.After) // it is valid
		arguments = append(arguments, cursor.CreatedAt, cursor.ID)
	}
	return arguments
}

func (f Filter) arguments(arguments []any) []any {
	for _, c := range f {
		if c.value != nil {
			arguments = append(arguments, c.value)
		}
	}
	return arguments
}

// places narrows a query to what passes the filter, whose values have places from the next one on, and returns the next.
func (f Filter) places(q *bun.SelectQuery, next int) (*bun.SelectQuery, int) {
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

// Page returns the statement that reads a page of a list, and one row more. Rows of a list that hangs on parents begin
// with the place of the parent among the keys, from 1; those of a list of the company with 1. All go on with the columns.
func (s *Store) Page(l List, columns []string, p Part) Statement {
	next := 2
	if l.of != "" {
		next = 3
	}
	q := s.root.NewSelect().Model(l.none).Where(own, parameter(1))
	q, next = p.Filter.places(l.narrow(q, parameter(1)), next)
	q = q.OrderExpr("?TableAlias.created_at ?0, ?TableAlias.id ?0", l.order.direction).Limit(int64(p.First) + 1)
	offset := ""
	if p.Offset != nil {
		offset = " OFFSET " + string(parameter(next))
		next++
	}
	if p.After != nil {
		q = q.Where("(?TableAlias.created_at, ?TableAlias.id) ? (?, ?)", l.order.behind, parameter(next), parameter(next+1))
	}
	if l.of == "" {
		return Statement{columned(q.ColumnExpr("1::bigint"), columns).String() + offset}
	}
	outer := s.root.NewSelect().TableExpr("unnest(?::text[]) WITH ORDINALITY AS parent (id, place)", parameter(2)).ColumnExpr("parent.place")
	for _, column := range columns {
		outer = outer.ColumnExpr("child.?", bun.Ident(column))
	}
	q = q.ColumnExpr("?TableAlias.id, ?TableAlias.created_at")
	for _, column := range columns {
		if column != "id" && column != "created_at" {
			q = q.ColumnExpr("?TableAlias.?", bun.Ident(column))
		}
	}
	return Statement{outer.Join("CROSS JOIN LATERAL (?) AS child", bun.Safe(q.String()+offset)).
		OrderExpr("parent.place, child.created_at ?0, child.id ?0", l.order.direction).String()}
}

// Total returns the statement that counts the rows of a list which pass the filter. Its rows are the place of the parent
// among the keys, as those of Page, and the number.
func (s *Store) Total(l List, f Filter) Statement {
	if l.of == "" {
		q, _ := f.places(s.root.NewSelect().Model(l.none).Where(own, parameter(1)), 2)
		return Statement{q.ColumnExpr("1::bigint, count(*)::int").String()}
	}
	q, _ := f.places(l.narrow(s.root.NewSelect().Model(l.none).Where(own, parameter(1)), parameter(1)), 3)
	return Statement{s.root.NewSelect().TableExpr("unnest(?::text[]) WITH ORDINALITY AS parent (id, place)", parameter(2)).
		ColumnExpr("parent.place, (?)", q.ColumnExpr("count(*)::int")).String()}
}

// Read is a statement with its arguments.
type Read struct {
	Statement Statement
	// Keys are those of a Select, or the ids of the parents of a list; nil for none.
	Keys []string
	// Part is the page that is read, or whose list is counted.
	Part Part
	// IsTotal says that the rows of the list are counted.
	IsTotal bool
}

// Receive is called with each row of what the read with the number found, in order. The values are Postgres's own, text for
// texts and JSON, binary for the rest, nil for NULL, and good until it returns.
type Receive func(read int, values [][]byte) error

// Read sends all reads to Postgres together and hands out what they find, in order: one round trip, or two where a
// connection sees a statement for the first time.
func (t *Tenant) Read(ctx context.Context, reads []Read, receive Receive) error {
	batch := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(reads))}
	for _, read := range reads {
		arguments := make([]any, 0, 6)
		arguments = append(arguments, t.companyID)
		if read.Keys != nil {
			arguments = append(arguments, read.Keys)
		}
		if read.IsTotal {
			arguments = read.Part.Filter.arguments(arguments)
		} else {
			arguments = read.Part.arguments(arguments)
		}
		batch.Queue(read.Statement.text, arguments...)
	}
	return translate(t.store.receive(ctx, batch, receive))
}

func (s *Store) receive(ctx context.Context, batch *pgx.Batch, receive Receive) error {
	results := s.reads.SendBatch(ctx, batch)
	for i := range batch.QueuedQueries {
		rows, err := results.Query()
		if err != nil {
			_ = results.Close()
			return err
		}
		for rows.Next() {
			if err := receive(i, rows.RawValues()); err != nil {
				rows.Close()
				_ = results.Close()
				return err
			}
		}
		if err := rows.Err(); err != nil {
			_ = results.Close()
			return err
		}
	}
	return results.Close()
}
