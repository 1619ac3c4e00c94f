package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
)

func TestOnlyValidOriginsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"*", "https://console.example.com", "http://localhost:5173", "http://[::1]:3000",
		"https://*.example.com", "https://*.example.com:8443"} {
		require.True(t, isOrigin(origin), origin)
	}
	for _, origin := range []string{
		"", "null", "example.com", "https://example.com/", "https://", "ftp://example.com", "https://user@example.com",
		"https://example.com?x",
		"https://*", "https://*example.com", "https://a.*.example.com", "https://*.*.example.com", " https://example.com",
		"HTTPS://example.com",
	} {
		require.False(t, isOrigin(origin), origin)
	}
}

func TestTrustedProxiesAreNetworks(t *testing.T) {
	t.Parallel()
	found, err := networks([]string{"10.0.0.0/8", "10.1.2.3", "::ffff:10.1.2.3", "::ffff:10.0.0.0/104", "2001:db8::1"})
	require.NoError(t, err)
	texts := make([]string, len(found))
	for i, network := range found {
		texts[i] = network.String()
	}
	require.Equal(t, []string{"10.0.0.0/8", "10.1.2.3/32", "10.1.2.3/32", "10.0.0.0/8", "2001:db8::1/128"}, texts)
	_, err = networks([]string{"10.0.0.0/33"})
	require.ErrorContains(t, err, "--trusted-proxy")
}

func TestEngineFlagsSetItsOptions(t *testing.T) {
	t.Parallel()
	var serve Serve
	program, command := cli.NewProgram("agentgraph", "", ""), serve.command()
	command.RunE = func(*cobra.Command, []string) error { return nil }
	program.AddCommand(command)
	require.NoError(t, cli.Execute(t.Context(), program, []string{
		"serve", "--database-url", "postgres://any", "--openai-api-key", "k", "--openai-base-url", "http://a/v1", "--model",
		"speaker", "--model-timeout", "3s",
		"--question-model", "asker", "--judge-model", "judge", "--judge-base-url", "http://j/v1", "--judge-api-key", "j",
		"--contact-model", "caller",
		"--embedding-model", "embedder", "--embedding-base-url", "http://b/v1", "--embedding-api-key", "e",
		"--rerank-url", "http://c", "--rerank-api-key", "r", "--rerank-model", "x,y", "--ocr", "sh", "--turn-timeout", "5s",
		"--max-model-calls", "7",
		"--tool-allow", "10.0.0.0/8,tools.internal", "--transfer-webhook", "https://d", "--price-message", "1",
		"--price-input-tokens", "2", "--price-output-tokens", "3",
		"--rate-limit", "5", "--max-body", "6",
	}))
	log := slog.New(slog.DiscardHandler)
	observer := &observe.Observer{}
	require.Equal(t, app.EngineOptions{
		Provider: provider.Config{BaseURL: "http://a/v1", Key: "k", Model: "speaker", Timeout: 3 * time.Second,
			IdleTimeout: 3 * time.Second},
		QuestionModel:   "asker",
		Embedder:        provider.Config{BaseURL: "http://b/v1", Key: "e", Model: "embedder"},
		Reranker:        knowledge.Reranker{URL: "http://c", Key: "r", Models: []string{"x", "y"}},
		OCR:             knowledge.OCR{Program: "sh", Languages: "eng"},
		Judge:           provider.Config{BaseURL: "http://j/v1", Key: "j", Model: "judge"},
		Contact:         provider.Config{Model: "caller"},
		TurnTimeout:     5 * time.Second,
		MaxModelCalls:   7,
		ReviewContacts:  true,
		ToolAllow:       []string{"10.0.0.0/8", "tools.internal"},
		TransferWebhook: "https://d",
		Prices:          model.Prices{Message: model.Credit, InputTokens: 2 * model.Credit, OutputTokens: 3 * model.Credit},
		Observer:        observer,
		Log:             log,
	}, serve.options(observer, log))
	settings := serve.settings()
	require.Equal(t, 5, settings.RateLimit)
	require.Equal(t, 60, settings.ModelRateLimit)
	require.EqualValues(t, 6, settings.BodyBytes)
}

