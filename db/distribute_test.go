package db_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// citus imitates Citus. It has the columns of Citus's catalog and refuses the statements that Citus refuses, but it
// distributes nothing.
const citus = `CREATE SCHEMA citus;
	CREATE TABLE citus.pg_dist_partition (logicalrelid regclass PRIMARY KEY, partmethod "char" NOT NULL, partkey text,
		colocationid int NOT NULL DEFAULT 0, repmodel "char" NOT NULL, autoconverted bool NOT NULL DEFAULT false);
	CREATE TABLE citus.nodes (node_name text, node_port bigint, extensions text);
	CREATE FUNCTION citus.citus_get_active_worker_nodes(OUT node_name text, OUT node_port bigint) RETURNS SETOF record
		LANGUAGE sql AS 'SELECT node_name, node_port FROM citus.nodes';
	CREATE FUNCTION citus.run_command_on_workers(command text) RETURNS TABLE (nodename text, nodeport int, success bool,
		result text) LANGUAGE sql AS $$ SELECT node_name, node_port::int, true, extensions FROM citus.nodes $$;
	CREATE FUNCTION citus.manage(what regclass, method "char", model "char", colocation int) RETURNS void
		LANGUAGE plpgsql AS $$ BEGIN
		IF current_query() LIKE '%;%' THEN RAISE 'cannot insert multiple commands into a prepared statement'; END IF;
		IF EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = what) THEN RAISE 'cannot create policy'; END IF;
		IF EXISTS (SELECT 1 FROM citus.pg_dist_partition WHERE logicalrelid = what
			AND (partmethod <> 'n' OR repmodel <> 's')) THEN
			RAISE '% is already distributed', what; END IF;
		DELETE FROM citus.pg_dist_partition WHERE logicalrelid = what;
		INSERT INTO citus.pg_dist_partition VALUES (what, method, NULL, colocation, model);
	END $$;
	CREATE FUNCTION citus.create_reference_table(what regclass) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
		PERFORM citus.manage(what, 'n', 't', 1);
		IF EXISTS (SELECT 1 FROM pg_constraint WHERE contype = 'f' AND conrelid = what
			AND confrelid NOT IN (SELECT logicalrelid FROM citus.pg_dist_partition WHERE repmodel = 't'))
				THEN RAISE '% refers to a local table', what; END IF;
		IF current_setting('citus.enable_local_reference_table_foreign_keys', true) IS DISTINCT FROM 'off' THEN
			PERFORM citus.manage(conrelid, 'n', 's', 0) FROM (SELECT DISTINCT conrelid FROM pg_constraint
				WHERE contype = 'f' AND confrelid = what) AS referring;
		END IF;
	END $$;
	CREATE FUNCTION citus.create_distributed_table(what regclass, distribution_column text,
		distribution_type text DEFAULT 'hash',
		colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE place int2; f pg_constraint; BEGIN
		IF current_setting('citus.multi_shard_modify_mode', true) IS DISTINCT FROM 'sequential' THEN
			RAISE 'cannot execute parallel DDL on a relation after a reference table was changed'; END IF;
		SELECT attnum INTO STRICT place FROM pg_attribute WHERE attrelid = what AND attname = distribution_column;
		IF colocate_with <> 'none' THEN
			IF shard_count IS NOT NULL THEN RAISE 'cannot specify shard_count with colocate_with'; END IF;
			SELECT colocationid INTO STRICT shard_count FROM citus.pg_dist_partition
				WHERE logicalrelid = colocate_with::regclass AND partmethod = 'h';
		END IF;
		IF EXISTS (SELECT 1 FROM pg_index WHERE indrelid = what AND indisunique AND NOT place = ANY (indkey::int2[])) THEN
			RAISE '% has a unique index without the distribution column', what; END IF;
		FOR f IN SELECT * FROM pg_constraint WHERE contype = 'f' AND conrelid = what LOOP
			CONTINUE WHEN EXISTS (SELECT 1 FROM citus.pg_dist_partition WHERE logicalrelid = f.confrelid AND repmodel = 't');
			IF f.confrelid <> what AND NOT EXISTS (SELECT 1 FROM citus.pg_dist_partition WHERE logicalrelid = f.confrelid
				AND colocationid = shard_count) THEN
				RAISE '% refers to the local table %', what, f.confrelid::regclass; END IF;
			IF NOT EXISTS (SELECT 1 FROM generate_subscripts(f.conkey, 1) AS i JOIN pg_attribute ON attrelid = f.confrelid
				AND attnum = f.confkey[i]
				WHERE f.conkey[i] = place AND attname = distribution_column) THEN RAISE
					'% has a reference without the distribution column', what; END IF;
		END LOOP;
		PERFORM citus.manage(what, 'h', 's', shard_count);
	END $$;`

