// Package schema creates and migrates the tables. It also reports what migrations lock, turns on row-level security,
// and distributes tables over a cluster. Start reading at Migrator.
package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/agentgraph/agentgraph/db/migrations"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/queue"
)

// State compares the database's schema with the program's migrations.
type State struct {
	// Current is the version of the database, 0 if the database is empty. Wanted is the version that the program needs.
	Current, Wanted int64
	// oldest is the version of the oldest programs that can use the schema.
	oldest int64
	// fault is a sentence about any other problem of the schema, or empty.
	fault string
}

// Err returns nil if the program can use the schema, otherwise an error of one sentence.
func (s State) Err() error {
	switch {
	case s.Current < s.Wanted:
		return fmt.Errorf("the database has schema version %d and this program needs %d: run \"agentgraph migrate up\"",
			s.Current, s.Wanted)
	case s.Current > s.Wanted && s.oldest > s.Wanted:
		return s.newer()
	case s.fault != "":
		return errors.New(s.fault)
	}
	return nil
}

func (s State) newer() error {
	return fmt.Errorf("the database has schema version %d, newer than the %d that this program knows: run a newer "+
		"agentgraph", s.Current, s.Wanted)
}

// CheckAddress returns an error if the text is not the address of a database. The error does not contain the password.
func CheckAddress(address string) error {
	_, err := pg.ParseAddress(address)
	return err
}

// NewMigrator connects to the database at the address. It returns an error if the database has another encoding than
// UTF8, or if another program's tables have names that agentgraph needs. Close closes the connections.
func NewMigrator(ctx context.Context, address string) (*Migrator, error) {
	config, err := pg.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	m := &Migrator{pool: pool, db: stdlib.OpenDBFromPool(pool)}
	if err := pool.Ping(ctx); err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("open database: %w", pg.Reason(m.explain(err)))
	}
	if err := refuseUnusable(ctx, pool); err != nil {
		_ = m.Close()
		return nil, err
	}
	m.goose, err = newProvider(ctx, m.db, riverTables(pool), vectorTable(),
		runEnds(51, "0051_run_ends.go", pool, m.say), runEnds(61, "0061_run_ends_of_demos.go", pool, m.say))
	if err != nil {
		_ = m.Close()
		return nil, fmt.Errorf("read migrations: %w", m.explain(err))
	}
	return m, nil
}

// riverTables is the migration that creates River's tables, with River's own code.
func riverTables(pool *pgxpool.Pool) *goose.Migration {
	m := goose.NewGoMigration(5,
		&goose.GoFunc{RunDB: func(ctx context.Context, _ *sql.DB) error { return queue.Migrate(ctx, pool) }},
		&goose.GoFunc{RunDB: func(ctx context.Context, _ *sql.DB) error { return queue.Unmigrate(ctx, pool) }},
	)
	m.Source = "0005_river.go"
	return m
}

func newProvider(ctx context.Context, pool *sql.DB, program ...*goose.Migration) (*goose.Provider, error) {
	if err := createVersionSchema(ctx, pool); err != nil {
		return nil, err
	}
	store, err := database.NewStore(goose.DialectPostgres, "migration.version")
	if err != nil {
		return nil, err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 120))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider("", pool, migrations.Files, goose.WithStore(store), goose.WithSessionLocker(locker),
		goose.WithGoMigrations(program...))
}

// createVersionSchema creates the schema for the table of versions, which is separate from the product's tables. If the
// schema exists, the user needs no right to create it.
func createVersionSchema(ctx context.Context, pool *sql.DB) error {
	var exists bool
	if err := pool.QueryRowContext(ctx, "SELECT to_regnamespace('migration') IS NOT NULL").Scan(&exists); err != nil ||
		exists {
		return err
	}
	_, err := pool.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS migration")
	if err != nil {
		// If two processes create it at the same moment, one of them fails.
		_, err = pool.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS migration")
	}
	return err
}

