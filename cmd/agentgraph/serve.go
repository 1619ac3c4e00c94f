package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db"
)

// databaseFlag names the database.
type databaseFlag struct {
	DatabaseURL string `env:"DATABASE_URL" required:"" placeholder:"URL" help:"Address of the Postgres database."`
}

// Validate refuses an environment variable that is set to nothing.
func (f databaseFlag) Validate() error {
	if f.DatabaseURL == "" {
		return errors.New("--database-url or DATABASE_URL must name a database")
	}
	return nil
}

// serveCommand runs the gateway on a database that somebody else looks after.
type serveCommand struct {
	databaseFlag
	agentFlags
	gatewayFlags   `kong:"set='rateLimit=600',set='modelRateLimit=60'"`
	Listen         string `env:"AGENTGRAPH_LISTEN" default:":8080" help:"Address to listen on."`
	Migrate        bool   `env:"AGENTGRAPH_MIGRATE" help:"Apply missing migrations first."`
	MaxConnections int32  `env:"AGENTGRAPH_MAX_CONNECTIONS" default:"20" help:"Connections to the database at most, and as many again for reads."`
}

// Validate checks all groups of flags.
func (c *serveCommand) Validate() error {
	if c.MaxConnections < 2 {
		return errors.New("--max-connections must be at least 2")
	}
	return errors.Join(c.databaseFlag.Validate(), c.agentFlags.Validate(), c.gatewayFlags.Validate())
}

// Run serves until ctx ends. It refuses a schema that is older or newer than the program.
func (c *serveCommand) Run(ctx context.Context, std streams) error {
	log := slog.New(slog.NewJSONHandler(std.log, &slog.HandlerOptions{Level: c.LogLevel}))
	engine, closeEngine, err := app.NewEngine(c.options(log))
	if err != nil {
		return err
	}
	defer closeEngine()
	secretKey, err := c.secretKey()
	if err != nil {
		return err
	}
	if err := checkSchema(ctx, c.DatabaseURL, c.Migrate); err != nil {
		return err
	}
	store, err := db.Open(ctx, c.DatabaseURL, db.Options{
		MaxConnections: c.MaxConnections, SecretKey: secretKey, RunsPerCompany: c.RunsPerCompany, RerankModels: c.RerankModel, Log: log,
	})
	if err != nil {
		return err
	}
	defer store.Close()
	gateway, err := app.New(app.Options{Store: store, Engine: engine, Settings: c.settings(), Plan: c.Plan, Log: log})
	if err != nil {
		return err
	}
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	log.Info("serving", "address", listener.Addr().String(), "model", engine.ModelName(), "pgvector", store.ComparesVectors(), "version", version())
	return gateway.Serve(ctx, listener, c.Workers)
}

// checkSchema returns nil when the program can use the database's schema, which it first brings up
// to date when told to.
func checkSchema(ctx context.Context, address string, migrate bool) error {
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
