package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
)

// A procedure can end its transaction, except in a transaction block. The test calls a procedure to find out whether
// reads are in a block. Citus needs a block to read all of them from one snapshot.
func TestReadsOfShardedTablesAreInOneTransactionBlock(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t) // a pooler's reads have a block of their own
	dbtest.SkipIfSharded(t)
	address := dbtest.URL(t)
	_, err := connect(t, address).Exec(t.Context(), citus+`
		ALTER TABLE citus.pg_dist_partition SET SCHEMA public;
		GRANT SELECT ON pg_dist_partition TO PUBLIC;
		CREATE PROCEDURE end_transaction(company text) LANGUAGE plpgsql AS 'BEGIN COMMIT; END'`,
		pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	read := func(tenant *db.Tenant, texts ...string) (rows int, err error) {
		reads := make([]pg.Read, len(texts))
		for i, text := range texts {
			reads[i].Statement = db.RawStatement(text)
		}
		err = tenant.Read(t.Context(), reads, func(int, [][]byte) error { rows++; return nil })
		return rows, err
	}
	const ending, one = "CALL end_transaction($1)", "SELECT 1 WHERE $1 <> ''"

	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{MaxConnections: 2}))
	_, err = read(tenant, ending, one)
	require.NoError(t, err, "one Postgres needs no block")

	_, err = connect(t, address).Exec(t.Context(), "INSERT INTO pg_dist_partition VALUES ('agents', 'h', NULL, 1, 's')")
	require.NoError(t, err)
	tenant, _ = newCompany(t, dbtest.Open(t, address, db.Options{MaxConnections: 2}))
	_, err = read(tenant, ending)
	require.NoError(t, err, "one read needs no block")
	for range 3 {
		_, err = read(tenant, one, ending)
		require.ErrorContains(t, err, "invalid transaction termination")
		rows, err := read(tenant, one, one, one)
		require.NoError(t, err, "the connection is usable after an error")
		require.Equal(t, 3, rows)
	}
}
