// Package server has the commands that run the gateway, and their flags: "agentgraph serve" for production, and
// "agentgraph dev" with a private database and demo data. "doctor" and "judge" share their flags. Start reading at
// Serve.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/observe"
)

// Serve runs the gateway on an existing database.
type Serve struct {
	admin.DatabaseFlag
	admin.BucketFlag
	agentFlags
	gatewayFlags
	observeFlags
	auditFlags
	busFlags
	serverFlags
}

// NewServe returns the command "serve".
func NewServe() *cobra.Command { return new(Serve).command() }

func (c *Serve) command() *cobra.Command {
	return cli.New(c, &cobra.Command{
		Use: "serve", Short: "Run the gateway in production, on the database that DATABASE_URL names.",
		Example: `DATABASE_URL_FILE=/run/secrets/database agentgraph serve
agentgraph serve --config /etc/agentgraph.yaml`,
	}, nil, &c.DatabaseFlag, &c.BucketFlag, &c.agentFlags, c.declare(serveLimits), &c.observeFlags, &c.auditFlags,
		&c.busFlags, &c.serverFlags)
}

// variablePrefix begins the names of the program's environment variables.
const variablePrefix = "AGENTGRAPH_"

// maxDrainDelay is the maximum of --drain-delay.
const maxDrainDelay = 10 * time.Minute

// Schema prints the schema as one file.
type Schema struct{}

// NewSchema returns the command "schema".
func NewSchema() *cobra.Command {
	c := &Schema{}
	return cli.New(c, &cobra.Command{
		Use: "schema", Short: "Print the GraphQL schema as one file.",
		Example: "agentgraph schema > schema.graphql",
	}, nil)
}

// Run prints the schema.
func (Schema) Run(cmd *cobra.Command) error {
	_, err := fmt.Fprint(cmd.OutOrStdout(), app.Schema())
	return err
}

// Validate checks all groups of flags.
func (c *Serve) Validate() error {
	_, err := c.Bucket()
	_, errKey := c.Key()
	_, port, _ := net.SplitHostPort(c.Listen)
	isTwice := c.Listen == c.observeFlags.Listen && port != "0" // Port 0 takes any free port.
	return errors.Join(c.validateAlone(), err, errKey, c.DatabaseFlag.Validate(), c.busFlags.Validate(),
		cli.Refuse(isTwice, "--metrics-listen must differ from --listen, which is %s", c.Listen))
}

// validateAlone checks the settings that doctor does not report as findings.
func (c *Serve) validateAlone() error {
	err := cmp.Or(
		cli.Refuse(c.MaxConnections < 2, "--max-connections must be at least 2"),
		cli.Refuse(c.DrainDelay < 0 || c.DrainDelay > maxDrainDelay, "--drain-delay must be between 0s and %s",
			maxDrainDelay),
		checkListen("--listen", c.Listen),
	)
	if err != nil {
		return err
	}
	return errors.Join(c.agentFlags.Validate(), c.gatewayFlags.Validate(), c.observeFlags.Validate(),
		c.auditFlags.Validate())
}

// Run serves until ctx ends.
func (c *Serve) Run(cmd *cobra.Command) error { return unlessStopped(cmd.Context(), c.serve(cmd)) }

// unlessStopped returns err, or nil if ctx ended before the gateway served.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// serve serves until ctx ends. With --migrate, it first applies missing migrations. Without it, it returns an error if
// the database's schema is older than the program needs, or newer and not compatible with it.
func (c *Serve) serve(cmd *cobra.Command) error {
	ctx := cmd.Context()
	log := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), observe.LogOptions(c.LogLevel)))
	if unknown := cli.UnknownVariables(cmd.Root(), variablePrefix, c.modelKeyVariables...); len(unknown) > 0 {
		log.WarnContext(ctx, "environment variables that no setting reads", "variables", unknown)
	}
	observer, closeObserver, err := c.start(ctx, cli.Version(cmd), log)
	if err != nil {
		return err
	}
	defer closeObserver()
	options := c.options(observer, log)
	engine, evaluator, closeEngine, err := app.NewEngine(options)
	if err != nil {
		return client.Exit(client.ExitUsage, err)
	}
	defer closeEngine()
	secretKey, err := c.Key()
	if err != nil {
		return err
	}
	progress := func(text string) { log.InfoContext(ctx, "migrating", "progress", text) }
	if err := admin.CheckSchema(ctx, c.DatabaseFlag, c.Migrate, progress); err != nil {
		return err
	}
	database := db.Options{
		SessionAddress: c.SessionDatabaseURL, MaxConnections: c.MaxConnections, SecretKey: secretKey,
		RunsPerCompany: c.RunsPerCompany, RerankModels: c.Reranker.Models, MaxStored: c.MaxStored, AuditKept: c.retention(),
		Log: log, Tracer: observer.Statements(), NATS: c.nats(log),
	}
	if err := c.Use(&database); err != nil {
		return err
	}
	store, err := db.Open(ctx, c.DatabaseURL, database)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Ping(ctx); err != nil { // for example, the database is a standby
		return err
	}
	gateway, err := app.New(app.Options{
		Store: store, Engine: engine, Evaluator: evaluator, Settings: c.withSlowLog(c.settings()), Console: c.console(nil),
		Plan: c.Plan, TrustedDocuments: c.trustedDocuments(), MCPReadOnly: c.MCPReadOnly, AuditWebhook: c.webhook(),
		Observer: observer, Log: log,
		Version: cli.Version(cmd), Workers: c.Workers, DrainDelay: c.DrainDelay,
	})
	if err != nil {
		return err
	}
	listener, err := listen(ctx, c.Listen, "choose another address with --listen")
	if err != nil {
		return err
	}
	go warnOfModel(ctx, options, log)
	log.Info("serving", "address", listener.Addr().String(), "model", engine.Model().Name(), "pgvector",
		store.ComparesVectors(), "version", cli.Version(cmd), "metrics", observer.MetricsAddress())
	return gateway.Serve(ctx, listener)
}

// modelCheckTimeout bounds the check whether the provider accepts the key.
const modelCheckTimeout = 10 * time.Second

// warnOfModel logs a warning if the provider of a model does not answer, refuses the key or does not list the model.
// Operators see it before the first conversation.
func warnOfModel(ctx context.Context, options app.EngineOptions, log *slog.Logger) {
	checking, cancel := context.WithTimeout(ctx, modelCheckTimeout)
	defer cancel()
	const (
		agents = "the language model cannot be used: agents cannot answer"
		tests  = "tests cannot run: the model of the contact or of the judge cannot be used"
	)
	for _, check := range []struct {
		text string
		run  func(context.Context) error
	}{{agents, options.CheckModel}, {tests, options.CheckJudge}, {tests, options.CheckContact}} {
		err := check.run(checking)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, provider.ErrNotListed):
			log.WarnContext(ctx, "a model may not exist: its provider does not list it", "error", err)
		default:
			log.WarnContext(ctx, check.text, "error", err)
		}
	}
}
