package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/mcp"
	"github.com/agentgraph/agentgraph/gateway/rest"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// serveSlots serves the paths of all transports with the slots, without resolvers. Requests wait a second for a slot.
func serveSlots(t *testing.T, slots gateway.Slots) *gatewayUnderTest {
	t.Helper()
	schema := graph.NewExecutableSchema(graph.Config{})
	settings, log := gateway.DefaultSettings(), slog.New(slog.DiscardHandler)
	settings.RequestTimeout = time.Second
	var server *gateway.Server
	waitToDecode := func(w http.ResponseWriter, r *http.Request, bytes int) (leave func(), err *model.Error) {
		return server.WaitToDecode(w, r, bytes)
	}
	assistants, err := mcp.New(schema.Schema(), mcp.Options{Status: gateway.StatusOf, Explain: gateway.ExplainVariables,
		Unrecorded: gateway.WithoutRecord, HasSchema: true, HasQuery: true, MaxBody: settings.BodyBytes,
		WaitToDecode: waitToDecode, WriteTimeout: settings.WriteTimeout})
	require.NoError(t, err)
	v1, err := rest.New(schema.Schema(), rest.Options{Status: gateway.StatusOf, TraceID: gateway.TraceID,
		MaxBody: settings.BodyBytes, WaitToDecode: waitToDecode})
	require.NoError(t, err)
	server = gateway.New(gateway.Options{Schema: schema, Settings: settings, Log: log, HeavySlots: slots,
		Transports: []graphql.Transport{assistants, v1}, Ready: func(context.Context) error { return nil },
		Authenticate: func(context.Context, string) (model.Principal, error) {
			return model.Principal{CompanyID: "own", Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}}, nil
		}})
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	return &gatewayUnderTest{url: listener.URL}
}

// Decoding a large body takes a slot, so that the bodies of one company do not delay all others. The slot is free again
// before the operation begins, which needs it if it is heavy.
func TestLargeBodiesWaitForASlot(t *testing.T) {
	t.Parallel()
	slots := fair.New(1, 1)
	g := serveSlots(t, slots)
	fields := ""
	for i := range 50 {
		fields += fmt.Sprintf(" f%d: __typename", i)
	}
	send := func(path, body string) (head, string) {
		if path == "/mcp" {
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":` + body + `}}`
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("X-Api-Key", "any")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return head{response.StatusCode, response.Header}, string(text)
	}
	long := strings.Repeat("a", 70_000)
	for path, test := range map[string]struct {
		member, document, says, refused string
		status                          int
	}{
		"/graphql": {"query", "{" + fields + "}", `"f49":"Query"`, "request less at a time\"", http.StatusOK},
		"/mcp":     {"document", "{" + fields + "}", `"f49":"Query"`, "request less at a time (after 5 s)\"", http.StatusOK},
		"/Dataset": {"description", "", "name", "request less at a time\"", http.StatusBadRequest},
	} {
		body := fmt.Sprintf(`{"%s":"%s","variables":{"long":"%s"}}`, test.member, test.document, long)
		require.NoError(t, slots.Enter(t.Context(), "other"))
		response, text := send(path, body)
		require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, "%s: %s", path, text)
		require.Equal(t, "5", response.Header.Get("Retry-After"), path)
		require.Contains(t, text, test.refused, path)
		slots.Leave("other")
		response, text = send(path, body)
		require.Equal(t, test.status, response.StatusCode, "%s: %s", path, text)
		require.Contains(t, text, test.says, path)
	}
}
