package pg

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/model"
)

// describedStatements is how many statement descriptions pgx caches for each connection. Only statements with vectors
// need descriptions, and there are few of them. bun's statements have none.
const describedStatements = 16

// statementTimeout is Postgres's statement_timeout. It ends statements whose request has timed out or whose process has
// ended.
const statementTimeout = "2min"

// sessionConnections is the size of the pool for sessions, if the other pools lead to a pooler. The queue and the
// signals use it, with short statements.
const sessionConnections = 4

// pools are the connections of a DB: for writes, for reads, and for callers that need a session. sessions is the same
// pool as writes, unless writes leads to a pooler.
type pools struct{ writes, reads, sessions *pgxpool.Pool }

func (p pools) close() {
	for _, pool := range []*pgxpool.Pool{p.reads, p.sessions, p.writes} {
		if pool != nil {
			pool.Close()
		}
	}
}

// connect opens the pools, and verifies that they lead to the same database.
func connect(ctx context.Context, address string, o Options, scopes *scopes) (p pools, err error) {
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	config, err := configOf(address, o)
	if err != nil {
		return p, err
	}
	if scopes.isPooled {
		removeSessionParameters(config)
	}
	config.PrepareConn = scopes.prepare
	if p.writes, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return p, err
	}
	if p.reads, err = pgxpool.NewWithConfig(ctx, readConfigOf(config, scopes.isPooled)); err != nil {
		return p, err
	}
	// The first connections of both pools are made concurrently. Only the first error is returned.
	reached := make(chan error, 1)
	go func() { reached <- p.reads.Ping(ctx) }()
	err = p.writes.Ping(ctx)
	if err = cmp.Or(err, <-reached); err != nil {
		return p, advise(ctx, config, err)
	}
	if p.sessions = p.writes; !scopes.isPooled {
		return p, CheckSessions(ctx, p.writes, p.reads)
	}
	if config, err = configOf(o.SessionAddress, o); err != nil {
		return p, fmt.Errorf("the address for sessions: %w", err)
	}
	config.MaxConns = sessionConnections
	if p.sessions, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return p, err
	}
	if err := p.sessions.Ping(ctx); err != nil {
		return p, fmt.Errorf("the address for sessions: %w", advise(ctx, config, err))
	}
	return p, errors.Join(checkSame(ctx, p.writes, p.sessions), CheckSessions(ctx, p.sessions, p.sessions))
}

// sessionParameters are the startup parameters that a pooler would refuse or forget. Behind a pooler, the statements
// that bind a transaction to its company set them instead.
var sessionParameters = []string{"max_parallel_workers_per_gather", "jit", "statement_timeout",
	"default_transaction_isolation"}

func removeSessionParameters(config *pgxpool.Config) {
	for _, name := range sessionParameters {
		delete(config.ConnConfig.RuntimeParams, name)
	}
}

// advise returns why a connection failed. If a pooler refuses a startup parameter, it says what to change.
func advise(ctx context.Context, config *pgxpool.Config, err error) error {
	if err = Reason(err); !strings.Contains(err.Error(), "unsupported startup parameter") {
		return err
	}
	config = config.Copy()
	config.PrepareConn = nil
	removeSessionParameters(config)
	pool, failed := pgxpool.NewWithConfig(ctx, config)
	if failed != nil {
		return err
	}
	defer pool.Close()
	if errors.Is(CheckSessions(ctx, pool, pool), errPooled) {
		return errPooled
	}
	return fmt.Errorf("%w: add it to ignore_startup_parameters of PgBouncer", err)
}

// ParseAddress parses the address of a database. Its error does not contain the password.
func ParseAddress(address string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil || strings.Contains(config.ConnConfig.Database, "@") { // a password with a slash ends up in Database
		return nil, InvalidAddress(err)
	}
	return config, nil
}