// Schema returns the versions of the database and of the program.
func (m *Migrator) Schema(ctx context.Context) (State, error) {
	current, wanted, err := m.goose.GetVersions(ctx)
	if err != nil {
		return State{}, fmt.Errorf("read the schema's version: %w", m.explain(err))
	}
	schema := State{Current: current, Wanted: wanted}
	if current > wanted {
		if schema.oldest, err = m.oldestProgram(ctx, current); err != nil {
			return State{}, fmt.Errorf("read the schema's version: %w", m.explain(err))
		}
	}
	if current == wanted {
		if schema.fault, err = m.faultOfVectors(ctx); err != nil {
			return State{}, fmt.Errorf("inspect the vectors: %w", err)
		}
	}
	return schema, nil
}

// maxDeadlocks is the number of deadlocks after which Up gives up. Postgres needs a second to detect one.
const maxDeadlocks = 60

// Up applies all missing migrations. It stores vectors in the best way that the server supports, and turns on
// row-level security if the user may create its roles. It does not change a schema that is newer than the program,
// and returns an error if the program cannot use it.
func (m *Migrator) Up(ctx context.Context) error {
	schema, err := m.Schema(ctx)
	if err != nil {
		return err
	}
	if schema.Current > schema.Wanted {
		return schema.Err()
	}
	if err := pg.CheckSessions(ctx, m.pool, m.pool); err != nil {
		return fmt.Errorf("migrate up: %w", m.explain(err))
	}
	if err := m.openSchemas(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", m.explain(err))
	}
	// This comes first, so that programs too old for the new schema refuse to start.
	err = m.saveOldestProgram(ctx, schema.Wanted)
	if pg.SQLState(err) == "25006" {
		return pg.ErrReadOnly
	}
	if err != nil {
		return fmt.Errorf("migrate up: %w", m.explain(err))
	}
	if err := m.apply(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", m.explain(err))
	}
	if err := m.moveVectors(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", m.explain(err))
	}
	if err := m.secureRows(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", m.explain(err))
	}
	if schema, err = m.Schema(ctx); err != nil {
		return err
	}
	return schema.Err()
}

// apply applies all missing migrations. A migration that locks several tables can deadlock with requests of older
// replicas. Postgres then reverts it, and apply tries it again.
func (m *Migrator) apply(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		_, err := m.goose.Up(ctx)
		if pg.SQLState(err) != "40P01" || attempt == maxDeadlocks {
			return err
		}
	}
}

// Down reverts the newest migration, and deletes the data in the tables and columns that the migration created. It
// refuses a schema that is newer than the program.
func (m *Migrator) Down(ctx context.Context) error {
	schema, err := m.Schema(ctx)
	if err != nil {
		return err
	}
	if schema.Current > schema.Wanted {
		return schema.newer()
	}
	if schema.Current == 0 {
		return errors.New("there is no migration to revert")
	}
	if err := pg.CheckSessions(ctx, m.pool, m.pool); err != nil {
		return fmt.Errorf("migrate down: %w", m.explain(err))
	}
	if _, err := m.db.ExecContext(ctx, dropViews); err != nil {
		return fmt.Errorf("migrate down: %w", m.explain(err))
	}
	_, err = m.goose.Down(ctx)
	// secureRows makes the views again, because the previous version of the program searches in them.
	if err := errors.Join(m.explain(err), m.secureRows(ctx), m.saveOldestProgram(ctx, schema.Current-1)); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is zero if the step has not been applied.
	AppliedAt time.Time
}

// Status returns every migration that the program knows, oldest first.
func (m *Migrator) Status(ctx context.Context) ([]Migration, error) {
	states, err := m.goose.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the schema's version: %w", m.explain(err))
	}
	steps := make([]Migration, len(states))
	for i, s := range states {
		steps[i] = Migration{Version: s.Source.Version, Name: s.Source.Path, AppliedAt: s.AppliedAt}
	}
	return steps, nil
}
