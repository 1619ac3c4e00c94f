package app_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// raceDetector reports whether the race detector is on. Requests then take ten times the processor time, so tests that
// send thousands of similar requests send half as many.
var raceDetector bool

// gatewayUnderTest is the whole program on a database of its own.
type gatewayUnderTest struct {
	url        string
	store      *db.Store
	statements *statements
}

// statements counts the statements of a store. It omits statements of background work: signals, reads of keys and of
// followed topics.
type statements struct {
	atomic.Int64
	// about has a text that counted statements contain. If it is empty, all statements are counted.
	about string
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	if strings.Contains(query.SQL, s.about) &&
		!slices.ContainsFunc([]string{"pg_notify", "LISTEN", "AS has_ended", `FROM "api_keys"`, "SELECT shown.*"},
			func(part string) bool { return strings.Contains(query.SQL, part) }) {
		s.Add(1)
	}
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, query pgx.TraceBatchQueryData) {
	if strings.Contains(query.SQL, s.about) {
		s.Add(1)
	}
}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// batches counts the round trips of plans.
type batches struct {
	statements
	trips atomic.Int64
}

func (b *batches) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	b.trips.Add(1)
	return b.statements.TraceBatchStart(ctx, conn, data)
}

func startGateway(t testing.TB) *gatewayUnderTest {
	t.Helper()
	counted := &statements{}
	options := dbtest.Options()
	options.Tracer = counted
	store := dbtest.Open(t, dbtest.URL(t), options)
	return &gatewayUnderTest{url: serveStore(t, store), store: store, statements: counted}
}

// serveStore runs one replica on the store and returns its address.
func serveStore(t testing.TB, store *db.Store) string {
	t.Helper()
	return serveWith(t, store, gateway.DefaultSettings())
}

// serveWith is serveStore with the given settings.
func serveWith(t testing.TB, store *db.Store, settings gateway.Settings) string {
	t.Helper()
	return servePlanned(t, store, settings, true)
}

// servePlanned is serveWith, with query plans or with resolvers only.
func servePlanned(t testing.TB, store *db.Store, settings gateway.Settings, planned bool) string {
	t.Helper()
	return serveApp(t, app.Options{Store: store, Engine: engine.New(offline.New(), engine.Options{}), Settings: settings,
		Plan: planned})
}

// serveEngine is serveStore with the test's own engine and evaluator. The evaluator may be nil.
func serveEngine(t testing.TB, store *db.Store, e *engine.Engine, v *evaluation.Evaluator) string {
	t.Helper()
	return serveApp(t, app.Options{Store: store, Engine: e, Evaluator: v, Settings: gateway.DefaultSettings(), Plan: true})
}

func serveApp(t testing.TB, o app.Options) string {
	t.Helper()
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	gateway, err := app.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(gateway.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// company creates a company and returns its tenant and a key with every scope.
func (g *gatewayUnderTest) company(t testing.TB, name string) (*db.Tenant, string) {
	t.Helper()
	company, err := g.store.CreateCompany(t.Context(), name)
	require.NoError(t, err)
	return g.keyOf(t, company.ID, model.APIKeyScopeAdmin)
}

func (g *gatewayUnderTest) keyOf(t testing.TB, companyID string, scopes ...model.APIKeyScope) (*db.Tenant, string) {
	t.Helper()
	tenant := g.store.Tenant(companyID)
	_, secret, err := tenant.CreateAPIKey(t.Context(), model.CreateAPIKeyInput{Name: "test", Scopes: scopes})
	require.NoError(t, err)
	return tenant, secret
}

// demo seeds the demo companies and returns a key to each.
func (g *gatewayUnderTest) demo(t testing.TB) (shown, other string) {
	t.Helper()
	_, err := demo.Seed(t.Context(), g.store)
	require.NoError(t, err)
	companies, err := g.store.Companies(t.Context())
	require.NoError(t, err)
	require.Len(t, companies, 2)
	_, shown = g.keyOf(t, companies[0].ID, model.APIKeyScopeAdmin)
	_, other = g.keyOf(t, companies[1].ID, model.APIKeyScopeAdmin)
	return shown, other
}

// answer is a GraphQL response.
type answer struct {
	Data   json.RawMessage
	Errors []struct {
		Message    string
		Path       []any
		Extensions struct {
			Code   string
			Fields map[string][]string
		}
	}
}

// codes returns the codes of the errors, in order.
func (a answer) codes() []string {
	codes := []string{}
	for _, e := range a.Errors {
		codes = append(codes, e.Extensions.Code)
	}
	return codes
}

func (g *gatewayUnderTest) query(t testing.TB, key, query string, variables map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(t, err)
	response := g.do(t, http.MethodPost, "/graphql", key, string(body))
	defer func() { _ = response.Body.Close() }()
	var a answer
	require.NoError(t, json.NewDecoder(response.Body).Decode(&a))
	return a
}

// must sends a query that must not fail, and decodes its data into the value unless the value is nil.
func (g *gatewayUnderTest) must(t testing.TB, key, query string, variables map[string]any, into any) {
	t.Helper()
	a := g.query(t, key, query, variables)
	require.Empty(t, a.Errors)
	if into != nil {
		require.NoError(t, json.Unmarshal(a.Data, into))
	}
}

func (g *gatewayUnderTest) do(t testing.TB, method, path, key, body string) *http.Response {
	t.Helper()
	var content io.Reader
	if body != "" {
		content = bytes.NewReader([]byte(body))
	}
	request, err := http.NewRequestWithContext(t.Context(), method, g.url+path, content)
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("X-Api-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	return response
}
