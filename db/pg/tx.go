package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// Tx is a transaction. It can read and change the rows of several companies.
type Tx struct {
	db   *DB
	bun  bun.Tx
	conn bun.Conn
	// onCommit lists the functions to call after the commit, in order.
	onCommit []func()
}

// SnapshotOptions has the options of a read-only transaction that reads from one snapshot.
var SnapshotOptions = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}

// Begin runs fn in a transaction, which starts bound to the company of the Scope. It commits when fn returns nil, and
// rolls back when fn returns an error. opts may be nil.
func (s Scope) Begin(ctx context.Context, opts *sql.TxOptions, fn func(context.Context, *Tx) error) error {
	conn, err := s.db.bun.Conn(ctx)
	if err != nil {
		return s.db.Translate(err)
	}
	defer func() { _ = conn.Close() }()
	tx := &Tx{db: s.db, conn: conn}
	err = conn.RunInTx(withTxContext(WithCompany(ctx, s.companyID)), opts, func(_ context.Context, bunTx bun.Tx) error {
		tx.bun = bunTx
		return fn(ctx, tx)
	})
	if err != nil {
		return s.db.Translate(err)
	}
	for _, f := range tx.onCommit {
		f()
	}
	return nil
}

type txContextKey struct{}

// withTxContext returns a context for database/sql that never ends. If its context ended, database/sql would roll back
// and close the connection in another goroutine, while PGX may be using it. The driver begins, commits and rolls back
// with ctx itself, so a transaction whose context has ended is never committed.
func withTxContext(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), txContextKey{}, ctx)
}

// txContextOf returns the context that the driver begins, commits and rolls back with.
func txContextOf(ctx context.Context) context.Context {
	if txContext, isSet := ctx.Value(txContextKey{}).(context.Context); isSet {
		return txContext
	}
	return ctx
}

// Company returns a Scope for a company's rows in the transaction.
func (tx *Tx) Company(companyID string) Scope {
	return Scope{db: tx.db, conn: tx.bun, companyID: companyID, tx: tx}
}

// Program returns a Scope for the rows of all companies in the transaction.
func (tx *Tx) Program() Scope { return tx.Company(everyCompany) }

// InTx reports whether the Scope is in a transaction.
func (s Scope) InTx() bool { return s.tx != nil }

// Bun returns bun's transaction of the Scope.
func (s Scope) Bun() bun.Tx { return s.tx.bun }

// OnCommit calls f after the commit, and never after a rollback. Outside a transaction it calls f immediately. f must
// be quick.
func (s Scope) OnCommit(f func()) {
	if s.tx == nil {
		f()
		return
	}
	s.tx.onCommit = append(s.tx.onCommit, f)
}

// PGX calls fn with pgx's view of the Scope's transaction, bound to the company. Until fn returns, nothing else may
// use the transaction. fn cannot end it.
func (s Scope) PGX(ctx context.Context, fn func(*OpenTx) error) error {
	return s.db.Translate(s.tx.conn.Raw(func(driver any) error {
		conn := driver.(*reservingConn).Conn.Conn()
		if err := s.db.scopes.bind(ctx, conn.PgConn(), s.companyID); err != nil {
			return err
		}
		return fn(&OpenTx{scope: s, pgxConn: conn})
	}))
}

// Send sends statements in one round trip of the transaction. Each statement must itself name the company.
func (s Scope) Send(ctx context.Context, batch *pgx.Batch) error {
	return s.PGX(ctx, func(tx *OpenTx) error { return tx.SendBatch(ctx, batch).Close() })
}

// ReadRows runs a query with pgx, which reads values such as vectors in binary, where bun would read text.
func (s Scope) ReadRows(ctx context.Context, read func(pgx.Rows) error, query string, args ...any) error {
	run := func(on Querier) error {
		rows, err := on.Query(ctx, query, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return read(rows)
	}
	if s.InTx() {
		return s.PGX(ctx, func(tx *OpenTx) error { return run(tx) })
	}
	if s.db.scopes.isPooled {
		return s.Begin(ctx, nil, func(ctx context.Context, tx *Tx) error {
			return tx.Company(s.companyID).PGX(ctx, func(tx *OpenTx) error { return run(tx) })
		})
	}
	if err := s.db.writers.Enter(ctx, s.companyID); err != nil {
		return err
	}
	defer s.db.writers.Leave(s.companyID)
	ctx = WithCompany(ctx, s.companyID)
	return s.db.Translate(run(s.db.pools.writes))
}

// OpenTx is a pgx transaction that its caller did not begin and cannot end. Transactions that begin in it are
// savepoints.
type OpenTx struct {
	*pgxConn
	scope Scope
	// depth is 0 for the transaction itself, and numbers nested savepoints.
	depth int
	done  bool
}

// pgxConn is another name for pgx.Conn. Embedded under its own name, it would conflict with the method Conn.
type pgxConn = pgx.Conn

// Conn returns the connection of the transaction.
func (t *OpenTx) Conn() *pgx.Conn { return t.pgxConn }

// OnCommit calls f after the commit of the whole transaction.
func (t *OpenTx) OnCommit(f func()) { t.scope.OnCommit(f) }

var errNotOurs = errors.New("only the code that began the transaction can end it")

// Begin sets a savepoint.
func (t *OpenTx) Begin(ctx context.Context) (pgx.Tx, error) {
	inner := &OpenTx{scope: t.scope, pgxConn: t.pgxConn, depth: t.depth + 1}
	if _, err := t.Exec(ctx, "SAVEPOINT "+inner.name()); err != nil {
		return nil, err
	}
	return inner, nil
}

func (t *OpenTx) name() string { return fmt.Sprintf("pgx_%d", t.depth) }

// Commit releases the savepoint.
func (t *OpenTx) Commit(ctx context.Context) error { return t.endTx(ctx, "RELEASE SAVEPOINT ") }

// Rollback rolls back to the savepoint.
func (t *OpenTx) Rollback(ctx context.Context) error { return t.endTx(ctx, "ROLLBACK TO SAVEPOINT ") }

func (t *OpenTx) endTx(ctx context.Context, how string) error {
	switch {
	case t.depth == 0:
		return errNotOurs
	case t.done:
		return pgx.ErrTxClosed
	}
	t.done = true
	_, err := t.Exec(ctx, how+t.name())
	unbind(t.PgConn())
	return err
}

// LargeObjects returns a value that cannot be used: pgx supports large objects only in its own transactions.
func (*OpenTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }
