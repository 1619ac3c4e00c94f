package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm/openai"
	"github.com/agentgraph/agentgraph/observe"
)

// agentFlags say how agents speak, what they answer from and what they may reach.
type agentFlags struct {
	modelFlags
	refereeFlags
	knowledgeFlags
	conversationFlags
}

func (f *agentFlags) Declare() cli.Flags {
	return slices.Concat(f.modelFlags.Declare(), f.refereeFlags.Declare(), f.knowledgeFlags.Declare(), f.conversationFlags.Declare())
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
	AuditDays          int
	AuditWebhook       string
	AuditWebhookSecret string
}

func (f *auditFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.AuditDays, Name: "audit-days", Env: "AGENTGRAPH_AUDIT_DAYS", Default: "400", Help: "How many days audit events are kept; 0 for ever."},
		{Into: &f.AuditWebhook, Name: "audit-webhook", Env: "AGENTGRAPH_AUDIT_WEBHOOK", Placeholder: "URL", Help: "Address that is told of all audit events. It may be private."},
		{Into: &f.AuditWebhookSecret, Name: "audit-webhook-secret", Env: "AGENTGRAPH_AUDIT_WEBHOOK_SECRET", Placeholder: "SECRET", Help: "Signs what the webhook is sent; at least 16 characters. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_AUDIT_WEBHOOK_SECRET_FILE."},
	}
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
	NatsURL         string
	NatsCredentials string
	NatsSubject     string
}

func (f *busFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.NatsURL, Name: "nats-url", Env: "AGENTGRAPH_NATS_URL", Placeholder: "URL", Help: "NATS servers that carry signals and text between replicas in place of the database, separated by commas, such as nats://user:password@nats:4222. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_NATS_URL_FILE."},
		{Into: &f.NatsCredentials, Name: "nats-credentials", Env: "AGENTGRAPH_NATS_CREDENTIALS", Placeholder: "PATH", Help: "File with the credentials for NATS, a JWT and its seed."},
		{Into: &f.NatsSubject, Name: "nats-subject", Env: "AGENTGRAPH_NATS_SUBJECT", Default: "agentgraph", Help: "What the subjects at NATS begin with. Gateways on different databases need different ones."},
	}
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
	OpenaiAPIKey  string
	OpenaiBaseURL string
	Model         string
	ModelTimeout  time.Duration
	QuestionModel string
}

func (f *modelFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.OpenaiAPIKey, Name: "openai-api-key", Env: "OPENAI_API_KEY", Placeholder: "KEY", Help: "Key of the OpenAI-compatible provider. Without a key and a base URL the offline model answers. The flag shows in process lists; rather set the variable, or name a file with OPENAI_API_KEY_FILE."},
		{Into: &f.OpenaiBaseURL, Name: "openai-base-url", Env: "OPENAI_BASE_URL", Placeholder: "URL", Help: "Address of the provider, before /chat/completions."},
		{Into: &f.Model, Name: "model", Env: "AGENTGRAPH_MODEL", Default: "gpt-4.1-mini", Help: "The model that speaks for the agents."},
		{Into: &f.ModelTimeout, Name: "model-timeout", Env: "AGENTGRAPH_MODEL_TIMEOUT", Default: "25s", Help: "How long one response of the model may take."},
		{Into: &f.QuestionModel, Name: "question-model", Env: "AGENTGRAPH_QUESTION_MODEL", Placeholder: "MODEL", Help: "A small model of the same provider that turns a message, with those before it, into a question to the knowledge base. Without one the message itself is the question."},
	}
}

// refereeFlags choose the models that judge tests of agents and play their contacts.
type refereeFlags struct {
	JudgeModel     string
	JudgeBaseURL   string
	JudgeAPIKey    string
	JudgeModels    []string
	ContactModel   string
	ContactBaseURL string
	ContactAPIKey  string
}

func (f *refereeFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.JudgeModel, Name: "judge-model", Env: "AGENTGRAPH_JUDGE_MODEL", Placeholder: "MODEL", Help: "The model that judges tests of agents. Default: that of the agents, which then judges itself."},
		{Into: &f.JudgeBaseURL, Name: "judge-base-url", Env: "AGENTGRAPH_JUDGE_BASE_URL", Placeholder: "URL", Help: "Address of the judge's provider, before /chat/completions. Default: that of the language model."},
		{Into: &f.JudgeAPIKey, Name: "judge-api-key", Env: "AGENTGRAPH_JUDGE_API_KEY", Placeholder: "KEY", Help: "Key of the judge's provider. Default: that of the language model, when the address is the same. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_JUDGE_API_KEY_FILE."},
		{Into: &f.JudgeModels, Name: "judge-models", Env: "AGENTGRAPH_JUDGE_MODELS", Placeholder: "MODEL,…", Help: "Other models of the judge's provider, by which users may have conversations of tests judged again. What they cost is theirs to choose."},
		{Into: &f.ContactModel, Name: "contact-model", Env: "AGENTGRAPH_CONTACT_MODEL", Placeholder: "MODEL", Help: "The model that plays the contacts in tests of agents. Default: that of the agents."},
		{Into: &f.ContactBaseURL, Name: "contact-base-url", Env: "AGENTGRAPH_CONTACT_BASE_URL", Placeholder: "URL", Help: "Address of the contacts' provider, before /chat/completions. Default: that of the language model."},
		{Into: &f.ContactAPIKey, Name: "contact-api-key", Env: "AGENTGRAPH_CONTACT_API_KEY", Placeholder: "KEY", Help: "Key of the contacts' provider. Default: that of the language model, when the address is the same. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_CONTACT_API_KEY_FILE."},
	}
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
	EmbeddingModel   string
	EmbeddingBaseURL string
	EmbeddingAPIKey  string
	RerankURL        string
	RerankAPIKey     string
	RerankModel      []string
	OCR              string
	OCRLanguages     string
	MaxStored        int64
}

