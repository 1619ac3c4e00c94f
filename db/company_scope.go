package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
)

// everyCompany stands for all companies: the statements of the program itself. No text of Postgres has this character, so it
// is no company's id, whoever makes one up.
const everyCompany = "\x00"

type companyKey struct{}

// withCompany returns a context whose statements see and change the company's rows only.
func withCompany(ctx context.Context, companyID string) context.Context {
	return context.WithValue(ctx, companyKey{}, companyID)
}

// companyOf returns whose rows the statements of a context see, empty for nobody's.
func companyOf(ctx context.Context) string {
	companyID, _ := ctx.Value(companyKey{}).(string)
	return companyID
}

// scoped makes statements of bun that see and change the rows of a company.
type scoped struct {
	db        *bun.DB
	conn      bun.IConn
	companyID string
}

// program makes statements over all companies.
func (s *Store) program() scoped { return scoped{s.db, s.db.DB, everyCompany} }

func (s scoped) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.conn.QueryContext(withCompany(ctx, s.companyID), query, args...)
}

func (s scoped) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return s.conn.ExecContext(withCompany(ctx, s.companyID), query, args...)
}

func (s scoped) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return s.conn.QueryRowContext(withCompany(ctx, s.companyID), query, args...)
}

func (s scoped) NewSelect() *bun.SelectQuery { return bun.NewSelectQuery(s.db).Conn(s) }

func (s scoped) NewInsert() *bun.InsertQuery { return bun.NewInsertQuery(s.db).Conn(s) }

func (s scoped) NewUpdate() *bun.UpdateQuery { return bun.NewUpdateQuery(s.db).Conn(s) }

func (s scoped) NewDelete() *bun.DeleteQuery { return bun.NewDeleteQuery(s.db).Conn(s) }

func (s scoped) NewRaw(query string, args ...any) *bun.RawQuery {
	return bun.NewRawQuery(s.db, query, args...).Conn(s)
}

// locks says how connections are bound to a company.
type locks struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	// isPooled says that connections lead to a pooler that hands them on between transactions: they are bound for one at a time.
	isPooled bool
	// isOn says that the database holds the companies apart itself. Without it a connection only remembers its company,
	// for the views that searches read.
	isOn atomic.Bool
}

// bindings are the statements that bind a connection. setCompany binds it to the company that its value names. actFor also takes
// the role that the policies bind, for a connection that does not have it yet. actForAll gives that back, and has no value.
type bindings struct{ setCompany, actFor, actForAll Statement }

var (
	ofSession = bindingsOf("false", "")
	// What a connection is otherwise told when it is made does not pass a pooler.
	ofTransaction = bindingsOf("true", `, set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
		set_config('statement_timeout', '`+statementTimeout+`', true)`)
	// One of several requests on a connection, each of which is a transaction, is bound for itself.
	ofRequest = bindingsOf("true", "")
)

func bindingsOf(isLocal, more string) bindings {
	company := "set_config('agentgraph.company', $1, " + isLocal + ")" + more
	return bindings{
		setCompany: statement("SELECT " + company),
		actFor:     statement("SELECT set_config('role', '" + gatewayRole + "', " + isLocal + "), " + company),
		actForAll:  statement("SELECT set_config('role', 'none', " + isLocal + "), set_config('agentgraph.company', '', " + isLocal + ")" + more),
	}
}

// bond says whose rows a connection sees, and whether it acts as the role that the policies bind.
type bond struct {
	companyID string
	isHeld    bool
}

// change gives a connection another bond. Without a statement it has the bond already.
type change struct {
	statement Statement
	to        bond
}

// change binds a connection, by what it returns, to the company.
func (l *locks) change(conn *pgconn.PgConn, companyID string) change {
	c := change{to: bond{companyID, companyID != everyCompany && l.isOn.Load()}}
	from, isKnown := conn.CustomData()[bondKey].(bond)
	bindings := ofSession
	if l.isPooled {
		bindings = ofTransaction
		if conn.TxStatus() == 'I' {
			from, isKnown = bond{}, false // each transaction is told its limits with its bond
		}
	}
	switch {
	case isKnown && from == c.to:
	case companyID == everyCompany:
		c.statement = bindings.actForAll
	case c.to.isHeld && !from.isHeld:
		c.statement = bindings.actFor
	default:
		c.statement = bindings.setCompany
	}
	return c
}

