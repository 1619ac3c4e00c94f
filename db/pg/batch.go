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

// Batch collects prepared statements that change rows, and sends them in one round trip, in order. They run in the
// transaction of the Scope. If it has none, they run in a transaction of their own. Use a Batch for frequent
// statements, which take longer to plan than to run. bun writes everything else.
type Batch struct {
	scope Scope
	bound []Bound
	// hasRequired is set when a statement of the batch was added by Require.
	hasRequired bool
	err         error
}

// Batch returns an empty Batch for the company of the Scope.
func (s Scope) Batch() *Batch { return &Batch{scope: s} }

// Add appends a statement. Its rows, if any, replace those in the slice that into points to; into may be nil.
func (b *Batch) Add(q Query, into any, values ...any) {
	b.bound = append(b.bound, Bind(q, into, values...))
}

type requiredRow struct{ IsThere bool }

// Require adds a statement made by Required. If it finds no row, Postgres rolls back the whole Batch.
func (b *Batch) Require(q Query, values ...any) {
	b.hasRequired = true
	b.Add(q, &[]*requiredRow{}, values...)
}

// noSuchElement is the SQLSTATE that Postgres returns when a strict JSON path names a missing array element.
const noSuchElement = "22033"

// Required returns a query for Batch.Require. The query fails unless rows selects at least one row: it aggregates the
// rows into a JSON array and takes the first element by a strict path.
func Required(rows func(t *Tables) *bun.SelectQuery) Query {
	return NewQuery(func(t *Tables) (string, []string) {
		return "SELECT jsonb_path_query(coalesce(jsonb_agg(true), '[]'), 'strict $[0]') AS is_there FROM (" + rows(t).
				String() + ") AS required",
			[]string{"is_there"}
	})
}

// Insert adds a statement that inserts the rows, all of one type. Always pass the same number of rows from one call
// site: each number of rows is another prepared statement.
func (b *Batch) Insert(rows ...Row) { b.InsertOr("", "", rows...) }

// InsertOr is Insert with an ON CONFLICT clause: conflict is its target and action, and set has the assignments.
func (b *Batch) InsertOr(conflict, set string, rows ...Row) {
	rowType := reflect.TypeOf(rows[0]).Elem()
	var values []any
	for _, row := range rows {
		row.OwnBy(b.scope.companyID)
		for _, field := range fieldsOf(rowType) {
			if field.Name != companyColumn {
				values = append(values, b.value(field, row))
			}
		}
	}
	b.Add(insertion{rowType, len(rows), conflict, set}, nil, values...)
}

// Update adds a statement that writes the columns of the row with the id.
func (b *Batch) Update(row Row, id string, columns ...string) {
	rowType := reflect.TypeOf(row).Elem()
	values := []any{id}
	for _, column := range columns {
		values = append(values, b.value(unconnected.Table(rowType).FieldMap[column], row))
	}
	b.Add(rowUpdate{rowType, strings.Join(columns, " ")}, nil, values...)
}

func (b *Batch) value(field *schema.Field, row Row) any {
	value, err := valueOf(field, reflect.ValueOf(row).Elem())
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("write %s: %w", field.Name, err)
	}
	return value
}

const companyColumn = "company_id"

type rowUpdate struct {
	row     reflect.Type
	columns string
}

func (c rowUpdate) SQL(t *Tables) (string, []string) {
	q := t.Update(reflect.New(c.row).Interface()).Where("id = ?", Param(2))
	for i, column := range strings.Fields(c.columns) {
		q = q.Set("? = ?", bun.Ident(column), Param(3+i))
	}
	return q.String(), nil
}

// insertion is the query that inserts a fixed number of rows of one type. Its values are the company, followed by the
// fields of each row except the company.
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

// valueOf returns the value of a field as bun would write it, or nil for NULL.
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

// errUpgrading is returned for a transaction when a migration has changed the result type of its prepared statements.
var errUpgrading = model.Errorf(model.Unavailable, "the database is being upgraded; try again")

// errNotSaved is returned when a required statement finds no row.
var errNotSaved = errors.New("the batch was not saved")

// Commit sends the statements in a transaction of their own and reports whether it was committed. It returns false,
// without an error, when a required statement found no row. After a commit it calls the functions in afterwards. The
// Scope must not be in a transaction.
func (b *Batch) Commit(ctx context.Context, afterwards ...func()) (bool, error) {
	err := b.Send(ctx)
	if errors.Is(err, errNotSaved) {
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
			return (&Batch{tx.Company(b.scope.companyID), b.bound, b.hasRequired, b.err}).Send(ctx)
		})
		if !errors.Is(err, errUpgrading) || attempt == b.maxStale() {
			return err
		}
	}
}

// maxStale returns how many connections may hold outdated statements. A connection is closed when Postgres rejects one
// of its statements, so the next attempt uses another connection.
func (b *Batch) maxStale() int { return int(b.scope.db.pools.writes.Config().MaxConns) }

// Send sends the statements in one round trip. If Postgres returns an error, none of their changes are kept. If ctx
// ends first, the changes may have been committed nevertheless.
func (b *Batch) Send(ctx context.Context) error {
	if b.err != nil {
		return b.err
	}
	db, isInTx := b.scope.db, b.scope.InTx()
	// With a pooler, even one statement needs a transaction. On a cluster, several statements need one.
	if !isInTx && (db.scopes.isPooled || db.isSharded && len(b.bound) > 1) {
		return b.sendInTx(ctx)
	}
	err := b.sendOnce(ctx)
	for attempt := 0; (isStale(err) || pgconn.SafeToRetry(err)) && !isInTx && attempt < b.maxStale() &&
		ctx.Err() == nil; attempt++ {
		err = b.sendOnce(ctx) // the failed attempt changed nothing
	}
	switch {
	case isStale(err):
		return errUpgrading
	case b.hasRequired && SQLState(err) == noSuchElement:
		return errNotSaved
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
	return conn.Raw(func(driver any) error { return b.sendOn(ctx, driver.(*reservingConn).Conn.Conn()) })
}

func (b *Batch) sendOn(ctx context.Context, conn *pgx.Conn) error {
	for _, bound := range b.bound {
		if bound.rows.IsValid() {
			bound.rows.Elem().SetLen(0) // removes the rows of an earlier attempt
		}
	}
	// The results are a row or two, or keys that the caller passed. No memory is reserved for them: the budget would
	// refuse them only after the changes were made.
	reads, receive := b.scope.prepareReads(model.WithMemoryBudget(ctx, nil), b.bound)
	ctx, end := b.scope.db.trace(ctx, conn, reads)
	err := b.scope.receive(ctx, conn.PgConn(), reads, receive)
	end(err)
	return err
}
