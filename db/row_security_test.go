package db_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// securedTables returns the tables with rows of companies. It maps each to the column that names the company.
func securedTables(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	rows, err := conn.Query(t.Context(),
		`SELECT table_name::text FROM information_schema.columns WHERE table_schema = 'public'
			AND column_name = 'company_id'`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	tables := map[string]string{"companies": "id"}
	for _, name := range names {
		tables[name] = "company_id"
	}
	require.Greater(t, len(tables), 30)
	return tables
}

func countOf(t *testing.T, tenant *db.Tenant, query string) (n int) {
	t.Helper()
	require.NoError(t, db.Raw(tenant).QueryRowContext(t.Context(), query).Scan(&n), query)
	return n
}

func refusedByPolicy(t *testing.T, err error, what string) {
	t.Helper()
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused, what)
	require.Equal(t, "42501", refused.Code, what)
	require.Contains(t, refused.Message, "row-level security", what)
}

// Statements without a company condition see and change only rows of their company, in every table.
func TestRowLevelSecuritySeparatesCompanies(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store, conn := dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32), Tracer: dbtest.Unchecked{}}),
		connect(t, address)
	own, other := newFixture(t, store, "OWN"), newFixture(t, store, "SECRET")
	mine, theirs, nobody := own.tenant, other.tenant, store.Tenant("")
	company, err := mine.Company(t.Context())
	require.NoError(t, err)
	empty := []string{}
	before := rowsOf(t, conn)
	for table, column := range securedTables(t, conn) {
		var all, ofMine int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*), count(*) FILTER (WHERE "+column+" = $1) FROM "+table,
			company.ID).Scan(&all, &ofMine))
		if all == 0 {
			empty = append(empty, table)
			continue
		}
		require.Less(t, ofMine, all, table)
		require.Equal(t, ofMine, countOf(t, mine, "SELECT count(*) FROM "+table), table)
		require.Equal(t, all-ofMine, countOf(t, theirs, "SELECT count(*) FROM "+table), table)
		require.Zero(t, countOf(t, nobody, "SELECT count(*) FROM "+table), "%s: a statement without a company", table)

		var foreign string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT to_jsonb(t)::text FROM "+table+" AS t WHERE "+column+
			" <> $1 LIMIT 1", company.ID).Scan(&foreign))
		_, err = db.Raw(mine).ExecContext(t.Context(), "INSERT INTO "+table+" SELECT * FROM jsonb_populate_record(NULL::"+
			table+", $1::jsonb)", foreign)
		refusedByPolicy(t, err, "insert into "+table)
		if ofMine > 0 {
			_, err = db.Raw(mine).ExecContext(t.Context(), "UPDATE "+table+" SET "+column+" = 'another'")
			refusedByPolicy(t, err, "give away "+table)
		}
		for _, statement := range []string{"UPDATE " + table + " SET " + column + " = " + column, "DELETE FROM " + table} {
			result, err := db.Raw(mine).ExecContext(t.Context(), statement+" WHERE "+column+" <> $1", company.ID)
			require.NoError(t, err, statement)
			affected, err := result.RowsAffected()
			require.NoError(t, err)
			require.Zero(t, affected, statement)
		}
	}
	require.Subset(t, []string{"audit_deliveries", "company_imports", "idempotent_requests", "retentions", "tombstones"},
		empty, "the fixtures have a row in every other table")
	require.Equal(t, before, rowsOf(t, conn))

	for _, madeUp := range []string{"*", "\x00"} {
		forged := store.Tenant(madeUp)
		page, err := forged.Agents(t.Context(), model.PageArgs{First: 5}, nil)
		require.True(t, err != nil || len(page.Nodes) == 0, madeUp)
		found, err := forged.Find(t.Context(), db.AgentRows, []string{own.ids["AgentID"]})
		require.True(t, err != nil || len(found) == 0, madeUp)
	}

	for _, view := range []string{"company.agents", "company.campaign_items", "company.chunks", "company.documents"} {
		require.Positive(t, countOf(t, mine, "SELECT count(*) FROM "+view), view)
		require.Zero(t, countOf(t, mine, "SELECT count(*) FROM "+view+" WHERE company_id <> '"+company.ID+"'"))
		require.Zero(t, countOf(t, nobody, "SELECT count(*) FROM "+view))
	}
	_, err = db.Raw(mine).ExecContext(t.Context(), "ALTER TABLE agents DISABLE ROW LEVEL SECURITY")
	require.ErrorContains(t, err, "must be owner")
}

