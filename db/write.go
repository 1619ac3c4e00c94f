package db

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

	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// writing is prepared statements that change rows. They are sent together, and done in their order: in the transaction that the
// Tenant is in, or else in one of their own. They are for what happens so often that planning it each time takes longer than doing
// it; bun writes everything else.
type writing struct {
	*Tenant
	asks []ask
	// hasNeeded says that one of them is needed.
	hasNeeded bool
	err       error
}

func (t *Tenant) writing() *writing { return &writing{Tenant: t} }

// change adds a statement of the program's own.
func (w *writing) change(a ask) { w.asks = append(w.asks, a) }

// need adds a needed statement, without which nothing of what follows is kept.
func (w *writing) need(a ask) {
	w.hasNeeded = true
	w.change(a)
}

// insert adds one that inserts the rows, which are of one type: always as many where it is called, since each number has a statement.
func (w *writing) insert(rows ...row) { w.insertOr("", "", rows...) }

// insertOr is insert that says what else is done, and to what, if there is such a row already.
func (w *writing) insertOr(conflict, set string, rows ...row) {
	made := insertion{reflect.TypeOf(rows[0]).Elem(), len(rows), conflict, set}
	f := w.store.findings.of(made, func() *finding { return &finding{statement: w.store.insertion(made)} })
	fields := w.store.db.Table(made.row).Fields
	values := make([]any, 0, len(fields)*len(rows))
	for _, row := range rows {
		row.OwnBy(w.companyID)
		of := reflect.ValueOf(row).Elem()
		for _, field := range fields {
			if field.Name == companyColumn {
				continue
			}
			value, err := valueOf(field, of)
			if err != nil && w.err == nil {
				w.err = fmt.Errorf("write %s: %w", field.Name, err)
			}
			values = append(values, value)
		}
	}
	w.change(ask{finding: f, read: Read{Statement: f.statement, more: values}})
}

// update adds one that writes the columns of the row, which its id names.
func (w *writing) update(row row, id string, columns ...string) {
	of := reflect.ValueOf(row).Elem()
	table := w.store.db.Table(of.Type())
	f := w.store.findings.of(columnsOf{of.Type(), strings.Join(columns, " ")}, func() *finding {
		q := w.store.changing(row).Where("id = ?", parameter(2))
		for i, column := range columns {
			q = q.Set("? = ?", bun.Ident(column), parameter(3+i))
		}
		return &finding{statement: statement(q.String())}
	})
	values := []any{id}
	for _, column := range columns {
		value, err := valueOf(table.FieldMap[column], of)
		if err != nil && w.err == nil {
			w.err = fmt.Errorf("write %s: %w", column, err)
		}
		values = append(values, value)
	}
	w.change(ask{finding: f, read: Read{Statement: f.statement, more: values}})
}

const companyColumn = "company_id"

// columnsOf is the key of a statement that writes columns of a row.
type columnsOf struct {
	row     reflect.Type
	columns string
}

// insertion is the key of a statement that inserts so many rows of a type.
type insertion struct {
	row           reflect.Type
	rows          int
	conflict, set string
}

// insertion is the statement that inserts rows. Its values are those of the fields of each, behind the company.
func (s *Store) insertion(of insertion) Statement {
	table := s.db.Table(of.row)
	var columns, rows []string
	for _, field := range table.Fields {
		columns = append(columns, string(field.SQLName))
	}
	next := 1
	for range of.rows {
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
	text := fmt.Sprintf("INSERT INTO %s AS %s (%s) VALUES %s", table.SQLName, table.SQLAlias, strings.Join(columns, ", "), strings.Join(rows, ", "))
	if of.conflict != "" {
		text += " ON " + of.conflict + " SET " + strings.ReplaceAll(of.set, "?TableAlias", string(table.SQLAlias))
	}
	return statement(text)
}

// changing is a change of a company's rows, but for those that are marked as deleted, as part of a statement.
func (s *Store) changing(none any) *bun.UpdateQuery {
	q := s.db.NewUpdate().Model(none).Where(own, parameter(1))
	if is, values := unmarkedOf(none, parameter(1)); is != "" {
		q = q.Where(is, values...)
	}
	return q
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

// errUpgrading is of a transaction during which a migration has changed what its statements return.
var errUpgrading = model.Errorf(model.Unavailable, "the database is being upgraded; try again")

// errNotKept is of statements of which one found nothing that those behind it are for.
var errNotKept = errors.New("not kept")

// divisionByZero is the SQLSTATE of a needed statement that finds nothing.
const divisionByZero = "22012"

// needed is a statement that fails unless the query finds one row, so that nothing is kept of what is sent with it.
func needed(query *bun.SelectQuery) (Statement, []string) {
	return statement("SELECT 1 / count(*) AS found FROM (" + query.String() + ") AS needed"), []string{"found"}
}

// foundRow is what a needed statement returns.
type foundRow struct{ Found int64 }

// commit sends the statements in a transaction of their own, and reports whether it was kept: not when a needed statement
// found nothing. What afterwards does happens once it is. The Tenant is in no transaction.
func (w *writing) commit(ctx context.Context, afterwards ...func()) (bool, error) {
	err := w.send(ctx)
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

// sendInTx is send in an explicit transaction.
func (w *writing) sendInTx(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		err := w.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			return (&writing{t.Tenant, w.asks, w.hasNeeded, w.err}).send(ctx)
		})
		if !errors.Is(err, errUpgrading) || attempt == w.mostStale() {
			return err
		}
	}
}

// mostStale is how many connections may have statements that a migration has changed. Each is closed when it turns out, so the
// next attempt has another one.
func (w *writing) mostStale() int { return int(w.store.pool.Config().MaxConns) }

// send sends the statements in one round trip. After an error of Postgres nothing that they did is kept; ctx may also end when it
// is.
func (w *writing) send(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	// A pooler wants a transaction, and a cluster for what is more than one statement.
	if w.tx == nil && (w.store.locks.isPooled || w.store.isSharded && len(w.asks) > 1) {
		return w.sendInTx(ctx)
	}
	err := w.sendOnce(ctx)
	for attempt := 0; (isStale(err) || pgconn.SafeToRetry(err)) && w.tx == nil && attempt < w.mostStale() && ctx.Err() == nil; attempt++ {
		err = w.sendOnce(ctx) // nothing was done
	}
	switch {
	case isStale(err):
		return errUpgrading
	case w.hasNeeded && sqlState(err) == divisionByZero:
		return errNotKept
	}
	return translate(err)
}

func (w *writing) sendOnce(ctx context.Context) error {
	if w.tx != nil {
		return tenantTx{w.Tenant}.pgx(ctx, func(tx queue.Tx) error { return w.sendOn(ctx, tx.Conn()) })
	}
	conn, err := w.store.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(driver any) error {
		charged, ok := driver.(*chargedConn)
		if !ok {
			return fmt.Errorf("a connection is a %T, not one of pgx", driver)
		}
		return w.sendOn(ctx, charged.Conn.Conn())
	})
}

func (w *writing) sendOn(ctx context.Context, conn *pgx.Conn) error {
	for _, a := range w.asks {
		if a.rows.IsValid() {
			a.rows.Elem().SetLen(0) // of an attempt before
		}
	}
	// What they return is a row or two, or keys that were given, and is not charged: it would be refused when it is done.
	reads, receive := receiving(model.WithBudget(ctx, nil), w.asks)
	ctx, end := w.store.trace(ctx, conn, reads)
	err := w.receive(ctx, conn.PgConn(), reads, receive)
	end(err)
	return err
}
