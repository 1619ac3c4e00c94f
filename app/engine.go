package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
)

// embeddingTimeout bounds the embedding of a batch of texts.
const embeddingTimeout = time.Minute

// offlineProvider is the name of the offline model's provider in traces.
const offlineProvider = "agentgraph.offline"

// Roles of models, as errors name them.
const (
	agentRole   = "the language model"
	judgeRole   = "the model of the judge"
	contactRole = "the model of the contact"
)

// providerNames are the names of providers in traces, by their formats.
var providerNames = map[provider.Format]string{
	provider.Completions: "openai", provider.Responses: "openai", provider.Messages: "anthropic",
	provider.Contents: "gcp.gemini",
}

// EngineOptions configures NewEngine: the agents' models and knowledge bases, and the hosts that they may reach.
type EngineOptions struct {
	// Provider is the provider of the language model. With neither an address nor a key, the offline model answers, unless
	// Model names one of Models.
	Provider provider.Config
	// OfflinePause is how long the offline model waits between the pieces of an answer in a chat. In test runs it never
	// waits.
	OfflinePause time.Duration
	// Models are further models, which agents can choose by their names. Provider.Model, QuestionModel, Judge, Contact and
	// Judges may name them too.
	Models []ModelOptions
	// QuestionModel is the name of the model that rewrites messages as questions to the knowledge base. "" means none.
	QuestionModel string
	// Embedder compares questions and documents by meaning. An empty Model means none. A Model that begins with / or . is
	// the folder of a static model. An empty address means the provider's address. With the provider's address, an empty
	// key means the provider's key.
	Embedder provider.Config
	Reranker knowledge.Reranker
	// OCR reads the text in scanned documents.
	OCR knowledge.OCR
	// Judge and Contact are the models that judge agent tests and play their contacts. An empty Model means the agents'
	// model. An empty address means the provider's address. With the provider's address, an empty key means the provider's
	// key.
	Judge, Contact provider.Config
	// ReviewContacts makes the judge check after each simulation whether the contact kept its role.
	ReviewContacts bool
	// Judges are other models of the judge's provider, which can judge executions again.
	Judges []string
	// TurnTimeout bounds the whole turn of sendSimulationMessage, and each answer of the model in test runs.
	// MaxModelCalls bounds the requests to the model for one answer.
	TurnTimeout   time.Duration
	MaxModelCalls int
	// Samples are mocks that answer calls instead of the tools' endpoints. Their keys are methods and addresses, such as
	// "GET https://api.example.com/orders".
	Samples map[string]*model.Mock
	// ToolAllow are the private hosts and CIDRs that tools may reach.
	ToolAllow []string
	// TransferWebhook is the address of the telephony provider. "" means none.
	TransferWebhook string
	// Prices are the prices of conversations.
	Prices model.Prices
	// Observer watches models, tools and retrievals. It may be nil.
	Observer *observe.Observer
	Log      *slog.Logger
}

// ModelOptions is a model in the operator's list.
type ModelOptions struct {
	// Name is the name by which the model is chosen. It is also the provider's name for it if Config.Model is empty.
	Name string
	provider.Config
	Prices model.Prices
	// Fallback is the name of the model that answers while this one is unavailable. Empty for none.
	Fallback string
}

// NewEngine returns an engine and its evaluator. The caller must call the returned function to release their resources.
func NewEngine(o EngineOptions) (*engine.Engine, *evaluation.Evaluator, func(), error) {
	if o.Observer == nil {
		o.Observer = &observe.Observer{}
	}
	speaker, tested, err := o.agentModels()
	if err != nil {
		return nil, nil, nil, err
	}
	base, err := o.knowledge()
	if err != nil {
		return nil, nil, nil, err
	}
	caller, err := endpoint.New(endpoint.Options{Allow: o.ToolAllow, Around: o.Observer.WrapTransport()})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("allow tools: %w", err)
	}
	rephraser, err := o.rephraser()
	if err != nil {
		return nil, nil, nil, err
	}
	parts, err := o.evaluationOptions()
	if err != nil {
		return nil, nil, nil, err
	}
	choices, err := o.choices()
	if err != nil {
		return nil, nil, nil, err
	}
	e := engine.New(speaker, engine.Options{
		Choices: choices,
		Tested:  tested, Rephraser: rephraser,
		// The model also has a timeout for each response.
		ReplyTimeout:  o.TurnTimeout,
		MaxModelCalls: o.MaxModelCalls, Caller: caller, Samples: o.Samples,
		TransferWebhook: o.TransferWebhook, Knowledge: base,
		Prices: o.Prices, Log: o.Log, TraceID: gateway.TraceID, ObserveCall: o.Observer.Calls(),
	})
	return e, evaluation.New(e, parts), caller.Close, nil
}

