package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/auth"
	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
)

// Dev runs the gateway, its database and the demo company on one machine.
type Dev struct {
	agentFlags
	gatewayFlags
	observeFlags
	auditFlags
	devFlags
}

// NewDev returns the command "dev".
func NewDev() *cobra.Command {
	c := &Dev{}
	return cli.New(c, &cobra.Command{
		Use: "dev", Short: "Run the gateway with a demo company, on a private Postgres or on the database that " +
			"DATABASE_URL names.",
		Example: `agentgraph dev
agentgraph dev --port 9000 --ephemeral`,
	}, nil, &c.agentFlags, c.declare(devLimits), &c.observeFlags, &c.auditFlags, &c.devFlags)
}

// Validate checks all groups of flags.
func (c *Dev) Validate() error {
	if err := cmp.Or(
		cli.Refuse(c.Reset && c.DatabaseURL != "", "--reset works only with the private database. Drop and create the "+
			"database of DATABASE_URL yourself"),
		cli.Refuse(c.OfflinePause < 0, "--offline-pause must not be negative"),
	); err != nil {
		return err
	}
	_, err := c.Key()
	return errors.Join(err, c.agentFlags.Validate(), c.gatewayFlags.Validate(), c.observeFlags.Validate(),
		c.auditFlags.Validate())
}

// banner has the information that dev prints at its start.
type banner struct {
	GraphqlURL string `json:"graphqlUrl"`
	RestURL    string `json:"restUrl"`
	// ConsoleURL signs in the first person who opens it, if there is a demo key. It is empty if the console is disabled.
	ConsoleURL string  `json:"consoleUrl,omitempty"`
	APIKey     *string `json:"apiKey"`
	// Database describes the database for people.
	Database      string `json:"database"`
	DataDirectory string `json:"dataDirectory"`
	Model         string `json:"model"`
	// Warnings are about budgets that are used up, or nearly.
	Warnings []string `json:"warnings,omitempty"`
}

// Run serves until ctx ends.
func (c *Dev) Run(cmd *cobra.Command) error { return unlessStopped(cmd.Context(), c.serve(cmd)) }

// serve starts a private database unless one is named, and migrates it. It seeds an empty database, prints the banner,
// and serves until ctx ends.
func (c *Dev) serve(cmd *cobra.Command) (err error) { //nolint:funlen // one start, in its order
	ctx := cmd.Context()
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), observe.LogOptions(c.LogLevel)))
	observer, closeObserver, err := c.start(ctx, cli.Version(cmd), log)
	if err != nil {
		return err
	}
	defer closeObserver()
	options := c.options(observer, log)
	options.OfflinePause = c.OfflinePause
	if options.Samples, err = demo.Samples(); err != nil {
		return err
	}
	engine, evaluator, closeEngine, err := app.NewEngine(options)
	if err != nil {
		return client.Exit(client.ExitUsage, err)
	}
	defer closeEngine()
	// Listen first: if the port is taken, there is no need to start a database.
	listener, err := listen(ctx, fmt.Sprintf("127.0.0.1:%d", c.Port),
		"choose another port with --port, or a free one with --port 0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	directory, discard, err := c.directory()
	if err != nil {
		return err
	}
	defer discard()
	companies := sync.OnceValues(demo.Read)
	if c.Ephemeral {
		go func() { _, _ = companies() }() // reads the companies while the database starts
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if errors.Is(context.Cause(ctx), errDatabaseEnded) {
			err = errDatabaseEnded // all other errors are consequences
		}
	}()
	database, err := c.database(ctx, directory, cmd.InOrStdin(), cmd.ErrOrStderr(), cancel)
	if err != nil {
		return err
	}
	defer func() {
		cancel(nil) // stops the database on purpose
		err = errors.Join(err, database.stop())
	}()
	store, err := c.openStore(ctx, database.address, directory, observer, log)
	if err != nil {
		return err
	}
	defer store.Close()
	key, err := demoKey(ctx, store, companies, filepath.Join(directory, "demo-key"))
	if err != nil {
		return err
	}
	invitation := invite(store, key)
	gateway, err := app.New(app.Options{
		Store: store, Engine: engine, Evaluator: evaluator, Settings: c.withSlowLog(c.settings()),
		Console: c.console(invitation), Plan: c.Plan, TrustedDocuments: c.trustedDocuments(), AuditWebhook: c.webhook(),
		Observer: observer, Log: log, MCPReadOnly: c.MCPReadOnly,
		Version: cli.Version(cmd), Workers: c.Workers,
	})
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	shown := banner{
		GraphqlURL: url + "/graphql", RestURL: url, APIKey: key, Database: database.name, DataDirectory: directory,
		Model: engine.Model().Name(),
	}
	if shown.Warnings, err = admin.BudgetWarnings(ctx, store); err != nil {
		return err
	}
	if c.hasConsole() {
		shown.ConsoleURL = url + console.Path + "/"
		if invitation != nil {
			shown.ConsoleURL += invitation.Fragment()
		}
	}
	if err := shown.write(cmd.OutOrStdout(), cli.Version(cmd)); err != nil {
		return err
	}
	go warnOfModel(ctx, options, log)
	log.Info("serving", "address", listener.Addr().String(), "model", engine.Model().Name(), "pgvector",
		store.ComparesVectors(), "metrics", observer.MetricsAddress())
	return gateway.Serve(ctx, listener)
}

