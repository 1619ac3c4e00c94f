package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/console"
)

// mostBatch is the largest --max-batch.
const mostBatch = 10

// mostUpload is the largest --max-upload, in bytes.
const mostUpload = 25 << 20

// gatewayFlags bound what clients may request. Sizes and times must be above 0; a cost or a rate of 0 means no bound.
type gatewayFlags struct {
	Introspection  bool
	BasePath       string
	MaxBody        int64
	MaxUpload      int64
	MaxResponse    int64
	QueryCost      int
	QueryDepth     int
	MaxBatch       int
	Persisted      int
	Trusted        string
	Compress       bool
	MaxClients     int
	MaxPerAddress  int
	RequestTimeout time.Duration
	AllowedOrigin  []string
	CORSOrigin     []string
	Console        string
	Plan           bool
	RateLimit      int
	CompanyLimit   int
	ModelRateLimit int
	LogLevel       slog.Level

	admin.SecretKeyFlag
}

// rateLimits are defaults of flags, which are not the same for all commands.
type rateLimits struct{ key, company, model string }

// withLimits returns the flags, with these limits by default.
func (f *gatewayFlags) withLimits(limits rateLimits) cli.Flags {
	return slices.Concat(cli.Flags{
		{Into: &f.Introspection, Name: "introspection", Env: "AGENTGRAPH_INTROSPECTION", Default: "true", Negatable: true, Help: "Let clients read the schema."},
		{Into: &f.BasePath, Name: "base-path", Env: "AGENTGRAPH_BASE_PATH", Placeholder: "PATH", Help: "Path at which clients find the gateway, such as /agents. Location headers and problems have it in front, and requests may."},
		{Into: &f.MaxBody, Name: "max-body", Env: "AGENTGRAPH_MAX_BODY", Default: "1048576", Help: "Largest request body, in bytes."},
		{Into: &f.MaxUpload, Name: "max-upload", Env: "AGENTGRAPH_MAX_UPLOAD", Default: "26214400", Help: "Largest total size of a request's files, in bytes."},
		{Into: &f.MaxResponse, Name: "max-answer", Env: "AGENTGRAPH_MAX_ANSWER", Default: "33554432", Help: "Largest response, in bytes."},
		{Into: &f.QueryCost, Name: "query-cost", Env: "AGENTGRAPH_QUERY_COST", Default: "1000000", Help: "Highest cost of one operation, as the schema counts it; 0 for no limit."},
		{Into: &f.QueryDepth, Name: "query-depth", Env: "AGENTGRAPH_QUERY_DEPTH", Default: "25", Help: "Most levels of nested fields in one operation."},
		{Into: &f.MaxBatch, Name: "max-batch", Env: "AGENTGRAPH_MAX_BATCH", Default: "0", Help: "Most operations in one request that has a list of them, 10 at most; 0 refuses lists."},
		{Into: &f.Persisted, Name: "persisted-query-bytes", Env: "AGENTGRAPH_PERSISTED_QUERY_BYTES", Default: "8388608", Help: "Memory for queries that clients name by their SHA-256 after they sent them once; 0 for none."},
		{Into: existingDirectory(&f.Trusted), Name: "trusted-documents", Env: "AGENTGRAPH_TRUSTED_DOCUMENTS", Placeholder: "DIR", Help: "Directory with the only GraphQL documents that clients may use, by their ids. The console, which has its own, is off then."},
		{Into: &f.Compress, Name: "compress", Env: "AGENTGRAPH_COMPRESS", Default: "true", Negatable: true, Help: "Compress large responses for clients that accept gzip. Switch it off behind a proxy that compresses."},
		{Into: &f.MaxClients, Name: "max-clients", Env: "AGENTGRAPH_MAX_CLIENTS", Default: "20000", Help: "Most client connections at a time; 0 for no limit."},
		{Into: &f.MaxPerAddress, Name: "max-clients-per-address", Env: "AGENTGRAPH_MAX_CLIENTS_PER_ADDRESS", Default: "1000", Help: "Connections of one public address at most; 0 for no limit. Private addresses, which proxies have, may open as many as they like."},
		{Into: &f.RequestTimeout, Name: "request-timeout", Env: "AGENTGRAPH_REQUEST_TIMEOUT", Default: "30s", Help: "How long a query or a mutation may take."},
		{Into: &f.AllowedOrigin, Name: "allowed-origin", Env: "AGENTGRAPH_ALLOWED_ORIGINS", Placeholder: "HOST", Help: "Host, other than the gateway's own, whose pages may open a socket."},
		{Into: &f.CORSOrigin, Name: "cors-origin", Env: "AGENTGRAPH_CORS_ORIGINS", Placeholder: "ORIGIN", Help: "Origin, such as https://console.example.com, whose pages may call the gateway and open sockets; * for all. Without one, browsers keep other pages from calling it."},
		{Into: &f.Console, Name: "console", Env: "AGENTGRAPH_CONSOLE", Default: "on", Enum: []string{"on", "off"}, Help: "Whether browsers are shown the web console, at /console: on or off."},
		{Into: &f.Plan, Name: "plan", Env: "AGENTGRAPH_PLAN", Default: "true", Negatable: true, Help: "Answer queries by plans. Without them a resolver answers each field: the same answers, slower."},
		{Into: &f.RateLimit, Name: "rate-limit", Env: "AGENTGRAPH_RATE_LIMIT", Default: limits.key, Help: "Requests that one API key may make per minute, in each process; 0 for no limit."},
		{Into: &f.CompanyLimit, Name: "company-rate-limit", Env: "AGENTGRAPH_COMPANY_RATE_LIMIT", Default: limits.company, Help: "Requests that all keys of one company may make per minute together, in each process; 0 for no limit."},
		{Into: &f.ModelRateLimit, Name: "model-rate-limit", Env: "AGENTGRAPH_MODEL_RATE_LIMIT", Default: limits.model, Help: "Operations that use a model that one API key may start per minute, in each process; 0 for no limit."},
		{Into: &f.LogLevel, Name: "log-level", Env: "AGENTGRAPH_LOG_LEVEL", Default: "info", Help: "debug, info, warn or error."},
	}, f.Declare()) // The last is the secret key.
}

