package pg

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/extra/bunjson"
	"github.com/uptrace/bun/schema"

	"github.com/agentgraph/agentgraph/model"
)

// Batch is prepared statements that change rows. They are sent together, and done in their order: in the transaction
// that the Scope is in, or else in one of their own. They are for what happens so often that planning it each time
// takes longer than doing it; bun writes everything else.
type Batch struct {
	scope Scope
	of    []Bound
	// hasRequired says that one of them must find a row.
	hasRequired bool
	err         error
}

// Batch begins a Batch.
func (s Scope) Batch() *Batch { return &Batch{scope: s} }

// Add adds a statement.
func (b *Batch) Add(q Query, into any, values ...any) { b.of = append(b.of, Bind(q, into, values...)) }

type requiredRow struct{ IsThere bool }

// Require adds a statement made by Required: unless it finds a row, nothing of the Batch is kept.
func (b *Batch) Require(q Query, values ...any) {
	b.hasRequired = true
	b.Add(q, &[]*requiredRow{}, values...)
}

// noSuchElement is the SQLSTATE of a strict path to an element that a JSON array does not have.
const noSuchElement = "22033"

// Required returns a query for Batch.Require, which fails unless the given one finds a row: it takes the first element
// of an array with one for each row.
func Required(rows func(t *Tables) *bun.SelectQuery) Query {
	return NewQuery(func(t *Tables) (string, []string) {
		return "SELECT jsonb_path_query(coalesce(jsonb_agg(true), '[]'), 'strict $[0]') AS is_there FROM (" + rows(t).
				String() + ") AS required",
			[]string{"is_there"}
	})
}

// Insert adds a statement that inserts the rows, which are of one type: always as many where it is called, since each
// number has a statement.
func (b *Batch) Insert(rows ...Row) { b.InsertOr("", "", rows...) }

// InsertOr is Insert that says what else is done, and to what, if there is such a row already.
func (b *Batch) InsertOr(conflict, set string, rows ...Row) {
	of := reflect.TypeOf(rows[0]).Elem()
	var values []any
	for _, row := range rows {
		row.OwnBy(b.scope.companyID)
		for _, field := range fieldsOf(of) {
			if field.Name != companyColumn {
				values = append(values, b.value(field, row))
			}
		}
	}
	b.Add(insertion{of, len(rows), conflict, set}, nil, values...)
}

// Update adds a statement that writes the columns of the row, which its id names.
func (b *Batch) Update(row Row, id string, columns ...string) {
	of := reflect.TypeOf(row).Elem()
	values := []any{id}
	for _, column := range columns {
		values = append(values, b.value(unconnected.Table(of).FieldMap[column], row))
	}
	b.Add(columnsOfRow{of, strings.Join(columns, " ")}, nil, values...)
}

func (b *Batch) value(field *schema.Field, row Row) any {
	value, err := valueOf(field, reflect.ValueOf(row).Elem())
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("write %s: %w", field.Name, err)
	}
	return value
}

const companyColumn = "company_id"

type columnsOfRow struct {
	row     reflect.Type
	columns string
}

func (c columnsOfRow) SQL(t *Tables) (string, []string) {
	q := t.Update(reflect.New(c.row).Interface()).Where("id = ?", Place(2))
	for i, column := range strings.Fields(c.columns) {
		q = q.Set("? = ?", bun.Ident(column), Place(3+i))
	}
	return q.String(), nil
}

// insertion is the query that inserts so many rows of a type. Its values are those of the fields of each, behind the
// company.
type insertion struct {
	row           reflect.Type
	rows          int
	conflict, set string
}

