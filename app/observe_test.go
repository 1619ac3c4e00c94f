package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/observe"
)

// said is a message of a contact. It must not appear in traces.
const said = "My secret is kumquat"

// watched is the program with an observer. Its agent has a knowledge base and a tool with a real endpoint.
type watched struct {
	*served
	observer *observe.Observer
	agentID  string
	// stubs serves the model and the tool.
	stubs *stubServices
}

// stubServices is a stub of the model provider and the tool. It records the trace contexts of their requests.
type stubServices struct {
	url     string
	mu      sync.Mutex
	parents map[string][]string
}

func (s *stubServices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.parents[r.URL.Path] = append(s.parents[r.URL.Path], r.Header.Get("Traceparent"))
	s.mu.Unlock()
	if r.URL.Path == "/book" {
		_, _ = io.WriteString(w, `"booked"`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	delta := `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"book","arguments":"{}"}}]},"finish_reason":"tool_calls"`
	if strings.Contains(string(body), `"role":"tool"`) {
		delta = `{"content":"You are booked."},"finish_reason":"stop"`
	}
	_, _ = fmt.Fprintf(w, "data: "+
		"{\"choices\":[{\"index\":0,\"delta\":%s}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: "+
		"[DONE]\n\n", delta)
}

func (s *stubServices) traceParents(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parents[path]
}

func observed(t *testing.T, options observe.Options) *watched {
	t.Helper()
	w := &watched{stubs: &stubServices{parents: map[string][]string{}}}
	server := httptest.NewServer(w.stubs)
	t.Cleanup(server.Close)
	w.stubs.url = server.URL
	options.Version = "v0.0.0-test"
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	w.observer, err = observe.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.observer.Close(context.WithoutCancel(t.Context()))) })

	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Watched")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt: "You are the front desk.",
	})
	require.NoError(t, err)
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{
		Name: "Book", TechnicalName: "book", Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost,
			URL: server.URL + "/book", TimeoutSeconds: 10},
	})
	require.NoError(t, err)
	_, err = tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	w.agentID = agent.ID
	w.served = serve(t, address, key, func(o *app.EngineOptions) {
		o.Observer, o.ToolAllow = w.observer, []string{"127.0.0.1"}
		o.Provider = provider.Config{BaseURL: server.URL + "/v1", Key: providerKey, Model: "stub", Timeout: modelTimeout,
			IdleTimeout: modelTimeout}
	})
	return w
}

// load triggers each observed event at least once.
func (w *watched) load(t *testing.T) {
	t.Helper()
	w.must(t, w.key, `query Agents { agents { nodes { id name } } }`, nil, nil)
	w.must(t, w.key, `{ agents { nodes { id } } }`, nil, nil)
	require.Equal(t, []string{"BAD_INPUT"}, w.query(t, w.key, `query Wrong { agents(first: 1000) { nodes { id } } }`, nil).
		codes())
	refused := w.do(t, http.MethodPost, "/graphql", "ag_wrong", `{"query":"{ agents { nodes { id } } }"}`)
	require.NoError(t, refused.Body.Close())
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	w.library(t, w.agentID, nil)
	chatID := w.start(t, w.agentID, nil)
	require.Equal(t, "You are booked.", w.say(t, chatID, said).Text)
}

// socket opens a socket and starts an operation on it.
func (w *watched) socket(t *testing.T, header http.Header, query string, variables any) *websocket.Conn {
	t.Helper()
	socket, response, err := websocket.Dial(t.Context(), strings.Replace(w.url, "http", "ws", 1)+"/graphql",
		&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: header})
	require.NoError(t, err)
	if response.Body != nil {
		require.NoError(t, response.Body.Close())
	}
	t.Cleanup(func() { _ = socket.CloseNow() })
	require.NoError(t, wsjson.Write(t.Context(), socket, map[string]any{"type": "connection_init",
		"payload": map[string]string{"X-Api-Key": w.key}}))
	var ack frame
	require.NoError(t, wsjson.Read(t.Context(), socket, &ack))
	require.NoError(t, wsjson.Write(t.Context(), socket, map[string]any{
		"id": "1", "type": "subscribe", "payload": map[string]any{"query": query, "variables": variables},
	}))
	return socket
}

// scrape returns the samples of the metrics, by name with labels.
func (w *watched) scrape(t *testing.T) map[string]string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.observer.MetricsAddress()+
		"/metrics", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	samples := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			at := strings.LastIndexByte(line, ' ')
			samples[line[:at]] = line[at+1:]
		}
	}
	return samples
}