func constraints(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1`)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

func TestTablesAreDistributed(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	migrator, conn := newMigrator(t, address), connect(t, address)
	execute := func(statement string) {
		_, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	}
	said := []string{}
	say := func(what string) { said = append(said, what) }
	require.ErrorContains(t, migrator.Distribute(ctx, 32, say), "the database has no Citus")
	require.ErrorContains(t, migrator.Distribute(ctx, 0, say), "--shards must be between 1 and 1024, not 0")

	d, err := migrator.Distribution(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"companies", "imported_key_hashes"}, d.Reference)
	sharded, circles := []string{}, 0
	for _, step := range d.Steps {
		sharded = append(sharded, step.Tables...)
		if len(step.Cut) > 0 {
			circles++
			require.Equal(t, []string{"agent_tests", "agent_test_runs"}, step.Tables)
			require.Equal(t, "agent_tests_company_id_last_run_id_fkey", step.Cut[0].Name)
		}
	}
	require.Equal(t, 1, circles)
	for table := range securedTables(t, conn) {
		require.True(t, slices.Contains(sharded, table) != slices.Contains(d.Reference, table), table)
	}
	require.Contains(t, d.Local, "river_job")

	execute(citus)
	execute("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, citus', current_database()); END $$")
	migrator, conn = newMigrator(t, address), connect(t, address)
	require.ErrorContains(t, migrator.Distribute(ctx, 32, say), "no worker nodes")
	execute("INSERT INTO citus.nodes VALUES ('one', 5432, '1'), ('two', 5432, '0')")
	dbtest.UseArrayVectors(t, address)
	execute("CREATE DOMAIN citus.vector AS text; ALTER TABLE chunk_vectors ALTER COLUMN embedding TYPE citus.vector")
	require.ErrorContains(t, migrator.Distribute(ctx, 32, say), "the node two:5432 does not have")
	execute("UPDATE citus.nodes SET extensions = '1'")
	require.Empty(t, said, "nothing is done until all requirements are met")

	// The first attempt is interrupted in the middle.
	before := constraints(t, conn)
	for i, constraint := range before { // Citus does not send SET CONSTRAINTS to the shards
		before[i] = regexp.MustCompile(` DEFERRABLE( NOT VALID)?$`).ReplaceAllString(constraint,
			" DEFERRABLE INITIALLY DEFERRED$1")
	}
	execute("ALTER TABLE citus.pg_dist_partition ADD CONSTRAINT away CHECK (logicalrelid <> 'agent_test_runs'::regclass)")
	require.Error(t, migrator.Distribute(ctx, 32, say))
	require.Equal(t, before, constraints(t, conn))
	execute("ALTER TABLE citus.pg_dist_partition DROP CONSTRAINT away")
	// Citus also lists local tables that it manages because of a foreign key.
	execute("INSERT INTO citus.pg_dist_partition VALUES ('webhooks', 'n', NULL, 0, 's', true)")
	started := len(said)
	require.Positive(t, started)
	local, err := migrator.LocalTables(ctx)
	require.NoError(t, err)
	require.Subset(t, local, []string{"agent_test_runs", "webhooks"})
	require.NoError(t, migrator.Distribute(ctx, 32, say))
	require.Len(t, said, len(d.Steps)+len(d.Reference), "finished steps are not repeated")
	require.Equal(t, before, constraints(t, conn))
	rest := said
	require.NoError(t, migrator.Distribute(ctx, 32, say))
	require.Equal(t, rest, said)

	// The program works with distributed tables. It reports a table of a later version that is not distributed.
	execute("ALTER TABLE chunk_vectors ALTER COLUMN embedding TYPE real[] USING embedding::real[]; DROP DOMAIN " +
		"citus.vector")
	require.NoError(t, migrator.Up(ctx))
	execute("CREATE TABLE later (company_id text NOT NULL REFERENCES companies (id) ON DELETE CASCADE, id text, PRIMARY " +
		"KEY (company_id, id))")
	store := dbtest.Open(t, address, db.Options{})
	require.Equal(t, []string{`tables that are not distributed: later; run "agentgraph distribute"`}, store.Warnings(ctx))
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	other, _ := newCompany(t, store)
	newAgent(t, other)
	found, err := tenant.Agents(ctx, model.PageArgs{First: 10}, &model.AgentFilter{NameContains: &agent.Name})
	require.NoError(t, err)
	require.Len(t, found.Nodes, 1, "searches see their own company")
}
