package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// modelFailure is one way in which a model can fail a turn.
type modelFailure struct {
	// script is what the provider does in one turn, request by request, retries included.
	script []fixture
	// says is the error message that the client receives.
	says string
	// keptCalls has the calls that the chat keeps after the failed turn, as "name: result" or "name: error".
	keptCalls []string
	// noHeader is a header that the provider omits.
	noHeader string
	// timeout bounds the model's time. 0 means modelTimeout.
	timeout time.Duration
}

const (
	faulty     = "the language model "
	wrongAgain = faulty + "made an invalid call again, although it was asked to correct the first one: "
	booked     = "book: Booked for Monday"
	noSuchTool = `fly_to_the_moon: there is no tool "fly_to_the_moon", only book, end_conversation`
)

var (
	book       = calls("book", `{"day":"Monday"}`)
	notJSON    = calls("book", `{"day": `)
	noDay      = calls("book", `{"seats":2}`)
	badDay     = calls("book", `{"day":1}`)
	unknown    = calls("fly_to_the_moon", `{}`)
	overloaded = refuses(http.StatusInternalServerError, "server_error")
	longAnswer = says("This answer has so many words that no reader waits for its end, " +
		strings.Repeat("which does not come, ", 40) + "or does it?")
	cutAnswer = longAnswer.but("truncateAfterChunks", 3)
)

var modelFailures = map[string]modelFailure{
	"401": {
		script: times(1, refuses(http.StatusUnauthorized, "invalid_api_key")),
		says:   "the language model: the provider answered 401 Unauthorized (invalid_api_key)",
	},
	"429 with Retry-After": {
		script: times(3, refuses(http.StatusTooManyRequests, "rate_limit_exceeded", "retryAfter", 1)),
		says:   "the language model: the provider answered 429 Too Many Requests (rate_limit_exceeded)",
	},
	"429 with a long Retry-After": {
		script: times(1, refuses(http.StatusTooManyRequests, "insufficient_quota", "retryAfter", 3600)),
		says:   "the language model: the provider answered 429 Too Many Requests (insufficient_quota)",
	},
	"429 without Retry-After": {
		script:   times(3, refuses(http.StatusTooManyRequests, "rate_limit_exceeded")),
		noHeader: "Retry-After",
		says:     "the language model: the provider answered 429 Too Many Requests (rate_limit_exceeded)",
	},
	"500": {
		script: times(3, overloaded),
		says:   "the language model: the provider answered 500 Internal Server Error (server_error)",
	},
	"time-out": {
		script:  times(1, longAnswer.but("latency", 20_000)),
		timeout: 500 * time.Millisecond,
		says:    "the language model: the provider did not answer in time",
	},
	"slow bytes": {
		script:  times(1, longAnswer.but("latency", 200)),
		timeout: 2 * time.Second,
		says:    "the language model: the provider answered 200, but did not finish within 2s",
	},
	"cut stream": {
		script: times(1, cutAnswer),
		says:   "the language model: the provider answered 200, but the connection ended before the answer did",
	},
	"connection closed before the first byte": {
		script: times(3, longAnswer.but("chaos", fixture{"disconnectRate": 1})),
		says:   "the language model: the provider could not be reached",
	},
	"malformed JSON": {
		script: times(1, longAnswer.but("chaos", fixture{"malformedRate": 1})),
		says:   "the language model: the provider answered 200 OK, but not with a stream",
	},
	"empty content": {
		script: times(1, says("")),
		says:   "the language model: the provider answered 200 with an empty answer",
	},
	"content_filter": {
		script: times(1, fixture{"response": fixture{"content": "This goes too far and", "finishReason": "content_filter"}}),
		says:   "the language model: the provider answered 200, but its content filter stopped the answer",
	},
	"length": {
		script: times(1, fixture{"response": fixture{"content": "This does not come to its", "finishReason": "length"}}),
		says:   "the language model: the provider answered 200, but the answer reached its length limit",
	},
	"unknown tool": {
		script:    times(2, unknown),
		keptCalls: []string{noSuchTool},
		says:      wrongAgain + noSuchTool,
	},
	"arguments that are not JSON": {
		script:    times(2, notJSON),
		keptCalls: []string{"book: the arguments are not JSON: unexpected EOF"},
		says:      wrongAgain + "book: the arguments are not JSON: unexpected EOF",
	},
	"arguments that break the schema": {
		script:    []fixture{noDay, badDay},
		keptCalls: []string{"book: the arguments are invalid: missing property 'day'"},
		says:      wrongAgain + "book: the arguments are invalid: day: got number, want string",
	},
	"one wrong call and then another": {
		script:    []fixture{unknown, book, notJSON},
		keptCalls: []string{noSuchTool, booked},
		says:      wrongAgain + "book: the arguments are not JSON: unexpected EOF",
	},
	"more than 25 model calls": {
		script:    times(25, book),
		keptCalls: slices.Repeat([]string{booked}, 24),
		says: faulty + "gave no final answer to 25 requests in one turn, the limit: raise " +
			"AGENTGRAPH_MAX_MODEL_CALLS, or change the prompt",
	},
	"500 after a call": {
		script:    append(times(1, book), times(3, overloaded)...),
		keptCalls: []string{booked},
		says:      "the language model: the provider answered 500 Internal Server Error (server_error)",
	},
	"cut stream after a call": {
		script:    []fixture{book, cutAnswer},
		keptCalls: []string{booked},
		says:      "the language model: the provider answered 200, but the connection ended before the answer did",
	},
}