// evaluationOptions returns the evaluator's options: the models of all roles in tests except the agent's.
func (o EngineOptions) evaluationOptions() (parts evaluation.Options, err error) {
	parts.Log = o.Log
	if o.IsOffline() {
		parts.Contact = o.Observer.Model(offline.Contact(), offlineProvider)
		parts.Judge = o.Observer.Model(offline.Judge(), offlineProvider)
		parts.Extractor = o.Observer.Model(offline.Extractor(), offlineProvider)
		parts.Classifier = o.Observer.Model(offline.Classifier(), offlineProvider)
	}
	if o.Judge.Model != "" {
		if parts.Judge, err = o.roleModel(judgeRole, o.Judge); err != nil {
			return parts, err
		}
	}
	for _, name := range o.Judges {
		other := o.Judge
		other.Model = name
		judge, err := o.roleModel(judgeRole, other)
		if err != nil {
			return parts, err
		}
		parts.Judges = append(parts.Judges, judge)
	}
	if o.Contact.Model != "" {
		if parts.Contact, err = o.roleModel(contactRole, o.Contact); err != nil {
			return parts, err
		}
	}
	// The offline judge cannot review contacts, and the offline contact never leaves its role.
	parts.ReviewContact = o.ReviewContacts && (!o.IsOffline() || o.Judge.Model != "" && o.Contact.Model != "")
	return parts, nil
}

// IsOffline reports whether no provider is configured.
func (o EngineOptions) IsOffline() bool {
	return o.Provider.Key == "" && o.Provider.BaseURL == "" && o.modelByName(o.Provider.Model) == nil
}

// modelByName returns the model with the name in the operator's list, or nil.
func (o EngineOptions) modelByName(name string) *ModelOptions {
	if i := slices.IndexFunc(o.Models, func(m ModelOptions) bool { return m.Name == name }); i >= 0 {
		return &o.Models[i]
	}
	return nil
}

// choices returns the models in the operator's list, with their fallbacks.
func (o EngineOptions) choices() (choices []engine.Choice, err error) {
	for i := range o.Models {
		m, err := o.modelWithFallback(&o.Models[i])
		if err != nil {
			return nil, err
		}
		choices = append(choices, engine.Choice{Model: m, Prices: o.Models[i].Prices, Fallback: o.Models[i].Fallback,
			Provider: string(cmp.Or(o.Models[i].Format, provider.Completions))})
	}
	return choices, nil
}

// modelWithFallback returns a model in the operator's list, with its fallback.
func (o EngineOptions) modelWithFallback(options *ModelOptions) (llm.Model, error) {
	m, err := o.modelWithoutFallback(options)
	if err != nil || options.Fallback == "" {
		return m, err
	}
	second := o.modelByName(options.Fallback)
	if second == nil {
		return nil, fmt.Errorf("the fallback %s of the model %s is not one of the models", options.Fallback, options.Name)
	}
	other, err := o.modelWithoutFallback(second)
	if err != nil {
		return nil, err
	}
	return llm.Fallback(m, other, cmp.Or(o.Log, slog.Default())), nil
}

// modelWithoutFallback returns a model in the operator's list, without its fallback.
func (o EngineOptions) modelWithoutFallback(options *ModelOptions) (llm.Model, error) {
	config := options.Config
	config.Model = cmp.Or(config.Model, options.Name)
	config.Timeout = cmp.Or(config.Timeout, o.Provider.Timeout)
	config.IdleTimeout = config.Timeout
	m, err := o.newObservedModel(config)
	if err != nil {
		return nil, fmt.Errorf("choose the model %s: %w", options.Name, err)
	}
	return llm.Named(m, options.Name), nil
}

