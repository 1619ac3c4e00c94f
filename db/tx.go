package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/queue"
)

// Tx is a transaction over the companies of a Store.
type Tx struct {
	store *Store
	bun   bun.Tx
	conn  bun.Conn
	// committed are the functions to call after the commit, in order.
	committed []func()
}

// Tx runs fn in one transaction: everything it does through the Tx is kept, or, when it returns an error, nothing.
func (s *Store) Tx(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return s.begin(ctx, everyCompany, fn)
}

// begin is Tx of which most is for the company.
func (s *Store) begin(ctx context.Context, companyID string, fn func(context.Context, *Tx) error) error {
	return s.beginAs(ctx, companyID, nil, fn)
}

// beginAs is begin with options, nil for none.
func (s *Store) beginAs(ctx context.Context, companyID string, opts *sql.TxOptions, fn func(context.Context, *Tx) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = conn.Close() }()
	tx := &Tx{store: s, conn: conn}
	err = conn.RunInTx(withCompany(ctx, companyID), opts, func(_ context.Context, begun bun.Tx) error {
		tx.bun = begun
		return fn(ctx, tx)
	})
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return ctx.Err() // which rolled the transaction back
	}
	if err != nil {
		return translate(err)
	}
	for _, f := range tx.committed {
		f()
	}
	return nil
}

// Tenant is the company's part of the database, as the transaction sees and changes it.
func (tx *Tx) Tenant(companyID string) *Tenant {
	return &Tenant{store: tx.store, db: scoped{tx.store.db, tx.bun, companyID}, tx: tx, companyID: companyID}
}

// onCommit calls f after the commit, and never if there is none.
func (tx *Tx) onCommit(f func()) { tx.committed = append(tx.committed, f) }

// pgx calls fn with the same transaction as pgx knows one, for the company's rows. It belongs to fn until that returns,
// and nothing else may be done in the transaction meanwhile; it ends with bun's.
func (t tenantTx) pgx(ctx context.Context, fn func(queue.Tx) error) error {
	tx := t.tx
	// While Raw has the connection, bun cannot roll back on it when a context ends.
	return tx.conn.Raw(func(driver any) error {
		conn, ok := driver.(*chargedConn)
		if !ok {
			return fmt.Errorf("a connection is a %T, not one of pgx", driver)
		}
		if conn.Conn.Conn().PgConn().TxStatus() == 'I' {
			return sql.ErrTxDone // rolled back meanwhile, because its context has ended
		}
		if err := conn.locks.bind(ctx, conn.Conn.Conn().PgConn(), t.companyID); err != nil {
			return err
		}
		return fn(&openTx{tx: tx, conn: conn.Conn.Conn()})
	})
}

// send sends statements, each of which names the company by itself, in one round trip.
func (t tenantTx) send(ctx context.Context, batch *pgx.Batch) error {
	return translate(t.pgx(ctx, func(tx queue.Tx) error { return tx.SendBatch(ctx, batch).Close() }))
}

// openTx is a transaction of pgx that somebody else has begun and will end. Those that are begun in it are
// savepoints.
type openTx struct {
	tx   *Tx
	conn *pgx.Conn
	// depth tells nested savepoints apart, 0 the transaction itself.
	depth int
	done  bool
}

// OnCommit calls f after the commit of the whole transaction.
func (t *openTx) OnCommit(f func()) { t.tx.onCommit(f) }

var errNotOurs = errors.New("the transaction is ended by who began it")

func (t *openTx) Begin(ctx context.Context) (pgx.Tx, error) {
	inner := &openTx{tx: t.tx, conn: t.conn, depth: t.depth + 1}
	if _, err := t.Exec(ctx, "SAVEPOINT "+inner.name()); err != nil {
		return nil, err
	}
	return inner, nil
}

func (t *openTx) name() string { return fmt.Sprintf("pgx_%d", t.depth) }

func (t *openTx) Commit(ctx context.Context) error { return t.end(ctx, "RELEASE SAVEPOINT ") }

func (t *openTx) Rollback(ctx context.Context) error { return t.end(ctx, "ROLLBACK TO SAVEPOINT ") }

func (t *openTx) end(ctx context.Context, how string) error {
	switch {
	case t.depth == 0:
		return errNotOurs
	case t.done:
		return pgx.ErrTxClosed
	}
	t.done = true
	_, err := t.conn.Exec(ctx, how+t.name())
	unbind(t.conn.PgConn())
	return err
}

func (t *openTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return t.conn.CopyFrom(ctx, table, columns, rows)
}

func (t *openTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.conn.SendBatch(ctx, b)
}

// LargeObjects returns a value that cannot be used: pgx makes large objects only for its own transactions.
func (*openTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

func (t *openTx) Prepare(ctx context.Context, name, query string) (*pgconn.StatementDescription, error) {
	return t.conn.Prepare(ctx, name, query)
}

func (t *openTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	return t.conn.Exec(ctx, query, args...)
}

func (t *openTx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return t.conn.Query(ctx, query, args...)
}

func (t *openTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	return t.conn.QueryRow(ctx, query, args...)
}

func (t *openTx) Conn() *pgx.Conn { return t.conn }
