package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/model"
)

// Memory that a row and each of its values take in addition to their bytes. The bytes of a large value count
// TimesRead times: when they arrive, in the row, and in the response, which is copied as it grows. The executor
// reserves them once more when it writes them.
const (
	bytesPerRow   = 64
	bytesPerValue = 24
	largeValue    = 1 << 10
	TimesRead     = 3
)

// memorySize returns the memory to reserve for a value with the given number of bytes.
func memorySize(bytes int) int {
	if bytes > largeValue {
		bytes *= TimesRead
	}
	return bytesPerValue + bytes
}

// openReserving returns a database that reserves memory for each row, from the model.MemoryBudget of the statement's
// context. When the budget is exhausted, reading stops with model.ErrTooLarge. This bounds the memory of a client's
// reads, however many rows they return. Companies share the connections of the pool fairly. Each statement sees and
// changes only rows of the company in its context.
func openReserving(db *DB) *sql.DB {
	reserving := sql.OpenDB(reservingConnector{stdlib.GetPoolConnector(db.pools.writes), db})
	reserving.SetMaxIdleConns(0) // the pool keeps them
	return reserving
}

// gateOf returns a gate that shares the connections of a pool between companies, except the given number that is
// reserved for other uses. One company has at most three quarters of the shared connections.
func gateOf(pool *pgxpool.Pool, otherwise int) *fair.Gate {
	connections := int(pool.Config().MaxConns) - otherwise
	return fair.New(connections, connections*3/4)
}

type reservingConnector struct {
	driver.Connector
	db *DB
}

func (c reservingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	release, err := takeSlot(ctx)
	if err != nil {
		return nil, err
	}
	company := connectionsOf(ctx)
	leave := func() { c.db.writers.Leave(company); release() }
	if err := c.db.writers.Enter(ctx, company); err != nil {
		release()
		return nil, err
	}
	if err := countStatement(ctx); err != nil {
		leave()
		return nil, err
	}
	conn, err := c.Connector.Connect(context.WithValue(ctx, reservingKey{}, true))
	if err != nil {
		leave()
		return nil, c.db.Translate(err)
	}
	return &reservingConn{conn.(*stdlib.Conn), leave, c.db}, nil
}

type connectionsKey struct{}

// WithConnectionsOf returns a context whose statements count against the connections of the company, regardless of the
// principal. An empty companyID stands for the program itself.
func WithConnectionsOf(ctx context.Context, companyID string) context.Context {
	return context.WithValue(ctx, connectionsKey{}, companyID)
}

// connectionsOf returns the company whose share of connections the statements of a context use, empty for the program
// itself.
func connectionsOf(ctx context.Context) string {
	if company, isSet := ctx.Value(connectionsKey{}).(string); isSet {
		return company
	}
	principal, _ := model.PrincipalOf(ctx)
	return principal.CompanyID
}

// reservingConn is a connection in use by one company or, if the name is empty, by the program itself.
type reservingConn struct {
	*stdlib.Conn
	release func()
	db      *DB
}

