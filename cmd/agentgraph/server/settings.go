package server

import (
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/observe"
)

// This file and settings_engine.go declare all settings of the server. The flags, their help,
// docs/reference/settings.md and deploy/systemd/environment.example are generated from them; see SettingGroups.

// SettingGroup has the settings of one subject.
type SettingGroup struct {
	Title string
	Flags cli.Flags
}

// SettingGroups returns all settings of serve and dev by subject, in the order of the documentation. Settings of both
// commands have the defaults of serve.
func SettingGroups() []SettingGroup {
	s, d := new(Serve), new(Dev)
	return []SettingGroup{
		{"Server", slices.Concat(s.DatabaseFlag.Declare(), s.serverFlags.Declare(), s.SecretKeyFlag.Declare())},
		{"Models", slices.Concat(s.models(), s.testModels())},
		{"Knowledge", slices.Concat(s.knowledge(), s.BucketFlag.Declare())},
		{"Conversations and tests", slices.Concat(s.conversations(), s.prices())},
		{"Requests", slices.Concat(s.limits(serveLimits), s.proxies())},
		{"Browsers", s.browsers()},
		{"Replicas", s.busFlags.Declare()},
		{"Audit events", s.auditFlags.Declare()},
		{"Observability", s.observeFlags.Declare()},
		{"Only for dev", d.devFlags.Declare()},
	}
}

// serverFlags are the flags of serve for its address, connections and shutdown.
type serverFlags struct {
	Listen         string
	Migrate        bool
	MaxConnections int32
	DrainDelay     time.Duration
}

func (f *serverFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.Listen, Name: "listen", Env: "AGENTGRAPH_LISTEN", Default: ":8080", Help: "Address to listen on."},
		{Into: &f.Migrate, Name: "migrate", Env: "AGENTGRAPH_MIGRATE", Help: "Apply missing migrations at startup."},
		{Into: &f.MaxConnections, Name: "max-connections", Env: "AGENTGRAPH_MAX_CONNECTIONS", Default: "20",
			Help: "Maximum number of database connections for writes, and the same number again for reads.",
			Docs: "At most a quarter of the connections for reads run " +
				"[small reads of several requests](../internals/decisions/speed.md#small-reads-share-connections)."},
		{Into: &f.DrainDelay, Name: "drain-delay", Env: "AGENTGRAPH_DRAIN_DELAY", Default: "5s",
			Help: "How long serve accepts requests after a signal to stop. During this time /readyz answers 503, for load " +
				"balancers."},
	}
}

// devFlags are the flags of dev for its data and its start.
type devFlags struct {
	DatabaseURL    string
	UseDatabaseURL bool
	DataDirectory  string
	Port           int
	OfflinePause   time.Duration
	Reset          bool
	Ephemeral      bool
}

func (f *devFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.DatabaseURL, Name: "database-url", Env: "DATABASE_URL", Placeholder: "URL",
			Help: "Database to use instead of a private one."},
		{Into: &f.UseDatabaseURL, Name: "use-database-url", Env: "AGENTGRAPH_USE_DATABASE_URL",
			Help: "Use DATABASE_URL even if that database holds tables of other programs."},
		{Into: &f.DataDirectory, Name: "data-directory", Env: "AGENTGRAPH_DATA_DIRECTORY", Placeholder: "DIR",
			Help: "Directory of the private database and the demo key. Default: /var/lib/agentgraph for root, otherwise " +
				"agentgraph in the user's data directory."},
		{Into: &f.Port, Name: "port", Env: "AGENTGRAPH_PORT", Default: "8080",
			Help: "Port on 127.0.0.1. 0 takes a free port."},
		{Into: &f.OfflinePause, Name: "offline-pause", Env: "AGENTGRAPH_OFFLINE_PAUSE", Default: "60ms",
			Help: "In chats, how long the offline model waits between the pieces of an answer."},
		{Into: &f.Reset, Name: "reset", Env: "AGENTGRAPH_RESET",
			Help: "Delete everything in the private database, and create the demo company again."},
		{Into: &f.Ephemeral, Name: "ephemeral", Env: "AGENTGRAPH_EPHEMERAL",
			Help: "Use a temporary data directory, which is deleted at the end.",
			Docs: "The directory is in `TMPDIR`. If that is not set, it is in memory (`/dev/shm`), provided that a " +
				"gibibyte is free there."},
	}
}

