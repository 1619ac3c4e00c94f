package provider_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

// The tests in this file control the single bytes and events of a response, which the stub server cannot.

const (
	startOfText = `data: {"choices":[{"delta":{"role":"assistant","content":"Good "}}]}` + "\n\n"
	endOfText   = `data: {"choices":[{"delta":{"content":"day"},"finish_reason":"stop"}]}` + "\n\n"
	done        = "data: [DONE]\n\n"
)

// scripted is a provider that gives its answers in order, and then repeats the last one.
type scripted struct {
	asked   atomic.Int32
	answers []http.HandlerFunc
}

// serve starts a provider of Chat Completions and returns a model that uses it.
func serve(t *testing.T, configure func(*provider.Config), answers ...http.HandlerFunc) (*scripted, *provider.Model) {
	t.Helper()
	p := &scripted{answers: answers}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	config := provider.Config{BaseURL: server.URL, Key: stubKey, Model: "m"}
	if configure != nil {
		configure(&config)
	}
	model, err := provider.New(config)
	require.NoError(t, err)
	return p, model
}

func (p *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	turn := min(int(p.asked.Add(1)), len(p.answers)) - 1
	p.answers[turn](w, r)
}

// events answers with a stream of these bytes, which then ends properly.
func events(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { send(w, parts...) }
}

func send(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, part := range parts {
		_, _ = fmt.Fprint(w, part)
		_ = http.NewResponseController(w).Flush()
	}
}

// eventsThen sends these bytes and then continues with another handler.
func eventsThen(then http.HandlerFunc, parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		send(w, parts...)
		then(w, r)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func fallSilent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// repeat sends an event every few milliseconds until the client disconnects.
func repeat(event string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				send(w, event)
			case <-r.Context().Done():
				return
			}
		}
	}
}

func refuse(status int, header, value, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

func TestRetriesBeforeTheFirstPiece(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]http.HandlerFunc{
		"429 without Retry-After":     refuse(429, "", "", ""),
		"429 with a date in the past": refuse(429, "Retry-After", "Mon, 02 Mar 2020 08:00:00 GMT", ""),
		"cut before the first piece": eventsThen(hangUp, `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}`+
			"\n\n"),
		"connection closed": hangUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, model := serve(t, nil, first, events(startOfText, endOfText, done))
			answer, err := llm.Collect(model.Chat(t.Context(), hello))
			require.NoError(t, err)
			require.Equal(t, "Good day", answer.Text)
			require.Equal(t, int32(2), asked.asked.Load())
		})
	}
}

func TestRetryDatesAreCappedAtADay(t *testing.T) {
	t.Parallel()
	_, model := serve(t, nil, refuse(429, "Retry-After", "Mon, 02 Mar 2099 08:00:00 GMT", ""))
	_, err := llm.Collect(model.Chat(t.Context(), hello))
	require.Equal(t, 24*time.Hour, requireFailure(t, err).RetryAfter)
}

func TestRetriesDoNotExceedTheTimeout(t *testing.T) {
	t.Parallel()
	asked, model := serve(t, func(c *provider.Config) { c.Timeout = 3 * time.Second },
		refuse(429, "Retry-After", "9", ""))
	_, err := llm.Collect(model.Chat(t.Context(), hello))
	failure := requireFailure(t, err)
	require.Equal(t, llm.RateLimited, failure.Cause)
	require.Equal(t, 9*time.Second, failure.RetryAfter)
	require.Equal(t, int32(1), asked.asked.Load())
}

func TestUnreachableProviderIsUnavailable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	model, err := provider.New(provider.Config{BaseURL: server.URL, Key: stubKey, Model: "m"})
	require.NoError(t, err)
	_, err = llm.Collect(model.Chat(t.Context(), hello))
	failure := requireFailure(t, err)
	require.Equal(t, llm.Unavailable, failure.Cause)
	require.Equal(t, "the language model: the provider could not be reached", failure.Error())
	require.ErrorContains(t, failure.Err, "connection refused")
}

func TestRedirectsToOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere, _ := serve(t, nil, events(startOfText, endOfText, done))
	strange := httptest.NewServer(elsewhere)
	t.Cleanup(strange.Close)
	to := func(address string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, address, http.StatusTemporaryRedirect)
		}
	}

	_, model := serve(t, nil, to("/elsewhere"), events(startOfText, endOfText, done))
	answer, err := llm.Collect(model.Chat(t.Context(), hello))
	require.NoError(t, err)
	require.Equal(t, "Good day", answer.Text)

	asked, model := serve(t, nil, to(strange.URL))
	_, err = llm.Collect(model.Chat(t.Context(), hello))
	require.Equal(t, llm.Unavailable, requireFailure(t, err).Cause)
	require.EqualError(t, err, "the language model: the provider redirected to another host")
	require.Zero(t, elsewhere.asked.Load())
	require.EqualValues(t, 1, asked.asked.Load())

	asked, model = serve(t, nil, to("/elsewhere"))
	_, err = llm.Collect(model.Chat(t.Context(), hello))
	require.EqualError(t, err, "the language model: the provider redirected too often")
	require.EqualValues(t, 10, asked.asked.Load(), "a loop is not repeated")
}

