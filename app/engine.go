package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
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

// providerNames are the names of providers in traces, by their formats.
var providerNames = map[provider.Format]string{
	provider.Completions: "openai", provider.Responses: "openai", provider.Messages: "anthropic",
	provider.Contents: "gcp.gemini",
}

// EngineOptions configures NewEngine: the agents' models and knowledge bases, and the hosts that they may reach.
type EngineOptions struct {
	// Provider is the provider of the language model. With neither an address nor a key, the offline model answers.
	Provider provider.Config
	// OfflinePause is how long the offline model waits between the pieces of an answer in a chat. In tests it never waits.
	OfflinePause time.Duration
	// QuestionModel is a model of the provider that rewrites messages as questions to the knowledge base. "" means none.
	QuestionModel string
	// Embedder compares questions and documents by meaning. An empty Model means none. An empty address means the
	// provider's, and an empty key for that address means the provider's key.
	Embedder provider.Config
	Reranker knowledge.Reranker
	// OCR reads the text in scanned documents.
	OCR knowledge.OCR
	// Judge and Contact are the models that judge tests of agents and play their contacts. An empty Model means the
	// agents' model. An empty address means the provider's, and an empty key for that address means the provider's key.
	Judge, Contact provider.Config
	// ReviewContacts makes the judge check after each simulation whether the contact kept its role.
	ReviewContacts bool
	// Judges are other models of the judge's provider, which can judge executions again.
	Judges []string
	// TurnTimeout bounds the time of an agent's answer. MaxModelCalls bounds its requests to the model.
	TurnTimeout   time.Duration
	MaxModelCalls int
	// Samples answer calls instead of the endpoints of tools. Their keys are methods and addresses, such as
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

// NewEngine returns an engine and its evaluator. The caller must call the returned function to release their resources.
func NewEngine(o EngineOptions) (*engine.Engine, *evaluation.Evaluator, func(), error) {
	if o.Observer == nil {
		o.Observer = &observe.Observer{}
	}
	speaker, tested, err := o.speakers()
	if err != nil {
		return nil, nil, nil, err
	}
	base, err := o.knowledge()
	if err != nil {
		return nil, nil, nil, err
	}
	caller, err := endpoint.New(endpoint.Options{Allow: o.ToolAllow, Around: o.Observer.Around()})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("allow tools: %w", err)
	}
	rephraser, err := o.rephraser()
	if err != nil {
		return nil, nil, nil, err
	}
	parts, err := o.parts()
	if err != nil {
		return nil, nil, nil, err
	}
	e := engine.New(speaker, engine.Options{
		Tested: tested, Rephraser: rephraser,
		// The model also has a timeout for each response.
		ReplyTimeout:  o.TurnTimeout,
		MaxModelCalls: o.MaxModelCalls, Caller: caller, Samples: o.Samples,
		TransferWebhook: o.TransferWebhook, Knowledge: base,
		Prices: o.Prices, Log: o.Log, TraceID: gateway.TraceID, ObserveCall: o.Observer.Calls(),
	})
	return e, evaluation.New(e, parts), caller.Close, nil
}

// parts returns the models of all roles in tests except the agent's.
func (o EngineOptions) parts() (parts evaluation.Options, err error) {
	parts.Log = o.Log
	if o.isOffline() {
		parts.Contact = o.Observer.Model(offline.Contact(), offlineProvider)
		parts.Judge = o.Observer.Model(offline.Judge(), offlineProvider)
		parts.Extractor = o.Observer.Model(offline.Extractor(), offlineProvider)
		parts.Classifier = o.Observer.Model(offline.Classifier(), offlineProvider)
	}
	if o.Judge.Model != "" {
		if parts.Judge, err = o.own("judge", o.Judge); err != nil {
			return parts, err
		}
	}
	for _, name := range o.Judges {
		other := o.Judge
		other.Model = name
		judge, err := o.own("judge", other)
		if err != nil {
			return parts, err
		}
		parts.Judges = append(parts.Judges, judge)
	}
	if o.Contact.Model != "" {
		if parts.Contact, err = o.own("contact", o.Contact); err != nil {
			return parts, err
		}
	}
	// The offline model neither judges contacts nor leaves its role.
	parts.ReviewContact = o.ReviewContacts && (!o.isOffline() || o.Judge.Model != "" && o.Contact.Model != "")
	return parts, nil
}