// gatewayFlags limit what clients may request. Sizes and durations must be above 0. A cost or a rate of 0 means no
// limit.
type gatewayFlags struct {
	gateway.Settings
	admin.SecretKeyFlag
	TrustedDirectory string
	TrustedProxies   []string
	Plan             bool
	LogLevel         slog.Level
	Console          string
	MCPReadOnly      bool
}

// rateLimits are the default rate limits. dev has none, because it serves only its own user.
type rateLimits struct{ key, company, model string }

var (
	serveLimits = rateLimits{key: "600", company: "6000", model: "60"}
	devLimits   = rateLimits{key: "0", company: "0", model: "0"}
)

// declare returns all flags of the gateway, with the default rate limits. Settings that have no flag get their
// defaults.
func (f *gatewayFlags) declare(rates rateLimits) cli.Flags {
	f.Settings = gateway.DefaultSettings()
	return slices.Concat(f.limits(rates), f.proxies(), f.browsers(), f.Declare())
}

// limits returns the flags that limit requests, with the default rate limits.
func (f *gatewayFlags) limits(rates rateLimits) cli.Flags {
	return cli.Flags{
		{Into: &f.RateLimit, Name: "rate-limit", Env: "AGENTGRAPH_RATE_LIMIT", Default: rates.key,
			Help: "Maximum number of requests per minute with one API key, in each process; 0 for no limit.",
			Docs: "`dev` has no limit. See [rate limits](../reference/limits.md#rate-limits)."},
		{Into: &f.CompanyRateLimit, Name: "company-rate-limit", Env: "AGENTGRAPH_COMPANY_RATE_LIMIT", Default: rates.company,
			Help: "Maximum number of requests per minute with all keys of one company together, in each process; 0 for no " +
				"limit.",
			Docs: "`dev` has no limit."},
		{Into: &f.ModelRateLimit, Name: "model-rate-limit", Env: "AGENTGRAPH_MODEL_RATE_LIMIT", Default: rates.model,
			Help: "Maximum number of operations with a language model per minute and API key, in each process; 0 for no limit.",
			Docs: "`dev` has no limit. A company's keys together have [a limit](../reference/limits.md#rate-limits) too."},
		{Into: &f.BodyBytes, Name: "max-body", Env: "AGENTGRAPH_MAX_BODY", Default: "1048576",
			Help: "Largest request body, in bytes, without files."},
		{Into: &f.UploadBytes, Name: "max-upload", Env: "AGENTGRAPH_MAX_UPLOAD", Default: "26214400",
			Help: "Largest total size of the files in a request, in bytes; at most 26214400."},
		{Into: &f.ResponseBytes, Name: "max-answer", Env: "AGENTGRAPH_MAX_ANSWER", Default: "33554432",
			Help: "Largest response, in bytes.",
			Docs: "The limit counts data when it is read and again in the response. See " +
				"[response size](../reference/limits.md#response-size)."},
		{Into: &f.RequestTimeout, Name: "request-timeout", Env: "AGENTGRAPH_REQUEST_TIMEOUT", Default: "30s",
			Help: "How long a query or a mutation may take.",
			Docs: "The limit for chat messages is `AGENTGRAPH_TURN_TIMEOUT`. During an upload, the next 256 KiB must " +
				"arrive within this time. Otherwise the response is 408."},
		{Into: &f.QueryCost, Name: "query-cost", Env: "AGENTGRAPH_QUERY_COST", Default: "1000000",
			Help: "Maximum cost of one operation, by the weights in the schema; 0 for no limit.",
			Docs: "The limit for values that need a resolver is a twentieth of this. See " +
				"[response size](../reference/limits.md#response-size)."},
		{Into: &f.QueryDepth, Name: "query-depth", Env: "AGENTGRAPH_QUERY_DEPTH", Default: "25",
			Help: "Maximum levels of nested fields in one operation."},
		{Into: &f.Batch, Name: "max-batch", Env: "AGENTGRAPH_MAX_BATCH", Default: "0",
			Help: "Maximum number of operations in a batch request, at most 10; 0 refuses batches."},
		{Into: &f.Connections.All, Name: "max-clients", Env: "AGENTGRAPH_MAX_CLIENTS", Default: "20000",
			Help: "Maximum number of client connections; 0 for no limit.",
			Docs: "Further connections are closed immediately."},
		{Into: &f.Connections.PerAddress, Name: "max-clients-per-address", Env: "AGENTGRAPH_MAX_CLIENTS_PER_ADDRESS",
			Default: "1000",
			Help: "Maximum number of connections from one public address; 0 for no limit. Private addresses, such as those " +
				"of proxies, have no limit.",
			Docs: "An IPv6 network of 64 bits counts as one address."},
		{Into: &f.Introspection, Name: "introspection", Env: "AGENTGRAPH_INTROSPECTION", Default: "true",
			Negatable: true, Help: "Let clients read the schema."},
		{Into: existingDirectory(&f.TrustedDirectory), Name: "trusted-documents", Env: "AGENTGRAPH_TRUSTED_DOCUMENTS",
			Placeholder: "DIR",
			Help: "Directory with trusted GraphQL documents. Clients may send only these, by id. This switches off the " +
				"console."},
		{Into: &f.PersistedBytes, Name: "persisted-query-bytes", Env: "AGENTGRAPH_PERSISTED_QUERY_BYTES",
			Default: "8388608",
			Help: "Memory, in bytes, for automatic persisted queries, which clients send once and then name by their " +
				"SHA-256; 0 switches them off."},
		{Into: &f.Compress, Name: "compress", Env: "AGENTGRAPH_COMPRESS", Default: "true", Negatable: true,
			Help: "Compress large responses for clients that accept gzip. Switch it off behind a proxy that compresses.",
			Docs: "Responses of 4 KiB and more are compressed; streams never are."},
		{Into: &f.Plan, Name: "plan", Env: "AGENTGRAPH_PLAN", Default: "true", Negatable: true,
			Help: "Answer queries with query plans. Without them, resolvers give the same answers more slowly."},
		{Into: logLevel(&f.LogLevel), Name: "log-level", Env: "AGENTGRAPH_LOG_LEVEL", Default: "info",
			Complete: func(*cobra.Command, string) []string { return []string{"debug", "info", "warn", "error"} },
			Help:     "debug, info, warn or error."},
	}
}

