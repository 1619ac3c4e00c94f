package observe

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/exaring/otelpgx"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
)

// traces sends spans to a collector.
type traces struct {
	provider   *sdktrace.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	names      names
	// withContent adds the messages to and from models to the spans.
	withContent bool
}

// newTraces returns the traces that the OTEL_* variables configure, or nil. The SDK itself reads the variables for the
// sampler, the limits and the batches.
func newTraces(ctx context.Context, o Options) (*traces, error) {
	if isOn, err := wantsTraces(); err != nil || !isOn {
		return nil, err
	}
	client, err := newCollector(os.Getenv)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	// The variables come last, because they take precedence over these attributes.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName("agentgraph"), semconv.ServiceVersion(o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Log.LogAttrs(context.Background(), slog.LevelWarn, "could not send spans", slog.Any("error", err))
	}))
	withContent, _ := strconv.ParseBool(os.Getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &traces{
		provider: provider, tracer: provider.Tracer("github.com/agentgraph/agentgraph"),
		propagator: propagation.TraceContext{},
		names:      names{labels: map[string]bool{}}, withContent: withContent,
	}, nil
}

// CheckTraces returns an error if Start would refuse the OTEL_* variables.
func CheckTraces() error {
	isOn, err := wantsTraces()
	if isOn && err == nil {
		_, err = newCollector(os.Getenv)
	}
	return err
}

// wantsTraces reports whether the OTEL_* variables switch on traces. It returns an error for an exporter that does not
// exist here.
func wantsTraces() (bool, error) {
	if disabled, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); disabled {
		return false, nil
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "otlp":
		return true, nil
	case "":
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER must be otlp or none, not %q", exporter)
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "", nil
}

// statements returns a tracer that gives each statement a child span. The spans show only a summary of the statement,
// because its text contains values.
func (t *traces) statements() *otelpgx.Tracer {
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider),
		otelpgx.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelpgx.WithDisableSQLStatementInAttributes(),
		// The attributes would be the same for all statements, and reading them copies the settings each time.
		otelpgx.WithDisableConnectionDetailsInAttributes(),
		otelpgx.WithSpanNameFunc(func(sql string) string { return summaryOf(shapeOf(sql)) }))
}