// Validate refuses bounds that would let nothing, or everything, through.
func (f gatewayFlags) Validate() error {
	if f.MaxBody <= 0 || f.MaxUpload <= 0 || f.MaxResponse <= 0 || f.RequestTimeout <= 0 {
		return errors.New("--max-body, --max-upload, --max-answer and --request-timeout must be above 0")
	}
	if f.BasePath != "" && (f.BasePath[0] != '/' || path.Clean(f.BasePath) != strings.TrimSuffix(f.BasePath, "/") && f.BasePath != "/" || (&url.URL{Path: f.BasePath}).EscapedPath() != f.BasePath) {
		return fmt.Errorf("--base-path must be a path such as /agents, not %q", f.BasePath)
	}
	if f.QueryCost < 0 {
		return errors.New("--query-cost must not be below 0")
	}
	if f.QueryDepth <= 0 {
		return errors.New("--query-depth must be above 0")
	}
	if f.MaxBatch < 0 || f.MaxBatch > mostBatch {
		return fmt.Errorf("--max-batch must be between 0 and %d", mostBatch)
	}
	if f.Persisted < 0 {
		return errors.New("--persisted-query-bytes must not be negative")
	}
	if f.MaxUpload > mostUpload {
		return fmt.Errorf("--max-upload must be at most %d", mostUpload)
	}
	if f.MaxClients < 0 || f.MaxPerAddress < 0 {
		return errors.New("--max-clients and --max-clients-per-address must not be negative")
	}
	if f.RateLimit < 0 || f.ModelRateLimit < 0 || f.CompanyLimit < 0 {
		return errors.New("--rate-limit, --company-rate-limit and --model-rate-limit must not be negative")
	}
	for _, origin := range f.CORSOrigin {
		if !isOrigin(origin) {
			return fmt.Errorf("--cors-origin must be *, or an origin such as https://console.example.com or https://*.example.com, not %q", origin)
		}
	}
	_, err := f.Key()
	return err
}

// isOrigin reports whether the text is "*" or an origin as browsers send it, except that its host may begin with "*.".
func isOrigin(text string) bool {
	address, err := url.Parse(text)
	return text == "*" || err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Hostname() != "" &&
		text == address.Scheme+"://"+address.Host && !strings.Contains(strings.TrimPrefix(address.Host, "*."), "*")
}

// costPerWork is the cost that an operation may have for each value that the executor may make for its response: whoever allows
// more of the one allows more of the other.
const costPerWork = 20

// settings returns the gateway's settings.
func (f gatewayFlags) settings() gateway.Settings {
	settings := gateway.DefaultSettings()
	settings.Introspection = f.Introspection
	settings.BasePath = strings.TrimSuffix(f.BasePath, "/")
	settings.BodyBytes = f.MaxBody
	settings.UploadBytes = f.MaxUpload
	settings.ResponseBytes = f.MaxResponse
	settings.QueryCost = f.QueryCost
	settings.ResponseWork = f.QueryCost / costPerWork
	settings.Compress = f.Compress
	settings.QueryDepth = f.QueryDepth
	settings.Batch = f.MaxBatch
	settings.PersistedBytes = f.Persisted
	settings.RequestTimeout = f.RequestTimeout
	settings.AllowedOrigins = f.AllowedOrigin
	settings.CORSOrigins = f.CORSOrigin
	settings.Connections = gateway.Connections{All: f.MaxClients, PerAddress: f.MaxPerAddress}
	settings.RateLimit = f.RateLimit
	settings.CompanyRateLimit = f.CompanyLimit
	settings.ModelRateLimit = f.ModelRateLimit
	return settings
}

// console returns the web console, or nil if the flags switch it off.
func (f gatewayFlags) console(invitation *console.Invitation) *console.Handler {
	if !f.hasConsole() {
		return nil
	}
	return console.New(invitation)
}

func (f gatewayFlags) hasConsole() bool { return f.Console == "on" && f.Trusted == "" }

// existingDirectory returns what sets the path of a directory that must be there.
func existingDirectory(into *string) func(string) error {
	return func(path string) error {
		path = cli.ExpandPath(path)
		stat, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !stat.IsDir() {
			return fmt.Errorf("%q exists but is not a directory", path)
		}
		*into = path
		return nil
	}
}

// trustedDocuments returns the directory of trusted documents, or nil.
func (f gatewayFlags) trustedDocuments() fs.FS {
	if f.Trusted == "" {
		return nil
	}
	return os.DirFS(f.Trusted)
}
