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
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
)

// Validate refuses limits that would block everything, settings of models that are not configured, and invalid
// addresses and prices.
func (f agentFlags) Validate() error {
	if _, err := endpoint.New(endpoint.Options{Allow: f.ToolAllow}); err != nil {
		return fmt.Errorf("--tool-allow: %w", err)
	}
	return errors.Join(f.validateModels(), f.validateKnowledge(), cmp.Or(
		cli.Refuse(f.TurnTimeout <= 0 || f.MaxModelCalls <= 0, "--turn-timeout and --max-model-calls must be above 0"),
		cli.Refuse(f.Workers < 0, "--workers must not be negative; 0 starts no workers"),
		cli.Refuse(f.RunsPerCompany <= 0, "--runs-per-company must be above 0"),
		cli.Refuse(f.TransferWebhook != "" && !isWebAddress(f.TransferWebhook),
			"--transfer-webhook must be an address such as https://phone.example.com/transfers"),
	), f.validatePrices())
}

// validateModels refuses a timeout of 0 or less, an invalid address, an address or a key without a model, and a model
// that is neither in the list nor has a provider.
func (f agentFlags) validateModels() error {
	isUnnamed := func(c provider.Config) bool { return c.Model == "" && (c.BaseURL != "" || c.Key != "") }
	isInvalid := func(c provider.Config) bool { return c.BaseURL != "" && !isWebAddress(c.BaseURL) }
	const says = " must be an address such as https://api.example.com/v1"
	return errors.Join(cli.Refuse(f.Provider.Timeout <= 0, "--model-timeout must be above 0"), cmp.Or(
		cli.Refuse(isInvalid(f.Provider), "--openai-base-url"+says),
		cli.Refuse(isInvalid(f.Judge), "--judge-base-url"+says),
		cli.Refuse(isInvalid(f.Contact), "--contact-base-url"+says),
		cli.Refuse(isInvalid(f.Embedder), "--embedding-base-url"+says),
		cli.Refuse(isUnnamed(f.Judge), "--judge-base-url and --judge-api-key need a --judge-model"),
		cli.Refuse(isUnnamed(f.Contact), "--contact-base-url and --contact-api-key need a --contact-model"),
	), f.validateNames())
}

// validateNames refuses names of models that are not in the list and have no provider. The default model may have none,
// because agents then use the offline model. Without a list, NewEngine decides.
func (f agentFlags) validateNames() error {
	var listed []string
	for _, m := range f.Models {
		listed = append(listed, m.Name)
	}
	for _, role := range []struct {
		flag   string
		models []string
		by     provider.Config
	}{
		{"--model", []string{f.Provider.Model}, f.Provider},
		{"--question-model", []string{f.QuestionModel}, f.Provider},
		{"--judge-model", []string{f.Judge.Model}, f.Judge},
		{"--judge-models", f.Judges, f.Judge},
		{"--contact-model", []string{f.Contact.Model}, f.Contact},
	} {
		if len(listed) == 0 || cmp.Or(role.by.BaseURL, role.by.Key, f.Provider.BaseURL, f.Provider.Key) != "" {
			continue
		}
		for _, name := range role.models {
			isDefault := role.flag == "--model" && name == defaultModel
			if name != "" && !isDefault && !slices.Contains(listed, name) {
				return fmt.Errorf("%s: %q is not in the list of --models, and has no provider. Name one of %s, or set "+
					"--openai-api-key", role.flag, name, strings.Join(listed, ", "))
			}
		}
	}
	return nil
}

// validateKnowledge refuses an incomplete reranker, an OCR program that does not exist, and a negative limit.
func (f agentFlags) validateKnowledge() error {
	if f.MaxStored < 0 {
		return errors.New("--max-stored-bytes must not be negative; 0 means no limit")
	}
	if f.OCR.Program != "" {
		if _, err := exec.LookPath(f.OCR.Program); err != nil {
			return fmt.Errorf("--ocr: %w", err)
		}
	}
	return f.Reranker.Validate()
}

// validatePrices refuses prices that are negative or above the maximum of a usage entry.
func (f agentFlags) validatePrices() error {
	for _, price := range []model.Credits{f.Prices.Message, f.Prices.InputTokens, f.Prices.OutputTokens} {
		if price < 0 || price > model.MaxEntryCredits {
			return errors.New("--price-message, --price-input-tokens and --price-output-tokens must be between 0 and " +
				model.MaxEntryCredits.String())
		}
	}
	return nil
}

func (f agentFlags) options(observer *observe.Observer, log *slog.Logger) app.EngineOptions {
	options := f.EngineOptions
	options.Provider.IdleTimeout = f.Provider.Timeout
	options.Observer, options.Log, options.Models = observer, log, withDefaultPrices(f.Models, f.Prices)
	return options
}

const (
	// maxAuditDays is a little more than a hundred years.
	maxAuditDays = 40_000
	// minSecret is the minimum length of a signing secret, in characters.
	minSecret = 16
)

// Validate refuses an invalid number of days, an invalid address, and a secret that is too short.
func (f auditFlags) Validate() error {
	isSent := f.AuditWebhook != ""
	return cmp.Or(
		cli.Refuse(f.AuditDays < 0 || f.AuditDays > maxAuditDays, "--audit-days must be between 0 and %d", maxAuditDays),
		cli.Refuse(isSent && !isWebAddress(f.AuditWebhook),
			"--audit-webhook must be an address such as https://siem.example.com/agentgraph"),
		cli.Refuse(isSent && utf8.RuneCountInString(f.AuditWebhookSecret) < minSecret,
			"--audit-webhook-secret must have at least %d characters", minSecret),
	)
}

// isWebAddress reports whether the text is an http or https URL with a host.
func isWebAddress(text string) bool {
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != ""
}

func (f auditFlags) webhook() db.AuditWebhook {
	return db.AuditWebhook{URL: f.AuditWebhook, Key: []byte(f.AuditWebhookSecret)}
}

// retention returns how long audit events are kept, 0 for no limit.
func (f auditFlags) retention() time.Duration { return time.Duration(f.AuditDays) * 24 * time.Hour }

// natsSubject matches valid prefixes of subjects.
var natsSubject = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// Validate refuses an invalid subject or address, and credentials without a NATS server.
func (f busFlags) Validate() error {
	if err := f.NATS.Validate(); f.URL != "" && err != nil {
		return fmt.Errorf("--nats-url: %w", err)
	}
	return cmp.Or(
		cli.Refuse(!natsSubject.MatchString(f.Subject) || len(f.Subject) > 100,
			"--nats-subject must be up to 100 letters, digits, - and _, with single dots between them"),
		cli.Refuse(f.Credentials != "" && f.URL == "", "--nats-credentials needs --nats-url"),
	)
}

// nats returns the NATS settings, or nil if signals use the database.
func (f busFlags) nats(log *slog.Logger) *db.NATS {
	if f.URL == "" {
		return nil
	}
	f.Log = log
	return &f.NATS
}

// checkListen refuses an address without a port, or with a port that does not exist.
func checkListen(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
	}
	return cli.Refuse(err != nil, "%s must be an address such as :8080 or 127.0.0.1:8080, not %q", flag, address)
}

// listen listens on the address. If the port is in use, the error includes the advice.
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