// Close returns the connection to the pool.
func (c *reservingConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

func (c *reservingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	tx, err := c.bind(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.Conn.QueryContext(ctx, query, args)
	budget := model.MemoryBudgetOf(ctx)
	if err != nil {
		if tx != nil {
			_ = tx.Rollback()
		}
		return nil, c.db.Translate(err)
	}
	leave := func() { _ = c.Conn.Conn().PgConn().Close(context.WithoutCancel(ctx)) }
	return &reservingRows{rows.(*stdlib.Rows), c.db, budget, leave, tx}, nil
}

func (c *reservingConn) ExecContext(ctx context.Context, query string,
	args []driver.NamedValue) (driver.Result, error) {
	tx, err := c.bind(ctx)
	if err != nil {
		return nil, err
	}
	result, err := c.Conn.ExecContext(ctx, query, args)
	switch {
	case tx == nil:
		return result, c.db.Translate(err)
	case err != nil:
		_ = tx.Rollback()
		return nil, c.db.Translate(err)
	}
	return result, tx.Commit()
}

// PrepareContext returns an error, because a prepared statement would not be bound to a company when it runs.
func (c *reservingConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errors.New("a connection that is bound to a company prepares no statements")
}

// bind binds the connection to the company of the context, or to all companies. Behind a pooler, bind also begins a
// transaction for a statement that is outside a transaction, and returns it.
func (c *reservingConn) bind(ctx context.Context) (tx driver.Tx, err error) {
	conn := c.Conn.Conn().PgConn()
	if c.db.scopes.isPooled && conn.TxStatus() == 'I' {
		tx, err = c.BeginTx(ctx, driver.TxOptions{})
	} else {
		err = c.db.scopes.bind(ctx, conn, companyOf(ctx))
	}
	if err != nil && pgconn.SafeToRetry(err) {
		// ErrBadConn makes database/sql try again with another connection. After the last attempt, it returns this error.
		return nil, c.db.Translate(errors.Join(driver.ErrBadConn, err))
	}
	return tx, c.db.Translate(err)
}

// snapshotTxOptions has the options of a read-only transaction that reads from one snapshot.
var snapshotTxOptions = driver.TxOptions{Isolation: driver.IsolationLevel(sql.LevelRepeatableRead), ReadOnly: true}

// BeginTx begins a transaction and binds the connection, in one round trip.
func (c *reservingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	begin := "begin isolation level read committed" // a pooler forgets the default of the connection
	switch opts {
	case driver.TxOptions{}:
	case snapshotTxOptions:
		begin = "begin isolation level repeatable read, read only"
	default:
		return nil, fmt.Errorf("begin: transactions have no such options here: %+v", opts)
	}
	conn, to := c.Conn.Conn(), companyOf(ctx)
	if conn.IsClosed() {
		return nil, driver.ErrBadConn
	}
	scope := c.db.scopes.statementFor(conn.PgConn(), to)
	if scope.statement != (Statement{}) {
		begin += "; " + strings.Replace(scope.statement.text, "$1", string(postgres.AppendString(nil, to)), 1)
	}
	ctx = txContextOf(ctx)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	scope.applied(conn.PgConn(), err)
	if err != nil {
		return nil, c.db.Translate(err)
	}
	return &reservingTx{ctx, c.db, tx}, nil
}

// reservingTx is a transaction. If it is not committed, the company scope of its connection is unknown afterwards.
type reservingTx struct {
	ctx context.Context
	db  *DB
	tx  pgx.Tx
}

func (t *reservingTx) Commit() error {
	err := t.tx.Commit(t.ctx)
	if err != nil {
		unbind(t.tx.Conn().PgConn())
	}
	return t.db.Translate(err)
}

func (t *reservingTx) Rollback() error {
	defer unbind(t.tx.Conn().PgConn())
	return t.db.Translate(t.tx.Rollback(t.ctx))
}

type reservingRows struct {
	*stdlib.Rows
	db *DB
	// budget may be nil.
	budget model.MemoryBudget
	// closeConn closes the connection: the rest of the rows would have to be received before it could be used again.
	closeConn func()
	// tx is the transaction around this one statement, or nil.
	tx driver.Tx
}

func (r *reservingRows) Next(row []driver.Value) error {
	err := r.Rows.Next(row)
	if errors.Is(err, io.EOF) {
		// database/sql drops the error of Close after the last row.
		if ending := r.commitOnce(); ending != nil {
			return ending
		}
	}
	if err != nil || r.budget == nil {
		return r.db.Translate(err)
	}
	bytes := bytesPerRow
	for _, value := range row {
		switch value := value.(type) {
		case string:
			bytes += memorySize(len(value))
		case []byte:
			bytes += memorySize(len(value))
		default:
			bytes += memorySize(0)
		}
	}
	if err = r.budget.Reserve(bytes); err != nil {
		r.closeConn()
	}
	return err
}

func (r *reservingRows) Close() error {
	return errors.Join(r.db.Translate(r.Rows.Close()), r.commitOnce())
}

// commitOnce commits the statement's own transaction, at most once.
func (r *reservingRows) commitOnce() error {
	tx := r.tx
	if r.tx = nil; tx == nil {
		return nil
	}
	return tx.Commit()
}

// reserve reserves memory for a row that was read without database/sql, and for the given number of additional bytes.
func reserve(budget model.MemoryBudget, row [][]byte, more int) error {
	if budget == nil {
		return nil
	}
	bytes := bytesPerRow + more
	for _, value := range row {
		bytes += memorySize(len(value))
	}
	return budget.Reserve(bytes)
}
