// Package engine runs conversations between contacts and agents. An [Engine] loads a chat, asks the language model for
// the agent's answer, makes the calls in it, stores the outcome and announces it. The turn itself is a pure function of
// the loaded state and the answers from outside: start reading at turn.go.
package engine

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

const (
	defaultReplyTimeout  = time.Minute
	defaultMaxModelCalls = 25
	// lease is how long a chat stays claimed after its process died during a reply.
	lease = 10 * time.Second
	// maxDepth bounds nested delegations.
	maxDepth = 5
)

// Options tune an Engine. The zero value works.
type Options struct {
	// Tested speaks for the agents in tests. Nil means the model that New takes.
	Tested llm.Model
	// Rephraser turns the contact's message and earlier ones into a self-contained question. If it is nil, fails, or
	// takes longer than 5 seconds, the knowledge base is searched for the original message.
	Rephraser llm.Model
	// ReplyTimeout bounds one answer of the language model. Zero means a minute.
	ReplyTimeout time.Duration
	// MaxModelCalls bounds the requests to the language model in one turn, and in each conversation with a sub-agent. Zero
	// means 25. A turn and its conversations with sub-agents together can make 5 times as many requests. The calls in the
	// last possible answer are not carried out, because the model could not read their results. The exceptions are a
	// transfer and the end of the conversation.
	MaxModelCalls int
	// Caller calls the endpoints of tools and the telephony provider. Nil means a Caller with default settings.
	Caller *endpoint.Caller
	// Samples answer calls instead of tool endpoints, unless the chat has a mock with a result. Their keys are methods and
	// addresses, such as "GET https://api.example.com/orders".
	Samples map[string]*model.Mock
	// TransferWebhook is the address of the telephony provider. It may be empty.
	TransferWebhook string
	// Knowledge is the knowledge base that agents answer from. Nil means a Base with default settings.
	Knowledge *knowledge.Base
	// Choices are models that agents can choose instead of the one that New takes.
	Choices []Choice
	// Prices are the prices of conversations, except with models in Choices. The zero value records no usage.
	Prices model.Prices
	// Log receives failures with the causes that clients do not see. Nil means slog.Default().
	Log *slog.Logger
	// TraceID returns the identifier of the context's request, for the log. Nil means none.
	TraceID func(context.Context) string
	// ObserveCall is called before a real tool call or a transfer. The call uses the returned context. The returned
	// function is called with the call's error when the call ends. ObserveCall may be nil.
	ObserveCall func(ctx context.Context, technicalName string) (context.Context, func(error))
}

// Engine runs conversations. It is safe for concurrent use and keeps no conversation between calls.
type Engine struct {
	model     llm.Model
	tested    llm.Model
	rephraser llm.Model
	limits    limits
	caller    *endpoint.Caller
	samples   map[string]*model.Mock
	webhook   string
	checks    *rules.Checker
	speakers  *speakers
	base      *knowledge.Base
	// waiting has the calls that wait for a person, by company.
	waiting *fair.Gate
	// failedLists has when the tools of an MCP server could not be read again, by the server's id.
	failedLists *cache.Cache[string, time.Time]
	prices      model.Prices
	choices     map[string]Choice
	log         *slog.Logger
	traceID     func(context.Context) string
	observe     func(context.Context, string) (context.Context, func(error))
}

// New returns an Engine whose agents speak through the model.
func New(m llm.Model, o Options) *Engine {
	e := &Engine{
		model: m, caller: o.Caller, samples: o.Samples, webhook: o.TransferWebhook,
		checks: rules.NewChecker(), speakers: newSpeakers(),
		waiting:     fair.New(math.MaxInt, maxWaitingCalls),
		failedLists: cache.New(maxFailedLists, func(id string, _ time.Time) int { return len(id) + 100 }),
		prices:      o.Prices, choices: map[string]Choice{}, log: cmp.Or(o.Log, slog.Default()), traceID: o.TraceID,
		observe: o.ObserveCall,
		base:    o.Knowledge, tested: cmp.Or(o.Tested, m), rephraser: o.Rephraser,
		limits: limits{
			modelCalls:   cmp.Or(o.MaxModelCalls, defaultMaxModelCalls),
			depth:        maxDepth,
			replyTimeout: cmp.Or(o.ReplyTimeout, defaultReplyTimeout),
		},
	}
	for _, each := range o.Choices {
		e.choices[each.Name()] = each
	}
	if e.caller == nil {
		// endpoint.New fails only for an invalid allow list.
		e.caller, _ = endpoint.New(endpoint.Options{})
	}
	if e.traceID == nil {
		e.traceID = func(context.Context) string { return "" }
	}
	if e.observe == nil {
		e.observe = func(ctx context.Context, _ string) (context.Context, func(error)) { return ctx, func(error) {} }
	}
	if e.base == nil {
		e.base = knowledge.New(knowledge.Options{Log: e.log})
	}
	return e
}

// Model returns the language model of the agents.
func (e *Engine) Model() llm.Model { return e.model }

// ReplyTimeout returns the bound on one answer of the language model.
func (e *Engine) ReplyTimeout() time.Duration { return e.limits.replyTimeout }

// Knowledge returns the knowledge base of the agents.
func (e *Engine) Knowledge() *knowledge.Base { return e.base }

// canTransfer reports whether a telephony provider is configured.
func (e *Engine) canTransfer() bool { return e.webhook != "" }

// Now returns the current time in UTC, truncated to the database's precision.
func Now() time.Time {
	return time.Now().UTC().Truncate(time.Microsecond)
}
