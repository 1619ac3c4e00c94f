package app_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/observe"
)

// BenchmarkObserved times one query without an observer, with metrics, and with traces.
func BenchmarkObserved(b *testing.B) {
	collector := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.Cleanup(collector.Close)
	for _, watched := range []struct {
		name, collector string
		options         observe.Options
	}{{name: "nobody"}, {name: "metrics", options: observe.Options{Listen: "127.0.0.1:0"}},
		{name: "traces", collector: collector.URL}} {
		b.Run(watched.name, func(b *testing.B) {
			b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", watched.collector)
			watched.options.Log = slog.New(slog.DiscardHandler)
			observer, err := observe.Start(b.Context(), watched.options)
			require.NoError(b, err)
			b.Cleanup(func() { _ = observer.Close(b.Context()) })
			options := dbtest.Options()
			options.Tracer = observer.Statements()
			g := &gatewayUnderTest{store: dbtest.Open(b, dbtest.URL(b), options)}
			tenant, key := g.company(b, "Watched")
			manyAgents(b, tenant, 1)
			program, err := app.New(app.Options{
				Store: g.store, Engine: engine.New(offline.New(), engine.Options{}), Observer: observer,
				Settings: gateway.DefaultSettings(), Plan: true, Log: watched.options.Log,
			})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/graphql",
					strings.NewReader(`{"query":"query Agents { agents { nodes { id name tools { id } } } }"}`))
				request.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {key}}
				response := httptest.NewRecorder()
				program.Handler().ServeHTTP(response, request)
				require.Equal(b, http.StatusOK, response.Code)
			}
		})
	}
}
