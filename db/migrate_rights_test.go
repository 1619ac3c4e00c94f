package db_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
)

// An error about a missing right names the role, the right and the next step.
func TestMigratorNamesTheRightThatTheRoleLacks(t *testing.T) {
	t.Parallel()
	migrate := func(address string) error {
		m, err := schema.NewMigrator(t.Context(), address)
		if err != nil {
			return err
		}
		defer func() { require.NoError(t, m.Close()) }()
		if _, err := m.Schema(t.Context()); err != nil {
			return err
		}
		return m.Up(t.Context())
	}
	empty := dbtest.EmptyURL(t)
	u, err := url.Parse(empty)
	require.NoError(t, err)
	base := strings.TrimPrefix(u.Path, "/")
	role := "lacking_" + base
	conn := connect(t, empty)
	_, err = conn.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	require.NoError(t, err)
	address := empty + "&user=" + role
	lacks := `the role "` + role + `" lacks a right: permission denied for `
	require.EqualError(t, migrate(address), "read migrations: "+lacks+"database "+base+`; GRANT CREATE ON DATABASE "`+base+
		`" TO "`+role+`"`)
	_, err = conn.Exec(t.Context(), "GRANT CREATE ON DATABASE "+base+" TO "+role)
	require.NoError(t, err)
	require.EqualError(t, migrate(address), "migrate up: 0001_agent_graph.sql: "+lacks+
		`schema public; GRANT USAGE, CREATE ON SCHEMA "public" TO "`+role+`"`)

	migrated := dbtest.URL(t)
	const owner = "; name the role that migrated the database in DATABASE_URL, because it owns the tables"
	require.EqualError(t, migrate(migrated+"&user="+role), "inspect the database: "+lacks+"schema migration"+owner)
	_, err = connect(t, migrated).Exec(t.Context(), "GRANT USAGE ON SCHEMA migration TO "+role)
	require.NoError(t, err)
	require.EqualError(t, migrate(migrated+"&user="+role), "read the schema's version: "+lacks+"table version"+owner)
}