// modelNameFor returns the name of the model that fails this way. The name does not end in a number, because the stub
// server would read a number as a version.
func modelNameFor(failure string) string { return strings.ReplaceAll(failure, " ", "-") + "-model" }

// frontDesk creates an agent with the tool book.
func frontDesk(t *testing.T, tenant *db.Tenant) (agentID, toolID string) {
	t.Helper()
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelPhone, Direction: model.DirectionInbound, Language: "en",
		Prompt: "You are the front desk.",
	})
	require.NoError(t, err)
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{
		Name: "Book", TechnicalName: "book", Description: new("Books a visit"),
		Parameters: model.JSONObject(
			`{"type":"object","properties":{"day":{"type":"string"},"seats":{"type":"integer"}},"required":["day"]}`),
	})
	require.NoError(t, err)
	_, err = tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	return agent.ID, tool.ID
}

// TestFailedTurnLeavesTheChatUnchanged runs each failure over GraphQL and over REST, and then continues the same chat.
func TestFailedTurnLeavesTheChatUnchanged(t *testing.T) {
	t.Parallel()
	const recovered = "Here I am again."
	scripts := map[string][]fixture{}
	for name, failure := range modelFailures {
		scripts[modelNameFor(name)] = append(times(2, failure.script...), says(recovered))
	}
	provider := startProvider(t, scripts)
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Failures")
	agentID, toolID := frontDesk(t, tenant)
	mocking := map[string]any{"mockedTools": []any{map[string]any{"toolId": toolID, "resultTemplate": "Booked for {day}"}}}

	for name, failure := range modelFailures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, address, key, provider.asks(modelNameFor(name)), func(o *app.EngineOptions) {
				if failure.noHeader != "" {
					o.Provider.BaseURL = provider.withoutHeader(t, failure.noHeader) + "/v1"
				}
				if failure.timeout > 0 {
					o.Provider.Timeout, o.Provider.IdleTimeout = failure.timeout, failure.timeout
				}
			})
			chatID := s.start(t, agentID, mocking)

			a := s.send(t, chatID, "Hello?")
			require.Equal(t, []string{"UPSTREAM_FAILED"}, a.codes())
			require.Equal(t, failure.says, a.Errors[0].Message)
			require.JSONEq(t, `{"sendSimulationMessage":null}`, string(a.Data))
			requireNothingKept(t, s.kept(t, chatID), failure.keptCalls)

			status, body := s.exchange(t, http.MethodPost, "/SimulationChat/send-message",
				map[string]any{"simulationChatId": chatID, "message": "Hello?"})
			require.Equal(t, http.StatusBadGateway, status, string(body))
			var problem struct {
				Status                       int
				Code, Title, Detail, TraceID string
			}
			require.NoError(t, json.Unmarshal(body, &problem))
			require.Equal(t, http.StatusBadGateway, problem.Status)
			require.Equal(t, "UPSTREAM_FAILED", problem.Code)
			require.Equal(t, "Bad Gateway", problem.Title)
			require.Equal(t, failure.says, problem.Detail)
			requireNothingKept(t, s.kept(t, chatID), append(failure.keptCalls, failure.keptCalls...))
			require.Len(t, provider.asked(t, modelNameFor(name)), 2*len(failure.script))

			require.Equal(t, recovered, s.say(t, chatID, "Hello?").Text)
			require.Len(t, s.kept(t, chatID).Messages, 2)
			asked := provider.asked(t, modelNameFor(name))
			require.Len(t, asked, 2*len(failure.script)+1)
			require.Len(t, asked[len(asked)-1].Messages, 2, "the prompt and the message, nothing of the turns that failed")

			logged, err := json.Marshal(failure.says)
			require.NoError(t, err)
			require.Equal(t, 2, strings.Count(s.log.String(), `"msg":"turn failed","chat":"`+chatID+`","model":"`+
				modelNameFor(name)+`","error":`+string(logged)))
			require.Regexp(t, `"msg":"turn failed","chat":"`+chatID+`".*"traceId":"`+problem.TraceID+`"`, s.log.String(),
				"the answer's trace id finds the log line")
			s.requireNoKey(t, providerKey)
		})
	}
}