const bondKey = "company"

// made remembers the bond of a connection, unless making it has failed.
func (c change) made(conn *pgconn.PgConn, err error) {
	if err != nil {
		unbind(conn)
		return
	}
	conn.CustomData()[bondKey] = c.to
}

// unbind forgets whose rows a connection sees: what was set in a transaction is undone with it.
func unbind(conn *pgconn.PgConn) { delete(conn.CustomData(), bondKey) }

// errUnbound is of a statement that is not in a transaction behind a pooler: it would see the rows of all companies, without a limit.
var errUnbound = errors.New("a statement of a company needs a transaction behind a pooler")

// bind binds a connection to the company, if it is another one's.
func (l *locks) bind(ctx context.Context, conn *pgconn.PgConn, companyID string) error {
	c := l.change(conn, companyID)
	if c.statement == (Statement{}) || conn.TxStatus() == 'E' {
		return nil // the transaction has failed, and so will the statement
	}
	if l.isPooled && conn.TxStatus() == 'I' {
		return errUnbound
	}
	var values [][]byte
	if companyID != everyCompany {
		values = [][]byte{[]byte(companyID)}
	}
	_, err := conn.ExecParams(ctx, c.statement.text, values, nil, nil, nil).Close()
	c.made(conn, err)
	return err
}

type chargedKey struct{}

type asBoundKey struct{}

// asBound returns a context in which the pool hands out connections as they are bound: for statements that see no rows.
func asBound(ctx context.Context) context.Context { return context.WithValue(ctx, asBoundKey{}, true) }

// prepare binds a connection that the pool hands out: to the company of the context, and to all for the queue and
// others that use the pool as it is. Statements of bun bind theirs themselves.
func (l *locks) prepare(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if ctx.Value(chargedKey{}) != nil || ctx.Value(asBoundKey{}) != nil {
		return true, nil
	}
	companyID := companyOf(ctx)
	if companyID == "" {
		companyID = everyCompany
	}
	if l.isPooled && companyID == everyCompany {
		return true, nil // as every transaction begins
	}
	if err := l.bind(ctx, conn.PgConn(), companyID); err != nil {
		if conn.PgConn().IsClosed() && ctx.Err() == nil {
			return false, nil // the pool opens another one
		}
		return false, err
	}
	return true, nil
}

// look finds out whether the database holds companies apart, which it may do from one moment to the next: connections are then
// bound anew as they are used. The error is one of the database, or says that this user would find nothing in it.
func (l *locks) look(ctx context.Context) error {
	var isOn, mayBind bool
	err := l.pool.QueryRow(ctx, `SELECT coalesce((SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass('companies')), false),
		coalesce(pg_has_role(to_regrole($1), 'USAGE') AND pg_has_role(to_regrole($2), 'USAGE'), false)`, gatewayRole, programRole).Scan(&isOn, &mayBind)
	switch {
	case err != nil:
		return fmt.Errorf("look for row-level security: %w", err)
	case isOn && !mayBind:
		return fmt.Errorf("the database has row-level security, and its user is not a member of the roles %s and %s", gatewayRole, programRole)
	}
	l.isOn.Store(isOn)
	return nil
}

// await is look until the database holds companies apart. It is cheap after that.
func (l *locks) await(ctx context.Context) error {
	if l.isOn.Load() {
		return nil
	}
	err := l.look(ctx)
	if l.isOn.Load() {
		l.log.InfoContext(ctx, "row-level security is on")
	}
	return err
}

// warn logs that the database does not hold companies apart.
func (l *locks) warn(ctx context.Context) {
	if !l.isOn.Load() {
		l.log.WarnContext(ctx, "row-level security is off: the program alone holds companies apart, until the roles "+
			gatewayRole+" and "+programRole+" exist, and \"agentgraph migrate up\" has run")
	}
}
