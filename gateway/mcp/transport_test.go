package mcp

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

func TestPanicIsAnErrorWithoutALog(t *testing.T) {
	t.Parallel()
	transport, err := New(graph.NewExecutableSchema(graph.Config{}).Schema(), Options{})
	require.NoError(t, err)
	handle := transport.filterByScope(func(context.Context, string, sdk.Request) (sdk.Result, error) { panic("broken") })
	_, err = handle(t.Context(), "ping", nil)
	require.ErrorContains(t, err, "internal error")
}

// Lists of tools reuse the encoded schemas, which are most of a list. Encoding them took 20,000 allocations.
func TestListsReuseTheSchemas(t *testing.T) { //nolint:paralleltest // it counts allocations
	transport, err := New(graph.NewExecutableSchema(graph.Config{}).Schema(), Options{MaxBody: 1 << 20,
		WriteTimeout: time.Minute})
	require.NoError(t, err)
	ctx := model.WithPrincipal(t.Context(), model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}})
	require.Less(t, testing.AllocsPerRun(10, func() {
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, Path,
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response := httptest.NewRecorder()
		transport.Do(response, request, nil)
		require.Contains(t, response.Body.String(), `"name":"edit_prompt"`)
	}), 2_000.0)
}

// The deadline of a request ends its tool, but the client still gets the tool's error.
func TestDeadlinesAreAnswered(t *testing.T) {
	t.Parallel()
	transport, err := New(graph.NewExecutableSchema(graph.Config{}).Schema(), Options{MaxBody: 1 << 20,
		WriteTimeout: time.Minute})
	require.NoError(t, err)
	transport.server.AddTool(&sdk.Tool{Name: "slow", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			<-ctx.Done()
			return &sdk.CallToolResult{IsError: true, Content: text("too slow")}, nil
		})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Millisecond)
		defer cancel()
		transport.Do(w, r.WithContext(ctx), nil)
	}))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+Path,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}`))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "too slow")
}
