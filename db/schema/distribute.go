package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/jackc/pgx/v5"
)

// MaxShards is the maximum number of shards of a table.
const MaxShards = 1024

// distributionLock is the key of the advisory lock for distributing tables.
const distributionLock = 0x73686172

// Distribute distributes the tables in a Citus cluster according to their Distribution, with the given number of shards
// each, and calls the function report with each step. It skips tables that are distributed already, so it can be
// repeated after an interruption, or after a migration that creates a table. Row-level security and its roles do not
// work for shards. Distribute turns it off for all tables, so that only the program separates the companies.
func (m *Migrator) Distribute(ctx context.Context, shards int, report func(string)) error {
	if shards < 1 || shards > MaxShards {
		return fmt.Errorf("--shards must be between 1 and %d, not %d", MaxShards, shards)
	}
	schema, err := m.Schema(ctx)
	if err != nil {
		return err
	}
	if err := schema.Err(); err != nil {
		return err
	}
	if err := errors.Join(pg.CheckSessions(ctx, m.pool, m.pool), m.checkCluster(ctx)); err != nil {
		return err
	}
	d, err := m.Distribution(ctx)
	if err != nil {
		return err
	}
	conn, err := m.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", distributionLock); err != nil {
		return err
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", distributionLock)
	}()
	done, err := pg.Distributed(ctx, conn)
	if err != nil {
		return err
	}
	left := d.undistributed(done)
	if len(left) == 0 {
		return nil
	}
	deferring, err := deferReferences(ctx, conn, left)
	if err != nil {
		return err
	}
	if err := runEach(ctx, conn.Conn(), slices.Concat(unsecure(left), deferring, []string{dropViews})...); err != nil {
		return fmt.Errorf("distribute: %w", err)
	}
	if d, err = m.Distribution(ctx); err != nil {
		return err
	}
	err = d.carryOut(ctx, conn.Conn(), done, shards, report)
	return errors.Join(err, m.secureRows(ctx))
}

// carryOut distributes the remaining tables, one step at a time.
func (d Distribution) carryOut(ctx context.Context, conn *pgx.Conn, done []string, shards int, say func(string)) error {
	for _, table := range d.Reference {
		if slices.Contains(done, table) {
			continue
		}
		if err := runEach(ctx, conn, fmt.Sprintf("SELECT create_reference_table('%s')", table)); err != nil {
			return fmt.Errorf("distribute %s: %w", table, err)
		}
		say(table + " is on every node")
	}
	for _, step := range d.Steps {
		statements := []string{}
		for _, table := range step.Tables {
			if slices.Contains(done, table) {
				continue
			}
			how := fmt.Sprintf("colocate_with => '%s'", d.Steps[0].Tables[0])
			if table == d.Steps[0].Tables[0] {
				how = fmt.Sprintf("colocate_with => 'none', shard_count => %d", shards)
			}
			statements = append(statements, fmt.Sprintf("SELECT create_distributed_table('%s', 'company_id', %s)", table, how))
		}
		if len(statements) == 0 {
			continue
		}
		if err := runEach(ctx, conn, step.withCutReferences(statements)...); err != nil {
			return fmt.Errorf("distribute %s: %w", strings.Join(step.Tables, ", "), err)
		}
		say(strings.Join(step.Tables, ", ") + " sharded by company")
	}
	return nil
}

// withCutReferences returns statements that drop the references in Cut, then the given statements, then statements that
// create the references again.
func (s DistributionStep) withCutReferences(statements []string) []string {
	all := []string{}
	for _, c := range s.Cut {
		all = append(all, fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT "%s"`, c.Table, c.Name))
	}
	all = append(all, statements...)
	for _, c := range s.Cut {
		all = append(all, fmt.Sprintf(`ALTER TABLE %s ADD CONSTRAINT "%s" %s`, c.Table, c.Name, c.Definition))
	}
	return all
}

// unsecure returns the statements that remove row-level security from tables. Citus refuses to distribute a table with
// policies. It also refuses a reference table while a table that is connected with it has policies.
func unsecure(tables []string) (statements []string) {
	for _, table := range tables {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY", table),
			fmt.Sprintf("DROP POLICY IF EXISTS company ON %s", table),
			fmt.Sprintf("DROP POLICY IF EXISTS program ON %s", table))
	}
	return statements
}

// deferReferences returns the statements after which deferrable references of the tables are checked at the end of a
// transaction. Imports need that, and Citus does not send SET CONSTRAINTS to the nodes with the shards.
func deferReferences(ctx context.Context, db pg.Querier, tables []string) ([]string, error) {
	rows, err := db.Query(ctx, `SELECT format('ALTER TABLE %s ALTER CONSTRAINT %I DEFERRABLE INITIALLY DEFERRED',
			conrelid::regclass, conname) FROM pg_constraint
		WHERE contype = 'f' AND condeferrable AND NOT condeferred AND conrelid = ANY ($1::regclass[])`, tables)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// settings are the settings of Citus for the transactions of Distribute. Without the first one, a reference table makes
// Citus manage all local tables that refer to it, and it then rejects their references to sharded tables. The second
// one is needed because sharded tables refer to reference tables.
var settings = []string{
	"SET LOCAL citus.enable_local_reference_table_foreign_keys = off",
	"SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
}

// runEach runs the statements in one transaction. It sends them one at a time, because Citus sends the text that it
// received to other nodes, which accept one statement at a time.
func runEach(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, statement := range slices.Concat(settings, statements) {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkCluster returns an error of one sentence if the cluster lacks something, before any change.
func (m *Migrator) checkCluster(ctx context.Context) error {
	var isThere, hasVectors bool
	err := m.pool.QueryRow(ctx, `SELECT to_regproc('create_distributed_table') IS NOT NULL,
		EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('chunk_vectors') AND attname = 'embedding'
			AND atttypid <> 'real[]'::regtype)`).Scan(&isThere, &hasVectors)
	if err != nil {
		return fmt.Errorf("look for Citus: %w", err)
	}
	if !isThere {
		return errors.New("the database has no Citus: install it on every node, and run CREATE EXTENSION citus here; " +
			"nothing was done")
	}
	var nodes int
	if err := m.pool.QueryRow(ctx, "SELECT count(*) FROM citus_get_active_worker_nodes()").Scan(&nodes); err != nil {
		return fmt.Errorf("look for nodes: %w", err)
	}
	if nodes == 0 {
		return errors.New("the cluster has no worker nodes: add them with citus_add_node; nothing was done")
	}
	if !hasVectors {
		return nil
	}
	without, err := pg.ReadStructs[struct{ Node string }](ctx, m.pool, `SELECT format('%s:%s', nodename, nodeport) AS node
		FROM run_command_on_workers('SELECT count(*) FROM pg_available_extensions WHERE name = ''vector''') WHERE NOT success
			OR result <> '1' ORDER BY 1`)
	if err != nil {
		return fmt.Errorf("look for pgvector: %w", err)
	}
	if len(without) > 0 {
		return fmt.Errorf("vectors are stored with pgvector, which the node %s does not have: install it there; nothing "+
			"was done",
			without[0].Node)
	}
	return nil
}
