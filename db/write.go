package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
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
	err  error
}

func (t *Tenant) writing() *writing { return &writing{Tenant: t} }

// change adds a statement of the program's own.
func (w *writing) change(a ask) { w.asks = append(w.asks, a) }

// insert adds one that inserts the row.
func (w *writing) insert(row row) { w.insertOr(row, "", "") }

// insertOr adds one that inserts the row, and one that says what else is done, and to what, if there is such a row already.
func (w *writing) insertOr(row row, conflict, set string) {
	row.OwnBy(w.companyID)
	of := reflect.ValueOf(row).Elem()
	fields := w.store.db.Table(of.Type()).Fields
	f := w.store.findings.of(insertion{of.Type(), conflict, set}, func() *finding {
		return &finding{statement: w.store.insertion(of.Type(), conflict, set)}
	})
	values := make([]any, 0, len(fields))
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
	w.change(ask{finding: f, read: Read{Statement: f.statement, more: values}})
}

const companyColumn = "company_id"

// insertion is the key of a statement that inserts a row.
type insertion struct {
	row           reflect.Type
	conflict, set string
}

// insertion is the statement that inserts a row of the type. Its values are those of the fields, behind the company.
func (s *Store) insertion(row reflect.Type, conflict, set string) Statement {
	q := s.db.NewInsert().Model(reflect.New(row).Interface()).Returning("NULL")
	next := 2
	for _, field := range s.db.Table(row).Fields {
		if field.Name == companyColumn {
			q = q.Value(field.Name, "?", parameter(1))
			continue
		}
		q = q.Value(field.Name, "?", parameter(next))
		next++
	}
	if conflict != "" {
		q = q.On(conflict).Set(set)
	}
	return statement(q.String())
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
	if made, ok := value.Interface().(driver.Valuer); ok {
		return made.Value()
	}
	if strings.HasPrefix(strings.ToUpper(field.UserSQLType), "JSON") {
		text, err := bunjson.Marshal(value.Interface())
		return string(text), err
	}
	return value.Interface(), nil
}

// errUpgrading is of a transaction during which a migration has changed what its statements return.
var errUpgrading = model.Errorf(model.Unavailable, "the database is being upgraded; try again")

// send sends the statements in one round trip. After an error nothing that they did is kept.
func (w *writing) send(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	if w.tx == nil && w.store.locks.isPooled { // a pooler wants a transaction
		return w.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			return (&writing{Tenant: t.Tenant, asks: w.asks}).send(ctx)
		})
	}
	err := w.sendOnce(ctx)
	if isStale(err) && w.tx == nil { // nothing was done, and the next connection prepares them anew
		err = w.sendOnce(ctx)
	}
	if isStale(err) {
		return errUpgrading
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
	reads, receive := receiving(ctx, w.asks)
	ctx, end := w.store.trace(ctx, conn, reads)
	err := w.receive(ctx, conn.PgConn(), reads, receive)
	end(err)
	return err
}