// proxies returns the flags for proxies in front of the gateway.
func (f *gatewayFlags) proxies() cli.Flags {
	return cli.Flags{
		{Into: &f.BasePath, Name: "base-path", Env: "AGENTGRAPH_BASE_PATH", Placeholder: "PATH",
			Help: "Path prefix of the gateway behind a proxy, such as /agents. Addresses in responses start with it. " +
				"Requests may omit it."},
		{Into: &f.TrustedProxies, Name: "trusted-proxy", Env: "AGENTGRAPH_TRUSTED_PROXIES", Placeholder: "CIDR",
			Help: "Address or network of a proxy that appends its client's address to X-Forwarded-For. The client's address " +
				"in the log, audit events and limits is then the last one there that is not such a proxy's.",
			Docs: "See [TLS](../guides/production.md#put-tls-in-front)."},
	}
}

// browsers returns the flags for the console and for pages that may call the gateway.
func (f *gatewayFlags) browsers() cli.Flags {
	return cli.Flags{
		{Into: &f.Console, Name: "console", Env: "AGENTGRAPH_CONSOLE", Default: "on", Enum: []string{"on", "off"},
			Help: "Whether the web console is served at /console: on or off.",
			Docs: "See [the console](../guides/console.md)."},
		{Into: &f.CORSOrigins, Name: "cors-origin", Env: "AGENTGRAPH_CORS_ORIGINS", Placeholder: "ORIGIN",
			Help: "Origin, such as https://console.example.com, whose pages may call the gateway and open sockets; * for " +
				"all. By default, browsers block calls from other origins.",
			Docs: "See [allowed origins](../guides/live-chat.md#allowed-origins)."},
		{Into: &f.MCPReadOnly, Name: "mcp-read-only", Env: "AGENTGRAPH_MCP_READ_ONLY",
			Help: "Offer assistants at /mcp only tools that change nothing.",
			Docs: "See [assistants](../guides/assistants.md)."},
		{Into: &f.AllowedOrigins, Name: "allowed-origin", Env: "AGENTGRAPH_ALLOWED_ORIGINS", Placeholder: "HOST",
			Help: "Another host whose pages may open sockets, but not send other requests."},
	}
}