// A connection serves one company after another, and settings of a transaction end with the transaction.
func TestConnectionIsBoundToOneCompanyAtATime(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{MaxConnections: 1, Tracer: dbtest.Unchecked{}})
	one, oneID := newCompany(t, store)
	two, twoID := newCompany(t, store)
	newAgent(t, one)
	newAgent(t, two)
	newAgent(t, two)
	const agents = "SELECT count(*) FROM agents"
	errBack := errors.New("back")
	sees := func(why string) {
		t.Helper()
		require.Equal(t, 1, countOf(t, one, agents), why)
		require.Equal(t, 2, countOf(t, two, agents), why)
		require.Zero(t, countOf(t, store.Tenant(""), agents), why)
		companies, err := store.Companies(t.Context())
		require.NoError(t, err)
		require.Len(t, companies, 2, why)
	}
	sees("at first")

	require.Equal(t, 1, countOf(t, one, agents))
	require.ErrorIs(t, two.Tx(t.Context(), func(context.Context, *db.Tenant) error { return errBack }), errBack)
	sees("after a rollback")

	err := two.Tx(t.Context(), func(ctx context.Context, t *db.Tenant) error {
		_, err := db.Raw(t).ExecContext(ctx, "SELECT 1 / 0")
		return err
	})
	require.ErrorContains(t, err, "division by zero")
	sees("after a failed transaction")

	ctx, cancel := context.WithCancel(t.Context())
	require.Error(t, two.Tx(ctx, func(ctx context.Context, _ *db.Tenant) error {
		cancel()
		return ctx.Err()
	}))
	sees("after a context has ended")

	require.NoError(t, store.Tx(t.Context(), func(_ context.Context, tx *db.Tx) error {
		for range 2 {
			require.Equal(t, 1, countOf(t, tx.Tenant(oneID), agents))
			require.Equal(t, 2, countOf(t, tx.Tenant(twoID), agents))
		}
		return nil
	}))
	sees("after a transaction over two companies")

	require.NoError(t, one.Tx(t.Context(), func(ctx context.Context, inTx *db.Tenant) error {
		return db.Pgx(inTx, func(tx pgx.Tx) error {
			inner, err := tx.Begin(ctx)
			require.NoError(t, err)
			_, err = inner.Exec(ctx, "SELECT set_config('agentgraph.company', '', false)")
			require.NoError(t, err)
			require.NoError(t, inner.Rollback(ctx))
			return nil
		})
	}))
	sees("after a savepoint")

	_, err = store.Pool().Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
	sees("after the queue")
}