func (c *Dev) openStore(
	ctx context.Context, address, directory string, observer *observe.Observer, log *slog.Logger,
) (*db.Store, error) {
	if err := admin.CheckSchema(ctx, admin.DatabaseFlag{DatabaseURL: address}, true, nil); err != nil {
		return nil, err
	}
	secretKey, err := c.keptSecretKey(directory)
	if err != nil {
		return nil, err
	}
	return db.Open(ctx, address, db.Options{
		SecretKey: secretKey, RunsPerCompany: c.RunsPerCompany, RerankModels: c.Reranker.Models, MaxStored: c.MaxStored,
		AuditKept: c.retention(), Log: log, Tracer: observer.Statements(),
	})
}

// keptSecretKey returns the secret key from the flags, or else from the data directory. At the first start it writes a
// new key there.
func (c *Dev) keptSecretKey(directory string) ([]byte, error) {
	if c.SecretKey != "" {
		return c.Key()
	}
	path := filepath.Join(directory, "secret-key")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key := make([]byte, 32)
		_, _ = rand.Read(key)
		return key, client.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("the file %s does not contain a secret key: restore it, or delete it and enter the "+
			"headers of all tools again", path)
	}
	return key, nil
}

// demoName is the name of the API key that dev prints.
const demoName = "Demo"

// demoKey seeds an empty database, and returns the secret of the demo company's key. The file at path stores the secret
// for later starts. If the file is missing or belongs to another database, demoKey creates a new key. It returns nil if
// the oldest company of the database is not the demo's.
func demoKey(ctx context.Context, store *db.Store, demos func() (demo.Companies, error), path string) (*string, error) {
	companies, err := store.Companies(ctx)
	if err != nil {
		return nil, err
	}
	name, err := demo.CompanyName()
	if err != nil {
		return nil, err
	}
	if len(companies) > 0 && companies[0].Name != name {
		return nil, nil
	}
	if text, err := os.ReadFile(path); err == nil && len(companies) > 0 {
		secret := strings.TrimSpace(string(text))
		if _, err := auth.NewKeys(store, gateway.DefaultSettings().RequestTimeout).Authenticate(ctx, secret); err == nil {
			return &secret, nil
		}
	}
	var secret string
	err = store.Tx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if len(companies) == 0 {
			read, err := demos()
			if err != nil {
				return err
			}
			seeded, err := read.Seed(ctx, tx)
			if err != nil {
				return err
			}
			companies = append(companies, seeded)
		}
		_, secret, err = tx.Tenant(companies[0].ID).CreateAPIKey(ctx, model.CreateAPIKeyInput{
			Name: demoName, Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin},
		})
		if err != nil {
			return err
		}
		// Write the file before the commit. Otherwise, a failed write would leave a key whose secret is lost.
		return client.WriteFile(path, []byte(secret+"\n"), 0o600)
	})
	return &secret, err
}

// sessionTTL is the lifetime of the session that an invitation starts.
const sessionTTL = 12 * time.Hour

// invite returns an invitation to the console, or nil if key is nil. The session that the invitation starts belongs to
// the demo's key.
func invite(store *db.Store, key *string) *console.Invitation {
	if key == nil {
		return nil
	}
	keys := auth.NewKeys(store, gateway.DefaultSettings().RequestTimeout)
	return console.NewInvitation(func(ctx context.Context) (console.Session, error) {
		principal, err := keys.Authenticate(ctx, *key)
		if err != nil {
			return console.Session{}, err
		}
		scopes := []model.APIKeyScope{model.APIKeyScopeRead, model.APIKeyScopeWrite, model.APIKeyScopeSimulate}
		token, text, err := store.Tenant(principal.CompanyID).WithAPIKey(principal.KeyID).
			CreateAccessToken(ctx, model.CreateAccessTokenInput{
				Scopes: scopes, TTLSeconds: int32(sessionTTL.Seconds()),
			})
		if err != nil {
			return console.Session{}, err
		}
		session := console.Session{Token: text, ExpiresAt: token.ExpiresAt}
		for _, scope := range scopes {
			session.Scopes = append(session.Scopes, string(scope))
		}
		return session, nil
	})
}

// write prints the banner: as lines on a terminal, otherwise as one line of JSON.
func (b banner) write(out io.Writer, version string) error {
	if !cli.IsTerminal(out) {
		return json.NewEncoder(out).Encode(b)
	}
	key := "none: this database has no demo company. Create a key with \"agentgraph keys create\""
	if b.APIKey != nil {
		key = *b.APIKey
	}
	answers := b.Model
	if answers == "offline" {
		answers = "offline: examples, no language model; set OPENAI_API_KEY for a real one"
	}
	consoleURL := cmp.Or(b.ConsoleURL, "off")
	lines := [][2]string{
		{"Console", consoleURL}, {"GraphQL", b.GraphqlURL}, {"REST v1", b.RestURL}, {"API key", key},
		{"Database", b.Database}, {"Data", b.DataDirectory}, {"Model", answers},
	}
	for _, warning := range b.Warnings {
		lines = append(lines, [2]string{"Warning", warning})
	}
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "  %-8s  %s\n", line[0], line[1])
	}
	_, err := fmt.Fprintf(out, "agentgraph %s\n%s  Stop with Ctrl+C.\n", version, text.String())
	return err
}
