package pg

import (
	"cmp"
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

	"github.com/agentgraph/agentgraph/model"
)

// The roles of row-level security. They cannot log in, and they belong to the whole server.
const (
	// GatewayRole is the role of statements for one company. It owns nothing, and sees the rows of that company
	// alone.
	GatewayRole = "agentgraph_gateway"
	// ProgramRole sees the rows of all companies. The users that migrate and serve are members of it.
	ProgramRole = "agentgraph_program"
)

// everyCompany stands for all companies: the statements of the program itself. Postgres texts cannot contain this
// character, so no company can have this id.
const everyCompany = "\x00"

type companyKey struct{}

// WithCompany returns a context whose statements see and change the company's rows only.
func WithCompany(ctx context.Context, companyID string) context.Context {
	return context.WithValue(ctx, companyKey{}, companyID)
}

// companyOf returns the company whose rows the statements of a context see, or "" for none.
func companyOf(ctx context.Context) string {
	companyID, _ := ctx.Value(companyKey{}).(string)
	return companyID
}

// IsForOneCompany reports whether the statements of a context are for one company.
func IsForOneCompany(ctx context.Context) bool {
	companyID := companyOf(ctx)
	return companyID != "" && companyID != everyCompany
}

// Scope makes statements about a company's rows. Outside a transaction, each may use another connection.
type Scope struct {
	db        *DB
	conn      bun.IConn
	companyID string
	// tx is the transaction that the Scope is in, or nil.
	tx *Tx
}

// QueryContext runs a statement that returns rows. bun calls it.
func (s Scope) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.conn.QueryContext(WithCompany(ctx, s.companyID), query, args...)
}

// ExecContext runs a statement that returns no rows. bun calls it.
func (s Scope) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return s.conn.ExecContext(WithCompany(ctx, s.companyID), query, args...)
}

// QueryRowContext runs a statement that returns one row. bun calls it.
func (s Scope) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return s.conn.QueryRowContext(WithCompany(ctx, s.companyID), query, args...)
}

// NewSelect begins a statement about any rows that the connection may see.
func (s Scope) NewSelect() *bun.SelectQuery { return bun.NewSelectQuery(unconnected).Conn(s) }

// NewInsert begins an insertion.
func (s Scope) NewInsert() *bun.InsertQuery { return bun.NewInsertQuery(unconnected).Conn(s) }

// NewUpdate begins a change of any rows that the connection may see.
func (s Scope) NewUpdate() *bun.UpdateQuery { return bun.NewUpdateQuery(unconnected).Conn(s) }

// NewDelete begins a deletion of any rows that the connection may see.
func (s Scope) NewDelete() *bun.DeleteQuery { return bun.NewDeleteQuery(unconnected).Conn(s) }

// NewRaw returns a statement with the text and the values for its placeholders.
func (s Scope) NewRaw(query string, args ...any) *bun.RawQuery {
	return bun.NewRawQuery(unconnected, query, args...).Conn(s)
}

// Select selects the company's rows that are not marked as deleted. rows is a pointer to a struct or to a slice.
func (s Scope) Select(rows any) *bun.SelectQuery {
	return visible(s.db.Tables, s.NewSelect().Model(rows), rows, s.companyID)
}

// SelectColumns is Select with the given columns in addition to those that identify and order rows, or all columns
// when none is given.
func (s Scope) SelectColumns(rows any, columns []string) *bun.SelectQuery {
	row := structOf(rows)
	return s.db.selectColumns(s.Select(rows), row, s.companyID, s.db.ColumnsToRead(row, columns), nil)
}

// Update changes the company's rows that are not marked as deleted.
func (s Scope) Update(row any) *bun.UpdateQuery {
	return visible(s.db.Tables, s.NewUpdate().Model(row), row, s.companyID)
}

// SelectAll is Select including rows that are marked as deleted.
func (s Scope) SelectAll(rows any) *bun.SelectQuery {
	return s.NewSelect().Model(rows).Where(CompanyCondition, s.companyID)
}

// UpdateAll is Update including rows that are marked as deleted.
func (s Scope) UpdateAll(row any) *bun.UpdateQuery {
	return s.NewUpdate().Model(row).Where(CompanyCondition, s.companyID)
}

// Delete deletes the company's rows.
func (s Scope) Delete(row any) *bun.DeleteQuery {
	return s.NewDelete().Model(row).Where(CompanyCondition, s.companyID)
}