func (i insertion) SQL(*Tables) (string, []string) {
	table := unconnected.Table(i.row)
	var columns, rows []string
	for _, field := range table.Fields {
		columns = append(columns, string(field.SQLName))
	}
	next := 1
	for range i.rows {
		var values []string
		for _, field := range table.Fields {
			if field.Name == companyColumn {
				values = append(values, "$1")
				continue
			}
			next++
			values = append(values, "$"+strconv.Itoa(next))
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	text := fmt.Sprintf("INSERT INTO %s AS %s (%s) VALUES %s", table.SQLName, table.SQLAlias, strings.Join(columns, ", "),
		strings.Join(rows, ", "))
	if i.conflict != "" {
		text += " ON " + i.conflict + " SET " + strings.ReplaceAll(i.set, "?TableAlias", string(table.SQLAlias))
	}
	return text, nil
}

// valueOf is a field's value as bun would write it, nil for NULL.
func valueOf(field *schema.Field, row reflect.Value) (any, error) {
	value := field.Value(row)
	if field.IsPtr && value.IsNil() || field.NullZero && value.IsZero() {
		return nil, nil
	}
	if field.IsPtr {
		value = value.Elem()
	}
	switch v := value.Interface().(type) {
	case driver.Valuer:
		return v.Value()
	case time.Time:
		return v.Truncate(time.Microsecond), nil // Postgres would round
	}
	if strings.HasPrefix(strings.ToUpper(field.UserSQLType), "JSON") {
		text, err := bunjson.Marshal(value.Interface())
		return string(text), err
	}
	if value.Kind() == reflect.String {
		return strings.ToValidUTF8(value.String(), "\uFFFD"), nil
	}
	return value.Interface(), nil
}

// errUpgrading is returned for a transaction during which a migration has changed what its statements return.
var errUpgrading = model.Errorf(model.Unavailable, "the database is being upgraded; try again")

// errNotKept is returned when a required statement finds no row.
var errNotKept = errors.New("not kept")

// Commit sends the statements in a transaction of their own, and reports whether it was kept: not when a required
// statement found no row. What afterwards does happens once it is. The Scope is in no transaction.
func (b *Batch) Commit(ctx context.Context, afterwards ...func()) (bool, error) {
	err := b.Send(ctx)
	if errors.Is(err, errNotKept) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, f := range afterwards {
		f()
	}
	return true, nil
}

// sendInTx is Send in an explicit transaction.
func (b *Batch) sendInTx(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		err := b.scope.Begin(ctx, nil, func(ctx context.Context, tx *Tx) error {
			return (&Batch{tx.Company(b.scope.companyID), b.of, b.hasRequired, b.err}).Send(ctx)
		})
		if !errors.Is(err, errUpgrading) || attempt == b.mostStale() {
			return err
		}
	}
}

// mostStale is how many connections may have statements that a migration has changed. Each is closed when it turns out,
// so the next attempt has another one.
func (b *Batch) mostStale() int { return int(b.scope.db.pools.writes.Config().MaxConns) }

// Send sends the statements in one round trip. After an error of Postgres nothing that they did is kept; ctx may also
// end when it is.
func (b *Batch) Send(ctx context.Context) error {
	if b.err != nil {
		return b.err
	}
	db, isInTx := b.scope.db, b.scope.InTx()
	// A pooler wants a transaction, and a cluster for what is more than one statement.
	if !isInTx && (db.scopes.isPooled || db.isSharded && len(b.of) > 1) {
		return b.sendInTx(ctx)
	}
	err := b.sendOnce(ctx)
	for attempt := 0; (isStale(err) || pgconn.SafeToRetry(err)) && !isInTx && attempt < b.mostStale() &&
		ctx.Err() == nil; attempt++ {
		err = b.sendOnce(ctx) // nothing was done
	}
	switch {
	case isStale(err):
		return errUpgrading
	case b.hasRequired && SQLState(err) == noSuchElement:
		return errNotKept
	}
	return db.Translate(err)
}

func (b *Batch) sendOnce(ctx context.Context) error {
	if b.scope.InTx() {
		return b.scope.PGX(ctx, func(tx *OpenTx) error { return b.sendOn(ctx, tx.Conn()) })
	}
	conn, err := b.scope.db.bun.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(driver any) error { return b.sendOn(ctx, driver.(*chargedConn).Conn.Conn()) })
}

func (b *Batch) sendOn(ctx context.Context, conn *pgx.Conn) error {
	for _, of := range b.of {
		if of.rows.IsValid() {
			of.rows.Elem().SetLen(0) // of an attempt before
		}
	}
	// What they return is a row or two, or keys that were given, and is not charged: it would be refused when it is done.
	reads, receive := b.scope.receiving(model.WithBudget(ctx, nil), b.of)
	ctx, end := b.scope.db.trace(ctx, conn, reads)
	err := b.scope.receive(ctx, conn.PgConn(), reads, receive)
	end(err)
	return err
}