// A connection for reads is bound in the same round trip as the read, and only when the company changes.
func TestReadsAreBoundToTheirCompany(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{MaxConnections: 1, Tracer: dbtest.Unchecked{}})
	one, _ := newCompany(t, store)
	two, _ := newCompany(t, store)
	mine, theirs := newAgent(t, one), newAgent(t, two)
	find := func(ctx context.Context, tenant *db.Tenant, ids ...string) int {
		rows, err := findPrepared(ctx, tenant, db.AgentRows, ids)
		require.NoError(t, err)
		return len(rows)
	}
	// bindings returns how often the only connection for reads was bound.
	bindings := func() (calls int) {
		conn, err := store.Reads().Acquire(t.Context())
		require.NoError(t, err)
		defer conn.Release()
		require.NoError(t, conn.QueryRow(t.Context(),
			`SELECT coalesce(sum(generic_plans + custom_plans), 0) FROM pg_prepared_statements
			WHERE statement LIKE '%set_config(''agentgraph.company''%'`).Scan(&calls))
		return calls
	}
	for range 3 {
		require.Equal(t, 1, find(t.Context(), one, mine.ID, theirs.ID))
	}
	require.Equal(t, 1, bindings(), "further reads of the same company send no binding")
	for range 2 {
		require.Equal(t, 1, find(t.Context(), two, mine.ID, theirs.ID))
		require.Equal(t, 1, find(t.Context(), one, mine.ID, theirs.ID))
	}
	require.Equal(t, 5, bindings())

	// A read that fails does not bind the connection, which stays open if it has prepared the statement.
	read := pg.Read{Statement: store.ManyRows(db.AgentRows, []string{"id"}), Keys: []string{theirs.ID}}
	ignore := func(int, [][]byte) error { return nil }
	require.NoError(t, two.Read(t.Context(), []pg.Read{read}, ignore))
	require.Equal(t, 1, find(t.Context(), one, mine.ID, theirs.ID))
	read.Keys, read.IsOne = []string{"\x00"}, true
	require.Error(t, two.Read(t.Context(), []pg.Read{read}, ignore))
	require.Equal(t, 1, find(t.Context(), two, mine.ID, theirs.ID))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := findPrepared(ended, one, db.AgentRows, []string{mine.ID})
	require.Error(t, err)
	require.Equal(t, 1, find(t.Context(), one, mine.ID, theirs.ID))
}

// River's tables have no company. A company's statements can use only one of them, river_job, to enqueue and end jobs.
func TestCompaniesCannotAccessQueueTables(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	// An earlier version granted access to all of them.
	_, err := conn.Exec(t.Context(), "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+
		"agentgraph_gateway")
	require.NoError(t, err)
	require.NoError(t, newMigrator(t, address).Up(t.Context()))
	store := dbtest.Open(t, address, db.Options{Tracer: dbtest.Unchecked{}})
	tenant, _ := newCompany(t, store)
	rows, err := conn.Query(t.Context(),
		`SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_name LIKE 'river\_%'`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 3)
	for _, table := range tables {
		for _, statement := range []string{"SELECT FROM " + table, "DELETE FROM " + table, "TRUNCATE " + table} {
			_, err := db.Raw(tenant).ExecContext(t.Context(), statement)
			if statement == "SELECT FROM river_job" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, "permission denied for table "+table, statement)
		}
	}
}

// Once the database is secured, row-level security also applies to processes that are already running, without a
// restart. It applies to their open connections, and in transactions that began before.
func TestRowSecurityBindsRunningProcesses(t *testing.T) {
	t.Parallel()
	const agents = "SELECT count(*) FROM agents"
	for name, notice := range map[string]func(*testing.T, *db.Store){
		"asked whether it is ready": func(t *testing.T, s *db.Store) { require.NoError(t, s.Ping(t.Context())) },
		"polling for signals": func(t *testing.T, s *db.Store) {
			require.NoError(t, db.CheckRowSecurity(t.Context(), s))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := dbtest.SecurityVariants(t)["the program alone"]
			said := &warnings{}
			store := dbtest.Open(t, address, db.Options{MaxConnections: 4, Tracer: dbtest.Unchecked{}, Log: said.log()})
			require.Contains(t, said.String(), "row-level security is off")
			one, _ := newCompany(t, store)
			two, _ := newCompany(t, store)
			mine, theirs := newAgent(t, one), newAgent(t, two)
			// The statement reads the agents of every company.
			find := func(tenant *db.Tenant) (found int) {
				read := pg.Read{Statement: db.RawStatement("SELECT id FROM agents WHERE $1 <> '' AND id = ANY($2)"),
					Keys: []string{mine.ID, theirs.ID}}
				require.NoError(t, tenant.Read(t.Context(), []pg.Read{read}, func(int, [][]byte) error {
					found++
					return nil
				}))
				return found
			}
			open := func(want int) {
				t.Helper()
				require.NoError(t, store.Ping(t.Context()))
				for _, tenant := range []*db.Tenant{one, two} {
					require.Equal(t, want, countOf(t, tenant, agents))
					require.Equal(t, want, find(tenant))
				}
			}
			open(2)
			require.NoError(t, one.Tx(t.Context(), func(ctx context.Context, tx *db.Tenant) error {
				require.NoError(t, newMigrator(t, address).Up(ctx))
				notice(t, store)
				require.Equal(t, 1, countOf(t, tx, agents))
				return nil
			}))
			open(1)
			companies, err := store.Companies(t.Context())
			require.NoError(t, err)
			require.Len(t, companies, 2)
		})
	}
}

