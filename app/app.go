// Package app is the whole program behind one http.Handler. It connects the gateway to the store and the engine, runs
// jobs, and shuts down in order. Start reading at New and App.Serve.
package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/auth"
	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/gateway/mcp"
	"github.com/agentgraph/agentgraph/gateway/rest"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
	"github.com/agentgraph/agentgraph/query"
	"github.com/agentgraph/agentgraph/resolvers"
)

// maxHeaderBytes bounds the headers of a request, which are read before authentication.
const maxHeaderBytes = 32 << 10

// drainTimeout is how long requests in progress may take to finish when the program ends.
const drainTimeout = 20 * time.Second

// stopTimeout is how long jobs in progress may take to finish when the program ends.
const stopTimeout = 5 * time.Second

// heavySlots is how many heavy operations run at once for each processor. A processor can run several, because they
// wait for the database about as long as they compute. heavyShare is how many of them may belong to one company.
const (
	heavySlots = 4
	heavyShare = 3
)

// modelShares is how many companies may use all of their slots for operations that use a model, in one process.
const modelShares = 16

// Options has the parts and the settings of an App.
type Options struct {
	// Store is the database. The caller closes it after the App has ended.
	Store *db.Store
	// Engine runs the conversations. NewEngine creates one.
	Engine *engine.Engine
	// Evaluator tests the Engine's agents. Nil means one with default settings.
	Evaluator *evaluation.Evaluator
	// Settings are the gateway's settings. The App itself sets SlowFields and SecretFields, and Trusted if there are
	// TrustedDocuments.
	Settings gateway.Settings
	// Console serves the web console. Nil means no console.
	Console *console.Handler
	// Version is the program's version, which clients see.
	Version string
	// Workers is how many jobs Serve runs at once. 0 runs no jobs.
	Workers int
	// DrainDelay is how long Serve accepts requests after /readyz has started to report that the process stops.
	DrainDelay time.Duration
	// Plan turns on query plans. Resolvers then answer only operations without a plan. If Plan is false, they answer all.
	Plan bool
	// TrustedDocuments are files with the only documents that GraphQL clients may use. Nil lets clients send any document.
	TrustedDocuments fs.FS
	// MCPReadOnly omits the MCP tools that change something.
	MCPReadOnly bool
	// AuditWebhook receives audit events from processes with workers. Without a URL none are sent.
	AuditWebhook db.AuditWebhook
	// Observer watches the program. It may be nil.
	Observer *observe.Observer
	Log      *slog.Logger
}

// App is the whole program, made by New.
type App struct {
	options Options
	server  *gateway.Server
	// http serves the gateway through the Observer's handler.
	http *http.Server
}

// secretFields are the mutations whose responses contain secrets. These responses must not be stored.
var secretFields = []string{"createApiKey", "createAccessToken", "createWebhook", "rotateWebhookSecret"}

// serverModels describes the models that agents can choose, for clients.
func serverModels(e *engine.Engine) []model.ServerModel {
	models := []model.ServerModel{}
	for _, c := range e.Choices() {
		described := model.ServerModel{Name: c.Name(), Provider: c.Provider, MessagePrice: c.Prices.Message,
			InputPrice: c.Prices.InputTokens, CachedPrice: c.Prices.InputTokens, OutputPrice: c.Prices.OutputTokens}
		if c.Prices.CachedTokens != nil {
			described.CachedPrice = *c.Prices.CachedTokens
		}
		if c.Fallback != "" {
			described.Fallback = &c.Fallback
		}
		models = append(models, described)
	}
	return models
}

