package server

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/model"
)

// maxModels bounds the list of models in a file.
const maxModels = 50

// listedModel is a model in the operator's file. The file refers to keys instead of containing them.
type listedModel struct {
	Name            string
	Provider        string
	Model           string
	URL             string `yaml:"url"`
	KeyEnv          string `yaml:"keyEnv"`
	KeyFile         string `yaml:"keyFile"`
	MaxOutputTokens *int   `yaml:"maxOutputTokens"`
	Timeout         string
	Prices          struct {
		Message      *listedPrice
		InputTokens  *listedPrice `yaml:"inputTokens"`
		CachedTokens *listedPrice `yaml:"cachedTokens"`
		OutputTokens *listedPrice `yaml:"outputTokens"`
	}
	Fallback string
}

// listedPrice is a price in the operator's file. It keeps its parse error, so that a later error can also name the
// model.
type listedPrice struct {
	credits model.Credits
	fault   error
}

// UnmarshalText parses a price. It always returns nil.
func (p *listedPrice) UnmarshalText(text []byte) error {
	p.fault = p.credits.UnmarshalText(text)
	return nil
}

// modelsIn returns a setter that reads the list of models in a YAML or JSON file. Prices that the file omits are
// noPrice, except that an omitted price of cached tokens is nil. The names of the variables with keys go to
// keyVariables.
func modelsIn(into *[]app.ModelOptions, keyVariables *[]string) func(string) error {
	return func(path string) error {
		text, err := os.ReadFile(cli.ExpandPath(path))
		if err != nil {
			return err
		}
		var file struct{ Models []listedModel }
		if err := cli.DecodeYAML(text, &file, yaml.Strict()); err != nil {
			return decodeError(path, err)
		}
		*into, *keyVariables = nil, nil
		if len(file.Models) > maxModels {
			return fmt.Errorf("%s: models must have at most %d entries, not %d", path, maxModels, len(file.Models))
		}
		for i, each := range file.Models {
			options, err := each.options()
			if err != nil {
				return fmt.Errorf("%s: models.%d: %w", path, i, err)
			}
			*into, *keyVariables = append(*into, options), append(*keyVariables, each.KeyEnv)
		}
		return errors.Join(checkNames(path, *into)...)
	}
}

// decodeError returns the error of a list that cannot be decoded. It does not quote the list, which may contain a key
// by mistake.
func decodeError(path string, err error) error {
	fault, ok := errors.AsType[yaml.Error](err)
	if !ok || fault.GetToken() == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	advice := ""
	_, isUnknown := errors.AsType[*yaml.UnknownFieldError](err)
	if isUnknown && strings.Contains(strings.ToLower(fault.GetMessage()), "key") {
		advice = ". Keep API keys out of the list: name the environment variable in keyEnv, or the file in keyFile"
	}
	return fmt.Errorf("%s:%d: %s%s", path, fault.GetToken().Position.Line, fault.GetMessage(), advice)
}

// checkNames returns errors for names that occur twice, and for fallbacks that are not another model in the list.
func checkNames(path string, models []app.ModelOptions) (faults []error) {
	for i, m := range models {
		isAt := func(name string) int {
			return slices.IndexFunc(models, func(other app.ModelOptions) bool { return other.Name == name })
		}
		if isAt(m.Name) != i {
			faults = append(faults, fmt.Errorf("%s: models.%d.name: %q occurs twice", path, i, m.Name))
		}
		if m.Fallback != "" && (isAt(m.Fallback) < 0 || m.Fallback == m.Name) {
			faults = append(faults, fmt.Errorf("%s: models.%d.fallback: %q is not another model in the file", path, i,
				m.Fallback))
		}
	}
	return faults
}

// noPrice marks a price that the file omits.
const noPrice = model.Credits(-1)

