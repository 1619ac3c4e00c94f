package db

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
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/model"
)

// Memory that a row and each of its values take beside their bytes. Those of a large value count several times: as they arrive,
// as the row keeps them, and in the response, which grows by moving. The executor counts them once more as it writes them.
const (
	bytesPerRow   = 64
	bytesPerValue = 24
	largeValue    = 1 << 10
	timesRead     = 3
)

// weigh returns what a value of so many bytes counts.
func weigh(bytes int) int {
	if bytes > largeValue {
		bytes *= timesRead
	}
	return bytesPerValue + bytes
}

// openCharged returns a database that charges each row, as it is read, to the model.Budget of the statement's context. An
// exhausted budget ends the reading with an error that is model.ErrTooLarge, so a client's reads are bounded by memory
// and not by the number of rows that a statement finds. The pool's connections are shared fairly between companies. Each
// statement sees and changes only rows of the company of its context.
func openCharged(pool *pgxpool.Pool, gate *fair.Gate, locks *locks) *sql.DB {
	charged := sql.OpenDB(chargedConnector{stdlib.GetPoolConnector(pool), gate, locks})
	charged.SetMaxIdleConns(0) // the pool keeps them
	return charged
}

// gateOf shares the connections of a pool, but for those that are taken otherwise: one company has at most three quarters of
// them.
func gateOf(pool *pgxpool.Pool, otherwise int) *fair.Gate {
	connections := int(pool.Config().MaxConns) - otherwise
	return fair.New(connections, connections*3/4)
}

type chargedConnector struct {
	driver.Connector
	gate  *fair.Gate
	locks *locks
}

func (c chargedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	giveBack, err := takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	party := partyOf(ctx)
	leave := func() { c.gate.Leave(party); giveBack() }
	if err := c.gate.Enter(ctx, party); err != nil {
		giveBack()
		return nil, err
	}
	if err := mayAsk(ctx); err != nil {
		leave()
		return nil, err
	}
	conn, err := c.Connector.Connect(context.WithValue(ctx, chargedKey{}, true))
	if err != nil {
		leave()
		return nil, err
	}
	return &chargedConn{conn.(*stdlib.Conn), leave, c.locks}, nil
}

type partyKey struct{}

// withParty returns a context whose statements use connections of the company, or of the program itself if companyID is
// empty, whatever the principal.
func withParty(ctx context.Context, companyID string) context.Context {
	return context.WithValue(ctx, partyKey{}, companyID)
}

// partyOf returns the party whose connections the statements of a context use.
func partyOf(ctx context.Context) string {
	if party, isSet := ctx.Value(partyKey{}).(string); isSet {
		return party
	}
	principal, _ := model.PrincipalOf(ctx)
	return principal.CompanyID
}

// chargedConn is a connection in use by one party: a company or, with an empty name, the program itself.
type chargedConn struct {
	*stdlib.Conn
	leave func()
	locks *locks
}

