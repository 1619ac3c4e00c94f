// Package admin has the commands that work on the database itself, whether or not a server is running on it:
// migrations, companies, and their keys and plans.
package admin

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/db"
)

// DatabaseFlag names the database.
type DatabaseFlag struct {
	DatabaseURL string `env:"DATABASE_URL" required:"" placeholder:"URL" help:"Address of the Postgres database. The flag shows in process lists; rather set the variable, or name a file with DATABASE_URL_FILE."`
}

// Validate refuses an empty address, such as that of an empty environment variable.
func (f DatabaseFlag) Validate() error {
	if f.DatabaseURL == "" {
		return errors.New("--database-url or DATABASE_URL must name a database")
	}
	return nil
}

// CheckSchema returns an error if the program cannot use the database's schema. With migrate it applies missing
// migrations first.
func CheckSchema(ctx context.Context, address string, migrate bool) error {
	migrator, err := db.NewMigrator(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = migrator.Close() }()
	if migrate {
		return migrator.Up(ctx)
	}
	schema, err := migrator.Schema(ctx)
	if err != nil {
		return err
	}
	return schema.Err()
}

// withStore opens the database for one command. The schema must fit.
func withStore(ctx context.Context, address string, do func(*db.Store) error) error {
	if err := CheckSchema(ctx, address, false); err != nil {
		return err
	}
	store, err := db.Open(ctx, address, db.Options{MaxConnections: 2})
	if err != nil {
		return err
	}
	defer store.Close()
	return do(store)
}