// One reads the row with the id into a struct, after the selections narrowed the query. It returns NOT_FOUND with the
// type's name if there is no such row.
func (s Scope) One(ctx context.Context, typeName, id string, row any, selections ...Selection) error {
	q := s.Select(row).Where("?TableAlias.id = ?", id)
	for _, narrow := range selections {
		q = narrow(q)
	}
	return OrMissing(typeName, id, q.Scan(ctx))
}

// Exists checks an id that narrows a list. It returns NOT_FOUND with the type's name if no row has the id, and nil if
// id is nil. nilRow is a nil pointer to the struct of a row.
func (s Scope) Exists(ctx context.Context, typeName string, id *string, nilRow any) error {
	if id == nil {
		return nil
	}
	found, err := s.Select(nilRow).Where("?TableAlias.id = ?", *id).Exists(ctx)
	if err == nil && !found {
		return model.Missing(typeName, *id)
	}
	return err
}

// Row is implemented by the struct of every table of a company.
type Row interface {
	OwnBy(companyID string)
	Parent() string
}

// Insert writes new rows. It reads nothing back into them: they are complete, and other goroutines may be reading
// them.
func Insert[R Row](ctx context.Context, s Scope, rows ...R) error {
	if len(rows) == 0 {
		return nil
	}
	for _, r := range rows {
		r.OwnBy(s.companyID)
	}
	_, err := s.NewInsert().Model(&rows).Returning("NULL").Exec(ctx)
	return err
}

// CompanyID returns the id of the company.
func (s Scope) CompanyID() string { return s.companyID }

// Reads returns the part of the Scope that only reads.
func (s Scope) Reads() Reads { return Reads{s} }

// scopes binds connections to companies.
type scopes struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	// isPooled is set if there is a pooler in transaction mode in front of Postgres. Connections are then bound for one
	// transaction at a time.
	isPooled bool
	// isRowSecurityOn is set once row-level security separates the companies. Without it, a connection only stores its
	// company, for the views that searches read.
	isRowSecurityOn atomic.Bool
}

// bindings are the statements that bind a connection. setCompany binds it to the company in its value. actFor also sets
// the role to GatewayRole, for a connection that does not have the role yet. actForAll resets the role and the company,
// and has no value.
type bindings struct{ setCompany, actFor, actForAll Statement }

var (
	sessionBindings = bindingsOf("false", "")
	// A pooler does not pass on the settings that are otherwise made at connection time.
	transactionBindings = bindingsOf("true",
		`, set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
		set_config('statement_timeout', '`+statementTimeout+`', true)`)
	// On a shared connection, each request is a transaction of its own and is bound separately.
	requestBindings = bindingsOf("true", "")
)

func bindingsOf(isLocal, more string) bindings {
	company := "set_config('agentgraph.company', $1, " + isLocal + ")" + more
	return bindings{
		setCompany: NewStatement("SELECT " + company),
		actFor:     NewStatement("SELECT set_config('role', '" + GatewayRole + "', " + isLocal + "), " + company),
		actForAll: NewStatement("SELECT set_config('role', 'none', " + isLocal + "), set_config('agentgraph.company', '', " +
			isLocal + ")" + more),
	}
}

// connScope is the company whose rows a connection sees, and whether the connection acts as GatewayRole.
type connScope struct {
	companyID string
	isSecured bool
}

// scopeStatement gives a connection another scope. Its statement is empty if the connection has the scope already.
type scopeStatement struct {
	statement Statement
	to        connScope
}

// statementFor returns the statement that binds a connection to the company.
func (c *scopes) statementFor(conn *pgconn.PgConn, companyID string) scopeStatement {
	s := scopeStatement{to: connScope{companyID, companyID != everyCompany && c.isRowSecurityOn.Load()}}
	from, isKnown := conn.CustomData()[scopeKey].(connScope)
	bindings := sessionBindings
	if c.isPooled {
		bindings = transactionBindings
		if conn.TxStatus() == 'I' {
			from, isKnown = connScope{}, false // each transaction sets its limits with its scope
		}
	}
	switch {
	case isKnown && from == s.to:
	case companyID == everyCompany:
		s.statement = bindings.actForAll
	case s.to.isSecured && !from.isSecured:
		s.statement = bindings.actFor
	default:
		s.statement = bindings.setCompany
	}
	return s
}

