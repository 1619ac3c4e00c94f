package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/llm/openai"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
)

// Validate refuses bounds that would let nothing through, and settings of a model that is not named.
func (f agentFlags) Validate() error {
	return errors.Join(f.validateModels(), f.validateKnowledge(), cmp.Or(
		cli.Refuse(f.TurnTimeout <= 0 || f.MaxModelCalls <= 0, "--turn-timeout and --max-model-calls must be above 0"),
		cli.Refuse(f.Workers < 0, "--workers must not be negative"),
		cli.Refuse(f.RunsPerCompany <= 0, "--runs-per-company must be above 0"),
	), f.validatePrices())
}

// validateModels refuses a timeout in which no model could answer, and an address or a key of a model that is not
// named: it would be used for nothing.
func (f agentFlags) validateModels() error {
	isUnnamed := func(c openai.Config) bool { return c.Model == "" && (c.BaseURL != "" || c.Key != "") }
	return errors.Join(cli.Refuse(f.Provider.Timeout <= 0, "--model-timeout must be above 0"), cmp.Or(
		cli.Refuse(isUnnamed(f.Judge), "--judge-base-url and --judge-api-key need a --judge-model"),
		cli.Refuse(isUnnamed(f.Contact), "--contact-base-url and --contact-api-key need a --contact-model"),
	))
}

// validateKnowledge refuses an incomplete reranker, a program that is not there, and a bound below 0.
func (f agentFlags) validateKnowledge() error {
	if f.MaxStored < 0 {
		return errors.New("--max-stored-bytes must not be negative")
	}
	if f.OCR.Program != "" {
		if _, err := exec.LookPath(f.OCR.Program); err != nil {
			return fmt.Errorf("--ocr: %w", err)
		}
	}
	return f.Reranker.Validate()
}

// validatePrices refuses negative prices, and those above the maximum of one entry.
func (f agentFlags) validatePrices() error {
	for _, price := range []model.Credits{f.Prices.Message, f.Prices.InputTokens, f.Prices.OutputTokens} {
		if price < 0 || price > model.MaxEntryCredits {
			return errors.New("--price-message, --price-input-tokens and --price-output-tokens must be between 0 and " +
				model.MaxEntryCredits.String())
		}
	}
	return nil
}

// options returns the engine's options.
func (f agentFlags) options(observer *observe.Observer, log *slog.Logger) app.EngineOptions {
	options := f.EngineOptions
	options.Provider.IdleTimeout = f.Provider.Timeout
	options.Observer, options.Log = observer, log
	return options
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
	return cmp.Or(
		cli.Refuse(!natsSubject.MatchString(f.Subject) || len(f.Subject) > 100,
			"--nats-subject must be up to 100 letters, digits, - and _, with single dots between them"),
		cli.Refuse(f.Credentials != "" && f.URL == "", "--nats-credentials needs --nats-url"),
	)
}

// nats is where signals travel, nil for the database.
func (f busFlags) nats(log *slog.Logger) *db.NATS {
	if f.URL == "" {
		return nil
	}
	f.Log = log
	return &f.NATS
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