// userOf creates a user that is not a superuser, with its own database.
func userOf(t *testing.T, name, rights string) (address string) {
	t.Helper()
	empty := dbtest.EmptyURL(t)
	conn := connect(t, empty)
	u, err := url.Parse(empty)
	require.NoError(t, err)
	base := strings.TrimPrefix(u.Path, "/")
	for _, statement := range []string{
		"CREATE ROLE " + name + " LOGIN " + rights, "ALTER DATABASE " + base + " OWNER TO " + name,
		"GRANT CREATE, USAGE ON SCHEMA public TO " + name,
		"CREATE EXTENSION IF NOT EXISTS btree_gin", "CREATE EXTENSION IF NOT EXISTS pg_trgm",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	t.Cleanup(func() {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), "REASSIGN OWNED BY "+name+" TO CURRENT_USER; DROP OWNED BY "+
			name)
		require.NoError(t, err)
		_, err = conn.Exec(context.WithoutCancel(t.Context()), "DROP ROLE "+name)
		require.NoError(t, err)
	})
	u.User = url.User(name)
	return u.String()
}

// warnings has the lines of a log.
type warnings struct{ strings.Builder }

func (w *warnings) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// A user with the program's roles owns the tables and sees all companies. Its Tenants see only their own. Without the
// roles, only the program's conditions separate companies, and the program logs that.
func TestRowSecurityWithoutSuperuserNeedsTheRoles(t *testing.T) {
	t.Parallel()
	dbtest.URL(t) // from this point on the roles exist
	for name, c := range map[string]struct {
		grant  string
		isHeld bool
	}{
		"owner_with_roles":    {"GRANT agentgraph_gateway, agentgraph_program TO owner_with_roles", true},
		"owner_without_roles": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			address := userOf(t, name, "")
			if c.grant != "" {
				_, err := connect(t, dbtest.URL(t)).Exec(t.Context(), c.grant)
				require.NoError(t, err)
			}
			migrator := newMigrator(t, address)
			require.NoError(t, migrator.Up(t.Context()))
			require.NoError(t, migrator.Up(t.Context()), "again")
			said := &warnings{}
			store := dbtest.Open(t, address, db.Options{Tracer: dbtest.Unchecked{}, Log: said.log(),
				SecretKey: make([]byte, 32)})
			own, other := newFixture(t, store, "OWN"), newFixture(t, store, "SECRET")
			require.NotEmpty(t, own.ids)
			companies, err := store.Companies(t.Context())
			require.NoError(t, err)
			require.Len(t, companies, 2)
			page, err := other.tenant.Agents(t.Context(), model.PageArgs{First: 5},
				&model.AgentFilter{NameContains: new("secret")})
			require.NoError(t, err)
			require.Len(t, page.Nodes, 1)
			// An older program connects as the owner, so only its own conditions restrict it.
			var seen int
			require.NoError(t, connect(t, address).QueryRow(t.Context(), "SELECT count(*) FROM agents").Scan(&seen))
			require.Equal(t, 2, seen)
			if !c.isHeld {
				require.Contains(t, said.String(), "row-level security is off")
				return
			}
			require.NotContains(t, said.String(), "row-level security")
			require.Equal(t, 1, countOf(t, own.tenant, "SELECT count(*) FROM agents"))
			_, err = connect(t, dbtest.URL(t)).Exec(t.Context(), "REVOKE agentgraph_program FROM "+name)
			require.NoError(t, err)
			_, err = db.Open(t.Context(), address, db.Options{})
			require.ErrorContains(t, err, "not a member of the roles")
		})
	}
}
