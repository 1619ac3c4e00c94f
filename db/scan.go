package db

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/agentgraph/agentgraph/model"
)

// finding is a statement for reads whose rows become structs.
type finding struct {
	statement Statement
	// fields take the values of a row, in order. areDecoded says of each whether it is JSON of which something is made.
	fields     []*schema.Field
	areDecoded []bool
}

// findings caches the most recently used ones, so that their texts are written once.
type findings struct {
	mu    sync.Mutex
	known *simplelru.LRU[any, *finding]
}

// mostFindings bounds the cache. Clients' selections make many.
const mostFindings = 1_024

func newFindings() *findings {
	// The only error is a size below one.
	known, _ := simplelru.NewLRU[any, *finding](mostFindings, nil)
	return &findings{known: known}
}

// of returns the finding of the key, which is made if it is not known.
func (f *findings) of(key any, make func() *finding) *finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.known.Get(key); ok {
		return known
	}
	made := make()
	f.known.Add(key, made)
	return made
}

// finding returns the finding of a statement whose rows have the columns.
func (s *Store) finding(text Statement, row reflect.Type, columns []string) *finding {
	f := &finding{statement: text}
	table := s.db.Table(row)
	for _, column := range columns {
		field := table.LookupField(column)
		f.fields = append(f.fields, field)
		kind := field.IndirectType.Kind()
		f.areDecoded = append(f.areDecoded, kind == reflect.Struct && field.IndirectType != reflect.TypeFor[time.Time]() || kind == reflect.Map ||
			kind == reflect.Slice && field.IndirectType.Elem().Kind() != reflect.Uint8)
	}
	return f
}

// wanted is the key of a finding.
type wanted struct {
	rows    Rows
	columns string
}

// askingFor is the ask for what is wanted.
func (t *Tenant) askingFor(want Want) ask {
	f := t.store.findings.of(wanted{want.Rows, strings.Join(want.Columns, " ")}, func() *finding {
		row := want.Rows.Row()
		columns := t.store.chosen(row, want.Columns)
		statement := t.store.Select(want.Rows, columns)
		if want.Rows.key != byOwnID {
			columns = append([]string{"parent_id"}, columns...)
		}
		return t.store.finding(statement, row, columns)
	})
	return ask{finding: f, read: Read{Statement: f.statement, Keys: want.Keys}, rows: slice(want.Rows.none)}
}

// asking is the ask by a statement of its own, which has a name, by one key and more values, for rows that go into a slice of
// pointers.
func (t *Tenant) asking(name string, text func(*Store) (Statement, []string), into any, key string, more ...any) ask {
	asked := t.askingAll(name, text, into, []string{key}, more...)
	asked.read.IsOne = true
	return asked
}

// askingAll is asking by any number of keys.
func (t *Tenant) askingAll(name string, text func(*Store) (Statement, []string), into any, keys []string, more ...any) ask {
	asked := t.askingOwn(name, text, into, more...)
	if asked.read.Keys = keys; keys == nil {
		asked.read.Keys = []string{}
	}
	return asked
}

// askingOwn is asking by no key but the company.
func (t *Tenant) askingOwn(name string, text func(*Store) (Statement, []string), into any, more ...any) ask {
	rows := reflect.ValueOf(into)
	f := t.store.findings.of(name, func() *finding {
		statement, columns := text(t.store)
		return t.store.finding(statement, rows.Type().Elem().Elem().Elem(), columns)
	})
	return ask{finding: f, read: Read{Statement: f.statement, more: more}, rows: rows}
}

// values are the rows of an ask.
func values[R any](rows []*R) []R {
	all := make([]R, len(rows))
	for i, row := range rows {
		all[i] = *row
	}
	return all
}

// own is a query for a company's rows, but for those that are marked as deleted, as part of a statement.
func (s *Store) own(none any) *bun.SelectQuery {
	q := s.db.NewSelect().Model(none).Where(own, parameter(1))
	if is, values := unmarkedOf(none, parameter(1)); is != "" {
		q = q.Where(is, values...)
	}
	return q
}

// chosen are the columns beside those that tell and order rows; all of the row when none is given.
func (s *Store) chosen(row reflect.Type, columns []string) []string {
	var chosen []string
	if len(columns) == 0 {
		for _, field := range s.db.Table(row).Fields {
			chosen = append(chosen, field.Name)
		}
		return chosen
	}
	chosen = append(chosen, "id", "created_at")
	for _, column := range withKind(row, columns) {
		if column != "id" && column != "created_at" {
			chosen = append(chosen, column)
		}
	}
	return chosen
}

// ask is a read with the structs that its rows become: a pointer to a slice of pointers.
type ask struct {
	*finding
	read Read
	rows reflect.Value
}

// ask reads all of them in one round trip.
func (t *Tenant) ask(ctx context.Context, asks []ask) error {
	reads, receive := receiving(ctx, asks)
	return t.Read(ctx, reads, receive)
}

// receiving is what asks read, and what becomes of the rows.
func receiving(ctx context.Context, asks []ask) ([]Read, Receive) {
	reads := make([]Read, len(asks))
	for i := range asks {
		reads[i] = asks[i].read
		reads[i].isText = true // which bun's fields take
	}
	budget := model.BudgetOf(ctx)
	return reads, func(i int, values [][]byte) error {
		if err := asks[i].charge(budget, values); err != nil {
			return err
		}
		return asks[i].scan(values)
	}
}

// charge charges a row before it is read: what is decoded takes as much again, and most of the time.
func (f *finding) charge(budget model.Budget, values [][]byte) error {
	if budget == nil {
		return nil
	}
	decoded := 0
	for i, value := range values {
		if f.areDecoded[i] {
			decoded += weigh(len(value))
		}
	}
	return charge(budget, values, decoded)
}

// rowsOf are the rows of asks for what is wanted.
func rowsOf(asks []ask) [][]model.Row {
	all := make([][]model.Row, len(asks))
	for i, a := range asks {
		all[i] = together(structs(a.rows))
	}
	return all
}

// scan appends a row.
func (a *ask) scan(values [][]byte) error {
	rows := a.rows.Elem()
	row := reflect.New(rows.Type().Elem().Elem())
	for i, value := range values {
		var source any
		if value != nil {
			source = value
		}
		if err := a.fields[i].ScanValue(row.Elem(), source); err != nil {
			return err
		}
	}
	rows.Set(reflect.Append(rows, row))
	return nil
}
