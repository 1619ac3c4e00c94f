package admin

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
)

// Migrate migrates the schema of the database.
type Migrate struct {
	Up     migrateUp     `cmd:"" help:"Apply all missing migrations."`
	Down   migrateDown   `cmd:"" help:"Undo the newest migration, with all data that it holds."`
	Status migrateStatus `cmd:"" help:"Show which migrations are applied."`
}

type migrateUp struct{ DatabaseFlag }

// Run applies all missing migrations.
func (c *migrateUp) Run(ctx context.Context, cli *kong.Context) error {
	return withMigrator(ctx, c.DatabaseURL, func(m *db.Migrator) error {
		if err := m.Up(ctx); err != nil {
			return err
		}
		return printVersion(ctx, m, cli)
	})
}

type migrateDown struct {
	DatabaseFlag
	Yes bool `env:"AGENTGRAPH_MIGRATE_DOWN" help:"Really do it: the data of the newest migration is lost."`
}

// Run reverts the newest migration if --yes confirms it.
func (c *migrateDown) Run(ctx context.Context, cli *kong.Context) error {
	if !c.Yes {
		return fmt.Errorf("migrate down drops tables with all that they hold: add --yes if you mean it")
	}
	return withMigrator(ctx, c.DatabaseURL, func(m *db.Migrator) error {
		if err := m.Down(ctx); err != nil {
			return err
		}
		return printVersion(ctx, m, cli)
	})
}

type migrateStatus struct{ DatabaseFlag }

// Run prints one line for each migration.
func (c *migrateStatus) Run(ctx context.Context, cli *kong.Context) error {
	return withMigrator(ctx, c.DatabaseURL, func(m *db.Migrator) error {
		steps, err := m.Status(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(cli.Stdout, 0, 4, 2, ' ', 0)
		for _, step := range steps {
			applied := "missing"
			if !step.AppliedAt.IsZero() {
				applied = step.AppliedAt.UTC().Format(time.RFC3339)
			}
			_, _ = fmt.Fprintf(table, "%d\t%s\t%s\n", step.Version, step.Name, applied)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		return printVersion(ctx, m, cli)
	})
}

func withMigrator(ctx context.Context, address string, do func(*db.Migrator) error) error {
	migrator, err := db.NewMigrator(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = migrator.Close() }()
	return do(migrator)
}

func printVersion(ctx context.Context, m *db.Migrator, cli *kong.Context) error {
	schema, err := m.Schema(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cli.Stdout, "schema version %d of %d\n", schema.Current, schema.Wanted)
	return err
}
