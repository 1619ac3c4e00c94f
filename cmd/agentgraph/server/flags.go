package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm/openai"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/observe"
)

// agentFlags say how agents speak, what they answer from and what they may reach.
type agentFlags struct {
	modelFlags
	refereeFlags
	knowledgeFlags
	conversationFlags
}

// Validate checks all groups of flags.
func (f agentFlags) Validate() error {
	return errors.Join(f.modelFlags.Validate(), f.refereeFlags.Validate(), f.knowledgeFlags.Validate(), f.conversationFlags.Validate())
}

// options returns the engine's options.
func (f agentFlags) options(observer *observe.Observer, log *slog.Logger) app.EngineOptions {
	return app.EngineOptions{
		Provider: openai.Config{
			BaseURL: f.OpenaiBaseURL, Key: f.OpenaiAPIKey, Model: f.Model, Timeout: f.ModelTimeout, IdleTimeout: f.ModelTimeout,
		},
		QuestionModel:   f.QuestionModel,
		Embedder:        openai.Config{BaseURL: f.EmbeddingBaseURL, Key: f.EmbeddingAPIKey, Model: f.EmbeddingModel},
		Reranker:        f.reranker(),
		OCR:             knowledge.OCR{Program: f.OCR, Languages: f.OCRLanguages},
		Judge:           openai.Config{BaseURL: f.JudgeBaseURL, Key: f.JudgeAPIKey, Model: f.JudgeModel},
		Judges:          f.JudgeModels,
		Contact:         openai.Config{BaseURL: f.ContactBaseURL, Key: f.ContactAPIKey, Model: f.ContactModel},
		TurnTimeout:     f.TurnTimeout,
		MaxModelCalls:   f.MaxModelCalls,
		ToolAllow:       f.ToolAllow,
		TransferWebhook: f.TransferWebhook,
		Prices:          f.prices(),
		Observer:        observer,
		Log:             log,
	}
}

// auditFlags say what becomes of audit events.
type auditFlags struct {
	AuditDays          int    `env:"AGENTGRAPH_AUDIT_DAYS" default:"400" help:"How many days audit events are kept; 0 for ever."`
	AuditWebhook       string `env:"AGENTGRAPH_AUDIT_WEBHOOK" placeholder:"URL" help:"Address that is told of all audit events. It may be private."`
	AuditWebhookSecret string `env:"AGENTGRAPH_AUDIT_WEBHOOK_SECRET" placeholder:"SECRET" help:"Signs what the webhook is sent; at least 16 characters. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_AUDIT_WEBHOOK_SECRET_FILE."`
}

const (
	// maxAuditDays is some more than a hundred years.
	maxAuditDays = 40_000
	// minSecret is the least number of characters of a secret that signs.
	minSecret = 16
)

// Validate refuses what is no number of days, no address, and a secret that can be guessed.
func (f auditFlags) Validate() error {
	if f.AuditDays < 0 || f.AuditDays > maxAuditDays {
		return fmt.Errorf("--audit-days must be between 0 and %d", maxAuditDays)
	}
	if f.AuditWebhook == "" {
		return nil
	}
	address, err := url.Parse(f.AuditWebhook)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return errors.New("--audit-webhook must be an address such as https://siem.example.com/agentgraph")
	}
	if len(f.AuditWebhookSecret) < minSecret {
		return fmt.Errorf("--audit-webhook-secret must have at least %d characters", minSecret)
	}
	return nil
}

func (f auditFlags) webhook() app.AuditWebhook {
	return app.AuditWebhook{URL: f.AuditWebhook, Secret: f.AuditWebhookSecret}
}

// kept is how long audit events are kept; 0 means for ever.
func (f auditFlags) kept() time.Duration { return time.Duration(f.AuditDays) * 24 * time.Hour }

// busFlags say what carries signals between replicas.
type busFlags struct {
	NatsURL         string `env:"AGENTGRAPH_NATS_URL" placeholder:"URL" help:"NATS servers that carry signals and text between replicas in place of the database, separated by commas, such as nats://user:password@nats:4222. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_NATS_URL_FILE."`
	NatsCredentials string `env:"AGENTGRAPH_NATS_CREDENTIALS" placeholder:"PATH" help:"File with the credentials for NATS, a JWT and its seed."`
	NatsSubject     string `env:"AGENTGRAPH_NATS_SUBJECT" default:"agentgraph" help:"What the subjects at NATS begin with. Gateways on different databases need different ones."`
}

