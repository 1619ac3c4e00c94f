package main

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// preparedURL returns the address of an empty database for a role that is not a superuser, but a member of the roles of
// row-level security. do runs a statement as a superuser, in which {role} and {base} stand for the names.
func preparedURL(t *testing.T) (address string, named *strings.Replacer, do func(string)) {
	t.Helper()
	dbtest.URL(t) // from this point on the roles exist
	address = dbtest.EmptyURL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	base := conn.Config().Database
	named = strings.NewReplacer("{role}", "role_"+base, "{base}", base)
	do = func(statement string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), named.Replace(statement))
		require.NoError(t, err, statement)
	}
	do("CREATE ROLE {role} LOGIN; GRANT agentgraph_gateway, agentgraph_program TO {role}")
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = url.User("role_" + base)
	return u.String(), named, do
}

// securedTables returns the number of tables with row-level security.
func securedTables(t *testing.T, address string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relrowsecurity").Scan(&n))
	return n
}

// The tables are in the first schema of the search path, and nobody needs a right to the schema public.
func TestTablesAreInTheFirstSchemaOfTheSearchPath(t *testing.T) {
	t.Parallel()
	address, _, do := preparedURL(t)
	do("GRANT CREATE ON DATABASE {base} TO {role}; REVOKE ALL ON SCHEMA public FROM PUBLIC")
	do(`CREATE SCHEMA "My App" AUTHORIZATION {role}; ALTER ROLE {role} IN DATABASE {base} SET search_path = "My App"`)
	for range 2 {
		o := ran(t, "migrate", "up", "--database-url", address)
		require.Zero(t, o.code, o.log)
	}
	require.Equal(t, securedTables(t, dbtest.URL(t)), securedTables(t, address))
	store := dbtest.Open(t, address, dbtest.Options())
	acme, _ := newCompany(t, store, "Acme")
	other, _ := newCompany(t, store, "Other")
	dbtest.Tests(t, acme, 2, 1)
	dbtest.Tests(t, other, 3, 1)
	file := filepath.Join(t.TempDir(), "acme.tar.gz")
	for _, args := range [][]string{{"export", "--company", "Acme", file},
		{"companies", "delete", "--company", "Acme", "--confirm", "Acme"}, {"import", file},
		{"doctor", "--listen", "127.0.0.1:0"}} {
		o := ran(t, append(args, "--database-url", address)...)
		require.Zero(t, o.code, "%s: %s", args, o.out+o.log)
		if args[0] == "doctor" {
			require.Regexp(t, `ok +row-level security +on\n`, o.out)
		}
	}
}

// A search path that row-level security could not use is refused before anything is migrated.
func TestUnusableSearchPathsAreRefused(t *testing.T) {
	t.Parallel()
	const path, own = "GRANT CREATE ON DATABASE {base} TO {role}; REVOKE ALL ON SCHEMA public FROM PUBLIC",
		`the search path names the schema "{role}" by "$user", which differs for the roles of row-level security`
	for name, c := range map[string]struct{ prepare, found, advice, mend string }{
		"no schema": {path, `the role "{role}" may use no schema of its search path, "$user", public`,
			`grant USAGE and CREATE on one of these schemas to "{role}"`,
			"ALTER SCHEMA public OWNER TO {role}; GRANT USAGE, CREATE ON SCHEMA public TO {role}"},
		"not the owner": {path + "; GRANT USAGE, CREATE ON SCHEMA public TO {role}",
			`the role "{role}" may not open its schemas to the roles of row-level security`,
			"GRANT USAGE ON SCHEMA public TO agentgraph_gateway, agentgraph_program",
			"GRANT USAGE ON SCHEMA public TO agentgraph_gateway, agentgraph_program"},
		"the role's own": {path + "; CREATE SCHEMA AUTHORIZATION {role}", own,
			`ALTER ROLE "{role}" IN DATABASE "{base}" SET search_path = "{role}", public`,
			`ALTER ROLE "{role}" IN DATABASE "{base}" SET search_path = "{role}", public`},
		"no right to create": {"", "", `GRANT CREATE ON DATABASE "{base}" TO "{role}"`,
			`GRANT CREATE ON DATABASE "{base}" TO "{role}"; GRANT CREATE ON SCHEMA public TO {role}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, named, do := preparedURL(t)
			do(c.prepare)
			o := ran(t, "migrate", "up", "--database-url", address)
			require.Equal(t, 1, o.code)
			require.Contains(t, o.log, named.Replace(c.found+"; "+c.advice))
			require.Zero(t, securedTables(t, address))
			if name != "not the owner" {
				o = ran(t, "doctor", "--listen", "127.0.0.1:0", "--database-url", address)
				require.Contains(t, o.out, named.Replace("→ "+c.advice))
			}
			do(c.mend)
			o = ran(t, "migrate", "up", "--database-url", address)
			require.Zero(t, o.code, o.log)
			require.Equal(t, securedTables(t, dbtest.URL(t)), securedTables(t, address))
		})
	}
}
