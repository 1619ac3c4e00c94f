package app_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
)

// A load balancer that has not read /readyz yet continues to send requests.
func TestRequestsAreServedDuringShutdownDelay(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	e, evaluator, closeEngine, err := app.NewEngine(app.EngineOptions{Log: log})
	require.NoError(t, err)
	t.Cleanup(closeEngine)
	options := dbtest.Options()
	options.Log = log
	program, err := app.New(app.Options{
		Store: dbtest.Open(t, dbtest.URL(t), options), Engine: e, Evaluator: evaluator, Settings: gateway.DefaultSettings(),
		DrainDelay: time.Hour, Log: log,
	})
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- program.Serve(ctx, listener) }()
	var isLast bool
	status := func(path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		isLast = response.Close
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, status("/readyz"))
	require.False(t, isLast)
	end()
	require.Eventually(t, func() bool { return status("/readyz") == http.StatusServiceUnavailable }, 10*time.Second,
		time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, status("/graphql?query={company{id}}"),
		"requests are accepted, and need a key")
	require.True(t, isLast, "the next request may go to another replica")

	require.NoError(t, listener.Close())
	require.ErrorContains(t, <-ended, "serve: ", "without a port there is no delay")
}
