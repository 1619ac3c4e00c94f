package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway"
)

// recordingObserver is an observer that records requests.
type recordingObserver struct {
	mu      sync.Mutex
	started int
	ended   []gateway.Request
}

type witnessKey struct{}

func (w *recordingObserver) Begin(ctx context.Context) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started++
	return context.WithValue(ctx, witnessKey{}, w)
}

func (w *recordingObserver) End(ctx context.Context, r gateway.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Value(witnessKey{}) == w && r.Duration > 0 {
		r.Duration = 0
		w.ended = append(w.ended, r)
	}
}

func (w *recordingObserver) requests() []gateway.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]gateway.Request{}, w.ended...)
}

func TestObserverSeesEachRequestOnce(t *testing.T) {
	t.Parallel()
	w := &recordingObserver{}
	f := start(t, func(o *gateway.Options) { o.Observer = w }, settings(func(s *gateway.Settings) { s.QueryCost = 10 }))
	for _, step := range []struct {
		call call
		want gateway.Request
	}{
		{call{method: "POST", path: "/graphql", body: body(t, "query Greeting { hello }")},
			gateway.Request{Operation: "Greeting", Kind: ast.Query}},
		{call{method: "POST", path: "/graphql", body: body(t, "query Unknown { nothing }")},
			gateway.Request{Code: "GRAPHQL_VALIDATION_FAILED"}},
		{call{method: "GET", path: "/graphql"}, gateway.Request{Code: "BAD_INPUT"}},
		{call{method: "GET", path: "/nowhere"}, gateway.Request{Code: "NOT_FOUND"}},
		{call{method: "POST", path: "/graphql", body: body(t, "{ hello }"), headers: []string{"X-Api-Key: ag_wrong"}},
			gateway.Request{Code: "UNAUTHENTICATED"}},
		{call{method: "POST", path: "/graphql", body: body(t, "query Dear { "+strings.Repeat("hello ", 11)+"}")},
			gateway.Request{Operation: "Dear", Kind: ast.Query, Code: "LIMIT_EXCEEDED"}},
	} {
		before := len(w.requests())
		require.NotEqual(t, 0, f.do(t, step.call).status)
		require.Eventually(t, func() bool { return len(w.requests()) > before }, patience, time.Millisecond)
		require.Equal(t, step.want, w.requests()[before])
	}
	before := len(w.requests())
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/healthz"}).status)
	c := f.ready(t)
	require.Eventually(t, func() bool { return f.Load().Sockets == 1 }, patience, time.Millisecond)
	c.subscribe("1", "query OnSocket { hello }")
	require.Equal(t, "next", c.receive()["type"])
	require.Eventually(t, func() bool { return len(w.requests()) == before+2 }, patience, time.Millisecond)
	require.ElementsMatch(t, []gateway.Request{{}, {Operation: "OnSocket", Kind: ast.Query}}, w.requests()[before:],
		"the handshake, and the operation")
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.ended, w.started)
}

// Clients that leave do not make the server look unavailable.
func TestClientsThatLeaveAreRecordedAsCanceled(t *testing.T) {
	t.Parallel()
	w := &recordingObserver{}
	f := start(t, func(o *gateway.Options) { o.Observer = w })
	_, leave := f.stream(t, call{method: "POST", path: "/graphql",
		body: body(t, "query Left { slow(milliseconds: 60000) }")})
	leave()
	c := f.ready(t)
	c.subscribe("1", "query Completed { slow(milliseconds: 60000) }")
	c.send(`{"type":"complete","id":"1"}`)
	c.subscribe("2", "query Closed { slow(milliseconds: 60000) }")
	for range 20 {
		c.subscribe("3", "subscription Watched { tick }")
		c.send(`{"type":"complete","id":"3"}`)
	}
	c.subscribe("4", "{ hello }")
	for c.receive()["id"] != "4" {
	}
	require.NoError(t, c.CloseNow())
	require.Eventually(t, func() bool { return len(w.requests()) == 25 }, patience, time.Millisecond)
	codes := map[string]string{}
	for _, r := range w.requests() {
		if r.Kind == ast.Subscription {
			require.Contains(t, []string{"", "CANCELED"}, r.Code)
			continue
		}
		require.NotEqual(t, "UNAVAILABLE", r.Code)
		codes[r.Operation] = r.Code
	}
	delete(codes, "")
	require.Equal(t, "CANCELED", codes["Left"])
	require.Equal(t, "CANCELED", codes["Closed"])
}

// A replica that stops cuts operations on sockets. Their clients did not leave.
func TestOperationsThatDrainingCutsAreUnavailable(t *testing.T) {
	t.Parallel()
	w := &recordingObserver{}
	f := start(t, func(o *gateway.Options) { o.Observer = w })
	c := f.ready(t)
	c.subscribe("1", "query Cut { slow(milliseconds: 60000) }")
	c.subscribe("2", "{ hello }")
	require.Equal(t, "next", c.receive()["type"])
	require.NoError(t, f.Drain(t.Context()))
	require.Contains(t, w.requests(), gateway.Request{Operation: "Cut", Kind: ast.Query, Code: "UNAVAILABLE"})
}

func TestLogNamesCodeCostKeyAndRemote(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.do(t, call{method: "POST", path: "/graphql", body: body(t, "query Greeting { hello }")})
	f.do(t, call{method: "POST", path: "/graphql", body: body(t, "query Wrong { nothing }")})
	require.Eventually(t, func() bool { return strings.Count(f.log.String(), `"msg":"request"`) == 2 }, patience,
		time.Millisecond)
	for _, part := range []string{`"code":""`, `"cost":1`, `"keyId":"k1"`, `"remote":"127.0.0.1"`,
		`"code":"GRAPHQL_VALIDATION_FAILED"`} {
		require.Contains(t, f.log.String(), part)
	}
	require.NotContains(t, f.log.String(), "slow operation")
}

func TestSlowOperationsAreLoggedWithADigest(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.SlowOperation = 1 }))
	for range 2 {
		f.do(t, call{method: "POST", path: "/graphql", body: body(t, "query Greeting { hello }")})
	}
	f.do(t, call{method: "POST", path: "/graphql", body: body(t, "query Wrong { nothing }")})
	require.Eventually(t, func() bool { return strings.Count(f.log.String(), `"msg":"request"`) == 3 }, patience,
		time.Millisecond)
	require.Equal(t, 2, strings.Count(f.log.String(), `"msg":"slow operation"`))
	// This is the beginning of the document's SHA-256, as sha256sum prints it.
	require.Equal(t, 2, strings.Count(f.log.String(), `"document":"f2157b199ac4b97e"`), f.log.String())
	require.NotContains(t, f.log.String(), "{ hello }")
}