// CheckModel asks the provider of the language model whether the address, the key and the model are valid, by free
// requests. It returns nil if no provider is configured. The error is for operators only; see [provider.Model.Check].
func (o EngineOptions) CheckModel(ctx context.Context) error {
	if o.IsOffline() {
		return nil
	}
	return o.checkRoleModel(ctx, agentRole, o.Provider)
}

// CheckListed is like CheckModel, for the provider of a model in the operator's list.
func (o EngineOptions) CheckListed(ctx context.Context, options *ModelOptions) error {
	config := options.Config
	config.Model = cmp.Or(config.Model, options.Name)
	m, err := provider.New(config)
	if err != nil {
		return fmt.Errorf("choose the model %s: %w", options.Name, err)
	}
	return m.Check(ctx)
}

// CheckJudge is like CheckModel, for the judge's provider. It returns nil if the judge has no model of its own.
func (o EngineOptions) CheckJudge(ctx context.Context) error {
	return o.checkRoleModel(ctx, judgeRole, o.Judge)
}

// CheckContact is like CheckJudge, for the provider of the contacts in tests.
func (o EngineOptions) CheckContact(ctx context.Context) error {
	return o.checkRoleModel(ctx, contactRole, o.Contact)
}

func (o EngineOptions) checkRoleModel(ctx context.Context, role string, config provider.Config) error {
	if config.Model == "" {
		return nil
	}
	if listed := o.modelByName(config.Model); listed != nil {
		return o.CheckListed(ctx, listed)
	}
	m, err := provider.New(o.withProviderDefaults(config))
	if err != nil {
		return fmt.Errorf("choose %s: %w", role, err)
	}
	return m.Check(ctx)
}

// roleModel returns the model of a role. An error names the role.
func (o EngineOptions) roleModel(role string, config provider.Config) (llm.Model, error) {
	if listed := o.modelByName(config.Model); listed != nil {
		return o.modelWithFallback(listed)
	}
	if config.BaseURL == "" && config.Key == "" && o.IsOffline() {
		return nil, fmt.Errorf("%s, %s, has no provider: set its base URL or its API key", role, config.Model)
	}
	config = o.withProviderDefaults(config)
	config.Timeout, config.IdleTimeout = o.Provider.Timeout, o.Provider.IdleTimeout
	m, err := o.newObservedModel(config)
	if err != nil {
		return nil, fmt.Errorf("choose %s: %w", role, err)
	}
	return m, nil
}

// withProviderDefaults fills the empty settings of another model from the provider's. The provider's key is sent only
// to the provider.
func (o EngineOptions) withProviderDefaults(config provider.Config) provider.Config {
	config.BaseURL = cmp.Or(config.BaseURL, o.Provider.BaseURL)
	if config.Key == "" && config.BaseURL == o.Provider.BaseURL {
		config.Key = o.Provider.Key
	}
	return config
}

// agentModels returns the agents' language models for chats and for tests.
func (o EngineOptions) agentModels() (chats, tests llm.Model, err error) {
	if o.IsOffline() {
		m := offline.New()
		return o.Observer.Model(m.Paced(o.OfflinePause), offlineProvider), o.Observer.Model(m, offlineProvider), nil
	}
	m, err := o.roleModel(agentRole, o.Provider)
	return m, m, err
}

// rephraser returns the model that rewrites messages as questions to the knowledge base, or nil.
func (o EngineOptions) rephraser() (llm.Model, error) {
	if o.QuestionModel == "" || o.IsOffline() && o.modelByName(o.QuestionModel) == nil {
		return nil, nil
	}
	config := o.Provider
	config.Model = o.QuestionModel
	return o.roleModel(agentRole, config)
}

// newObservedModel returns a provider's model that the observer watches.
func (o EngineOptions) newObservedModel(config provider.Config) (llm.Model, error) {
	config.Around = o.Observer.WrapTransport()
	m, err := provider.New(config)
	if err != nil {
		return nil, err
	}
	return o.Observer.Model(m, providerNames[cmp.Or(config.Format, provider.Completions)]), nil
}
