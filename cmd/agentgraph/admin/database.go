// Package admin has the commands that work directly on the database, whether or not a server is running: migrations,
// companies, their keys and plans, and their archives.
package admin

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/schema"
)

// Commands returns the commands on the database, in the order of the help.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		cli.Group("migrate", "Migrate the schema of the database up or down, or show its migrations.",
			newMigrateUp(), newMigrateDown(), newMigrateStatus()),
		newDistribute(),
		cli.Group("companies", "Create, list and delete companies.",
			newCompaniesCreate(), newCompaniesList(), newCompaniesDelete()),
		cli.Group("keys", "Create, import, list and revoke the API keys of a company.",
			newKeysCreate(), newKeysImport(), newKeysList(), newKeysRevoke()),
		cli.Group("plan", "Set, show and clear the plan of a company: its monthly credits and its budget. "+
			"Estimate the size of an installation.",
			newPlanSet(), newPlanShow(), newPlanList(), newPlanClear(), newPlanSize()),
		cli.Group("retention", "Set and show how long a company's chats, executions and campaign items are kept.",
			newRetentionSet(), newRetentionShow()),
		cli.Group("documents", "Move document contents between Postgres and a bucket.", newDocumentsMove()),
		newErase(),
		cli.Group("audit", "Export who changed what in a company.", newAuditExport()),
		newExport(),
		newImport(),
	}
}

// DatabaseFlag names the database.
type DatabaseFlag struct {
	DatabaseURL, SessionDatabaseURL string
}

// address returns the address that commands connect to: SessionDatabaseURL, which bypasses a pooler, or else
// DatabaseURL.
func (f DatabaseFlag) address() string { return cmp.Or(f.SessionDatabaseURL, f.DatabaseURL) }

// Declare returns the flags.
func (f *DatabaseFlag) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.DatabaseURL, Name: "database-url", Env: "DATABASE_URL", Required: true, Placeholder: "URL", Secret: true,
			Help: "Address of the Postgres database."},
		{Into: &f.SessionDatabaseURL, Name: "session-database-url", Env: "AGENTGRAPH_SESSION_DATABASE_URL",
			Placeholder: "URL", Secret: true,
			Help: "Address of Postgres itself, for notifications, locks, the queue and migrations. Needed if DATABASE_URL " +
				"leads to a pooler in transaction mode.",
			Docs: "See [connection pooler](../guides/scale-out.md#connection-pooler)."},
	}
}

// Validate refuses invalid addresses, and an empty one, for example from an empty file or an unset variable.
func (f DatabaseFlag) Validate() error {
	if f.DatabaseURL == "" {
		return errors.New("--database-url or DATABASE_URL must name a database")
	}
	if err := schema.CheckAddress(f.DatabaseURL); err != nil {
		return fmt.Errorf("--database-url or DATABASE_URL: %w", err)
	}
	if f.SessionDatabaseURL == "" {
		return nil
	}
	if err := schema.CheckAddress(f.SessionDatabaseURL); err != nil {
		return fmt.Errorf("--session-database-url: %w", err)
	}
	return nil
}

// SecretKeyFlag has the secret key.
type SecretKeyFlag struct {
	SecretKey string
}

// Declare returns the flag.
func (f *SecretKeyFlag) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.SecretKey, Name: "secret-key", Env: "AGENTGRAPH_SECRET_KEY", Placeholder: "BASE64", Secret: true,
			Help: "32 bytes in base64 that encrypt tool header values and webhook secrets, and sign API keys " +
				"and access tokens. Without it tools have no headers, there are no webhooks, and credentials have no signature."},
	}
}

// Key returns the decoded key, which has 32 bytes. Without a key it is empty.
func (f SecretKeyFlag) Key() ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(f.SecretKey)
	if err != nil || len(key) != 0 && len(key) != 32 {
		return nil, errors.New("--secret-key must be 32 bytes in base64, as \"openssl rand -base64 32\" prints them")
	}
	return key, nil
}

// CheckSchema returns an error if the program cannot use the database's schema. With migrate, it applies missing
// migrations before it checks. progress receives messages about the migrations, and may be nil.
func CheckSchema(ctx context.Context, f DatabaseFlag, migrate bool, progress func(string)) error {
	return withMigrator(ctx, f, func(m *schema.Migrator) error {
		m.Progress = progress
		if migrate {
			return m.Up(ctx)
		}
		schema, err := m.Schema(ctx)
		if err != nil {
			return err
		}
		return schema.Err()
	})
}

// withBucket is withStore for commands that use document contents.
func withBucket(ctx context.Context, f DatabaseFlag, bucket BucketFlag, do func(*db.Store) error) error {
	var o db.Options
	if err := bucket.Use(&o); err != nil {
		return err
	}
	return withStore(ctx, f, o, do)
}

// withStore opens the database for one command. It returns an error if the schema does not fit.
func withStore(ctx context.Context, f DatabaseFlag, o db.Options, do func(*db.Store) error) error {
	if err := CheckSchema(ctx, f, false, nil); err != nil {
		return err
	}
	o.MaxConnections = 2
	store, err := db.Open(ctx, f.address(), o)
	if err != nil {
		return err
	}
	defer store.Close()
	return do(store)
}
