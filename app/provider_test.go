package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/observe"
)

// providerKey is the only key that the stub model server accepts.
const providerKey = "stub-key"

// fixture is an answer of the stub model server.
type fixture map[string]any

func says(text string) fixture { return fixture{"response": fixture{"content": text}} }

// refuses is a provider's error that contains the key.
func refuses(status int, code string, more ...any) fixture {
	response := fixture{"status": status, "error": fixture{"message": "The key " + providerKey + " is out of luck",
		"type": code, "code": code}}
	for i := 0; i < len(more); i += 2 {
		response[more[i].(string)] = more[i+1]
	}
	return fixture{"response": response}
}

// calls is an answer with calls, given as alternating names and arguments.
func calls(namesAndArguments ...string) fixture {
	made := []fixture{}
	for i := 0; i < len(namesAndArguments); i += 2 {
		made = append(made, fixture{"id": "made_by_" + namesAndArguments[i], "name": namesAndArguments[i],
			"arguments": namesAndArguments[i+1]})
	}
	return fixture{"response": fixture{"toolCalls": made}}
}

// but returns the fixture with an additional member.
func (f fixture) but(name string, value any) fixture {
	other := maps.Clone(f)
	other[name] = value
	return other
}

// saying returns the fixture with text in addition to its calls.
func (f fixture) saying(text string) fixture {
	return f.but("response", f["response"].(fixture).but("content", text))
}

func times(n int, f ...fixture) []fixture { return slices.Repeat(f, n) }

// stubServer is a stub model server.
type stubServer struct{ url string }

// startProvider starts a server whose models, by name, answer with their fixtures in order. Fixtures with a match are
// not part of the order.
func startProvider(t testing.TB, models map[string][]fixture) *stubServer {
	t.Helper()
	var all []fixture
	for name, script := range models {
		step := 0
		for _, f := range script {
			if match, free := f["match"].(fixture); free {
				all = append(all, f.but("match", match.but("model", name)))
				continue
			}
			all = append(all, f.but("match", fixture{"model": name, "sequenceIndex": step}))
			step++
		}
	}
	text, err := json.Marshal(fixture{"fixtures": all})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "fixtures.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	_, err = os.Stat("../lab/e2e/node_modules")
	require.NoError(t, err, "run `make e2e-deps` (npm ci in e2e) once")

	server := exec.CommandContext(context.WithoutCancel(t.Context()), "node", "../lab/e2e/model.mjs", file)
	server.Stderr = t.Output()
	input, err := server.StdinPipe()
	require.NoError(t, err)
	output, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	return &stubServer{url: strings.TrimSpace(address)}
}

// request is a request to the stub server.
type request struct {
	Model    string
	Messages []struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
	}
	Tools            []struct{ Function struct{ Name string } }
	Temperature      *float64
	FrequencyPenalty *float64 `json:"frequency_penalty"`
}

// asked returns the requests to a model, in order.
func (p *stubServer) asked(t *testing.T, model string) []request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/__aimock/journal", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+providerKey)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	var journal []struct{ Body request }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&journal))
	var asked []request
	for _, entry := range journal {
		if entry.Body.Model == model {
			asked = append(asked, entry.Body)
		}
	}
	return asked
}

// withoutHeader returns the address of a proxy that drops a header from the provider's answers.
func (p *stubServer) withoutHeader(t *testing.T, name string) string {
	t.Helper()
	target, err := url.Parse(p.url)
	require.NoError(t, err)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error { r.Header.Del(name); return nil },
		FlushInterval:  -1,
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// served is the program as it runs in production. It records all responses and the log.
type served struct {
	*gatewayUnderTest
	key   string
	log   *dbtest.Output
	shown bytes.Buffer
}

// serve runs the program on the database for a client with the key. The functions that with lists change the engine's
// options. By default the offline model answers.
func serve(t testing.TB, databaseURL, key string, with ...func(*app.EngineOptions)) *served {
	t.Helper()
	text := &dbtest.Output{}
	log := slog.New(slog.NewJSONHandler(text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	options := app.EngineOptions{TurnTimeout: 10 * time.Minute, Observer: &observe.Observer{}, Log: log}
	for _, change := range with {
		change(&options)
	}
	e, evaluator, closeEngine, err := app.NewEngine(options)
	require.NoError(t, err)
	t.Cleanup(closeEngine)
	store := dbtest.Open(t, databaseURL, db.Options{MaxConnections: 20, Tracer: options.Observer.Statements(), Log: log})
	gateway, err := app.New(app.Options{Store: store, Engine: e, Evaluator: evaluator, Settings: gateway.DefaultSettings(),
		Plan: true, Observer: options.Observer, Workers: 10, Log: log})
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- gateway.Serve(ctx, listener) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-ended, text.String())
	})
	return &served{gatewayUnderTest: &gatewayUnderTest{url: "http://" + listener.Addr().String()}, key: key, log: text}
}