func (f *knowledgeFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.EmbeddingModel, Name: "embedding-model", Env: "AGENTGRAPH_EMBEDDING_MODEL", Placeholder: "NAME", Help: "The model that compares questions and documents by meaning. Without one they are compared by their words."},
		{Into: &f.EmbeddingBaseURL, Name: "embedding-base-url", Env: "AGENTGRAPH_EMBEDDING_BASE_URL", Placeholder: "URL", Help: "Address of the embedding model's provider, before /embeddings. Default: that of the language model."},
		{Into: &f.EmbeddingAPIKey, Name: "embedding-api-key", Env: "AGENTGRAPH_EMBEDDING_API_KEY", Placeholder: "KEY", Help: "Key of the embedding model's provider. Default: that of the language model, when the address is the same. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_EMBEDDING_API_KEY_FILE."},
		{Into: &f.RerankURL, Name: "rerank-url", Env: "AGENTGRAPH_RERANK_URL", Placeholder: "URL", Help: "Full address of a reranker with the API of Cohere or Jina."},
		{Into: &f.RerankAPIKey, Name: "rerank-api-key", Env: "AGENTGRAPH_RERANK_API_KEY", Placeholder: "KEY", Help: "Key of the reranker. The flag shows in process lists; rather set the variable, or name a file with AGENTGRAPH_RERANK_API_KEY_FILE."},
		{Into: &f.RerankModel, Name: "rerank-model", Env: "AGENTGRAPH_RERANK_MODELS", Placeholder: "NAME", Help: "Model of the reranker that knowledge base chats may name."},
		{Into: &f.OCR, Name: "ocr", Env: "AGENTGRAPH_OCR", Placeholder: "PROGRAM", Help: "Path or name of Tesseract, to read the writing in images and scanned PDFs. Without it they hold no text."},
		{Into: &f.OCRLanguages, Name: "ocr-languages", Env: "AGENTGRAPH_OCR_LANGUAGES", Default: "eng", Placeholder: "LANGUAGES", Help: "The languages of such writing, as Tesseract calls those that are installed with it: eng+fra."},
		{Into: &f.MaxStored, Name: "max-stored-bytes", Env: "AGENTGRAPH_MAX_STORED_BYTES", Default: "10737418240", Help: "Bytes of the documents of one company at most; 0 for no limit."},
	}
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
	TurnTimeout     time.Duration
	MaxModelCalls   int
	ToolAllow       []string
	Workers         int
	RunsPerCompany  int
	TransferWebhook string
	priceFlags
}

func (f *conversationFlags) Declare() cli.Flags {
	return slices.Concat(cli.Flags{
		{Into: &f.TurnTimeout, Name: "turn-timeout", Env: "AGENTGRAPH_TURN_TIMEOUT", Default: "10m", Help: "How long an agent may take to answer one message, including its calls and their delays."},
		{Into: &f.MaxModelCalls, Name: "max-model-calls", Env: "AGENTGRAPH_MAX_MODEL_CALLS", Default: "25", Help: "How often the model may be asked for one response of an agent. Each sub-agent has as many calls of its own, all together 5 times as many."},
		{Into: &f.ToolAllow, Name: "tool-allow", Env: "AGENTGRAPH_TOOL_ALLOW", Placeholder: "HOST", Help: "Private host or CIDR that tools may reach. By default they reach public addresses only."},
		{Into: &f.Workers, Name: "workers", Env: "AGENTGRAPH_WORKERS", Default: "10", Help: "How many jobs (test runs and documents to index) this process works on at once; 0 leaves them to other processes."},
		{Into: &f.RunsPerCompany, Name: "runs-per-company", Env: "AGENTGRAPH_RUNS_PER_COMPANY", Default: "50", Help: "How many jobs of one company are worked on at once, across all processes. Give each of them the same value."},
		{Into: &f.TransferWebhook, Name: "transfer-webhook", Env: "AGENTGRAPH_TRANSFER_WEBHOOK", Placeholder: "URL", Help: "Address of the telephony provider that transfers calls. Without one agents are told that there is none."},
	}, f.priceFlags.Declare())
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
