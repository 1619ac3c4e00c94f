package pg

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/model"
)

// describedStatements is how many statements a connection remembers the types of: those with vectors alone, which bun
// does not write.
const describedStatements = 16

// statementTimeout, as Postgres spells it, ends statements that nobody waits for any more: their requests have timed
// out, or the process is gone.
const statementTimeout = "2min"

// sessionConnections is how many connections the queue and signals have beside a pooler: their statements are short.
const sessionConnections = 4

// pools are the connections of a DB: those that write, those that read, and those for what needs a session, which are
// the ones that write unless these lead to a pooler.
type pools struct{ writes, reads, sessions *pgxpool.Pool }

func (p pools) close() {
	for _, pool := range []*pgxpool.Pool{p.reads, p.sessions, p.writes} {
		if pool != nil {
			pool.Close()
		}
	}
}

// connect opens the pools, and finds out that they lead where they should.
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
		for _, name := range ofSessions {
			delete(config.ConnConfig.RuntimeParams, name)
		}
	}
	config.PrepareConn = scopes.prepare
	if p.writes, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return p, err
	}
	if p.reads, err = pgxpool.NewWithConfig(ctx, readConfigOf(config, scopes.isPooled)); err != nil {
		return p, err
	}
	// The first connections of both are made side by side. What cannot be reached says so once.
	reached := make(chan error, 1)
	go func() { reached <- p.reads.Ping(ctx) }()
	err = p.writes.Ping(ctx)
	if err = cmp.Or(err, <-reached); err != nil {
		return p, Reason(err)
	}
	if p.sessions = p.writes; !scopes.isPooled {
		return p, CheckSessions(ctx, p.writes, p.reads)
	}
	if config, err = configOf(o.SessionAddress, o); err != nil {
		return p, err
	}
	config.MaxConns = sessionConnections
	if p.sessions, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return p, err
	}
	if err := p.sessions.Ping(ctx); err != nil {
		return p, fmt.Errorf("the address for sessions: %w", Reason(err))
	}
	return p, errors.Join(checkSame(ctx, p.writes, p.sessions), CheckSessions(ctx, p.sessions, p.sessions))
}

// ofSessions are the parameters that a pooler would refuse or forget. bindings have them in each transaction.
var ofSessions = []string{"max_parallel_workers_per_gather", "jit", "statement_timeout"}

func configOf(address string, o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		// The parser's error may contain the password of the address.
		return nil, errors.New("the address is not a valid Postgres URL")
	}
	// bun writes arguments into the text, so every text is new: a statement cache would only cost
	// round trips, and the simple protocol would allow stacked statements.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.StatementCacheCapacity = 0
	config.ConnConfig.DescriptionCacheCapacity = describedStatements
	config.ConnConfig.RuntimeParams["application_name"] = "agentgraph"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Requests are many and small. What Postgres would start or compile for a single one would cost all of them.
	config.ConnConfig.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	config.ConnConfig.RuntimeParams["jit"] = "off"
	config.ConnConfig.RuntimeParams["statement_timeout"] = statementTimeout
	config.ConnConfig.Tracer = o.Tracer
	if o.MaxConnections > 0 {
		config.MaxConns = o.MaxConnections
	}
	return config, nil
}

// readBuffer is how much a connection for reads takes from its socket at once, in bytes. Postgres sends pieces of 8
// KiB, of which several are there when somebody looks.
const readBuffer = 32 << 10

// readConfigOf configures connections for reads. Their statements are prepared, and planned for any values: planning
// takes longer than most of them, and with the first values it sees Postgres would do it again each time. What is read
// together is of one moment: a key that one statement finds and a row that another one has of it must not differ.
// Behind a pooler statements are planned each time, and Scope.receive sees to the rest.
func readConfigOf(config *pgxpool.Config, isPooled bool) *pgxpool.Config {
	config = config.Copy()
	config.PrepareConn = nil // reads bind their connection themselves
	config.ConnConfig.DescriptionCacheCapacity = 0
	config.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w)
	}
	if isPooled {
		return config
	}
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "repeatable read"
	// Not when it connects: an address with two hosts and target_session_attrs=read-write would then find none, and a
	// pooler of sessions would have to be told to let the second one pass. A plan made while its table was small would
	// read all of it, and stay until the table is analysed again.
	config.ConnConfig.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		return conn.Exec(ctx, "SET default_transaction_read_only = on; SET enable_seqscan = off").Close()
	}
	return config
}

// errPooled is why a program does not start behind the wrong pooler.
var errPooled = errors.New("the pooler in front of Postgres hands connections to others between transactions, and a " +
	"connection is bound to " +
	"a company: let it pool sessions (pool_mode = session of PgBouncer), or name Postgres itself, alone or for sessions " +
	"beside the pooler")

var errElsewhere = errors.New("the address for sessions leads to another database than the pooler")

// checkSame returns errElsewhere unless both pools lead to the same database.
func checkSame(ctx context.Context, pool, other *pgxpool.Pool) error {
	const place = "SELECT pg_postmaster_start_time()::text || ' ' || current_database()"
	var ours, theirs string
	if err := errors.Join(pool.QueryRow(ctx, place).Scan(&ours), other.QueryRow(ctx, place).Scan(&theirs)); err != nil {
		return err
	}
	if ours != theirs {
		return errElsewhere
	}
	return nil
}

// CheckSessions returns errPooled unless what is set on a connection stays with it, and with nobody else. Both pools
// lead to the same database.
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
	// While the transaction holds a connection a pooler may need another one for this, and each time if it takes them in
	// turn.
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
