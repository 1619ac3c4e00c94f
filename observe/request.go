package observe

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentgraph/agentgraph/gateway"
)

type workKey struct{}

// dbUsage counts a request's use of the database.
type dbUsage struct{ statements, trips atomic.Int64 }

// Requests returns a watcher of the gateway's requests. It returns nil if nothing is watched.
func (o *Observer) Requests() gateway.Observer {
	if o.metrics == nil && o.traces == nil {
		return nil
	}
	return requests{o}
}

type requests struct{ *Observer }

// Begin starts to count the request's statements, and adds an operation on a socket to the socket's trace.
func (o requests) Begin(ctx context.Context) context.Context {
	if o.traces != nil && !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = o.traces.propagator.Extract(ctx, propagation.MapCarrier{"traceparent": gateway.TraceParent(ctx)})
	}
	if o.metrics != nil {
		ctx = context.WithValue(ctx, workKey{}, &dbUsage{})
	}
	return ctx
}

// End counts the request.
func (o requests) End(ctx context.Context, r gateway.Request) {
	if o.metrics == nil {
		return
	}
	m, name := o.metrics, "none"
	if r.Kind != "" {
		name = m.names.label(cmp.Or(r.Operation, "anonymous"))
	}
	m.requests.WithLabelValues(name, cmp.Or(string(r.Kind), "none"), cmp.Or(r.Code, "OK")).Inc()
	if r.Kind != ast.Subscription {
		m.requestDuration.WithLabelValues(name).Observe(r.Duration.Seconds())
	}
	if w, ok := ctx.Value(workKey{}).(*dbUsage); ok {
		m.requestStatements.WithLabelValues(name).Add(float64(w.statements.Load()))
		m.requestTrips.WithLabelValues(name).Add(float64(w.trips.Load()))
	}
}

// Handler wraps a handler so that each request except health checks gets a span. Without traces it returns the handler
// itself.
func (o *Observer) Handler(handler http.Handler) http.Handler {
	if o.traces == nil {
		return handler
	}
	traced := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The gateway reads the trace ID from this header, and passes it to operations on sockets.
		o.traces.propagator.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
		handler.ServeHTTP(w, r)
	})
	return otelhttp.NewHandler(traced, "request",
		otelhttp.WithTracerProvider(o.traces.provider), otelhttp.WithPropagators(o.traces.propagator),
		otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelhttp.WithFilter(func(r *http.Request) bool { return r.URL.Path != "/healthz" && r.URL.Path != "/readyz" }),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
			if r.URL.Path == gateway.Path {
				return r.Method + " " + gateway.Path
			}
			return r.Method + " REST" // paths contain ids
		}))
}

// Extensions returns the extensions for the gateway's executor.
func (o *Observer) Extensions() []graphql.HandlerExtension {
	if o.traces == nil {
		return nil
	}
	return []graphql.HandlerExtension{operationSpan{o.traces}}
}

// operationSpan is an extension that gives each query and mutation a span. A subscription gets none, because its span
// would last as long as the subscription.
type operationSpan struct{ *traces }

func (operationSpan) ExtensionName() string                   { return "OperationSpan" }
func (operationSpan) Validate(graphql.ExecutableSchema) error { return nil }

func (s operationSpan) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx).Operation
	if operation == nil || operation.Operation == ast.Subscription {
		return next(ctx)
	}
	kind, name := string(operation.Operation), s.names.label(cmp.Or(operation.Name, "anonymous"))
	ctx, span := s.tracer.Start(ctx, kind+" "+name, trace.WithAttributes(
		attribute.String("graphql.operation.type", kind), attribute.String("graphql.operation.name", name)))
	defer span.End()
	response := next(ctx)
	if response != nil && len(response.Errors) > 0 {
		code, _ := response.Errors[0].Extensions["code"].(string)
		span.SetStatus(codes.Error, code)
		span.SetAttributes(attribute.String("error.type", code))
	}
	return response
}