// isOffline reports whether no provider is configured.
func (o EngineOptions) isOffline() bool { return o.Provider.Key == "" && o.Provider.BaseURL == "" }

// CheckModel asks the provider of the language model whether the key is valid. It sends one free request. It returns
// nil if the key is valid or no provider is configured.
func (o EngineOptions) CheckModel(ctx context.Context) error {
	if o.isOffline() {
		return nil
	}
	m, err := provider.New(o.Provider)
	if err != nil {
		return fmt.Errorf("choose the language model: %w", err)
	}
	return m.Check(ctx)
}

// CheckJudge is like CheckModel, for the judge's provider. It returns nil if the judge has no model of its own.
func (o EngineOptions) CheckJudge(ctx context.Context) error {
	return o.checkOwn(ctx, "judge", o.Judge)
}

// CheckContact is like CheckJudge, for the provider of the contacts in tests.
func (o EngineOptions) CheckContact(ctx context.Context) error {
	return o.checkOwn(ctx, "contact", o.Contact)
}

func (o EngineOptions) checkOwn(ctx context.Context, role string, config provider.Config) error {
	if config.Model == "" {
		return nil
	}
	m, err := provider.New(o.beside(config))
	if err != nil {
		return fmt.Errorf("choose the model of the %s: %w", role, err)
	}
	return m.Check(ctx)
}

// own returns the model of a role that has its own model in tests.
func (o EngineOptions) own(role string, config provider.Config) (llm.Model, error) {
	if config.BaseURL == "" && config.Key == "" && o.isOffline() {
		return nil, fmt.Errorf("the model of the %s, %s, has no provider: set its base URL or its API "+
			"key", role, config.Model)
	}
	config = o.beside(config)
	config.Timeout, config.IdleTimeout = o.Provider.Timeout, o.Provider.IdleTimeout
	m, err := o.observed(config)
	if err != nil {
		return nil, fmt.Errorf("choose the model of the %s: %w", role, err)
	}
	return m, nil
}

// beside fills the empty settings of another model from the provider's. The provider's key is sent only to the
// provider.
func (o EngineOptions) beside(config provider.Config) provider.Config {
	config.BaseURL = cmp.Or(config.BaseURL, o.Provider.BaseURL)
	if config.Key == "" && config.BaseURL == o.Provider.BaseURL {
		config.Key = o.Provider.Key
	}
	return config
}

// speakers returns the agents' language models for chats and for tests.
func (o EngineOptions) speakers() (chats, tests llm.Model, err error) {
	if o.isOffline() {
		m := offline.New()
		return o.Observer.Model(m.Paced(o.OfflinePause), offlineProvider), o.Observer.Model(m, offlineProvider), nil
	}
	m, err := o.named(o.Provider.Model)
	return m, m, err
}

// rephraser returns the model that rewrites messages as questions to the knowledge base, or nil.
func (o EngineOptions) rephraser() (llm.Model, error) {
	if o.isOffline() || o.QuestionModel == "" {
		return nil, nil
	}
	return o.named(o.QuestionModel)
}

// named returns a model of the provider.
func (o EngineOptions) named(name string) (llm.Model, error) {
	config := o.Provider
	config.Model = name
	m, err := o.observed(config)
	if err != nil {
		return nil, fmt.Errorf("choose the language model: %w", err)
	}
	return m, nil
}

// observed returns a model of a provider that the observer watches.
func (o EngineOptions) observed(config provider.Config) (llm.Model, error) {
	config.Around = o.Observer.Around()
	m, err := provider.New(config)
	if err != nil {
		return nil, err
	}
	return o.Observer.Model(m, providerNames[cmp.Or(config.Format, provider.Completions)]), nil
}

// knowledge returns the knowledge base.
func (o EngineOptions) knowledge() (*knowledge.Base, error) {
	o.Reranker.Around, o.Reranker.Observe = o.Observer.Around(), o.Observer.Reranks()
	options := knowledge.Options{Reranker: o.Reranker, OCR: o.OCR, Log: o.Log, Observe: o.Observer.Retrievals()}
	if o.Embedder.Model != "" {
		config := o.beside(o.Embedder)
		config.Timeout, config.Around = embeddingTimeout, o.Observer.Around()
		embedder, err := provider.NewEmbedder(config)
		if err != nil {
			return nil, fmt.Errorf("choose the embedding model: %w", err)
		}
		options.Embedder = o.Observer.Embedder(embedder, providerNames[provider.Completions])
	}
	return knowledge.New(options), nil
}
