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
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
)

// agentFlags say how agents speak, what they answer from and what they may reach.
type agentFlags struct {
	modelFlags
	refereeFlags
	knowledgeFlags
	conversationFlags
	priceFlags
}

func (f *agentFlags) Declare() cli.Flags {
	return slices.Concat(f.modelFlags.Declare(), f.refereeFlags.Declare(), f.knowledgeFlags.Declare(),
		f.conversationFlags.Declare(), f.priceFlags.Declare())
}

// Validate checks all groups of flags.
func (f agentFlags) Validate() error {
	return errors.Join(f.modelFlags.Validate(), f.refereeFlags.Validate(), f.knowledgeFlags.Validate(),
		f.conversationFlags.Validate(), f.priceFlags.Validate())
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

func (f auditFlags) webhook() db.AuditWebhook {
	return db.AuditWebhook{URL: f.AuditWebhook, Key: []byte(f.AuditWebhookSecret)}
}

// kept is how long audit events are kept; 0 means for ever.
func (f auditFlags) kept() time.Duration { return time.Duration(f.AuditDays) * 24 * time.Hour }

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
	return nil
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
			return nil, fmt.Errorf("listen on %s: %w: another program uses the port, perhaps another agentgraph; %s", address,
				err, advice)
		}
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return listener, nil
}

// Validate refuses negative prices, and those above the maximum of one entry.
func (f priceFlags) Validate() error {
	for _, price := range []model.Credits{f.PriceMessage, f.PriceInputTokens, f.PriceOutputTokens} {
		if price < 0 || price > model.MaxEntryCredits {
			return errors.New("--price-message, --price-input-tokens and --price-output-tokens must be between 0 and " +
				model.MaxEntryCredits.String())
		}
	}
	return nil
}

func (f priceFlags) prices() model.Prices {
	return model.Prices{Message: f.PriceMessage, InputTokens: f.PriceInputTokens, OutputTokens: f.PriceOutputTokens}
}
