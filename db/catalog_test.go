package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/queue"
)

// rules must hold so that every table can be sharded by company, and rows of two companies cannot be linked. Each query
// returns the violations of its rule. Each shard has a full copy of two tables: companies, and the hashes by which
// imported keys find their companies.
var rules = map[string]string{
	"every table belongs to a company": `SELECT relname FROM tenant_table t WHERE NOT EXISTS (
		SELECT FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attname = 'company_id' AND a.attnotnull
			AND a.atttypid = 'text'::regtype)`,
	"the primary key begins with the company": `SELECT relname FROM tenant_table t WHERE NOT EXISTS (
		SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = t.oid AND i.indisprimary AND a.attname = 'company_id' AND i.indnkeyatts > 1)`,
	"every index begins with the company, unless it finds rows by the hash of their id": `SELECT i.indexrelid::regclass::text
		FROM tenant_table t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_attribute a ON a.attrelid = t.oid
			AND a.attnum = i.indkey[0]
		JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
		WHERE a.attname <> 'company_id' AND NOT (m.amname = 'hash' AND a.attname = 'id' AND i.indpred IS NULL)`,
	"a reference between tables of companies maps company to company": `SELECT c.conname FROM pg_constraint c
		JOIN tenant_table t ON t.oid = c.conrelid JOIN tenant_table r ON r.oid = c.confrelid WHERE c.contype = 'f'
			AND NOT EXISTS (
			SELECT FROM generate_subscripts(c.conkey, 1) AS i
			JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[i] AND a.attname = 'company_id'
			JOIN pg_attribute b ON b.attrelid = r.oid AND b.attnum = c.confkey[i] AND b.attname = 'company_id')`,
	"a reference to companies is the company": `SELECT c.conname FROM pg_constraint c
		JOIN tenant_table t ON t.oid = c.conrelid
		JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[1]
		WHERE c.contype = 'f' AND c.confrelid = 'companies'::regclass AND (a.attname <> 'company_id'
			OR cardinality(c.conkey) > 1)`,
	"deleting a company deletes its rows": `SELECT relname FROM tenant_table t WHERE NOT EXISTS (
		SELECT FROM pg_constraint c WHERE c.conrelid = t.oid AND c.contype = 'f' AND c.confdeltype = 'c')`,
	"references restrict or cascade": `SELECT conname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
		WHERE t.relnamespace = 'public'::regnamespace AND c.contype = 'f' AND (c.confdeltype NOT IN ('a', 'r', 'c')
			OR c.confupdtype NOT IN ('a', 'r'))`,
	"there are no triggers and no rules": `SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT rulename FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class
			WHERE c.relnamespace = 'public'::regnamespace`,
	"ids and times are made by the program": `SELECT format('%s.%s', attrelid::regclass, attname) FROM pg_attribute a
		JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
		LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE a.attnum > 0 AND (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) !~ '^([0-9]+|''[^'']*''::text)$')`,
	"there are only tables and indexes": `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
		AND relkind NOT IN ('r', 'i')
		UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
			AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid
				AND deptype = 'e')`,
	"row-level security separates companies": `SELECT relname FROM pg_class t WHERE relkind IN ('r', 'p')
		AND relnamespace = 'public'::regnamespace
		AND (relname = 'companies' OR EXISTS (SELECT FROM pg_attribute WHERE attrelid = t.oid AND attname = 'company_id'))
		AND NOT (relrowsecurity AND relforcerowsecurity
			AND (SELECT array_agg(polname::text ORDER BY polname) FROM pg_policy WHERE polrelid = t.oid) = '{company,program}')`,
	"the gateway's role owns nothing, and every policy applies to it": `SELECT relname FROM pg_class
		WHERE relowner = 'agentgraph_gateway'::regrole
		UNION ALL SELECT rolname FROM pg_roles WHERE rolname = 'agentgraph_gateway' AND (rolsuper OR rolbypassrls
			OR rolcanlogin OR rolcreaterole OR rolcreatedb)
		UNION ALL SELECT rolname FROM pg_auth_members JOIN pg_roles ON pg_roles.oid = roleid
			WHERE member = 'agentgraph_gateway'::regrole
		UNION ALL SELECT polrelid::regclass::text FROM pg_policy WHERE polname = 'company'
			AND pg_get_expr(polqual, polrelid) !~
				'^\((company_id|id) = \( SELECT current_setting\(''agentgraph.company''::text, true\) AS current_setting\)\)$'`,
	// Since version 18, Postgres also names NOT NULL constraints. The generated names differ for each shard.
	"names leave room for a shard's number": `SELECT name FROM (
			SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
			UNION ALL SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n') AS names
				WHERE length(name) > 54`,
}

func TestCatalogRules(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	// River's tables belong to no company and follow River's own rules.
	pool, err := pgxpool.New(t.Context(), address)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, queue.Unmigrate(t.Context(), pool))

	conn := connect(t, address)
	_, err = conn.Exec(t.Context(), `CREATE TEMPORARY VIEW tenant_table AS SELECT oid, relname::text FROM pg_class
		WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND relname NOT IN ('companies',
			'imported_key_hashes')`)
	require.NoError(t, err)
	broken := func(rule string) []string {
		rows, err := conn.Query(t.Context(), rules[rule])
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, rule)
		return names
	}
	for rule := range rules {
		require.Empty(t, broken(rule), rule)
	}

	// Each rule finds a violation that the test creates.
	for _, statement := range []string{
		"CREATE TABLE strays (id serial PRIMARY KEY, company_id text REFERENCES companies ON DELETE SET NULL, agent_id text)",
		"ALTER TABLE strays ADD UNIQUE (agent_id)",
		"CREATE FUNCTION stray() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
		"CREATE TRIGGER stray BEFORE INSERT ON strays FOR EACH ROW EXECUTE FUNCTION stray()",
		"ALTER TABLE tools ADD COLUMN owner text REFERENCES companies",
		"CREATE TABLE likes (company_id text NOT NULL, id text NOT NULL, company text, agent_id text, PRIMARY KEY " +
			"(company_id, id), FOREIGN KEY (company, agent_id) REFERENCES agents (company_id, id))",
		"ALTER TABLE likes OWNER TO agentgraph_gateway",
		"CREATE INDEX a_name_that_is_longer_than_what_shards_leave_room_for_in_all ON agents (company_id, name)",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	for rule := range rules {
		require.NotEmpty(t, broken(rule), rule)
	}
}