// natsSubject is what may stand before the names of companies.
var natsSubject = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// Validate refuses what could not be a subject, and settings of a bus that is not used.
func (f busFlags) Validate() error {
	if !natsSubject.MatchString(f.NatsSubject) || len(f.NatsSubject) > 100 {
		return errors.New("--nats-subject must be up to 100 letters, digits, - and _, with single dots between them")
	}
	if f.NatsCredentials != "" && f.NatsURL == "" {
		return errors.New("--nats-credentials needs --nats-url")
	}
	return nil
}

// nats is where signals travel, nil for the database.
func (f busFlags) nats(log *slog.Logger) *db.NATS {
	if f.NatsURL == "" {
		return nil
	}
	return &db.NATS{URL: f.NatsURL, Credentials: f.NatsCredentials, Subject: f.NatsSubject, Log: log}
}

// modelFlags choose the language model.
type modelFlags struct {
	OpenaiAPIKey  string        `env:"OPENAI_API_KEY" placeholder:"KEY" help:"Key of the OpenAI-compatible provider. Without a key and a base URL the offline model answers. The flag shows in process lists; rather set the variable, or name a file with OPENAI_API_KEY_FILE."`
	OpenaiBaseURL string        `env:"OPENAI_BASE_URL" placeholder:"URL" help:"Address of the provider, before /chat/completions."`
	Model         string        `env:"AGENTGRAPH_MODEL" default:"gpt-4.1-mini" help:"The model that speaks for the agents."`
	ModelTimeout  time.Duration `env:"AGENTGRAPH_MODEL_TIMEOUT" default:"25s" help:"How long one response of the model may take."`
	QuestionModel string        `env:"AGENTGRAPH_QUESTION_MODEL" placeholder:"MODEL" help:"A small model of the same provider that turns a message, with those before it, into a question to the knowledge base. Without one the message itself is the question."`
}

// refereeFlags choose the models that judge tests of agents and play their contacts.
type refereeFlags struct {
	JudgeModel     string   `env:"AGENTGRAPH_JUDGE_MODEL" placeholder:"MODEL" help:"The model that judges tests of agents. Default: that of the agents, which then judges itself."`
	JudgeBaseURL   string   `env:"AGENTGRAPH_JUDGE_BASE_URL" placeholder:"URL" help:"Address of the judge's provider, before /chat/completions. Default: that of the language model."`
	JudgeAPIKey    string   `env:"AGENTGRAPH_JUDGE_API_KEY" placeholder:"KEY" help:"Key of the judge's provider. Default: that of the language model, when the address is the same. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_JUDGE_API_KEY_FILE."`
	JudgeModels    []string `env:"AGENTGRAPH_JUDGE_MODELS" placeholder:"MODEL,…" help:"Other models of the judge's provider, by which users may have conversations of tests judged again. What they cost is theirs to choose."`
	ContactModel   string   `env:"AGENTGRAPH_CONTACT_MODEL" placeholder:"MODEL" help:"The model that plays the contacts in tests of agents. Default: that of the agents."`
	ContactBaseURL string   `env:"AGENTGRAPH_CONTACT_BASE_URL" placeholder:"URL" help:"Address of the contacts' provider, before /chat/completions. Default: that of the language model."`
	ContactAPIKey  string   `env:"AGENTGRAPH_CONTACT_API_KEY" placeholder:"KEY" help:"Key of the contacts' provider. Default: that of the language model, when the address is the same. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_CONTACT_API_KEY_FILE."`
}

// Validate refuses an address or a key of a model that is not named: it would be used for nothing.
func (f refereeFlags) Validate() error {
	if f.JudgeModel == "" && (f.JudgeBaseURL != "" || f.JudgeAPIKey != "") {
		return errors.New("--judge-base-url and --judge-api-key need a --judge-model")
	}
	if f.ContactModel == "" && (f.ContactBaseURL != "" || f.ContactAPIKey != "") {
		return errors.New("--contact-base-url and --contact-api-key need a --contact-model")
	}
	return nil
}