func TestMetricsCountEvents(t *testing.T) {
	t.Parallel()
	w := observed(t, observe.Options{Listen: "127.0.0.1:0"})
	w.load(t)
	chatID := w.start(t, w.agentID, nil)
	w.socket(t, nil, `subscription ($id: ID!) { simulationChatEvents(simulationChatId: $id) { __typename } }`,
		map[string]string{"id": chatID})
	var samples map[string]string
	require.Eventually(t, func() bool {
		samples = w.scrape(t)
		return samples["agentgraph_followers"] == "1" && samples["agentgraph_bus_listening"] == "1"
	}, dbtest.WaitTimeout, 20*time.Millisecond, "the subscriber is seen")

	for name, value := range map[string]string{
		`agentgraph_build_info{version="v0.0.0-test"}`:                                   "1",
		`agentgraph_requests_total{code="OK",kind="query",operation="Agents"}`:           "1",
		`agentgraph_requests_total{code="BAD_INPUT",kind="query",operation="Wrong"}`:     "1",
		`agentgraph_requests_total{code="UNAUTHENTICATED",kind="none",operation="none"}`: "1",
		`agentgraph_request_duration_seconds_count{operation="Agents"}`:                  "1",
		`agentgraph_sockets`: "1",
		`agentgraph_topics`:  "1",
		`agentgraph_model_calls_total{model="stub",operation="chat",outcome="ok"}`:  "2",
		`agentgraph_model_first_token_seconds_count{model="stub",operation="chat"}`: "1",
		`agentgraph_model_tokens_total{model="stub",type="input"}`:                  "14",
		`agentgraph_model_tokens_total{model="stub",type="output"}`:                 "6",
		`agentgraph_tool_calls_total{outcome="ok"}`:                                 "1",
		`agentgraph_retrievals_total{outcome="nothing"}`:                            "1",
		`agentgraph_pool_connections_max{pool="reads"}`:                             "20",
		`agentgraph_bus_signals_total{outcome="lost"}`:                              "0",
	} {
		require.Equal(t, value, samples[name], "%s\n%s", name, strings.Join(keysOf(samples, "agentgraph_"), "\n"))
	}
	require.NotEqual(t, "0", samples[`agentgraph_request_statements_total{operation="Agents"}`])
	require.NotEqual(t, "0", samples[`agentgraph_request_round_trips_total{operation="Agents"}`])
	requireShown(t, samples)
}

// keysOf returns the samples with the prefix as "name value", without buckets.
func keysOf(samples map[string]string, prefix string) []string {
	var names []string
	for name, value := range samples {
		if strings.HasPrefix(name, prefix) && !strings.Contains(name, "_bucket") {
			names = append(names, name+" "+value)
		}
	}
	return names
}

var metricName = regexp.MustCompile(`\b(agentgraph|go|process)_[a-z0-9_]+\b`)

// requireShown requires a sample of every metric that the dashboard or the alerts use.
func requireShown(t *testing.T, samples map[string]string) {
	t.Helper()
	exists := map[string]bool{}
	for name := range samples {
		name, _, _ = strings.Cut(name, "{")
		exists[name] = true
	}
	for _, file := range []string{"../deploy/grafana/agentgraph.json", "../deploy/prometheus/alerts.yaml"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		named := metricName.FindAllString(string(text), -1)
		require.Greater(t, len(named), 5, file)
		for _, name := range named {
			// Metrics of jobs exist only while there are jobs. TestMetricsCountJobs covers them.
			if name != "agentgraph_jobs" && name != "agentgraph_job_oldest_seconds" {
				require.True(t, exists[name], "%s names %s, which does not exist", file, name)
			}
		}
	}
}

// Clients choose operation names, so only a bounded number of names become labels.
func TestOperationNamesInMetricsAreBounded(t *testing.T) {
	t.Parallel()
	w := observed(t, observe.Options{Listen: "127.0.0.1:0"})
	for i := range 250 {
		w.must(t, w.key, fmt.Sprintf("query Made%d { agents { nodes { id } } }", i), nil, nil)
	}
	// The names of stored operations are not chosen by clients.
	response := w.do(t, http.MethodGet, "/Agent/"+w.agentID, w.key, "")
	require.NoError(t, response.Body.Close())
	names := map[string]bool{}
	require.Eventually(t, func() bool {
		for name := range w.scrape(t) {
			if rest, ok := strings.CutPrefix(name, "agentgraph_requests_total{"); ok {
				names[regexp.MustCompile(`operation="([^"]*)"`).FindStringSubmatch(rest)[1]] = true
			}
		}
		return names["GetAgent"]
	}, 10*time.Second, 10*time.Millisecond, "a request is counted once it is answered")
	require.True(t, names["Made0"])
	require.True(t, names["other"])
	require.Less(t, len(names), 210)
}

func TestSlowStatementsAreLoggedWithoutValues(t *testing.T) {
	t.Parallel()
	log := &dbtest.Output{}
	w := observed(t, observe.Options{SlowStatement: 1, Log: slog.New(slog.NewJSONHandler(log, nil))})
	w.load(t)
	require.Contains(t, log.String(), `"msg":"slow statement"`)
	require.Contains(t, log.String(), `"statement":"UPDATE simulation_chats"`)
	require.NotContains(t, log.String(), "kumquat")
	require.Empty(t, w.observer.MetricsAddress())
}

func TestMetricsCountJobs(t *testing.T) {
	t.Parallel()
	observer, err := observe.Start(t.Context(), observe.Options{Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, observer.Close(context.WithoutCancel(t.Context()))) })
	env := dbtest.NewEnvironment(t) // this store has no workers
	serveApp(t, app.Options{Store: env.Store, Engine: engine.New(offline.New(), engine.Options{}), Observer: observer,
		Settings: gateway.DefaultSettings(), Plan: true})
	dbtest.Execute(t, env.Tenant, env.Tests(t, 3), 1, 10)
	samples := (&watched{observer: observer}).scrape(t)
	require.Equal(t, "3", samples[`agentgraph_jobs{kind="agentTestRun",state="admitted"}`],
		keysOf(samples, "agentgraph_job"))
	require.Contains(t, samples, `agentgraph_job_oldest_seconds{kind="agentTestRun",state="admitted"}`)
}