// busFlags select how replicas exchange signals.
type busFlags struct{ db.NATS }

func (f *busFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.URL, Name: "nats-url", Env: "AGENTGRAPH_NATS_URL", Placeholder: "URL", Secret: true,
			Help: "NATS servers, separated by commas, such as nats://user:password@nats:4222. Replicas send " +
				"each other signals and text over NATS instead of through the database.",
			Docs: "See [signals over NATS](../guides/scale-out.md#signals-over-nats)."},
		{Into: &f.Credentials, Name: "nats-credentials", Env: "AGENTGRAPH_NATS_CREDENTIALS", Placeholder: "PATH",
			Help: "File with the credentials for NATS, a JWT and its seed."},
		{Into: &f.Subject, Name: "nats-subject", Env: "AGENTGRAPH_NATS_SUBJECT", Default: "agentgraph",
			Help: "Prefix of the NATS subjects. Gateways on different databases need different prefixes."},
	}
}

// auditFlags are the settings of audit events.
type auditFlags struct {
	AuditDays          int
	AuditWebhook       string
	AuditWebhookSecret string
}

func (f *auditFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.AuditDays, Name: "audit-days", Env: "AGENTGRAPH_AUDIT_DAYS", Default: "400",
			Help: "How many days audit events are kept; 0 keeps them forever.",
			Docs: "See [audit events](../reference/security.md#audit-events). Processes with workers remove older events."},
		{Into: &f.AuditWebhook, Name: "audit-webhook", Env: "AGENTGRAPH_AUDIT_WEBHOOK", Placeholder: "URL",
			Help: "Address that receives all audit events. It may be private."},
		{Into: &f.AuditWebhookSecret, Name: "audit-webhook-secret", Env: "AGENTGRAPH_AUDIT_WEBHOOK_SECRET",
			Placeholder: "SECRET", Secret: true,
			Help: "Signs the requests to the webhook; at least 16 characters."},
	}
}

// observeFlags select metrics, profiles and slow logs.
type observeFlags struct {
	observe.Options
	SlowOperation time.Duration
}

func (f *observeFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.Listen, Name: "metrics-listen", Env: "AGENTGRAPH_METRICS_LISTEN", Placeholder: "ADDRESS",
			Help: "Address that serves GET /metrics for Prometheus, without authentication. By default metrics are off.",
			Docs: "See [metrics](metrics.md)."},
		{Into: &f.Pprof, Name: "pprof", Env: "AGENTGRAPH_PPROF",
			Help: "Serve Go's profiles below /debug/pprof/ on the address of the metrics."},
		{Into: &f.SlowOperation, Name: "slow-operation", Env: "AGENTGRAPH_SLOW_OPERATION", Default: "0s",
			Help: "Log queries and mutations that take at least this long; 0 logs none."},
		{Into: &f.SlowStatement, Name: "slow-statement", Env: "AGENTGRAPH_SLOW_STATEMENT", Default: "0s",
			Help: "Log SQL statements that take at least this long; 0 logs none."},
	}
}
