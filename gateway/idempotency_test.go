package gateway_test

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// claims is a claim store in memory.
type claims struct {
	mu     sync.Mutex
	ids    []string
	answer map[string]*model.StoredResponse
	err    error
}

func (c *claims) claim(_ context.Context, companyID string, id,
	_ []byte) (*model.StoredResponse, gateway.RequestClaim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := companyID + hex.EncodeToString(id)
	c.ids = append(c.ids, key)
	if kept := c.answer[key]; kept != nil || c.err != nil {
		return kept, nil, c.err
	}
	return nil, requestClaim{c, key}, nil
}

// requestClaim is a claim on the request with the key.
type requestClaim struct {
	claims *claims
	key    string
}

func (requestClaim) CarryOut(ctx context.Context, do func(context.Context) error) error {
	return do(ctx)
}

func (r requestClaim) End(ctx context.Context, answer *model.StoredResponse) error {
	r.claims.mu.Lock()
	defer r.claims.mu.Unlock()
	if answer != nil {
		r.claims.answer[r.key] = answer
	}
	return ctx.Err()
}

// startOnce starts a gateway with idempotency.
func startOnce(t *testing.T, change ...func(*gateway.Options)) (*front, *claims) {
	t.Helper()
	c := &claims{answer: map[string]*model.StoredResponse{}}
	return start(t, append(change, func(o *gateway.Options) { o.Claim = c.claim })...), c
}

func TestIdempotencyKeysAreValidated(t *testing.T) {
	t.Parallel()
	f, c := startOnce(t)
	increment := call{method: "POST", path: "/graphql", body: body(t, "mutation { increment }")}
	for _, keys := range [][]string{{""}, {strings.Repeat("a", 256)}, {"a\tb"}, {"é"}, {"\x7f"}, {"a", "b"}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/graphql",
			strings.NewReader(increment.body))
		require.NoError(t, err)
		request.Header = http.Header{"X-Api-Key": {goodKey}, "Content-Type": {jsonType}, "Idempotency-Key": keys}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			continue // net/http does not send it.
		}
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusBadRequest, response.StatusCode, "%q", keys)
	}
	increment.headers = []string{"Idempotency-Key: " + strings.Repeat("a", 256)}
	fault, code := f.do(t, increment).fault(t)
	require.Equal(t, "Idempotency-Key must be given once, with 1 to 255 printable ASCII characters", fault["message"])
	require.Equal(t, "BAD_INPUT", code)
	require.Zero(t, f.root.Increments.Load())
	require.Empty(t, c.ids)
	for _, key := range []string{"a", strings.Repeat("~", 255), `"8e03978e-40d5-43dd-bc93-6894a57f9324"`,
		"a key, of words"} {
		increment.headers = []string{"Idempotency-Key: " + key}
		before := f.root.Increments.Load()
		first, again := f.do(t, increment), f.do(t, increment)
		require.Equal(t, http.StatusOK, first.status)
		require.Equal(t, first.text, again.text)
		require.EqualValues(t, 1, f.root.Increments.Load()-before)
		require.Empty(t, first.header.Get("Idempotent-Replayed"))
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
		require.NotEqual(t, first.header.Get("X-Trace-Id"), again.header.Get("X-Trace-Id"))
		for _, a := range []answer{first, again} {
			for _, changing := range []string{"X-Trace-Id", "Date", "Idempotent-Replayed"} {
				a.header.Del(changing)
			}
		}
		require.Equal(t, first.header, again.header)
	}
}

func TestIdempotencyKeysOfReadsAreIgnored(t *testing.T) {
	t.Parallel()
	f, c := startOnce(t)
	key := "Idempotency-Key: a"
	for _, call := range []call{
		{method: "POST", path: "/graphql", body: body(t, "{ hello }")},
		{method: "POST", path: "/graphql", body: body(t, "{ nonsense }")},
		{method: "POST", path: "/graphql", body: "{"},
		{method: "POST", path: "/graphql", body: body(t, "mutation { increment }"),
			headers: []string{"Content-Type: text/plain"}},
		{method: "POST", path: "/graphql", body: body(t, "mutation { increment }"), headers: []string{"X-Api-Key: ag_wrong"}},
		{method: "POST", path: "/nowhere", body: "{}"},
		{method: "GET", path: "/graphql?query=%7Bhello%7D"},
		{method: "GET", path: "/graphql?query=mutation%7Bincrement%7D"},
		{method: "GET", path: "/graphql?query=%7Bhello%7D",
			headers: []string{"Idempotency-Key: " + strings.Repeat("a", 256)}},
	} {
		call.headers = append(call.headers, "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		plain := f.do(t, call)
		call.headers = append(call.headers, key)
		keyed := f.do(t, call)
		require.Equal(t, plain.status, keyed.status)
		require.Equal(t, plain.text, keyed.text)
	}
	// Clients that accept events and JSON send the same Accept header with every request.
	stream := f.open(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { count(to: 2) }"),
		headers: []string{key, "Accept: " + jsonType + ", " + eventType}})
	require.Equal(t, eventType+"; charset=utf-8", stream.Header.Get("Content-Type"))
	require.NoError(t, stream.Body.Close())
	a := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "mutation { increment }"),
		headers: []string{key, "Accept: " + eventType}})
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Contains(t, a.text, "Idempotency-Key")
	require.Empty(t, c.ids)
	require.Zero(t, f.root.Increments.Load())
	f.settles(t)
}

func TestIdempotencyKeysNeedAClaimStore(t *testing.T) {
	t.Parallel()
	f := start(t)
	for want := range 2 {
		f.do(t, call{method: "POST", path: "/graphql", body: body(t, "mutation { increment }"),
			headers: []string{"Idempotency-Key: a"}})
		require.EqualValues(t, want+1, f.root.Increments.Load())
	}
}

func TestUnclaimedRequestDoesNotRun(t *testing.T) {
	t.Parallel()
	f, c := startOnce(t)
	increment := call{method: "POST", path: "/graphql", body: body(t, "mutation { increment }"),
		headers: []string{"Idempotency-Key: a"}}
	c.err = errors.New("secret of the database")
	a := f.do(t, increment)
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.NotContains(t, a.text, "secret")
	c.err = model.Errorf(model.Conflict, "wait")
	a = f.do(t, increment)
	require.Equal(t, http.StatusConflict, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	c.err = model.Errorf(model.Unprocessable, "another one")
	require.Equal(t, http.StatusUnprocessableEntity, f.do(t, increment).status)
	require.Zero(t, f.root.Increments.Load())
	c.err = nil
	require.JSONEq(t, `{"data":{"increment":1}}`, f.do(t, increment).text)
}

// breaking is a transport that runs a mutation and then panics.
type breaking struct{ other }

func (breaking) Do(_ http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	operation, _ := exec.CreateOperationContext(r.Context(), &graphql.RawParams{Query: "mutation { increment }"})
	next, ctx := exec.DispatchOperation(r.Context(), operation)
	next(ctx)
	panic("secret of the panic")
}

func TestPanicEndsTheClaim(t *testing.T) {
	t.Parallel()
	f, c := startOnce(t, func(o *gateway.Options) { o.Transports = []graphql.Transport{breaking{}} })
	for range 2 {
		a := f.do(t, call{method: "POST", path: "/other", body: "{}", headers: []string{"Idempotency-Key: a"}})
		require.Equal(t, http.StatusInternalServerError, a.status)
		require.Equal(t, "refused: internal error", a.text)
	}
	require.EqualValues(t, 2, f.root.Increments.Load())
	require.Equal(t, c.ids[0], c.ids[1])
	require.Empty(t, c.answer)
}
