// Package observe tells operators what the program does: metrics for Prometheus, traces for OpenTelemetry, and a log of
// slow statements. What nobody asked for is not there and costs nothing.
package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options say what operators want to know. Traces are asked for by OpenTelemetry's own OTEL_* variables.
type Options struct {
	// Listen is where metrics are served, as net.Listen takes it; "" for nowhere.
	Listen string
	// Pprof serves profiles beside the metrics.
	Pprof bool
	// SlowStatement is from how long on a statement is logged as slow; 0 for none.
	SlowStatement time.Duration
	// Version is the program's.
	Version string
	// Log hears of slow statements, and of spans that could not be sent.
	Log *slog.Logger
}

// Observer hands out what watches the parts of the program. The zero value watches nothing.
type Observer struct {
	metrics *metrics
	traces  *traces
	slow    time.Duration
	log     *slog.Logger

	listener net.Listener
	server   *http.Server
	served   chan struct{}
}

// Start returns an Observer that serves its metrics, where they are asked for, until Close.
func Start(ctx context.Context, o Options) (*Observer, error) {
	observer := &Observer{slow: o.SlowStatement, log: o.Log}
	if o.Pprof && o.Listen == "" {
		return nil, errors.New("profiles are served beside the metrics, which have no address")
	}
	var err error
	if observer.traces, err = newTraces(ctx, o); err != nil {
		return nil, fmt.Errorf("send traces: %w", err)
	}
	if o.Listen == "" {
		return observer, nil
	}
	observer.metrics = newMetrics(o.Version)
	if observer.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Listen); err != nil {
		return nil, errors.Join(fmt.Errorf("serve metrics: %w", err), observer.Close(ctx))
	}
	observer.server = &http.Server{Handler: observer.pages(o.Pprof), ReadHeaderTimeout: 10 * time.Second}
	observer.served = make(chan struct{})
	go func() {
		defer close(observer.served)
		if err := observer.server.Serve(observer.listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("metrics are not served any more", "error", err)
		}
	}()
	return observer, nil
}

// pages are what is served beside the gateway.
func (o *Observer) pages(withProfiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.metrics.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4,
	}))
	if withProfiles {
		// Without the command line, whose flags may hold secrets.
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// MetricsAddress is where metrics are served; "" for nowhere.
func (o *Observer) MetricsAddress() string {
	if o.listener == nil {
		return ""
	}
	return o.listener.Addr().String()
}

// Close sends the spans that have ended and stops serving, before ctx ends.
func (o *Observer) Close(ctx context.Context) error {
	var errs []error
	if o.traces != nil {
		errs = append(errs, o.traces.provider.Shutdown(ctx))
	}
	if o.server != nil {
		if errs = append(errs, o.server.Shutdown(ctx)); errs[len(errs)-1] != nil {
			_ = o.server.Close()
		}
		<-o.served
	}
	return errors.Join(errs...)
}
