package db_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// Many companies share the pooler's few connections. In each way to use them, a company sees only its own rows.
func TestPoolerSharesConnectionsBetweenCompanies(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	pooled := dbtest.Pooled(t, address)
	store := dbtest.Open(t, pooled, db.Options{SessionAddress: address, Tracer: dbtest.Unchecked{}})

	tenants := make([]*db.Tenant, 6)
	for i := range tenants {
		tenants[i], _ = newCompany(t, store)
	}
	errBack := errors.New("back")
	everyAgent := db.RawStatement("SELECT id FROM agents WHERE $1 <> ''")
	var all sync.WaitGroup
	errs := make(chan error, len(tenants))
	for mine, tenant := range tenants {
		all.Go(func() {
			errs <- func() error {
				for made := range 4 {
					agent, err := tenant.CreateAgent(t.Context(), agentInput())
					if err != nil {
						return err
					}
					if err := tenant.Tx(t.Context(), func(ctx context.Context, tenant *db.Tenant) error {
						_, err := tenant.CreateAgent(ctx, agentInput())
						return errors.Join(errBack, err)
					}); !errors.Is(err, errBack) {
						return err
					}
					page, err := tenant.Agents(t.Context(), model.PageArgs{First: 50}, nil)
					if err != nil {
						return err
					}
					read := 0
					err = tenant.Read(t.Context(), []pg.Read{{Statement: everyAgent}, {Statement: everyAgent}},
						func(int, [][]byte) error {
							read++
							return nil
						})
					if err != nil {
						return err
					}
					if _, err := tenant.VectorsOfChunks(t.Context(), []string{agent.ID}); err != nil {
						return err
					}
					theirs, err := findPrepared(t.Context(), tenants[(mine+1)%len(tenants)], db.AgentRows, []string{agent.ID})
					if err != nil {
						return err
					}
					if len(page.Nodes) != made+1 || read != 2*(made+1) || len(theirs) != 0 {
						return errors.New("a company sees rows of another, or not all of its own")
					}
				}
				return nil
			}()
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}

	pool, err := pgxpool.New(t.Context(), pooled+"&default_query_exec_mode=exec")
	require.NoError(t, err)
	defer pool.Close()
	var isFree bool
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT current_user = session_user AND "+
		"coalesce(current_setting('agentgraph.company', true), '') = ''").Scan(&isFree))
	require.True(t, isFree, "nothing of a company stays on a connection")
}

// A pooler does not forward settings of a new connection, so each transaction sets its limits. That includes statements
// of companies, and statements for all companies: sweeps, claims and lookups of keys.
func TestEveryStatementBehindAPoolerHasALimit(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, dbtest.Pooled(t, address), db.Options{SessionAddress: address, Tracer: dbtest.Unchecked{}})
	tenant, companyID := newCompany(t, store)
	const limits = "SELECT current_setting('statement_timeout') || ' ' || current_setting('jit') || ' ' || " +
		"current_setting('max_parallel_workers_per_gather')"
	limited := func(who string, conn bun.IConn) {
		var found string
		require.NoError(t, conn.QueryRowContext(t.Context(), limits).Scan(&found), who)
		require.Equal(t, "2min off 0", found, who)
	}
	for range 5 { // on any connection of the pooler
		limited("the program", db.RawProgram(store))
		limited("a company", db.Raw(tenant))
		require.NoError(t, tenant.Tx(t.Context(), func(_ context.Context, tenant *db.Tenant) error {
			limited("a company's transaction", db.Raw(tenant))
			return nil
		}))
		require.NoError(t, store.Tx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Tenant(companyID).Company(ctx)
			limited("a transaction of several", db.Raw(tx.Tenant(companyID)))
			return err
		}))
		var found string
		require.NoError(t, tenant.Read(t.Context(), []pg.Read{{Statement: db.RawStatement(limits + " WHERE $1 <> ''")}},
			func(_ int, values [][]byte) error {
				found = string(values[0])
				return nil
			}))
		require.Equal(t, "2min off 0", found, "a read")
	}
}

func TestUnsafePoolersAreRefused(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	pooled := dbtest.Pooled(t, address)
	for why, options := range map[string]db.Options{
		"pool_mode = session in PgBouncer": {},
		"leads to another database than":   {SessionAddress: dbtest.URL(t)},
		"the address for sessions":         {SessionAddress: "postgres://127.0.0.1:1/none"},
	} {
		_, err := db.Open(t.Context(), pooled, options)
		require.ErrorContains(t, err, why)
	}
	_, err := db.Open(t.Context(), pooled, db.Options{SessionAddress: pooled})
	require.ErrorContains(t, err, "the address for sessions: the pooler in front of Postgres shares")
	migrator, err := schema.NewMigrator(t.Context(), pooled)
	require.NoError(t, err)
	defer func() { _ = migrator.Close() }()
	require.ErrorContains(t, migrator.Up(t.Context()), "pool_mode = session")
}

// A session pooler with the documented configuration accepts all connections. It rejects startup parameters that the
// configuration does not list.
func TestSessionPoolerAcceptsConnections(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	page, err := os.ReadFile("../docs/guides/scale-out.md")
	require.NoError(t, err)
	ignored := regexp.MustCompile(`(?m)^ignore_startup_parameters = .*$`).FindString(string(page))
	require.NotEmpty(t, ignored)
	store := dbtest.Open(t, dbtest.PooledBySessions(t, dbtest.URL(t), ignored), db.Options{})
	tenant, chat := newSimulation(t, store, nil)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	message, answer := messages("Hello", "Good morning")
	_, err = turn.Finish(t.Context(), message, answer, nil)
	require.NoError(t, err)
	found, err := findPrepared(t.Context(), tenant, db.AgentRows, []string{chat.AgentID})
	require.NoError(t, err)
	require.Len(t, found, 1)
}