// knowledgeFlags choose the models that help to find knowledge.
type knowledgeFlags struct {
	EmbeddingModel   string   `env:"AGENTGRAPH_EMBEDDING_MODEL" placeholder:"NAME" help:"The model that compares questions and documents by meaning. Without one they are compared by their words."`
	EmbeddingBaseURL string   `env:"AGENTGRAPH_EMBEDDING_BASE_URL" placeholder:"URL" help:"Address of the embedding model's provider, before /embeddings. Default: that of the language model."`
	EmbeddingAPIKey  string   `env:"AGENTGRAPH_EMBEDDING_API_KEY" placeholder:"KEY" help:"Key of the embedding model's provider. Default: that of the language model, when the address is the same. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_EMBEDDING_API_KEY_FILE."`
	RerankURL        string   `env:"AGENTGRAPH_RERANK_URL" placeholder:"URL" help:"Full address of a reranker with the API of Cohere or Jina."`
	RerankAPIKey     string   `env:"AGENTGRAPH_RERANK_API_KEY" placeholder:"KEY" help:"Key of the reranker. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_RERANK_API_KEY_FILE."`
	RerankModel      []string `env:"AGENTGRAPH_RERANK_MODELS" placeholder:"NAME" help:"Model of the reranker that knowledge base chats may name."`
	OCR              string   `name:"ocr" env:"AGENTGRAPH_OCR" placeholder:"PROGRAM" help:"Path or name of Tesseract, to read the writing in images and scanned PDFs. Without it they hold no text."`
	OCRLanguages     string   `name:"ocr-languages" env:"AGENTGRAPH_OCR_LANGUAGES" default:"eng" placeholder:"LANGUAGES" help:"The languages of such writing, as Tesseract calls those that are installed with it: eng+fra."`
	MaxStored        int64    `name:"max-stored-bytes" env:"AGENTGRAPH_MAX_STORED_BYTES" default:"10737418240" help:"Bytes of the documents of one company at most; 0 for no limit."`
}

// Validate refuses an incomplete reranker, a program that is not there, and a bound below 0.
func (f knowledgeFlags) Validate() error {
	if f.MaxStored < 0 {
		return errors.New("--max-stored-bytes must not be negative")
	}
	if f.OCR != "" {
		if _, err := exec.LookPath(f.OCR); err != nil {
			return fmt.Errorf("--ocr: %w", err)
		}
	}
	return f.reranker().Validate()
}

func (f knowledgeFlags) reranker() knowledge.Reranker {
	return knowledge.Reranker{URL: f.RerankURL, Key: f.RerankAPIKey, Models: f.RerankModel}
}

// conversationFlags bound conversations and say what they may reach.
type conversationFlags struct {
	TurnTimeout     time.Duration `env:"AGENTGRAPH_TURN_TIMEOUT" default:"10m" help:"How long an agent may take to answer one message, including its calls and their delays."`
	MaxModelCalls   int           `env:"AGENTGRAPH_MAX_MODEL_CALLS" default:"8" help:"How often the model may be asked for one response of an agent. Each sub-agent has as many calls of its own, all together 5 times as many."`
	ToolAllow       []string      `env:"AGENTGRAPH_TOOL_ALLOW" placeholder:"HOST" help:"Private host or CIDR that tools may reach. By default they reach public addresses only."`
	Workers         int           `env:"AGENTGRAPH_WORKERS" default:"10" help:"How many jobs (test runs and documents to index) this process works on at once; 0 leaves them to other processes."`
	RunsPerCompany  int           `env:"AGENTGRAPH_RUNS_PER_COMPANY" default:"50" help:"How many jobs of one company are worked on at once, across all processes. Give each of them the same value."`
	TransferWebhook string        `env:"AGENTGRAPH_TRANSFER_WEBHOOK" placeholder:"URL" help:"Address of the telephony provider that transfers calls. Without one agents are told that there is none."`
	priceFlags
}

// Validate refuses bounds that would let nothing through.
func (f conversationFlags) Validate() error {
	if f.TurnTimeout <= 0 || f.MaxModelCalls <= 0 {
		return errors.New("--turn-timeout and --max-model-calls must be above 0")
	}
	if f.Workers < 0 {
		return errors.New("--workers must not be negative")
	}
	if f.RunsPerCompany <= 0 {
		return errors.New("--runs-per-company must be above 0")
	}
	return f.priceFlags.Validate()
}

// Validate refuses a timeout in which no model could answer.
func (f modelFlags) Validate() error {
	if f.ModelTimeout <= 0 {
		return errors.New("--model-timeout must be above 0")
	}
	return nil
}

// mostBatch is the largest --max-batch.
const mostBatch = 10

// mostUpload is the largest --max-upload, in bytes.
const mostUpload = 25 << 20

