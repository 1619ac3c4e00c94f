package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
)

func TestInspectRecognizesOurDatabase(t *testing.T) {
	t.Parallel()
	inspect := func(address string) schema.Contents {
		contents, err := schema.Inspect(t.Context(), address)
		require.NoError(t, err)
		return contents
	}
	ours := inspect(dbtest.URL(t))
	require.True(t, ours.IsOurs)
	require.Empty(t, ours.Others, "every migrated object is recognized")
	require.NoError(t, ours.Err())
	require.True(t, ours.IsSecured && ours.MayBind)
	require.False(t, ours.Clock.IsZero())

	address := dbtest.EmptyURL(t)
	require.False(t, inspect(address).IsOurs)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	do := func(statement string) {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	do("CREATE SCHEMA shop; CREATE TABLE shop.orders (); CREATE TABLE public.users ()")
	beside := inspect(address)
	require.Equal(t, []string{"public.users", "shop.orders"}, beside.Others)
	require.NoError(t, beside.Err())

	do("CREATE TABLE public.agents (name text)")
	const refused = "public.agents of another program"
	require.ErrorContains(t, inspect(address).Err(), refused)
	_, err = schema.NewMigrator(t.Context(), address)
	require.ErrorContains(t, err, refused)
	var written bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT to_regnamespace('migration') IS NOT NULL").Scan(&written))
	require.False(t, written, "nothing was created, not even the schema of migrations")
	do("DROP TABLE public.agents")
	require.NoError(t, newMigrator(t, address).Up(t.Context()))
	migrated := inspect(address)
	require.True(t, migrated.IsOurs)
	require.Equal(t, []string{"public.users", "shop.orders"}, migrated.Others)
}

func TestDatabaseOfAnotherEncodingIsRefused(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"LATIN1", "SQL_ASCII", "EUC_JP"} {
		address := dbtest.EmptyURLWith(t, "ENCODING '"+encoding+"' LOCALE 'C'")
		_, err := schema.NewMigrator(t.Context(), address)
		require.ErrorContains(t, err, "is "+encoding+", and agentgraph needs UTF8")
	}
}
