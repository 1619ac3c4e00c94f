package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
)

var errChanged = errors.New("changed my mind")

func TestBunAndPgxShareATransaction(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store, conn := dbtest.Open(t, address, db.Options{Tracer: dbtest.Unchecked{}}), connect(t, address)
	tenant, companyID := newCompany(t, store)
	enqueue := func(tx pgx.Tx, id string) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO jobs VALUES ($1, $2, 0, 0, 0, $3, NULL, 'test')", companyID, id,
			time.Now())
		return err
	}
	for _, outcome := range []error{errChanged, nil} {
		err := tenant.Tx(t.Context(), func(ctx context.Context, tenant *db.Tenant) error {
			agent := newAgent(t, tenant)
			require.NoError(t, db.Pgx(tenant, func(tx pgx.Tx) error {
				var name string
				require.NoError(t, tx.QueryRow(ctx, "SELECT name FROM agents WHERE id = $1", agent.ID).Scan(&name),
					"pgx sees what bun wrote")
				require.Error(t, tx.Commit(ctx), "tenant.Tx owns the transaction, so pgx cannot commit it")
				require.Error(t, tx.Rollback(ctx))
				require.ErrorIs(t, pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
					require.NoError(t, enqueue(inner, "job_undone"))
					return errChanged
				}), errChanged)
				return pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
					return pgx.BeginFunc(ctx, inner, func(innermost pgx.Tx) error { return enqueue(innermost, "job_kept") })
				})
			}))
			return outcome
		})
		require.ErrorIs(t, err, outcome)
		var agents, jobs int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM agents),
			(SELECT count(*) FROM jobs WHERE id = 'job_kept') + 10 * (SELECT count(*) FROM jobs
				WHERE id = 'job_undone')`).Scan(&agents, &jobs))
		want := 1
		if outcome != nil {
			want = 0
		}
		require.Equal(t, want, agents)
		require.Equal(t, want, jobs)
	}
}

// The context ends while pgx uses the connection. Nothing that was written is kept, whichever statements come after.
func TestTransactionWhoseContextEndedIsRolledBack(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	for range 20 {
		before := rowsOf(t, conn)
		ctx, cancel := context.WithCancel(t.Context())
		err := tenant.Tx(ctx, func(_ context.Context, tenant *db.Tenant) error {
			newAgent(t, tenant)
			cancel()
			return db.Pgx(tenant, func(tx pgx.Tx) error {
				_, err := tx.Exec(context.Background(), "SELECT pg_sleep(0.01)")
				return err
			})
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, before, rowsOf(t, conn))
	}
}

func TestTransactionsCommitOrRollBackCompletely(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	ctx := t.Context()
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	before := rowsOf(t, conn)
	write := func(ctx context.Context, tenant *db.Tenant) {
		newAgent(t, tenant)
		require.NoError(t, tenant.DeleteAgent(ctx, agent.ID))
		// A nested transaction is part of the outer one.
		require.NoError(t, tenant.Tx(ctx, func(_ context.Context, tenant *db.Tenant) error {
			newTool(t, tenant, "inner")
			return nil
		}))
	}
	require.ErrorIs(t, tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
		write(ctx, tenant)
		return errChanged
	}), errChanged)
	require.PanicsWithValue(t, "oh", func() {
		_ = tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
			write(ctx, tenant)
			panic("oh")
		})
	})
	require.PanicsWithValue(t, "oh", func() {
		_ = store.Tx(ctx, func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.CreateCompany(ctx, "Half")
			require.NoError(t, err)
			panic("oh")
		})
	})
	require.Equal(t, before, rowsOf(t, conn))
	companies, err := store.Companies(ctx)
	require.NoError(t, err)
	require.Len(t, companies, 1)

	require.NoError(t, store.Tx(ctx, func(ctx context.Context, tx *db.Tx) error {
		company, err := tx.CreateCompany(ctx, "Whole")
		if err != nil {
			return err
		}
		newAgent(t, tx.Tenant(company.ID))
		_, err = tx.CreateCompany(ctx, "And another")
		return err
	}))
	companies, err = store.Companies(ctx)
	require.NoError(t, err)
	require.Len(t, companies, 3)
	require.Len(t, rowsOf(t, conn), 2)
}

func TestOnCommitRunsAfterTheOuterCommit(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	var done []string
	do := func(what string) func() { return func() { done = append(done, what) } }
	db.OnCommit(tenant, do("outside of a transaction"))
	require.Equal(t, []string{"outside of a transaction"}, done)

	done = nil
	require.NoError(t, tenant.Tx(t.Context(), func(ctx context.Context, tenant *db.Tenant) error {
		db.OnCommit(tenant, do("first"))
		require.NoError(t, tenant.Tx(ctx, func(_ context.Context, tenant *db.Tenant) error {
			db.OnCommit(tenant, do("inner"))
			return nil
		}))
		db.OnCommit(tenant, do("last"))
		require.Empty(t, done, "nothing is committed yet")
		return nil
	}))
	require.Equal(t, []string{"first", "inner", "last"}, done)

	done = nil
	require.ErrorIs(t, tenant.Tx(t.Context(), func(_ context.Context, tenant *db.Tenant) error {
		db.OnCommit(tenant, do("never"))
		return errChanged
	}), errChanged)
	require.Empty(t, done)
}