func (m listedModel) options() (app.ModelOptions, error) {
	options := app.ModelOptions{
		Name: m.Name, Fallback: m.Fallback,
		Config: provider.Config{Format: provider.Format(cmp.Or(m.Provider, string(provider.Completions))), BaseURL: m.URL,
			Model: cmp.Or(m.Model, m.Name)},
		Prices: model.Prices{Message: noPrice, InputTokens: noPrice, OutputTokens: noPrice},
	}
	if m.Prices.CachedTokens != nil {
		options.Prices.CachedTokens = &m.Prices.CachedTokens.credits
	}
	if m.Name == "" || len(m.Name) > model.MaxModelName || strings.ContainsAny(m.Name, ",\n") {
		return options, fmt.Errorf("name must have 1 to %d bytes and no commas", model.MaxModelName)
	}
	if m.MaxOutputTokens != nil {
		if options.MaxOutputTokens = *m.MaxOutputTokens; options.MaxOutputTokens <= 0 {
			return options, errors.New("maxOutputTokens must be above 0")
		}
	}
	var err error
	if m.Timeout != "" {
		if options.Timeout, err = time.ParseDuration(m.Timeout); err != nil || options.Timeout <= 0 {
			return options, errors.New("timeout must be a duration above 0, such as 30s")
		}
	}
	for _, price := range []struct {
		name string
		into *model.Credits
		from *listedPrice
	}{
		{"message", &options.Prices.Message, m.Prices.Message},
		{"inputTokens", &options.Prices.InputTokens, m.Prices.InputTokens},
		{"cachedTokens", new(model.Credits), m.Prices.CachedTokens},
		{"outputTokens", &options.Prices.OutputTokens, m.Prices.OutputTokens},
	} {
		if price.from == nil {
			continue
		}
		if price.from.fault != nil {
			return options, fmt.Errorf("prices.%s: %w", price.name, price.from.fault)
		}
		if *price.into = price.from.credits; *price.into < 0 || *price.into > model.MaxEntryCredits {
			return options, fmt.Errorf("prices.%s must be between 0 and %s", price.name, model.MaxEntryCredits)
		}
	}
	if options.Key, err = m.key(); err != nil {
		return options, err
	}
	_, err = provider.New(options.Config)
	return options, err
}

// variablePattern matches the usual names of environment variables.
var variablePattern = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// key reads the key from the variable or the file that the model names. Without either there is no key.
func (m listedModel) key() (string, error) {
	switch {
	case m.KeyEnv != "" && m.KeyFile != "":
		return "", errors.New("keyEnv and keyFile cannot be combined: set only one of them")
	case m.KeyEnv != "":
		key := os.Getenv(m.KeyEnv)
		if key == "" && !variablePattern.MatchString(m.KeyEnv) { // it may be the key itself
			return "", errors.New("keyEnv must be the name of a variable that is set, such as OPENAI_API_KEY")
		}
		if key == "" {
			return "", fmt.Errorf("keyEnv: the variable %s is not set", m.KeyEnv)
		}
		return key, nil
	case m.KeyFile != "":
		key, err := cli.ReadFile(cli.ExpandPath(m.KeyFile))
		if err == nil && len(strings.TrimSpace(string(key))) == 0 {
			err = fmt.Errorf("%s is empty", m.KeyFile)
		}
		if err != nil {
			return "", fmt.Errorf("keyFile: %w", err)
		}
		return strings.TrimSpace(string(key)), nil
	}
	return "", nil
}

// withDefaultPrices sets prices that the file omits to the default model's prices. It does not set the price of cached
// tokens.
func withDefaultPrices(models []app.ModelOptions, by model.Prices) []app.ModelOptions {
	models = slices.Clone(models)
	for i := range models {
		for _, price := range []struct{ into, preset *model.Credits }{
			{&models[i].Prices.Message, &by.Message}, {&models[i].Prices.InputTokens, &by.InputTokens},
			{&models[i].Prices.OutputTokens, &by.OutputTokens},
		} {
			if *price.into == noPrice {
				*price.into = *price.preset
			}
		}
	}
	return models
}
