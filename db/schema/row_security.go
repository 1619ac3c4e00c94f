package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/jackc/pgx/v5"
)

// roleLock is the key of the advisory lock for turning on row-level security.
const roleLock = 0x726f7773

// ownCompany is a scalar subquery, so that each statement reads the setting once. Postgres compares it once with the
// company that a statement names, instead of with each row.
const ownCompany = "(SELECT current_setting('agentgraph.company', true))"

// The names of the views.
const (
	AgentsView        = "company.agents"
	CampaignItemsView = "company.campaign_items"
	ChunksView        = "company.chunks"
	DocumentsView     = "company.documents"
)

// views are read by searches. With row-level security, Postgres uses an index before the policy only for leakproof
// operators. The operators of full-text search, arrays and JSON are not leakproof. The views have the company in their
// condition instead. They have all or some columns of the table.
var views = []struct{ table, columns string }{
	{"agents", "*"},
	{"campaign_items", "*"},
	{"chunks", "company_id, id, dataset_id, document_id, position, search"},
	{"documents", "*"},
}

// dropViews drops the views that searches read, so that their tables can be changed.
const dropViews = "DROP SCHEMA IF EXISTS company CASCADE"

// secureRows turns on row-level security for every table with a company, so that a statement without the company's
// condition sees no rows of other companies. It adds only what is missing. If the user may not create the roles, or if
// tables are sharded, it changes only the views. If the schema is so old that a table of the views does not exist, it
// stops at that view.
func (m *Migrator) secureRows(ctx context.Context) error {
	return m.withRoleLock(ctx, func(conn *pgx.Conn, isSharded bool) error {
		within := "WHERE company_id = " + ownCompany
		if isSharded {
			within = "" // shards do not know the session's setting
		}
		for _, view := range views {
			if isThere, err := makeView(ctx, conn, view.table, view.columns, within); err != nil {
				return fmt.Errorf("make a view of %s: %w", view.table, err)
			} else if !isThere {
				return nil // the schema is older than the table
			}
		}
		if isSharded {
			return nil
		}
		hasRoles, err := makeRoles(ctx, conn)
		if err != nil || !hasRoles {
			return err
		}
		for _, missing := range []string{missingRights, missingPolicies} {
			if err := runAll(ctx, conn, missing); err != nil {
				return fmt.Errorf("secure rows: %w", err)
			}
		}
		return nil
	})
}

// withRoleLock calls fn with a connection that has the lock for turning on row-level security, and with whether tables
// are sharded.
func (m *Migrator) withRoleLock(ctx context.Context, fn func(conn *pgx.Conn, isSharded bool) error) error {
	conn, err := m.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", roleLock); err != nil {
		return err
	}
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", roleLock) }()
	sharded, err := pg.Distributed(ctx, conn)
	if err != nil {
		return err
	}
	return fn(conn.Conn(), len(sharded) > 0)
}

// openSchemas lets the roles of row-level security use the schemas of the search path. It returns a RightError if the
// user may not grant that, because the roles would then find no tables, or no types of extensions.
func (m *Migrator) openSchemas(ctx context.Context) error {
	return m.withRoleLock(ctx, func(conn *pgx.Conn, isSharded bool) error {
		if isSharded {
			return nil
		}
		if hasRoles, err := makeRoles(ctx, conn); err != nil || !hasRoles {
			return err
		}
		if err := runAll(ctx, conn, missingUsage); err != nil && pg.SQLState(err) != "42501" {
			return err
		}
		rows, err := conn.Query(ctx, missingUsage)
		if err != nil {
			return err
		}
		grants, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(grants) == 0 {
			return err
		}
		return &RightError{Found: fmt.Sprintf("the role %q may not open its schemas to the roles of row-level security",
			m.pool.Config().ConnConfig.User), Advice: strings.Join(grants, "; ")}
	})
}

// makeView creates a missing view of a table. It replaces a view of all columns if the table has other columns now. It
// reports whether the table exists. It grants the rights to the view in the same transaction, because replicas are
// already searching with it.
func makeView(ctx context.Context, conn *pgx.Conn, table, columns, within string) (isThere bool, err error) {
	var isComplete bool
	err = conn.QueryRow(ctx,
		`SELECT to_regclass($1) IS NOT NULL, to_regclass('company.' || $1) IS NOT NULL AND ($2 <> '*' OR
		(SELECT array_agg(attname ORDER BY attname) FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0
			AND NOT attisdropped) =
		(SELECT array_agg(attname ORDER BY attname) FROM pg_attribute WHERE attrelid = to_regclass('company.' || $1)
			AND attnum > 0))`, table, columns).Scan(&isThere, &isComplete)
	if err != nil || !isThere || isComplete {
		return isThere, err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`CREATE SCHEMA IF NOT EXISTS company; DROP VIEW IF EXISTS company.%[1]s;
		CREATE VIEW company.%[1]s AS SELECT %[2]s FROM %[1]s %[3]s;
		DO $$ BEGIN
			IF to_regrole('%[4]s') IS NOT NULL AND to_regrole('%[5]s') IS NOT NULL THEN
				GRANT SELECT ON company.%[1]s TO %[4]s, %[5]s;
			END IF;
		END $$`, table, columns, within, pg.GatewayRole, pg.ProgramRole))
	return true, err
}

