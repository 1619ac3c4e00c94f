package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/model"
)

func readModels(t *testing.T, text string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "models.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return modelsIn(new([]app.ModelOptions), new([]string))(path)
}

func TestModelsAreReadWithTheirKeys(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(secret, []byte("\ufefffrom-file\n"), 0o600))
	t.Setenv("TEST_MODEL_KEY", "from-env")
	path := filepath.Join(t.TempDir(), "models.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
models:
  - name: careful
    provider: anthropic
    model: claude-x
    keyEnv: TEST_MODEL_KEY
    maxOutputTokens: 4096
    timeout: 40s
    prices: {inputTokens: 0.003, cachedTokens: 0.0003, outputTokens: "0.015"}
    fallback: local
  - name: local
    url: http://127.0.0.1:11434/v1
  - {name: gem, provider: gemini, keyFile: `+secret+`}
`), 0o600))
	var models []app.ModelOptions
	require.NoError(t, modelsIn(&models, new([]string))(path))
	require.Equal(t, []app.ModelOptions{
		{Name: "careful", Fallback: "local", Config: provider.Config{Format: provider.Messages, Model: "claude-x",
			Key: "from-env", MaxOutputTokens: 4096, Timeout: 40 * time.Second},
			Prices: model.Prices{Message: 10_000, InputTokens: 3_000, CachedTokens: new(model.Credits(300)),
				OutputTokens: 15_000}},
		{Name: "local", Config: provider.Config{Format: provider.Completions, BaseURL: "http://127.0.0.1:11434/v1",
			Model: "local"}, Prices: model.Prices{Message: 10_000, InputTokens: 2_000, OutputTokens: 8_000}},
		{Name: "gem", Config: provider.Config{Format: provider.Contents, Model: "gem", Key: "from-file"},
			Prices: model.Prices{Message: 10_000, InputTokens: 2_000, OutputTokens: 8_000}},
	}, withDefaultPrices(models, model.Prices{Message: 10_000, InputTokens: 2_000, OutputTokens: 8_000}))
}

func TestInvalidModelsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"models: [{name: a}, {name: a}]":                       `models.1.name: "a" occurs twice`,
		"models: [{name: a, fallback: b}]":                     `models.0.fallback: "b" is not another model in the file`,
		"models: [{name: a, fallback: a}]":                     `models.0.fallback: "a" is not another model in the file`,
		"models: [{name: 'a,b'}]":                              "models.0: name must have 1 to 100 bytes and no commas",
		"models: [{provider: gemini}]":                         "models.0: name must have 1 to 100 bytes and no commas",
		"models: [{name: a, provider: cohere}]":                "models.0: the format of the model's provider must be one of",
		"models: [{name: a, url: 'ftp://x'}]":                  "models.0: the model provider's address is not an http or https URL",
		"models: [{name: a, keyEnv: NO_SUCH_VARIABLE_AT_ALL}]": "models.0: keyEnv: the variable NO_SUCH_VARIABLE_AT_ALL is not set",
		"models: [{name: a, keyFile: /no/such/file}]":          "models.0: keyFile: open /no/such/file: no such file",
		"models: [{name: a, keyFile: /x, keyEnv: X}]":          "models.0: keyEnv and keyFile cannot be combined: set only one of them",
		"models: [{name: a, prices: {cachedTokens: -1}}]":      "models.0: prices.cachedTokens must be between 0 and",
		"models: [{name: a}, {name: b, prices: {message: 1e-7}}]": "models.1: prices.message: must have at most six " +
			"decimals",
		"models: [{name: a, prices: {outputTokens: free}}]": `models.0: prices.outputTokens: must be a decimal number such as 12.5, not "free"`,
		"models: [{name: a, timeout: -1s}]":                 "models.0: timeout must be a duration above 0, such as 30s",
		"models: [{name: a, timeout: 0s}]":                  "models.0: timeout must be a duration above 0, such as 30s",
		"models: [{name: a, timeout: 5}]":                   "models.0: timeout must be a duration above 0, such as 30s",
		"models: [{name: a, maxOutputTokens: -1}]":          "models.0: maxOutputTokens must be above 0",
		"models: [{name: a, maxOutputTokens: 0}]":           "models.0: maxOutputTokens must be above 0",
	} {
		err := readModels(t, text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestErrorsOfModelsRepeatNoKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"models:\n- name: a\n  key: sk-hunter2": `models.yaml:3: unknown field "key". Keep API keys out of the list: ` +
			"name the environment variable in keyEnv, or the file in keyFile",
		"models:\n- {name: a, kay: sk-hunter2}":     `models.yaml:2: unknown field "kay"`,
		"models:\n- {name: a, model: [sk-hunter2]}": "models.yaml:2: cannot unmarshal",
		"models:\n- {name: a, model: 'sk-hunter2":   "models.yaml:2: could not find end character of single-quoted text",
		"models: [{name: a, keyEnv: sk-hunter2}]":   "models.0: keyEnv must be the name of a variable that is set, such as OPENAI_API_KEY",
		"models: [{name: a, keyEnv: AIhunter2}]":    "models.0: keyEnv must be the name of a variable that is set, such as OPENAI_API_KEY",
	} {
		err := readModels(t, text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
