package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
)

// batches counts the round trips of plans.
type batches struct {
	statements
	trips atomic.Int64
}

func (b *batches) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	b.trips.Add(1)
	return b.statements.TraceBatchStart(ctx, conn, data)
}

// bothWays are two servers on the demo's database: one answers by plans, the other by resolvers alone.
type bothWays struct {
	planned, resolved string
	key, other        string
	counted           *batches
	operations        *operations
}

func startBothWays(t testing.TB) *bothWays {
	t.Helper()
	b := &bothWays{counted: &batches{}}
	options := dbOptions()
	options.Tracer = b.counted
	store := dbtest.Open(t, dbtest.URL(t), options)
	serve := func(planned bool) string {
		settings := gateway.DefaultSettings()
		settings.QueryCost = 0
		front, err := newFront(store, engine.New(offline.New(), engine.Options{}), settings, planned, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		server := httptest.NewServer(front.server)
		t.Cleanup(server.Close)
		return server.URL
	}
	b.planned, b.resolved = serve(true), serve(false)
	g := &gatewayUnderTest{url: b.resolved, store: store}
	b.key, b.other = g.demo(t)
	b.operations = &operations{schema: graph.NewExecutableSchema(graph.Config{}).Schema(), ids: map[string][]string{}, cursors: map[string][]string{}}
	for _, key := range []string{b.key, b.other} {
		for _, list := range []string{
			"agents", "tools", "knowledgeBaseChats", "datasets", "documents", "simulationChats", "agentTests", "agentTestFolders",
			"agentTestExecutions", "agentTestRuns", "campaigns",
		} {
			var found map[string]struct {
				Edges []struct {
					Cursor string
					Node   struct{ ID string }
				}
			}
			g.must(t, key, "{ "+list+"(first: 12) { edges { cursor node { id } } } }", nil, &found)
			for i, edge := range found[list].Edges {
				if key == b.key || i < 2 {
					b.operations.ids[list] = append(b.operations.ids[list], edge.Node.ID)
					b.operations.cursors[list] = append(b.operations.cursors[list], edge.Cursor)
				}
			}
		}
	}
	return b
}

var traceID = regexp.MustCompile(`"traceId":"[^"]*"`)

// ask returns the status and the body of the answer.
func (b *bothWays) ask(t testing.TB, url string, o operation) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": o.text, "variables": o.variables})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/graphql", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", b.key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return fmt.Sprintln(response.StatusCode, inOrder(t, traceID.ReplaceAllString(string(text), "")))
}

// inOrder sorts the errors of an answer, which come in the order in which fields happen to fail.
func inOrder(t testing.TB, answer string) string {
	if !strings.HasPrefix(answer, `{"errors":`) {
		return answer
	}
	var parts struct {
		Errors []json.RawMessage
		Data   json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &parts))
	errors := make([]string, len(parts.Errors))
	for i, fault := range parts.Errors {
		errors[i] = string(fault)
	}
	slices.Sort(errors)
	return fmt.Sprintln(slices.Compact(errors), string(parts.Data))
}

// same asks both servers; what they say is the same. It reports whether the answer was planned, and without an error.
func (b *bothWays) same(t testing.TB, o operation) (planned, good bool) {
	t.Helper()
	want := b.ask(t, b.resolved, o)
	before := b.counted.trips.Load()
	got := b.ask(t, b.planned, o)
	planned = b.counted.trips.Load() > before
	require.Equal(t, want, got, "%s\n%v", o.text, o.variables)
	return planned, strings.HasPrefix(want, `200 {`)
}

// TestPlansAnswerAsResolversDo holds plans against resolvers, byte for byte.
func TestPlansAnswerAsResolversDo(t *testing.T) {
	t.Parallel()
	b := startBothWays(t)
	planned, good := 0, 0
	const many = 800
	for seed := range uint64(many) {
		isPlanned, isGood := b.same(t, b.operations.make(seed))
		if isGood {
			good++
		}
		if isPlanned && isGood {
			planned++
		}
	}
	t.Logf("%d of %d operations have no errors, and %d of these were planned", good, many, planned)
	require.Greater(t, good, many/2)
	require.Greater(t, planned, good/3)
}

// FuzzPlans goes on from there.
func FuzzPlans(f *testing.F) {
	b := startBothWays(f)
	f.Add(uint64(1_000_000))
	f.Fuzz(func(t *testing.T, seed uint64) { b.same(t, b.operations.make(seed)) })
}