// Close returns the connection to the pool.
func (c *chargedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

func (c *chargedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	tx, err := c.bind(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.Conn.QueryContext(ctx, query, args)
	budget := model.BudgetOf(ctx)
	if err != nil {
		if tx != nil {
			_ = tx.Rollback()
		}
		return nil, err
	}
	if budget == nil && tx == nil {
		return rows, nil
	}
	leave := func() { _ = c.Conn.Conn().PgConn().Close(context.WithoutCancel(ctx)) }
	return &chargedRows{rows.(*stdlib.Rows), budget, leave, tx}, nil
}

func (c *chargedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	tx, err := c.bind(ctx)
	if err != nil {
		return nil, err
	}
	result, err := c.Conn.ExecContext(ctx, query, args)
	switch {
	case tx == nil:
		return result, err
	case err != nil:
		_ = tx.Rollback()
		return nil, err
	}
	return result, tx.Commit()
}

// PrepareContext returns an error: a prepared statement would not be bound to a company when it is run.
func (c *chargedConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errors.New("statements are not prepared here")
}

// bind binds the connection to the company of the context, or to all of them. Behind a pooler that takes a transaction, of this
// statement alone unless there is one, which is returned.
func (c *chargedConn) bind(ctx context.Context) (tx driver.Tx, err error) {
	conn := c.Conn.Conn().PgConn()
	if c.locks.isPooled && conn.TxStatus() == 'I' {
		tx, err = c.BeginTx(ctx, driver.TxOptions{})
	} else {
		err = c.locks.bind(ctx, conn, companyOf(ctx))
	}
	if err != nil && pgconn.SafeToRetry(err) {
		return nil, driver.ErrBadConn // database/sql takes another one
	}
	return tx, err
}

// ofOneMoment are the options of a transaction that only reads, and sees one moment.
var ofOneMoment = driver.TxOptions{Isolation: driver.IsolationLevel(sql.LevelRepeatableRead), ReadOnly: true}

// BeginTx begins a transaction and binds the connection in one round trip.
func (c *chargedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	begin := "begin"
	switch opts {
	case driver.TxOptions{}:
	case ofOneMoment:
		begin = "begin isolation level repeatable read, read only"
	default:
		return nil, fmt.Errorf("begin: transactions have no such options here: %+v", opts)
	}
	conn, to := c.Conn.Conn(), companyOf(ctx)
	if conn.IsClosed() {
		return nil, driver.ErrBadConn
	}
	binding := c.locks.change(conn.PgConn(), to)
	if binding.statement != (Statement{}) {
		literal := dialect{pgdialect.New()}.AppendString(nil, to)
		begin += "; " + strings.Replace(binding.statement.text, "$1", string(literal), 1)
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	binding.made(conn.PgConn(), err)
	if err != nil {
		return nil, err
	}
	return &chargedTx{ctx, tx}, nil
}

// chargedTx is a transaction after which, if it did not last, nobody knows whose rows its connection sees.
type chargedTx struct {
	ctx context.Context
	tx  pgx.Tx
}

func (t *chargedTx) Commit() error {
	err := t.tx.Commit(t.ctx)
	if err != nil {
		unbind(t.tx.Conn().PgConn())
	}
	return err
}

func (t *chargedTx) Rollback() error {
	defer unbind(t.tx.Conn().PgConn())
	return t.tx.Rollback(t.ctx)
}

type chargedRows struct {
	*stdlib.Rows
	// budget may be nil.
	budget model.Budget
	// leave closes the connection: the rows that nobody wants would all have to be received before it is of use again.
	leave func()
	// tx is the transaction of the statement alone, if there is one.
	tx driver.Tx
}

func (r *chargedRows) Next(row []driver.Value) error {
	err := r.Rows.Next(row)
	if errors.Is(err, io.EOF) {
		// Nobody hears of what Close returns behind the last row.
		if ending := r.end(); ending != nil {
			return ending
		}
	}
	if err != nil || r.budget == nil {
		return err
	}
	bytes := bytesPerRow
	for _, value := range row {
		switch value := value.(type) {
		case string:
			bytes += weigh(len(value))
		case []byte:
			bytes += weigh(len(value))
		default:
			bytes += weigh(0)
		}
	}
	if err = r.budget.Spend(bytes); err != nil {
		r.leave()
	}
	return err
}

func (r *chargedRows) Close() error { return errors.Join(r.Rows.Close(), r.end()) }

// end commits the transaction of the statement, once.
func (r *chargedRows) end() error {
	tx := r.tx
	if r.tx = nil; tx == nil {
		return nil
	}
	return tx.Commit()
}

// charge charges a row that was read without database/sql, and as many bytes more.
func charge(budget model.Budget, row [][]byte, more int) error {
	if budget == nil {
		return nil
	}
	bytes := bytesPerRow + more
	for _, value := range row {
		bytes += weigh(len(value))
	}
	return budget.Spend(bytes)
}