// requireNothingKept requires a chat to be unchanged by its failed turns, except for the calls in keptCalls.
func requireNothingKept(t *testing.T, chat keptChat, keptCalls []string) {
	t.Helper()
	require.Equal(t, "Open", chat.Status)
	require.Empty(t, chat.Messages)
	var calls []string
	for _, call := range chat.ToolCalls {
		require.False(t, call.IsTurnKept)
		require.Equal(t, 1, call.MessageSequence)
		outcome := call.Result
		if outcome == nil {
			outcome = call.Error
		}
		calls = append(calls, call.TechnicalName+": "+*outcome)
	}
	require.Equal(t, keptCalls, calls)
}

// TestModelKeyIsNeverShown requires that no response or log line shows a key, even if the provider's error or address
// contains the key.
func TestModelKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	provider := startProvider(t, map[string][]fixture{"sensible": {says("Good morning")}})
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Keys")
	agentID, _ := frontDesk(t, tenant)

	wrong := serve(t, address, key, provider.asks("sensible"),
		func(o *app.EngineOptions) { o.Provider.Key = "sk-wrong-7d3f" })
	chatID := wrong.start(t, agentID, nil)
	a := wrong.send(t, chatID, "Hello?")
	require.Equal(t, []string{"UPSTREAM_FAILED"}, a.codes())
	require.Contains(t, a.Errors[0].Message, "the language model: the provider answered 401 Unauthorized")
	wrong.requireNoKey(t, "sk-wrong-7d3f")

	nowhere := serve(t, address, key, provider.asks("sensible"),
		func(o *app.EngineOptions) { o.Provider.BaseURL = "http://user:hunter2@127.0.0.1:1/v1" })
	a = nowhere.send(t, chatID, "Hello?")
	require.Equal(t, []string{"UPSTREAM_FAILED"}, a.codes())
	require.Equal(t, "the language model: the provider could not be reached", a.Errors[0].Message)
	nowhere.requireNoKey(t, providerKey)
	nowhere.requireNoKey(t, "hunter2")

	right := serve(t, address, key, provider.asks("sensible"))
	require.Equal(t, "Good morning", right.say(t, chatID, "Hello?").Text)
	require.Len(t, provider.asked(t, "sensible"), 1)
}
