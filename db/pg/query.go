package pg

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/uptrace/bun/schema"

	"github.com/agentgraph/agentgraph/model"
)

// Query is a prepared statement. The value itself is the cache key of its text, so it must be comparable: a package
// variable made by NewQuery, or a struct of everything that the text depends on.
type Query interface {
	// SQL returns the text, whose first placeholder is for the company, and the columns of its rows.
	SQL(t *Tables) (text string, columns []string)
}

type fixedQuery struct {
	sql func(*Tables) (string, []string)
}

func (q *fixedQuery) SQL(t *Tables) (string, []string) { return q.sql(t) }

// NewQuery returns a Query with a fixed text.
func NewQuery(sql func(t *Tables) (text string, columns []string)) Query { return &fixedQuery{sql} }

// Bound is a Query with its values and with the slice that takes its rows.
type Bound struct {
	query  Query
	values []any
	// rows is a pointer to a slice of pointers to structs. It is not valid if the statement returns no rows.
	rows reflect.Value
}

// Bind gives a query its values, without the company's. Its rows are appended to the slice of pointers to structs
// that into points to. Pass nil for a query without rows.
func Bind(q Query, into any, values ...any) Bound {
	b := Bound{query: q, values: values}
	if into != nil {
		b.rows = reflect.ValueOf(into)
	}
	return b
}

// cachedStatement is a statement with the fields that take the values of its rows, in order. areDecoded tells for
// each field whether its value is JSON that is decoded.
type cachedStatement struct {
	Statement
	fields     []*schema.Field
	areDecoded []bool
}

type statementCache struct {
	mu    sync.Mutex
	known *simplelru.LRU[Query, *cachedStatement]
}

// maxCached bounds the cache. Each selection of columns is an entry of its own.
const maxCached = 1_024

func newStatementCache() *statementCache {
	// The only error is a size below one.
	known, _ := simplelru.NewLRU[Query, *cachedStatement](maxCached, nil)
	return &statementCache{known: known}
}

// prepare returns the statement of a query from the cache, or renders it and adds it.
func (c *statementCache) prepare(t *Tables, b Bound) *cachedStatement {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known.Get(b.query); ok {
		return known
	}
	text, columns := b.query.SQL(t)
	made := &cachedStatement{Statement: NewStatement(text)}
	if b.rows.IsValid() {
		table := unconnected.Table(structOf(b.rows.Interface()))
		for _, column := range columns {
			field := table.LookupField(column)
			kind := field.IndirectType.Kind()
			made.fields = append(made.fields, field)
			made.areDecoded = append(made.areDecoded, kind == reflect.Struct &&
				field.IndirectType != reflect.TypeFor[time.Time]() ||
				kind == reflect.Map || kind == reflect.Slice && field.IndirectType.Elem().Kind() != reflect.Uint8)
		}
	}
	c.known.Add(b.query, made)
	return made
}

// A Want names rows to read: the rows of the keys. They have the given columns in addition to those that identify and
// order rows, or all columns when none is given.
type Want struct {
	Rows    Rows
	Keys    []string
	Columns []string
}

type wantedRows struct {
	rows    Rows
	columns string
}

func (w wantedRows) SQL(t *Tables) (string, []string) {
	columns := t.ColumnsToRead(w.rows.Row(), strings.Fields(w.columns))
	text := t.ManyRows(w.rows, columns).text
	if w.rows.Key != ByID {
		columns = append([]string{"parent_id"}, columns...)
	}
	return text, columns
}

// BindWant is Bind for the rows of a Want.
func BindWant(w Want) Bound {
	return Bound{query: wantedRows{w.Rows, strings.Join(w.Columns, " ")}, values: []any{w.Keys}, rows: slice(w.Rows.Model)}
}

// Wanted returns the rows of queries that BindWant made, after the queries have run.
func (s Scope) Wanted(queries []Bound) [][]model.Row {
	return model.Map(queries, func(b Bound) []model.Row { return JoinBatch(s.db.modelRows(b.rows)) })
}

// FindTogether reads rows by prepared statements, in one round trip and from one snapshot.
func (r Reads) FindTogether(ctx context.Context, wants ...Want) ([][]model.Row, error) {
	queries := model.Map(wants, BindWant)
	if err := r.scope.Query(ctx, queries...); err != nil {
		return nil, err
	}
	return r.scope.Wanted(queries), nil
}

// Query runs queries that only read, in one round trip and from one snapshot. It does not see uncommitted changes of
// the Scope's transaction.
func (s Scope) Query(ctx context.Context, queries ...Bound) error {
	reads, receive := s.prepareReads(ctx, queries)
	return Reads{s}.Read(ctx, reads, receive)
}

// prepareReads returns the reads of the queries, and a function that appends the received rows.
func (s Scope) prepareReads(ctx context.Context, queries []Bound) ([]Read, Receive) {
	reads, statements := make([]Read, len(queries)), make([]*cachedStatement, len(queries))
	for i, b := range queries {
		statements[i] = s.db.statements.prepare(s.db.Tables, b)
		reads[i] = Read{Statement: statements[i].Statement, extraArgs: b.values, isText: true} // bun's fields scan text
	}
	budget := model.MemoryBudgetOf(ctx)
	return reads, func(i int, values [][]byte) error {
		if err := statements[i].reserve(budget, values); err != nil {
			return err
		}
		return statements[i].scan(queries[i].rows.Elem(), values)
	}
}

// reserve reserves memory for a row before it is decoded. Decoded JSON takes as much memory again, and decoding it
// takes most of the time.
func (c *cachedStatement) reserve(budget model.MemoryBudget, values [][]byte) error {
	if budget == nil {
		return nil
	}
	decoded := 0
	for i, value := range values {
		if c.areDecoded[i] {
			decoded += memorySize(len(value))
		}
	}
	return reserve(budget, values, decoded)
}

func (c *cachedStatement) scan(rows reflect.Value, values [][]byte) error {
	row := reflect.New(rows.Type().Elem().Elem())
	for i, value := range values {
		var source any
		if value != nil {
			source = value
		}
		if err := c.fields[i].ScanValue(row.Elem(), source); err != nil {
			return err
		}
	}
	rows.Set(reflect.Append(rows, row))
	return nil
}