const scopeKey = "company"

// applied records the scope of a connection, or forgets it if the statement has failed.
func (s scopeStatement) applied(conn *pgconn.PgConn, err error) {
	if err != nil {
		unbind(conn)
		return
	}
	conn.CustomData()[scopeKey] = s.to
}

// unbind forgets the scope of a connection, because a rollback also undoes what the transaction has set.
func unbind(conn *pgconn.PgConn) { delete(conn.CustomData(), scopeKey) }

// errUnbound is returned for a statement outside a transaction behind a pooler. It would see the rows of all
// companies, without a time limit.
var errUnbound = errors.New("behind a pooler, a statement of a company needs a transaction")

// bind binds a connection to the company, unless it is bound to that company already.
func (c *scopes) bind(ctx context.Context, conn *pgconn.PgConn, companyID string) error {
	s := c.statementFor(conn, companyID)
	if s.statement == (Statement{}) || conn.TxStatus() == 'E' {
		return nil // it is bound already, or the transaction has failed, and the statement will fail too
	}
	if c.isPooled && conn.TxStatus() == 'I' {
		return errUnbound
	}
	var values [][]byte
	if companyID != everyCompany {
		values = [][]byte{[]byte(companyID)}
	}
	_, err := conn.ExecParams(ctx, s.statement.text, values, nil, nil, nil).Close()
	s.applied(conn, err)
	return err
}

type reservingKey struct{}

type asBoundKey struct{}

// AsBound returns a context in which the pool returns connections without binding them, for statements that see no
// rows.
func AsBound(ctx context.Context) context.Context { return context.WithValue(ctx, asBoundKey{}, true) }

// prepare binds a connection that the pool returns: to the company of the context, or to all companies if it names
// none. Statements of bun bind their connections themselves.
func (c *scopes) prepare(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if ctx.Value(reservingKey{}) != nil || ctx.Value(asBoundKey{}) != nil {
		return true, nil
	}
	if c.isPooled && !IsForOneCompany(ctx) {
		return true, nil // each transaction begins in the scope of all companies
	}
	if err := c.bind(ctx, conn.PgConn(), cmp.Or(companyOf(ctx), everyCompany)); err != nil {
		if conn.PgConn().IsClosed() && ctx.Err() == nil {
			return false, nil // the pool opens another one
		}
		return false, err
	}
	return true, nil
}

// checkRowSecurity checks whether row-level security separates the companies. It may be turned on at any moment;
// connections are then bound again at their next use. checkRowSecurity returns an error if the query fails, or if this
// user is not a member of the roles.
func (c *scopes) checkRowSecurity(ctx context.Context) error {
	var isOn, mayBind bool
	err := c.pool.QueryRow(ctx,
		`SELECT coalesce((SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass('companies')), false),
		coalesce(pg_has_role(to_regrole($1), 'USAGE') AND pg_has_role(to_regrole($2), 'USAGE'),
			false)`, GatewayRole, ProgramRole).Scan(&isOn, &mayBind)
	switch {
	case err != nil:
		return fmt.Errorf("look for row-level security: %w", err)
	case isOn && !mayBind:
		return fmt.Errorf("the database has row-level security, and its user is not a member of the roles %s and %s",
			GatewayRole, ProgramRole)
	}
	c.isRowSecurityOn.Store(isOn)
	return nil
}

// ensureRowSecurity does the same as checkRowSecurity until row-level security is on. After that it returns
// immediately.
func (c *scopes) ensureRowSecurity(ctx context.Context) error {
	if c.isRowSecurityOn.Load() {
		return nil
	}
	err := c.checkRowSecurity(ctx)
	if c.isRowSecurityOn.Load() {
		c.log.InfoContext(ctx, "row-level security is on")
	}
	return err
}

// warn logs a warning if row-level security is off. It is always off if Citus has distributed the tables.
func (c *scopes) warn(ctx context.Context, isSharded bool) {
	advice := "Citus refuses its policies"
	if !isSharded {
		advice = "Create the roles " + GatewayRole + " and " + ProgramRole + ", and run \"agentgraph migrate up\""
	}
	if !c.isRowSecurityOn.Load() {
		c.log.WarnContext(ctx, "row-level security is off: only the program's own queries keep companies apart. "+advice)
	}
}