// New connects the gateway to the store and the engine. It returns an error if one of these does not match the schema:
// the table of query plans, a trusted document, or a stored operation of REST v1 or of the MCP tools.
func New(o Options) (*App, error) { //nolint:funlen // it names each part once
	if o.Observer == nil {
		o.Observer = &observe.Observer{}
	}
	if o.Evaluator == nil {
		o.Evaluator = evaluation.New(o.Engine, evaluation.Options{Log: o.Log})
	}
	name := o.Engine.Model().Name()
	resolver := resolvers.New(o.Store, o.Engine, o.Evaluator, model.Server{
		Version: o.Version, Model: name, IsOffline: name == offline.Name,
		JudgeModels: o.Evaluator.JudgeModels(), EmbeddingModel: o.Engine.Knowledge().EmbeddingModel(),
		Workers: int32(o.Workers), Models: serverModels(o.Engine),
	})
	schema := graph.NewSchema(resolver.Config())
	gateway.Prepare(schema.Schema()) // before anything reads the schema, which this changes
	table, err := query.NewTable(schema.Schema(), o.Store, o.Log)
	if err != nil {
		return nil, err
	}
	if o.Plan {
		schema = table.Plan(schema)
	}
	settings := o.Settings
	var server *gateway.Server
	waitToDecode := func(w http.ResponseWriter, r *http.Request, bytes int) (leave func(), err *model.Error) {
		return server.WaitToDecode(w, r, bytes)
	}
	v1, err := rest.New(schema.Schema(), rest.Options{
		Status: gateway.StatusOf, TraceID: gateway.TraceID, Ledger: ledgerOf(o.Store), AuditLog: auditLogOf(o.Store),
		BasePath: settings.BasePath, MaxBody: settings.BodyBytes, MaxUpload: settings.UploadBytes,
		RequestTimeout: settings.RequestTimeout, WaitToDecode: waitToDecode,
	})
	if err != nil {
		return nil, fmt.Errorf("load the REST operations: %w", err)
	}
	if o.TrustedDocuments != nil {
		if settings.Trusted, err = gateway.LoadTrustedDocuments(o.TrustedDocuments, schema.Schema(), settings); err != nil {
			return nil, err
		}
	}
	ofAssistants := assistantOptions(o, func() <-chan struct{} { return server.Closing() })
	ofAssistants.WaitToDecode = waitToDecode
	assistants, err := mcp.New(schema.Schema(), ofAssistants)
	if err != nil {
		return nil, fmt.Errorf("load the assistants' tools: %w", err)
	}
	settings.SecretFields = secretFields
	settings.SlowFields = map[string]time.Duration{
		"sendSimulationMessage": o.Engine.ReplyTimeout(), "draftLabelledQuestions": o.Engine.ReplyTimeout(),
		"callTool": model.MaxToolTimeout, "createMcpServer": model.MaxToolTimeout, "refreshMcpServer": model.MaxToolTimeout,
	}
	keys := auth.NewKeys(o.Store, settings.RequestTimeout)
	var modelSlots gateway.Slots
	if n := settings.ModelSlots(); n > 0 {
		modelSlots = fair.New(modelShares*n, n)
	}
	server = gateway.New(gateway.Options{
		Schema:       schema,
		Authenticate: keys.Authenticate,
		IsUnverified: keys.IsUnverified,
		Revocations:  o.Store,
		Claim: func(ctx context.Context, companyID string, id, fingerprint []byte) (*model.StoredResponse,
			gateway.RequestClaim,
			error) {
			stored, claim, err := o.Store.Tenant(companyID).ClaimRequest(ctx, id, fingerprint)
			if claim == nil {
				return stored, nil, err
			}
			return stored, claim, err
		},
		HeavySlots: fair.New(heavySlots*runtime.GOMAXPROCS(0), heavyShare*runtime.GOMAXPROCS(0)),
		ModelSlots: modelSlots,
		Ready:      o.Store.Ping,
		Remarks:    o.Store.Warnings,
		Log:        o.Log,
		Extensions: append([]graphql.HandlerExtension{query.Loading{Table: table}, resolvers.Confinement{}},
			o.Observer.Extensions()...),
		Transports: []graphql.Transport{assistants, v1},
		Console:    o.Console,
		Pages: map[string]gateway.Page{
			"/openapi.json":    {Type: "application/json; charset=utf-8", Content: rest.OpenAPI},
			"/docs":            {Type: "text/html; charset=utf-8", Policy: rest.DocsPolicy, Content: rest.Docs},
			"/docs/docs.js":    {Type: "text/javascript; charset=utf-8", Content: rest.DocsScript},
			"/docs/rapidoc.js": {Type: "text/javascript; charset=utf-8", Compressed: rest.Viewer},
		},
		Observer: o.Observer.Requests(),
		Settings: settings,
	})
	o.Observer.Watch(o.Store, server, append(v1.Operations(), assistants.Operations()...))
	return &App{options: o, server: server, http: &http.Server{
		Handler:           o.Observer.Handler(server),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    maxHeaderBytes,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}}, nil
}