// gatewayFlags bound what clients may request. Sizes and times must be above 0; a cost or a rate of 0 means no bound.
// Each command that embeds them sets the variables in their defaults.
type gatewayFlags struct {
	Introspection  bool          `env:"AGENTGRAPH_INTROSPECTION" default:"true" negatable:"" help:"Let clients read the schema."`
	BasePath       string        `env:"AGENTGRAPH_BASE_PATH" placeholder:"PATH" help:"Path at which clients find the gateway, such as /agents. Location headers and problems have it in front, and requests may."`
	MaxBody        int64         `env:"AGENTGRAPH_MAX_BODY" default:"1048576" help:"Largest request body, in bytes."`
	MaxUpload      int64         `env:"AGENTGRAPH_MAX_UPLOAD" default:"26214400" help:"Largest total size of a request's files, in bytes."`
	MaxResponse    int64         `name:"max-answer" env:"AGENTGRAPH_MAX_ANSWER" default:"33554432" help:"Largest response, in bytes."`
	QueryCost      int           `env:"AGENTGRAPH_QUERY_COST" default:"1000000" help:"Highest cost of one operation, as the schema counts it; 0 for no limit."`
	QueryDepth     int           `env:"AGENTGRAPH_QUERY_DEPTH" default:"25" help:"Most levels of nested fields in one operation."`
	MaxBatch       int           `env:"AGENTGRAPH_MAX_BATCH" default:"0" help:"Most operations in one request that has a list of them, 10 at most; 0 refuses lists."`
	Persisted      int           `name:"persisted-query-bytes" env:"AGENTGRAPH_PERSISTED_QUERY_BYTES" default:"8388608" help:"Memory for queries that clients name by their SHA-256 after they sent them once; 0 for none."`
	Trusted        string        `name:"trusted-documents" env:"AGENTGRAPH_TRUSTED_DOCUMENTS" placeholder:"DIR" type:"existingdir" help:"Directory with the only GraphQL documents that clients may use, by their ids. The console, which has its own, is off then."`
	Compress       bool          `env:"AGENTGRAPH_COMPRESS" default:"true" negatable:"" help:"Compress large responses for clients that accept gzip. Switch it off behind a proxy that compresses."`
	MaxClients     int           `env:"AGENTGRAPH_MAX_CLIENTS" default:"20000" help:"Most client connections at a time; 0 for no limit."`
	MaxPerAddress  int           `env:"AGENTGRAPH_MAX_CLIENTS_PER_ADDRESS" name:"max-clients-per-address" default:"1000" help:"Connections of one public address at most; 0 for no limit. Private addresses, which proxies have, may open as many as they like."`
	RequestTimeout time.Duration `env:"AGENTGRAPH_REQUEST_TIMEOUT" default:"30s" help:"How long a query or a mutation may take."`
	AllowedOrigin  []string      `env:"AGENTGRAPH_ALLOWED_ORIGINS" placeholder:"HOST" help:"Host, other than the gateway's own, whose pages may open a socket."`
	CORSOrigin     []string      `env:"AGENTGRAPH_CORS_ORIGINS" placeholder:"ORIGIN" help:"Origin, such as https://console.example.com, whose pages may call the gateway and open sockets; * for all. Without one, browsers keep other pages from calling it."`
	Console        string        `env:"AGENTGRAPH_CONSOLE" enum:"on,off" default:"on" help:"Whether browsers are shown the web console, at /console: on or off."`
	Plan           bool          `env:"AGENTGRAPH_PLAN" default:"true" negatable:"" help:"Answer queries by plans. Without them a resolver answers each field: the same answers, slower."`
	RateLimit      int           `env:"AGENTGRAPH_RATE_LIMIT" default:"${rateLimit}" help:"Requests that one API key may make per minute, in each process; 0 for no limit."`
	CompanyLimit   int           `name:"company-rate-limit" env:"AGENTGRAPH_COMPANY_RATE_LIMIT" default:"${companyRateLimit}" help:"Requests that all keys of one company may make per minute together, in each process; 0 for no limit."`
	ModelRateLimit int           `env:"AGENTGRAPH_MODEL_RATE_LIMIT" default:"${modelRateLimit}" help:"Operations that use a model that one API key may start per minute, in each process; 0 for no limit."`
	LogLevel       slog.Level    `env:"AGENTGRAPH_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`

	admin.SecretKeyFlag
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

// trustedDocuments returns the directory of trusted documents, or nil.
func (f gatewayFlags) trustedDocuments() fs.FS {
	if f.Trusted == "" {
		return nil
	}
	return os.DirFS(f.Trusted)
}

// listen opens the address. If another program uses it, the error is one sentence with the advice.
func listen(ctx context.Context, address, advice string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		var cause *net.OpError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listen on %s: %w: another program uses the port, perhaps another agentgraph; %s", address, err, advice)
		}
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return listener, nil
}
