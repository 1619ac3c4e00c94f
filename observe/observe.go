// Package observe reports to operators what the program does: metrics for Prometheus, traces for OpenTelemetry, and a
// log of slow statements. Parts that are switched off cost nothing. Start reading at Start and Observer.
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

// Options configures an Observer. OpenTelemetry's OTEL_* variables switch on traces.
type Options struct {
	// Listen is the address that serves metrics, for net.Listen. "" switches metrics off.
	Listen string
	// Pprof serves profiles at the same address.
	Pprof bool
	// SlowStatement is the duration from which a statement is logged as slow. 0 logs none.
	SlowStatement time.Duration
	// Version is the program's version.
	Version string
	// Log receives slow statements and failures to send spans.
	Log *slog.Logger
}

// Observer makes watchers for the parts of the program. The zero value watches nothing.
type Observer struct {
	metrics *metrics
	traces  *traces
	slow    time.Duration
	log     *slog.Logger

	listener net.Listener
	server   *http.Server
	served   chan struct{}
}

// Start returns an Observer. It serves metrics until Close if o.Listen is set. The caller must call Close.
func Start(ctx context.Context, o Options) (*Observer, error) {
	observer := &Observer{slow: o.SlowStatement, log: o.Log}
	if o.Pprof && o.Listen == "" {
		return nil, errors.New("profiles are served on the metrics' address, which is not set")
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
		return nil, errors.Join(fmt.Errorf("serve metrics (--metrics-listen): %w", err), observer.Close(ctx))
	}
	observer.server = &http.Server{Handler: observer.pages(o.Pprof), ReadHeaderTimeout: 10 * time.Second}
	observer.served = make(chan struct{})
	go func() {
		defer close(observer.served)
		if err := observer.server.Serve(observer.listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the server of the metrics failed: metrics are no longer served", "error", err)
		}
	}()
	return observer, nil
}

// pages returns the handler of the metrics and, optionally, profiles.
func (o *Observer) pages(withProfiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.metrics.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(o.log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	}))
	if withProfiles {
		// without pprof.Cmdline, because flags can contain secrets
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// MetricsAddress returns the address that serves metrics, or "".
func (o *Observer) MetricsAddress() string {
	if o.listener == nil {
		return ""
	}
	return o.listener.Addr().String()
}

// Close sends the finished spans and stops serving metrics. It returns an error if ctx ends first.
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
