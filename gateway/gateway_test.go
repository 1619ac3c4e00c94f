package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/testdata/probe"
	"github.com/agentgraph/agentgraph/model"
)

//go:generate go run -C testdata/probe github.com/99designs/gqlgen generate

const (
	jsonType    = "application/json"
	graphqlType = "application/graphql-response+json"
	eventType   = "text/event-stream"
	goodKey     = "ag_good"
	patience    = 10 * time.Second
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// front is a running gateway with the probe schema.
type front struct {
	*gateway.Server
	root    *probe.Root
	url     string
	log     *journal
	revoked atomic.Bool
	broken  atomic.Bool
	unready atomic.Bool
}

// journal collects the log as text.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// start serves a gateway until the test ends. goodKey is the key of company c1.
func start(t *testing.T, change ...func(*gateway.Options)) *front {
	t.Helper()
	f := &front{root: &probe.Root{}, log: &journal{}}
	options := gateway.Options{
		Schema: probe.NewExecutableSchema(probe.Config{Resolvers: f.root}),
		Authenticate: func(_ context.Context, key string) (model.Principal, error) {
			switch {
			case f.broken.Load():
				return model.Principal{}, errors.New("secret of the database")
			case key != goodKey || f.revoked.Load():
				return model.Principal{}, model.Errorf(model.Unauthenticated, "the API key is not valid")
			}
			return model.Principal{CompanyID: "c1", KeyID: "k1"}, nil
		},
		Ready: func(context.Context) error {
			if f.unready.Load() {
				return errors.New("secret of the database")
			}
			return nil
		},
		Log:      slog.New(slog.NewJSONHandler(f.log, nil)),
		Settings: gateway.DefaultSettings(),
	}
	for _, c := range change {
		c(&options)
	}
	f.Server = gateway.New(options)
	server := httptest.NewUnstartedServer(f.Server)
	server.Listener = gateway.Connections{}.Listen(server.Config, server.Listener)
	server.Start()
	f.url = server.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, f.Drain(ctx))
		server.Close()
	})
	return f
}

// settings returns an option that changes the gateway's settings.
func settings(change func(*gateway.Settings)) func(*gateway.Options) {
	return func(o *gateway.Options) { change(&o.Settings) }
}

// call is an HTTP request. Header lines are "Name: value"; an empty value removes the header.
type call struct {
	method  string
	path    string
	headers []string
	body    string
}

// answer is the response to a call.
type answer struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

func (f *front) do(t *testing.T, c call) answer {
	t.Helper()
	response := f.open(t, c)
	defer func() { require.NoError(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	if strings.Contains(response.Header.Get("Content-Type"), "json") && len(text) > 0 && text[0] != '[' {
		require.NoError(t, json.Unmarshal(text, &a.json), "%s", text)
	}
	return a
}

func (f *front) open(t *testing.T, c call) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), c.method, f.url+c.path, strings.NewReader(c.body))
	require.NoError(t, err)
	request.Header.Set("X-Api-Key", goodKey)
	if c.method == http.MethodPost {
		request.Header.Set("Content-Type", jsonType)
	}
	for _, line := range c.headers {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); value == "" {
			request.Header.Del(name)
		} else {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	return response
}

// post sends a query and accepts application/graphql-response+json.
func (f *front) post(t *testing.T, query string, variables ...any) answer {
	t.Helper()
	return f.do(t, call{method: "POST", path: "/graphql", body: body(t, query, variables...),
		headers: []string{"Accept: " + graphqlType}})
}

func body(t *testing.T, query string, variables ...any) string {
	t.Helper()
	request := map[string]any{"query": query}
	if len(variables) > 0 {
		request["variables"] = variables[0]
	}
	text, err := json.Marshal(request)
	require.NoError(t, err)
	return string(text)
}

// fault returns the response's only error and its code.
func (a answer) fault(t *testing.T) (err map[string]any, code string) {
	t.Helper()
	errs, _ := a.json["errors"].([]any)
	require.Len(t, errs, 1, a.text)
	err = errs[0].(map[string]any)
	code, _ = err["extensions"].(map[string]any)["code"].(string)
	return err, code
}

// settles waits until no subscription is open.
func (f *front) settles(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return f.root.Live.Load() == 0 }, patience, time.Millisecond)
}
