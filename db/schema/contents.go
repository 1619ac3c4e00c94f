package schema

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/db/migrations"
)

// Contents describes a database before the program writes to it.
type Contents struct {
	// Database is the name of the database, and User the name of the connected user. Server is the version of Postgres.
	Database, User, Server string
	// encoding is how the server stores text. The program needs utf8.
	encoding string
	// schema is the first schema of the search path that the user may use, for the program's tables. It is empty if there
	// is none. searchPath is the path itself.
	schema, searchPath string
	// IsReadOnly is set if the server is a standby or accepts only transactions that read.
	IsReadOnly bool
	// IsOurs is set if the program has migrated the database before.
	IsOurs bool
	// IsSecured is set if row-level security separates the companies, and MayBind if the user is a member of its roles.
	IsSecured, MayBind bool
	// MayCreate is set if the user may create the schemas migration and company, or both exist.
	MayCreate bool
	// Clock is the server's time.
	Clock time.Time
	// FoldsCase is set if lower() of the database's locale works for É and for I, which Turkish has as the capital of ı.
	FoldsCase bool
	// MaxConnections is how many connections the server allows to users who are not superusers.
	MaxConnections int
	// Others lists the tables and views of other programs, by name, without the tables and views of extensions.
	Others []string
	// conflicts lists the names in Others that the program needs for its own tables.
	conflicts []string
}

const utf8 = "UTF8"

// Err returns an error if the database has another encoding than UTF8, or if the program's tables would conflict with
// existing ones. It returns a RightError if the search path has no schema for them.
func (c Contents) Err() error {
	user, base := pgx.Identifier{c.User}.Sanitize(), pgx.Identifier{c.Database}.Sanitize()
	switch {
	case c.encoding != utf8:
		return fmt.Errorf("the encoding of the database %s is %s, and agentgraph needs %s: use a database that was created "+
			"with ENCODING '%[3]s' TEMPLATE template0", c.Database, c.encoding, utf8)
	case c.schema == "":
		return &RightError{Found: fmt.Sprintf("the role %q may use no schema of its search path, %s", c.User, c.searchPath),
			Advice: "grant USAGE and CREATE on one of these schemas to " + user}
	case c.schema == c.User && strings.Contains(c.searchPath, `"$user"`):
		return &RightError{Found: fmt.Sprintf("the search path names the schema %q by \"$user\", which differs for the "+
			"roles of row-level security", c.schema),
			Advice: fmt.Sprintf("ALTER ROLE %s IN DATABASE %s SET search_path = %[1]s, public", user, base)}
	}
	if len(c.conflicts) == 0 {
		return nil
	}
	return fmt.Errorf("the database %s contains %s of another program, and agentgraph needs these names. Nothing was "+
		"written. Use a separate database",
		c.Database, strings.Join(c.conflicts, ", "))
}

// Inspect returns the contents of the database at the address. It only reads.
func Inspect(ctx context.Context, address string) (c Contents, err error) {
	err = withConnection(ctx, address, func(conn *pgx.Conn) (err error) {
		c, err = inspect(ctx, conn.Config().User, conn)
		return err
	})
	return c, err
}

// CheckSame returns an error unless both addresses lead to the same database.
func CheckSame(ctx context.Context, address, sessionAddress string) error {
	var places [2]string
	for i, each := range []string{address, sessionAddress} {
		err := withConnection(ctx, each, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, pg.Place).Scan(&places[i])
		})
		if err != nil {
			return err
		}
	}
	if places[0] != places[1] {
		return pg.ErrElsewhere
	}
	return nil
}

func withConnection(ctx context.Context, address string, do func(*pgx.Conn) error) error {
	config, err := pgx.ParseConfig(address)
	if err != nil || strings.Contains(config.Database, "@") { // a password with a slash ends up in Database
		return pg.InvalidAddress(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("open database: %w", pg.Reason(explainRights(config.User, err)))
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return do(conn)
}

// inspect reads the contents as the role. The database is the program's if it has goose's table of versions.
func inspect(ctx context.Context, role string, conn interface {
	QueryRow(ctx context.Context, statement string, args ...any) pgx.Row
}) (Contents, error) {
	var c Contents
	err := conn.QueryRow(ctx, `
		SELECT current_database(), current_user, current_setting('server_version'),
			current_setting('server_encoding'),
			current_setting('transaction_read_only')::bool, coalesce(current_schema(), ''), current_setting('search_path'),
			has_database_privilege(current_database(), 'CREATE')
				OR to_regnamespace('migration') IS NOT NULL AND to_regnamespace('company') IS NOT NULL,
			coalesce((SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass('companies')), false),
			coalesce(pg_has_role(to_regrole($1), 'USAGE') AND pg_has_role(to_regrole($2), 'USAGE'), false), clock_timestamp(),
			current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
			EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('migration.version') AND attname = 'version_id'),
			coalesce((
				SELECT array_agg(format('%s.%s', nspname, relname) ORDER BY nspname, relname)
				FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
				WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema')
				AND nspname !~ '^pg_(toast|temp)'
				AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid
					AND deptype = 'e')
			), '{}')`, pg.GatewayRole, pg.ProgramRole,
	).Scan(&c.Database, &c.User, &c.Server, &c.encoding, &c.IsReadOnly, &c.schema, &c.searchPath, &c.MayCreate,
		&c.IsSecured, &c.MayBind, &c.Clock, &c.MaxConnections, &c.IsOurs, &c.Others)
	if err != nil {
		return c, fmt.Errorf("inspect the database: %w", pg.Reason(explainRights(role, err)))
	}
	if c.encoding == utf8 { // other encodings may lack these letters
		if err := conn.QueryRow(ctx, "SELECT lower('É') = 'é' AND lower('I') = 'i'").Scan(&c.FoldsCase); err != nil {
			return c, fmt.Errorf("inspect the database: %w", pg.Reason(err))
		}
	}
	isOwn := func(table string) bool {
		name, isInSchema := strings.CutPrefix(table, c.schema+".")
		return isInSchema && (slices.Contains(migratedTables(), name) || strings.HasPrefix(name, "river_")) ||
			table == "migration.version" || table == "migration.oldest_program" || strings.HasPrefix(table, "company.")
	}
	if c.IsOurs {
		c.Others = slices.DeleteFunc(c.Others, isOwn)
		return c, nil
	}
	for _, table := range c.Others {
		if isOwn(table) {
			c.conflicts = append(c.conflicts, table)
		}
	}
	return c, nil
}

var tableOfMigration = regexp.MustCompile(`(?m)^CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)

// migratedTables returns the names of the tables that the migrations create.
var migratedTables = sync.OnceValue(func() []string {
	names := []string{"chunk_vectors"} // created by code, see vectorTable
	files, _ := migrations.Files.ReadDir(".")
	for _, file := range files {
		text, _ := migrations.Files.ReadFile(file.Name())
		for _, table := range tableOfMigration.FindAllSubmatch(text, -1) {
			names = append(names, string(table[1]))
		}
	}
	return names
})

// refuseUnusable returns an error if the program cannot use the database, see Contents.Err.
func refuseUnusable(ctx context.Context, pool *pgxpool.Pool) error {
	contents, err := inspect(ctx, pool.Config().ConnConfig.User, pool)
	if err != nil {
		return err
	}
	return contents.Err()
}