func configOf(address string, o Options) (*pgxpool.Config, error) {
	config, err := ParseAddress(address)
	if err != nil {
		return nil, err
	}
	// bun writes arguments into the SQL text, so few texts repeat, and a statement cache would only cost round trips.
	// QueryExecModeExec needs none. The simple protocol needs none either, but allows several statements in one text,
	// which makes SQL injection worse.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.StatementCacheCapacity = 0
	config.ConnConfig.DescriptionCacheCapacity = describedStatements
	config.ConnConfig.RuntimeParams["application_name"] = "agentgraph"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Requests are many and small: parallel workers or compilation for one of them would slow down all of them.
	config.ConnConfig.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	config.ConnConfig.RuntimeParams["jit"] = "off"
	config.ConnConfig.RuntimeParams["statement_timeout"] = statementTimeout
	// Statements lock the rows that they must not lose. Under a stricter default of the role, they would fail instead.
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	config.ConnConfig.Tracer = o.Tracer
	if o.MaxConnections > 0 {
		config.MaxConns = o.MaxConnections
	}
	return config, nil
}

// readBuffer is how much a connection for reads receives from its socket at once, in bytes. Postgres sends pieces of
// 8 KiB, and several of them are often ready together.
const readBuffer = 32 << 10

// readConfigOf configures connections for reads. Their statements are prepared and use generic plans, because planning
// most of them takes longer than running them. By default, Postgres would plan the first five runs of each statement
// again. A batch reads from one snapshot: one statement looks up a key, another one reads that key's row, and both must
// see the same data. Behind a pooler, statements are planned each time, and Scope.receive sets the isolation.
func readConfigOf(config *pgxpool.Config, isPooled bool) *pgxpool.Config {
	config = config.Copy()
	config.PrepareConn = nil // reads bind their connections themselves
	config.ConnConfig.DescriptionCacheCapacity = 0
	config.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w)
	}
	if isPooled {
		return config
	}
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	// These settings are not startup parameters. If default_transaction_read_only were one, an address with two hosts and
	// target_session_attrs=read-write would match neither host. A session pooler would have to be configured to accept
	// startup parameters. Sequential scans are off because a plan made for a small table scans the whole table until the
	// next ANALYZE. Citus has no generic plans for statements with subqueries, and returns an error if it must make one.
	config.ConnConfig.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		return conn.Exec(ctx, "SET default_transaction_read_only = on; SET enable_seqscan = off; "+
			"SELECT set_config('plan_cache_mode', 'auto', false) WHERE to_regclass('pg_dist_partition') IS NOT NULL").Close()
	}
	return config
}

// errPooled is returned when there is a pooler in transaction mode where sessions are needed.
var errPooled = errors.New("the pooler in front of Postgres shares connections between transactions, but " +
	"agentgraph binds a connection to a company. Use a pooler in session mode (pool_mode = session in PgBouncer), or " +
	"give the address of Postgres itself, either instead of the pooler's or as the address for sessions")

// ErrElsewhere is returned if the address for sessions leads to another database.
var ErrElsewhere = errors.New("the address for sessions leads to another database than the address of the pooler")

// Place is a query for a text that no two databases share.
const Place = "SELECT pg_postmaster_start_time()::text || ' ' || current_database()"

// checkSame returns ErrElsewhere unless both pools lead to the same database.
func checkSame(ctx context.Context, pool, other *pgxpool.Pool) error {
	var ours, theirs string
	if err := errors.Join(pool.QueryRow(ctx, Place).Scan(&ours), other.QueryRow(ctx, Place).Scan(&theirs)); err != nil {
		return err
	}
	if ours != theirs {
		return ErrElsewhere
	}
	return nil
}

// CheckSessions returns errPooled unless a setting stays on its connection and appears on no other connection. Both
// pools must lead to the same database.
func CheckSessions(ctx context.Context, pool, other *pgxpool.Pool) error {
	mark := model.NewID("session")
	one, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer one.Release()
	two, err := other.Acquire(ctx)
	if err != nil {
		return err
	}
	defer two.Release()
	if _, err := one.Exec(ctx, "SELECT set_config('agentgraph.session', $1, false)", mark); err != nil {
		return err
	}
	tx, err := two.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	const read = "SELECT coalesce(current_setting('agentgraph.session', true), '')"
	var theirs string
	if err := tx.QueryRow(ctx, read).Scan(&theirs); err != nil {
		return err
	}
	if theirs == mark {
		return errPooled
	}
	// While the transaction holds a connection, a pooler may use another one here. If it rotates its connections,
	// each statement may use another one, so this tries three times.
	for range 3 {
		var ours string
		if err := one.QueryRow(ctx, read).Scan(&ours); err != nil {
			return err
		}
		if ours != mark {
			return errPooled
		}
	}
	return nil
}