// makeRoles creates the missing roles and makes the user their member. It reports whether the user is a member of all.
// Other processes may be creating them for other databases.
func makeRoles(ctx context.Context, conn *pgx.Conn) (hasRoles bool, err error) {
	for _, role := range []string{pg.GatewayRole, pg.ProgramRole} {
		for range 5 {
			var exists, isMember bool
			if err := conn.QueryRow(ctx,
				`SELECT to_regrole($1) IS NOT NULL, coalesce(pg_has_role(to_regrole($1), 'USAGE'), false)`, role).
				Scan(&exists, &isMember); err != nil {
				return false, err
			}
			if hasRoles = exists && isMember; hasRoles {
				break
			}
			statement := "GRANT " + role + " TO CURRENT_USER"
			if !exists {
				statement = "CREATE ROLE " + role + " NOLOGIN"
			}
			if _, err := conn.Exec(ctx, statement); err != nil && !isPostgresError(err) {
				return false, err
			}
		}
		if !hasRoles {
			return false, nil
		}
	}
	return true, nil
}

// ownTables selects the tables of the database that the user can change.
const ownTables = `FROM pg_class AS t WHERE t.relkind IN ('r', 'p') AND t.relnamespace = ` + pg.OwnSchema + `
	AND pg_has_role(t.relowner, 'USAGE')`

// neededCondition is true if a role needs a right to a table. The gateway's role needs no rights to River's tables,
// except to river_job, because they have no company.
const neededCondition = `(role <> '` + pg.GatewayRole +
	`' OR relname NOT LIKE 'river\_%' OR relname = 'river_job' AND right_to <> 'DELETE')`

// missingUsage selects the statements that grant the missing rights to the schemas of the search path.
const missingUsage = `SELECT format('GRANT USAGE ON SCHEMA %I TO %s', name, string_agg(role, ', '))
	FROM unnest(current_schemas(false)) AS name, unnest(ARRAY['` + pg.GatewayRole + `', '` + pg.ProgramRole + `']) AS role
	WHERE NOT has_schema_privilege(role, name::text, 'USAGE') GROUP BY name ORDER BY name`

// missingRights selects the statements that grant missing rights and revoke unnecessary ones.
const missingRights = `SELECT format('GRANT USAGE ON SCHEMA company TO %1$I; GRANT SELECT ON ALL TABLES IN SCHEMA company TO %1$I', role)
		FROM unnest(ARRAY['` + pg.GatewayRole + `', '` + pg.ProgramRole + `']) AS role
		WHERE NOT has_schema_privilege(role, 'company', 'USAGE')
			OR EXISTS (SELECT 1 FROM pg_class AS v WHERE v.relnamespace = 'company'::regnamespace
				AND NOT has_table_privilege(role, v.oid, 'SELECT'))
	UNION ALL SELECT format(CASE WHEN is_needed THEN 'GRANT %s ON %s TO %I' ELSE 'REVOKE %s ON %s FROM %I' END,
		string_agg(right_to, ', '), oid::regclass, role)
		FROM (SELECT oid, role, right_to, ` + neededCondition + ` AS is_needed
			FROM (SELECT t.oid, t.relname ` + ownTables + `) AS tables,
				unnest(ARRAY['` + pg.GatewayRole + `', '` + pg.ProgramRole + `']) AS role, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS right_to) AS rights
		WHERE has_table_privilege(role, oid, right_to) <> is_needed GROUP BY oid, role, is_needed
	UNION ALL SELECT format('GRANT USAGE ON SEQUENCE %s TO %I', oid::regclass, role)
		FROM pg_class, unnest(ARRAY['` + pg.GatewayRole + `', '` + pg.ProgramRole + `']) AS role
		WHERE relkind = 'S' AND relnamespace = ` + pg.OwnSchema + ` AND pg_has_role(relowner, 'USAGE')
			AND NOT has_sequence_privilege(role, oid, 'USAGE')`

// missingPolicies selects a statement for each table of companies that is not secured yet: companies itself, and tables
// with a company_id.
const missingPolicies = `SELECT format('ALTER TABLE %1$s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
		DROP POLICY IF EXISTS company ON %1$s; DROP POLICY IF EXISTS program ON %1$s;
		CREATE POLICY company ON %1$s USING (%2$I = ` + quotedOwnCompany + `) WITH CHECK (%2$I = ` + quotedOwnCompany + `);
		CREATE POLICY program ON %1$s TO ` + pg.ProgramRole + ` USING (true) WITH CHECK (true)', oid::regclass, "column")
	FROM (SELECT t.oid, t.relrowsecurity AND t.relforcerowsecurity AS is_secured,
			CASE t.oid WHEN to_regclass('companies') THEN 'id' ELSE 'company_id' END AS "column" ` + ownTables + `) AS tables
	WHERE EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = oid AND attname = "column" AND NOT attisdropped)
		AND NOT (is_secured AND (SELECT count(*) FROM pg_policy WHERE polrelid = oid AND polname IN ('company',
			'program')) = 2)
	ORDER BY oid`

// quotedOwnCompany is ownCompany inside a literal.
const quotedOwnCompany = "(SELECT current_setting(''agentgraph.company'', true))"

// runAll runs the statements that a query selects, up to the first failure. Each has its own transaction, so that it
// locks one table at a time. They are sent in one round trip.
func runAll(ctx context.Context, conn *pgx.Conn, query string) error {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(statements) == 0 {
		return err
	}
	if _, err = conn.Exec(ctx, "BEGIN; "+strings.Join(statements, "; COMMIT; BEGIN; ")+"; COMMIT"); err != nil {
		_, failed := conn.Exec(ctx, "ROLLBACK")
		return errors.Join(err, failed)
	}
	return nil
}