func TestAuditFlagsAreValidated(t *testing.T) {
	t.Parallel()
	require.NoError(t, auditFlags{AuditDays: 400}.Validate())
	good := auditFlags{AuditWebhook: "http://10.0.0.1/audit", AuditWebhookSecret: "0123456789abcdef"}
	require.NoError(t, good.Validate())
	for _, f := range []auditFlags{
		{AuditDays: -1}, {AuditDays: 40_001}, {AuditWebhook: "siem", AuditWebhookSecret: good.AuditWebhookSecret},
		{AuditWebhook: "ftp://siem", AuditWebhookSecret: good.AuditWebhookSecret},
		{AuditWebhook: good.AuditWebhook, AuditWebhookSecret: "short"},
		{AuditWebhook: good.AuditWebhook},
	} {
		require.Error(t, f.Validate(), f)
	}
	require.Error(t, agentFlags{MaxStored: -1}.Validate())
}

func TestErrorsOfAddressesNameTheSetting(t *testing.T) {
	t.Parallel()
	const says = " must be an address such as https://api.example.com/v1"
	for args, want := range map[string]string{
		"--openai-base-url hunter2":                           "--openai-base-url" + says,
		"--judge-model m --judge-base-url hunter2":            "--judge-base-url" + says,
		"--contact-model m --contact-base-url ftp://hunter2":  "--contact-base-url" + says,
		"--embedding-model m --embedding-base-url hunter2:80": "--embedding-base-url" + says,
		"--rerank-model m --rerank-url hunter2":               "is not an http or https URL: set AGENTGRAPH_RERANK_URL",
		"--nats-url http://hunter2":                           "--nats-url: an address is not a URL such as nats://",
		"--tool-allow 10.0.0.0/99":                            `--tool-allow: "10.0.0.0/99" in the list of allowed`,
	} {
		program := cli.NewProgram("agentgraph", "", "")
		program.AddCommand(NewServe())
		err := cli.Execute(t.Context(), program,
			append([]string{"serve", "--database-url", "postgres://127.0.0.1:1/none"}, strings.Fields(args)...))
		var wrong *cli.UsageError
		require.ErrorAs(t, err, &wrong, args)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestModelsThatAreNotListedNeedAProvider(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "models.yaml")
	require.NoError(t, os.WriteFile(path, []byte("models: [{name: oai}, {name: plain}]"), 0o600))
	const says = `: "oia" is not in the list of --models, and has no provider. Name one of oai, plain, or set --openai-api-key`
	for args, refused := range map[string]string{
		"--model oia":                             "--model",
		"--model oai --judge-model oia":           "--judge-model",
		"--model oai --judge-models plain,oia":    "--judge-models",
		"--model oai --contact-model oia":         "--contact-model",
		"--model oai --question-model oia":        "--question-model",
		"":                                        "",
		"--model oai --judge-model plain":         "",
		"--model oia --openai-api-key k":          "",
		"--model oia --openai-base-url http://a":  "",
		"--judge-model oia --judge-api-key k":     "",
		"--judge-model oia --openai-api-key k":    "",
		"--contact-model x --contact-api-key k":   "",
		"--question-model oia --openai-api-key k": "",
	} {
		var serve Serve
		program, command := cli.NewProgram("agentgraph", "", ""), serve.command()
		command.RunE = func(*cobra.Command, []string) error { return nil }
		program.AddCommand(command)
		err := cli.Execute(t.Context(), program, append([]string{"serve", "--database-url", "postgres://any", "--models",
			path}, strings.Fields(args)...))
		if refused == "" {
			require.NoError(t, err, args)
		} else {
			require.EqualError(t, err, "serve: "+refused+says, args)
		}
	}
}

func TestTransferWebhookMustBeAnAddress(t *testing.T) {
	t.Parallel()
	const says = "--transfer-webhook must be an address such as https://phone.example.com/transfers"
	var flags agentFlags
	flags.Provider.Timeout, flags.TurnTimeout, flags.MaxModelCalls, flags.RunsPerCompany = time.Second, time.Second, 1, 1
	for address, isRefused := range map[string]bool{
		"": false, "http://10.0.0.1:8080/calls": false, "https://phone.example.com": false,
		"foo": true, "ftp://phone.example.com": true, "https://": true, "phone.example.com:443": true,
	} {
		flags.TransferWebhook = address
		if isRefused {
			require.EqualError(t, flags.Validate(), says, address)
		} else {
			require.NoError(t, flags.Validate(), address)
		}
	}
}