func TestUnusualStreamsAreRead(t *testing.T) {
	t.Parallel()
	calls := func(deltas ...string) string {
		var s strings.Builder
		for _, delta := range deltas {
			s.WriteString(`data: {"choices":[{"delta":{"tool_calls":[` + delta + `]}}]}` + "\n\n")
		}
		return s.String() + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n" + done
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   llm.Answer
	}{
		"last event without a line break": {
			answer: events(startOfText, strings.TrimRight(endOfText, "\n")),
			want:   llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"text without a finish reason": {
			answer: events(startOfText, `data: {"choices":[{"delta":{"content":"day"},"finish_reason":""}]}`+"\n\n", done),
			want:   llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"call without a finish reason": {
			answer: events(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"first"}}]}}]}`+
				"\n\n", strings.TrimRight(done, "\n")),
			want: llm.Answer{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{{ID: "a", Name: "first", Arguments: `{}`}}},
		},
		"whole answer": {
			answer: refuse(200, "Content-Type", "application/json", `{
				"choices": [{"message": {"role": "assistant", "content": "Good day"}, "finish_reason": "stop"}],
				"usage": {"prompt_tokens": 7, "completion_tokens": 2}
			}`),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}},
		},
		"whole answer in an event": {
			answer: events(`data: {"choices":[{"message":{"content":"","tool_calls":[{"id":"a","function":{"name":"first"}},`+
				`{"id":"b","function":{"name":"second"}}]},"finish_reason":"tool_calls"}]}`+"\n\n", done),
			want: llm.Answer{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{
				{ID: "a", Name: "first", Arguments: `{}`}, {ID: "b", Name: "second", Arguments: `{}`}}},
		},
		"stream of another media type": {
			answer: refuse(200, "Content-Type", "application/json", startOfText+endOfText+done),
			want:   llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"no end mark": {
			answer: events(startOfText, endOfText),
			want:   llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"connection lost after the finish reason": {
			answer: eventsThen(hangUp, startOfText, endOfText),
			want:   llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"usage after the finish reason": {
			answer: events(startOfText, endOfText, `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`+
				"\n\n", done),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 7, OutputTokens: 2}},
		},
		"members of other types, events without data and lines that end in CRLF": {
			answer: events("event: ping\n\n",
				`data: {"created":"now","choices":[{"index":"0","delta":{"content":"Good day"},"finish_reason":null}],"usage":null}`+"\r\n\r\n",
				`data: {"choices":[{"delta":{"content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":"7","completion_tokens":2}}`+"\n\n"),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop, Usage: llm.Usage{OutputTokens: 2}},
		},
		"cached tokens of DeepSeek": {
			answer: events(startOfText, endOfText, event(
				`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_cache_hit_tokens":5}}`), done),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop,
				Usage: llm.Usage{InputTokens: 7, CachedTokens: 5, OutputTokens: 2}},
		},
		"more cached tokens than tokens": {
			answer: events(startOfText, endOfText, event(`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,`+
				`"prompt_tokens_details":{"cached_tokens":9}}}`), done),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop,
				Usage: llm.Usage{InputTokens: 7, CachedTokens: 7, OutputTokens: 2}},
		},
		"negative usage": {
			answer: events(startOfText, endOfText, event(`{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":2}}`),
				done),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"absurd usage": {
			answer: events(startOfText, endOfText, event(
				`{"choices":[],"usage":{"prompt_tokens":9999999999999,"completion_tokens":2}}`), done),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"character in two events": {
			answer: events(`data: {"choices":[{"delta":{"content":"\ud83d\ude00 \\ud83d"}}]}`+"\n\n",
				`data: {"choices":[{"delta":{"content":"\uD83D"}}]}`+"\n\n", ": ping\n\n",
				`data: {"choices":[{"delta":{"content":"\uDE42!"},"finish_reason":"stop"}]}`+"\n\n", done),
			want: llm.Answer{Text: `😀 \ud83d🙂!`, Finish: llm.FinishStop},
		},
		"two choices": {
			answer: events(event(`{"choices":[{"index":1,"delta":{"content":"Bad "}},{"index":0,"delta":{"content":"Good "}}]}`),
				endOfText, done),
			want: llm.Answer{Text: "Good day", Finish: llm.FinishStop},
		},
		"refusal": {
			answer: events(`data: {"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}`+"\n\n", done),
			want:   llm.Answer{Text: "I will not.", Finish: llm.FinishStop},
		},
		"calls written in turns": {
			answer: events(calls(
				`{"index":0,"id":"a","function":{"name":"first","arguments":""}}`,
				`{"index":1,"id":"b","function":{"name":"second","arguments":""}}`,
				`{"index":0,"function":{"arguments":"{\"x\":"}}`,
				`{"index":1,"function":{"arguments":"{}"}}`,
				`{"index":0,"function":{"arguments":"1}"}}`,
			)),
			want: llm.Answer{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{
				{ID: "a", Name: "first", Arguments: `{"x":1}`},
				{ID: "b", Name: "second", Arguments: `{}`},
			}},
		},
		"calls that all have the index 0": {
			answer: events(calls(
				`{"index":0,"id":"a","function":{"name":"first","arguments":"{\"x\":1}"}}`,
				`{"index":0,"id":"b","function":{"name":"second","arguments":"{\"x\":"}}`,
				`{"index":0,"function":{"arguments":"2}"}}`,
			)),
			want: llm.Answer{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{
				{ID: "a", Name: "first", Arguments: `{"x":1}`},
				{ID: "b", Name: "second", Arguments: `{"x":2}`},
			}},
		},
		"arguments that are an object": {
			answer: events(calls(`{"index":0,"id":"a","function":{"name":"first","arguments":{"x":1.50}}}`,
				`{"index":1,"id":"b","function":{"name":"second","arguments":null}}`)),
			want: llm.Answer{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{
				{ID: "a", Name: "first", Arguments: `{"x":1.50}`},
				{ID: "b", Name: "second", Arguments: `{}`},
			}},
		},
		"call without arguments": {
			answer: events(calls(`{"index":0,"id":"a","function":{"name":"first"}}`)),
			want: llm.Answer{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{
				{ID: "a", Name: "first", Arguments: `{}`},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, model := serve(t, nil, test.answer)
			answer, err := llm.Collect(model.Chat(t.Context(), hello))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(test.want, answer))
		})
	}
}

