package observe

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
)

// Outcomes that are not failures of the called service.
const (
	outcomeOK       = "ok"
	outcomeLeft     = "left"
	outcomeCanceled = "canceled"
)

// Model wraps a model to watch its calls. It returns nil for nil. provider is the provider's name in traces.
func (o *Observer) Model(m llm.Model, provider string) llm.Model {
	if m == nil || o.metrics == nil && o.traces == nil {
		return m
	}
	return watchedModel{m, o, provider}
}

type watchedModel struct {
	llm.Model
	observer *Observer
	provider string
}

// Chat calls the model's Chat.
func (m watchedModel) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		c := m.observer.beginModel(ctx, semconv.GenAIOperationNameChat, m.provider, m.Name())
		c.ask(req)
		outcome := outcomeLeft
		defer func() { c.endCall(outcome) }()
		var text strings.Builder
		hasText := false
		for chunk, err := range m.Model.Chat(c.ctx, req) {
			switch {
			case err != nil:
				outcome = outcomeOf(err)
			case chunk.Finish != "":
				outcome = outcomeOK
				c.answered(chunk)
			}
			if !hasText && err == nil && chunk.Text != "" {
				hasText = true
				c.firstText()
			}
			if c.withContent {
				text.WriteString(chunk.Text)
				if chunk.Finish != "" {
					c.span.SetAttributes(
						semconv.GenAIOutputMessagesKey.String(
							asJSON([]llm.Message{{Role: llm.RoleAssistant, Text: text.String(), ToolCalls: chunk.ToolCalls}})))
				}
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// Embedder wraps an embedding model to watch its calls. It returns nil for nil. provider is the provider's name in
// traces.
func (o *Observer) Embedder(e llm.Embedder, provider string) llm.Embedder {
	if e == nil || o.metrics == nil && o.traces == nil {
		return e
	}
	return watchedEmbedder{e, o, provider}
}

type watchedEmbedder struct {
	llm.Embedder
	observer *Observer
	provider string
}

// Embed calls the model's Embed.
func (e watchedEmbedder) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	c := e.observer.beginModel(ctx, semconv.GenAIOperationNameEmbeddings, e.provider, e.Name())
	defer func() { c.endCall(outcomeOf(err)) }()
	return e.Embedder.Embed(c.ctx, texts)
}

// rerankerProvider is the provider's name in traces for every Reranker.
const rerankerProvider = "reranker"

// Reranks returns a function that watches requests to a reranker. It returns nil if nothing is watched.
func (o *Observer) Reranks() func(ctx context.Context, model string) (context.Context, func(error)) {
	if o.metrics == nil && o.traces == nil {
		return nil
	}
	return func(ctx context.Context, model string) (context.Context, func(error)) {
		c := o.beginModel(ctx, semconv.GenAIOperationNameKey.String("rerank"), rerankerProvider, model)
		return c.ctx, func(err error) { c.endCall(outcomeOf(err)) }
	}
}

type modelCall struct {
	*Observer
	ctx              context.Context
	span             trace.Span
	begin            time.Time
	operation, model string
	withContent      bool
}

func (o *Observer) beginModel(ctx context.Context, operation attribute.KeyValue, provider, model string) *modelCall {
	c := &modelCall{Observer: o, ctx: ctx, begin: time.Now(), operation: operation.Value.AsString(), model: model}
	if o.traces != nil {
		c.withContent = o.traces.withContent
		c.ctx, c.span = o.traces.tracer.Start(ctx, c.operation+" "+model, trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(
				operation, semconv.GenAIProviderNameKey.String(provider), semconv.GenAIRequestModel(model)))
	}
	return c
}

func (c *modelCall) ask(req llm.Request) {
	if c.span == nil {
		return
	}
	if req.Temperature != nil {
		c.span.SetAttributes(semconv.GenAIRequestTemperature(*req.Temperature))
	}
	if req.TopP != nil {
		c.span.SetAttributes(semconv.GenAIRequestTopP(*req.TopP))
	}
	if c.withContent {
		c.span.SetAttributes(semconv.GenAISystemInstructionsKey.String(req.System),
			semconv.GenAIInputMessagesKey.String(asJSON(req.Messages)))
	}
}

// firstText records the time until the first text of the answer.
func (c *modelCall) firstText() {
	if c.metrics != nil {
		c.metrics.modelFirst.WithLabelValues(c.operation, c.model).Observe(secondsSince(c.begin))
	}
}

func (c *modelCall) answered(last llm.Chunk) {
	if c.metrics != nil {
		c.metrics.modelTokens.WithLabelValues(c.model, "input").Add(float64(last.Usage.InputTokens))
		c.metrics.modelTokens.WithLabelValues(c.model, "cached").Add(float64(last.Usage.CachedTokens))
		c.metrics.modelTokens.WithLabelValues(c.model, "output").Add(float64(last.Usage.OutputTokens))
	}
	if c.span != nil {
		c.span.SetAttributes(semconv.GenAIResponseFinishReasons(string(last.Finish)),
			semconv.GenAIUsageInputTokens(last.Usage.InputTokens), semconv.GenAIUsageOutputTokens(last.Usage.OutputTokens))
	}
}

func (c *modelCall) endCall(outcome string) {
	if c.metrics != nil {
		c.metrics.modelCalls.WithLabelValues(c.operation, c.model, outcome).Inc()
		c.metrics.modelDuration.WithLabelValues(c.operation, c.model).Observe(secondsSince(c.begin))
	}
	endSpan(c.span, outcome)
}

// endSpan ends a span unless it is nil. The outcome decides whether the span is marked as failed.
func endSpan(span trace.Span, outcome string) {
	if span == nil {
		return
	}
	if outcome != outcomeOK && outcome != outcomeLeft {
		span.SetStatus(codes.Error, outcome)
		span.SetAttributes(attribute.String("error.type", outcome))
	}
	span.End()
}

// outcomeOf returns how a call ended, as a label from a closed set.
func outcomeOf(err error) string {
	var failed *llm.Error
	var refused *endpoint.Error
	switch {
	case err == nil:
		return outcomeOK
	case errors.As(err, &failed):
		return string(failed.Cause)
	case errors.As(err, &refused):
		return string(refused.Cause)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return outcomeCanceled
	}
	return "other"
}

// Calls returns a function that watches real tool calls and transfers. It returns nil if nothing is watched.
func (o *Observer) Calls() func(ctx context.Context, technicalName string) (context.Context, func(error)) {
	if o.metrics == nil && o.traces == nil {
		return nil
	}
	return func(ctx context.Context, name string) (context.Context, func(error)) {
		begin := time.Now()
		var span trace.Span
		if o.traces != nil {
			ctx, span = o.traces.tracer.Start(ctx, "execute_tool "+name, trace.WithSpanKind(trace.SpanKindClient),
				trace.WithAttributes(
					semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(name), semconv.GenAIToolType("function")))
		}
		return ctx, func(err error) {
			outcome := outcomeOf(err)
			if o.metrics != nil {
				o.metrics.toolCalls.WithLabelValues(outcome).Inc()
				o.metrics.toolDuration.Observe(secondsSince(begin))
			}
			endSpan(span, outcome)
		}
	}
}

// Retrievals returns a function that watches queries to knowledge bases. It returns nil if nothing is watched.
func (o *Observer) Retrievals() func(ctx context.Context) (context.Context, func(found int, err error)) {
	if o.metrics == nil && o.traces == nil {
		return nil
	}
	return func(ctx context.Context) (context.Context, func(int, error)) {
		begin := time.Now()
		var span trace.Span
		if o.traces != nil {
			ctx, span = o.traces.tracer.Start(ctx, "retrieval", trace.WithAttributes(semconv.GenAIOperationNameRetrieval))
		}
		return ctx, func(found int, err error) {
			outcome := "found"
			switch {
			case err != nil:
				outcome = "failed"
			case found == 0:
				outcome = "nothing"
			}
			if o.metrics != nil {
				o.metrics.retrievals.WithLabelValues(outcome).Inc()
				o.metrics.retrievalDuration.Observe(secondsSince(begin))
			}
			endSpan(span, outcomeOf(err))
		}
	}
}

// WrapTransport returns a function that adds the traceparent of the current span to requests. It returns nil without
// traces. The requests get no spans, because their URLs can contain the words of contacts.
func (o *Observer) WrapTransport() func(http.RoundTripper) http.RoundTripper {
	if o.traces == nil {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper { return carrier{next, o.traces.propagator} }
}

type carrier struct {
	next       http.RoundTripper
	propagator propagation.TextMapPropagator
}

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // a RoundTripper must not change the request
	c.propagator.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	return c.next.RoundTrip(r)
}

// asJSON encodes messages. They contain only strings, so encoding cannot fail.
func asJSON(messages []llm.Message) string {
	text, _ := json.Marshal(messages)
	return string(text)
}