// assistantOptions returns the options of /mcp. They allow arbitrary queries only without trusted documents.
func assistantOptions(o Options, closing func() <-chan struct{}) mcp.Options {
	s := o.Settings
	options := mcp.Options{
		Version: o.Version, Status: gateway.StatusOf, Explain: gateway.ExplainVariables, Unrecorded: gateway.WithoutRecord,
		Closing: closing, Origins: s.CORSOrigins, IsReadOnly: o.MCPReadOnly,
		HasSchema: s.Introspection, HasQuery: o.TrustedDocuments == nil, MaxBody: s.BodyBytes,
		WriteTimeout: s.WriteTimeout, Log: o.Log,
	}
	if o.Console != nil {
		options.Console = s.BasePath + console.Path
	}
	return options
}

// Schema returns the schema as one file, which the server sends at gateway.SDLPath.
func Schema() string { return gateway.SDL(graph.NewExecutableSchema(graph.Config{}).Schema()) }

// ledgerOf returns a function that reads the usage of the caller's company.
func ledgerOf(store *db.Store) rest.Ledger {
	return func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error] {
		principal, _ := model.PrincipalOf(ctx)
		return store.Tenant(principal.CompanyID).UsageEntries(ctx, r)
	}
}

// auditLogOf returns a function that reads the audit events of the caller's company.
func auditLogOf(store *db.Store) rest.AuditLog {
	return func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[*model.AuditEvent, error] {
		principal, _ := model.PrincipalOf(ctx)
		return store.Tenant(principal.CompanyID).AuditLog(ctx, r.From, r.End)
	}
}

// Serve answers requests and runs jobs until ctx ends. Then it starts no more jobs, and after DrainDelay accepts no
// more requests. It lets running requests finish for up to drainTimeout, and running jobs for up to stopTimeout. Other
// processes take over jobs that need longer.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	o := a.options
	if o.Workers > 0 {
		if err := o.Engine.Knowledge().Refresh(ctx, o.Store); err != nil {
			return err
		}
		err := o.Store.Work(ctx, o.Workers, db.Workers{
			RunTest: o.Evaluator.RunTest, ExtractChat: o.Evaluator.ExtractChat, Index: o.Engine.Knowledge().Index,
			ContinueBlame: o.Evaluator.ContinueBlame, ContinueChat: o.Engine.ContinueChat,
		})
		if err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	var delivering sync.WaitGroup
	defer delivering.Wait()
	if o.Workers > 0 {
		delivering.Go(func() { o.Store.DeliverWebhooks(ctx, o.Engine.PostWebhook, o.AuditWebhook, o.Log) })
	}
	// Tune only now, because the start leaves less garbage with Go's default settings.
	tuneMemory()
	go releaseMemory(ctx, func() int64 { return a.server.Load().ResponseBytes })
	failed := make(chan error, 1)
	go func() { failed <- a.http.Serve(o.Settings.Connections.Listen(a.http, listener)) }()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		o.Log.Info("shutting down: waiting for requests and runs in progress")
	}
	ended := context.WithoutCancel(ctx)
	stopped := make(chan error, 1)
	go func() {
		stopping, cancel := context.WithTimeout(ended, stopTimeout)
		defer cancel()
		stopped <- o.Store.StopWork(stopping)
	}()
	if err == nil && o.DrainDelay > 0 {
		a.server.Retire()
		select {
		case err = <-failed:
			err = fmt.Errorf("serve: %w", err)
		case <-time.After(o.DrainDelay):
		}
	}
	draining, cancel := context.WithTimeout(ended, drainTimeout)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- a.http.Shutdown(draining) }()
	return errors.Join(err, a.server.Drain(draining), <-closed, <-stopped)
}