// Providers refuse a conversation in which two calls have the same id.
func TestCallsWithoutIdsGetTheirOwn(t *testing.T) {
	t.Parallel()
	_, model := serve(t, nil, events(event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"first"}},`+
		`{"index":1,"id":"a","function":{"name":"second"}}]},"finish_reason":"tool_calls"}]}`)))
	answer, err := llm.Collect(model.Chat(t.Context(), hello))
	require.NoError(t, err)
	require.Equal(t, "a", answer.ToolCalls[0].ID)
	require.Regexp(t, "^call_[A-Z0-9]+$", answer.ToolCalls[1].ID)

	ids := map[string]bool{}
	for range 2 {
		_, model := serve(t, nil, events(event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"first"}},`+
			`{"index":1,"function":{"name":"first"}}]},"finish_reason":"tool_calls"}]}`)))
		answer, err := llm.Collect(model.Chat(t.Context(), hello))
		require.NoError(t, err)
		for _, call := range answer.ToolCalls {
			require.Regexp(t, "^call_[A-Z0-9]+$", call.ID)
			ids[call.ID] = true
		}
	}
	require.Len(t, ids, 4)
}

func TestLeavingEarlyReleasesTheProvider(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	_, model := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		repeat(startOfText)(w, r)
		close(released)
	})
	for chunk, err := range model.Chat(t.Context(), hello) {
		require.NoError(t, err)
		require.Equal(t, "Good ", chunk.Text)
		break
	}
	<-released // if the provider is never released, the timeout ends this test
}

func TestCancelledCallerEndsTheWaitToRetry(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, model := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		refuse(429, "Retry-After", "8", "")(w, r)
		cancel()
	})
	_, err := llm.Collect(model.Chat(ctx, hello))
	require.ErrorIs(t, err, context.Canceled)
}

// This test is not parallel because it changes the environment of the process.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_ORG_ID", "from-the-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	headers := make(chan http.Header, 1)
	_, model := serve(t, func(c *provider.Config) { c.Key = "" }, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		send(w, startOfText, endOfText, done)
	})
	_, err := llm.Collect(model.Chat(t.Context(), hello))
	require.NoError(t, err)
	header := <-headers
	require.Empty(t, header.Get("Authorization"))
	require.NotContains(t, fmt.Sprint(header), "from-the-environment")
}