// asks returns an option that makes agents use a model of the provider.
func (p *stubServer) asks(model string) func(*app.EngineOptions) {
	return func(o *app.EngineOptions) {
		o.Provider = provider.Config{
			BaseURL: p.url + "/v1", Key: providerKey, Model: model, Timeout: modelTimeout, IdleTimeout: modelTimeout,
		}
	}
}

// modelTimeout is the default time limit of a model's answer in tests.
const modelTimeout = 25 * time.Second

// exchange sends a request, records the whole response and returns its status and body.
func (s *served) exchange(t *testing.T, method, path string, body any) (int, []byte) {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		require.NoError(t, err)
	}
	response := s.do(t, method, path, s.key, string(text))
	defer func() { _ = response.Body.Close() }()
	whole, err := httputil.DumpResponse(response, true)
	require.NoError(t, err)
	s.shown.Write(whole)
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, content
}

// ask sends a GraphQL request.
func (s *served) ask(t *testing.T, query string, variables map[string]any) answer {
	t.Helper()
	_, body := s.exchange(t, http.MethodPost, "/graphql", map[string]any{"query": query, "variables": variables})
	var a answer
	require.NoError(t, json.Unmarshal(body, &a), string(body))
	return a
}

// rest sends a v1 request that must succeed, and decodes its response.
func (s *served) rest(t *testing.T, method, path string, body, into any) {
	t.Helper()
	status, text := s.exchange(t, method, path, body)
	require.Equal(t, http.StatusOK, status, string(text))
	require.NoError(t, json.Unmarshal(text, into))
}

// requireNoKey requires that neither a response nor the log contains the key.
func (s *served) requireNoKey(t *testing.T, key string) {
	t.Helper()
	require.NotEmpty(t, s.shown.String())
	require.NotContains(t, s.shown.String(), key, "a response has the key")
	require.NotContains(t, s.log.String(), key, "the log has the key")
}

// reply is what the contact sees of a turn.
type reply struct {
	Text                string
	IsConversationEnded bool
	EndReason           *string
}

// send sends the contact's message through GraphQL.
func (s *served) send(t *testing.T, chatID, text string) answer {
	t.Helper()
	return s.ask(t, `mutation ($id: ID!, $text: String!) {
		sendSimulationMessage(input: {simulationChatId: $id, text: $text}) { simulationChat { status } newMessages { text
			isConversationEnded endReason } }
	}`, map[string]any{"id": chatID, "text": text})
}

// say sends a message that must be answered, and returns the reply.
func (s *served) say(t *testing.T, chatID, text string) reply {
	t.Helper()
	var sent struct {
		SendSimulationMessage struct{ NewMessages []reply }
	}
	a := s.send(t, chatID, text)
	require.Empty(t, a.Errors)
	require.NoError(t, json.Unmarshal(a.Data, &sent))
	require.Len(t, sent.SendSimulationMessage.NewMessages, 2)
	require.Equal(t, text, sent.SendSimulationMessage.NewMessages[0].Text)
	return sent.SendSimulationMessage.NewMessages[1]
}

// start starts a chat and returns its id.
func (s *served) start(t *testing.T, agentID string, mocking map[string]any) string {
	t.Helper()
	var started struct{ SimulationChatID string }
	s.rest(t, http.MethodPost, "/SimulationChat/start", map[string]any{"agentId": agentID, "toolMocking": mocking},
		&started)
	return started.SimulationChatID
}

// keptChat is the stored part of a chat that tests compare.
type keptChat struct {
	Status    string
	Messages  []struct{ Role, Text string }
	ToolCalls []keptCall
}

type keptCall struct {
	ID, Kind, TechnicalName string
	TargetID                *string
	Arguments               json.RawMessage
	Result, Error           *string
	Mocked, IsReal          bool
	IsTurnKept              bool
	MessageSequence         int
	DurationMs              int
	DelegationID            *string
}

func (s *served) kept(t *testing.T, chatID string) keptChat {
	t.Helper()
	a := s.ask(t, `query ($id: ID!) { simulationChat(id: $id) {
		status messages { role text }
		toolCalls { id kind targetId technicalName arguments result mocked isReal error isTurnKept messageSequence durationMs
			delegationId }
	} }`, map[string]any{"id": chatID})
	require.Empty(t, a.Errors)
	var read struct{ SimulationChat keptChat }
	require.NoError(t, json.Unmarshal(a.Data, &read))
	return read.SimulationChat
}
