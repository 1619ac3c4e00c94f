package provider_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

var hello = llm.Request{
	System:   "You answer the telephone of a clinic.",
	Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello"}},
}

func TestAnswersAreRead(t *testing.T) {
	t.Parallel()
	end := llm.ToolCall{ID: "call_end", Name: llm.EndConversation, Arguments: `{"reason":"done"}`}

	for name, want := range map[string]llm.Answer{
		"talks": {
			Text:   "Good morning, this is the clinic. How can I help you?",
			Finish: llm.FinishStop,
			Usage:  llm.Usage{InputTokens: 31, OutputTokens: 12},
		},
		"calls": {
			Finish: llm.FinishToolCalls,
			ToolCalls: []llm.ToolCall{
				{ID: "call_slots", Name: "list_slots", Arguments: `{"day":"2026-03-02"}`},
				{ID: "call_end", Name: llm.EndConversation, Arguments: `{"reason":"The contact said goodbye."}`},
			},
		},
		"talks-and-calls": {
			Text:      "Goodbye.",
			Finish:    llm.FinishToolCalls,
			ToolCalls: []llm.ToolCall{end},
		},
		"writes-bad-arguments": {
			Finish:    llm.FinishToolCalls,
			ToolCalls: []llm.ToolCall{{ID: "call_bad", Name: "list_slots", Arguments: `{"day": `}},
		},
	} {
		overFormats(t, func(t *testing.T, spoken func(*provider.Config)) {
			model := stub(t, name, spoken)
			if name == "writes-bad-arguments" && !strings.HasPrefix(string(model.format), "openai") {
				t.Skip("the arguments of this format are JSON")
			}
			answer, err := llm.Collect(model.Chat(t.Context(), hello))
			require.NoError(t, err)
			if want.Usage == (llm.Usage{}) {
				answer.Usage = want.Usage // the stub's own estimate
			}
			require.Empty(t, cmp.Diff(want, answer))
			require.Len(t, model.asked(t), 1)
		})
	}
}

func TestAnswersArriveInPieces(t *testing.T) {
	t.Parallel()
	var pieces, finished int
	for chunk, err := range stub(t, "streams").Chat(t.Context(), hello) {
		require.NoError(t, err)
		require.Zero(t, finished, "a chunk came after the last one")
		if chunk.Text != "" {
			pieces++
		}
		if chunk.Finish != "" {
			finished++
		}
	}
	require.Greater(t, pieces, 1)
	require.Equal(t, 1, finished)
}

func TestRequestIsEncoded(t *testing.T) {
	t.Parallel()
	temperature, topP, presence, frequency := 0.0, 0.3, 0.4, -0.5
	req := llm.Request{
		System: "You answer the telephone of a bakery.",
		Messages: []llm.Message{
			{Role: llm.RoleUser, Text: "Any bread left?"},
			{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "call_1", Name: "stock", Arguments: `{"item":"bread"}`}}},
			{Role: llm.RoleTool, ToolCallID: "call_1", Text: `{"left":3}`},
			{Role: llm.RoleAssistant, Text: "Three loaves."},
			{Role: llm.RoleUser, Text: "Thanks"},
		},
		Tools: []llm.Tool{
			{Name: "stock", Description: "How much is left.",
				Parameters: json.RawMessage(`{"type":"object","properties":{"item":{"type":"string"}}}`)},
			{Name: "open_door"},
		},
		Settings: llm.Settings{Temperature: &temperature, TopP: &topP, PresencePenalty: &presence,
			FrequencyPenalty: &frequency},
	}
	model := stub(t, "listens")
	_, err := llm.Collect(model.Chat(t.Context(), req))
	require.NoError(t, err)

	var want map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{
		"model": "listens",
		"stream": true,
		"stream_options": {"include_usage": true},
		"temperature": 0, "top_p": 0.3, "presence_penalty": 0.4, "frequency_penalty": -0.5,
		"messages": [
			{"role": "system", "content": "You answer the telephone of a bakery."},
			{"role": "user", "content": "Any bread left?"},
			{"role": "assistant", "tool_calls": [
				{"id": "call_1", "type": "function", "function": {"name": "stock", "arguments": "{\"item\":\"bread\"}"}}]},
			{"role": "tool", "tool_call_id": "call_1", "content": "{\"left\":3}"},
			{"role": "assistant", "content": "Three loaves."},
			{"role": "user", "content": "Thanks"}
		],
		"tools": [
			{"type": "function", "function": {"name": "stock", "description": "How much is left.",
				"parameters": {"type": "object", "properties": {"item": {"type": "string"}}}}},
			{"type": "function", "function": {"name": "open_door"}}
		]
	}`), &want))
	bodies := model.asked(t)
	require.Len(t, bodies, 1)
	got := bodies[0]
	delete(got, "_endpointType") // the stub's own note
	require.Empty(t, cmp.Diff(want, got))
}

func TestSchemaIsEncoded(t *testing.T) {
	t.Parallel()
	req := hello
	req.Schema = json.RawMessage(
		`{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":["string","null"]}},"required":["b","a"],"additionalProperties":false}`)
	model := stub(t, "listens")
	_, err := llm.Collect(model.Chat(t.Context(), req))
	require.NoError(t, err)

	var want any
	require.NoError(t, json.Unmarshal(
		[]byte(`{"type": "json_schema", "json_schema": {"name": "answer", "strict": true, "schema": `+string(req.Schema)+
			`}}`), &want))
	bodies := model.asked(t)
	require.Len(t, bodies, 1)
	require.Empty(t, cmp.Diff(want, bodies[0]["response_format"]))

	req.Schema = json.RawMessage(`{"type":`)
	_, err = llm.Collect(model.Chat(t.Context(), req))
	require.ErrorContains(t, err, "schema")
	require.Len(t, model.asked(t), 1, "a request that is wrong is not sent")
}

func TestProviderFailuresAreReported(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		cause   llm.Cause
		status  int
		message string
		// asked counts the requests to the provider.
		asked int
		// text is the part of the answer that reached the caller.
		text       string
		retryAfter time.Duration
	}{
		"unauthorized": {
			cause: llm.Unauthorized, status: 401, asked: 1,
			message: "the language model: the provider answered 401 Unauthorized (invalid_api_key)",
		},
		"unknown": {
			cause: llm.Rejected, status: 404, asked: 1,
			message: "the language model: the provider answered 404 Not Found",
		},
		"limited-for-long": {
			cause: llm.RateLimited, status: 429, asked: 1, retryAfter: time.Hour,
			message: "the language model: the provider answered 429 Too Many Requests (rate_limit_exceeded)",
		},
		"broken": {
			cause: llm.Unavailable, status: 500, asked: 3,
			message: "the language model: the provider answered 500 Internal Server Error (server_error)",
		},
		"garbled": {
			cause: llm.Malformed, status: 200, asked: 1,
			message: "the language model: the provider answered 200 OK, but not with a stream",
		},
		"drops": {
			cause: llm.Unavailable, status: 0, asked: 3,
			message: "the language model: the provider could not be reached",
		},
		"says-nothing": {
			cause: llm.Empty, status: 200, asked: 1,
			message: "the language model: the provider answered 200 with an empty answer",
		},
		"filtered": {
			cause: llm.Filtered, status: 200, asked: 1, text: "This answer goes too far and",
			message: "the language model: the provider answered 200, but its content filter stopped the answer",
		},
		"long-winded": {
			cause: llm.TooLong, status: 200, asked: 1, text: "This answer does not come to its",
			message: "the language model: the provider answered 200, but the answer reached its length limit",
		},
	} {
		overFormats(t, func(t *testing.T, spoken func(*provider.Config)) {
			model := stub(t, name, spoken)
			if name == "filtered" && model.format == provider.Responses {
				t.Skip("the stub server does not filter answers of this format")
			}
			answer, err := llm.Collect(model.Chat(t.Context(), hello))
			failure := requireFailure(t, err)
			require.Equal(t, want.cause, failure.Cause)
			require.Equal(t, want.status, failure.Status)
			message := want.message
			if !strings.HasPrefix(string(model.format), "openai") {
				// The stub server sends no code in this format, or another one.
				message, _, _ = strings.Cut(message, " (")
			}
			require.Contains(t, failure.Error(), message)
			require.Equal(t, want.retryAfter, failure.RetryAfter)
			require.Equal(t, want.text, answer.Text)
			require.Len(t, model.asked(t), want.asked)
		})
	}
}

// requireFailure requires a model's failure that does not show the key anywhere.
func requireFailure(t *testing.T, err error) *llm.Error {
	t.Helper()
	var failure *llm.Error
	require.ErrorAs(t, err, &failure)
	require.NotContains(t, failure.Error(), stubKey)
	if failure.Err != nil {
		require.NotContains(t, failure.Err.Error(), stubKey)
	}
	return failure
}

// The part of a cut stream that arrives depends on the network, so this case has a test of its own.
func TestCutStreamIsReported(t *testing.T) {
	t.Parallel()
	overFormats(t, func(t *testing.T, spoken func(*provider.Config)) {
		model := stub(t, "cut", spoken)
		answer, err := llm.Collect(model.Chat(t.Context(), hello))
		failure := requireFailure(t, err)
		require.Equal(t, llm.CutOff, failure.Cause)
		require.Equal(t, "the language model: the provider answered 200, but the connection ended before the answer did",
			failure.Error())
		if model.format == provider.Completions || model.format == provider.Contents {
			// In the other formats, the text begins after the cut.
			require.NotEmpty(t, answer.Text)
			require.Len(t, model.asked(t), 1)
		}
	})
}

func TestWrongKeyIsUnauthorized(t *testing.T) {
	t.Parallel()
	overFormats(t, func(t *testing.T, spoken func(*provider.Config)) {
		model := stub(t, "streams", spoken, func(c *provider.Config) { c.Key = "not-the-key" })
		_, err := llm.Collect(model.Chat(t.Context(), hello))
		failure := requireFailure(t, err)
		require.Equal(t, llm.Unauthorized, failure.Cause)
		require.Equal(t, http.StatusUnauthorized, failure.Status)
		require.NotContains(t, failure.Error(), "not-the-key")
	})
}

func TestFailedRequestsAreRetried(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"limited-once", "overloaded-once"} {
		overFormats(t, func(t *testing.T, spoken func(*provider.Config)) {
			model := stub(t, name, spoken)
			answer, err := llm.Collect(model.Chat(t.Context(), hello))
			require.NoError(t, err)
			require.Equal(t, "Here I am again.", answer.Text)
			require.Len(t, model.asked(t), 2)
		})
	}
}

func TestSlowProvidersTimeOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		configure func(*provider.Config)
		message   string
	}{
		"of the whole answer": {
			configure: func(c *provider.Config) { c.Timeout = 300 * time.Millisecond },
			message:   "the language model: the provider did not answer in time",
		},
		"of silence": {
			configure: func(c *provider.Config) { c.IdleTimeout = 300 * time.Millisecond },
			message:   "the language model: the provider did not answer in time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := llm.Collect(stub(t, "slow", test.configure).Chat(t.Context(), hello))
			failure := requireFailure(t, err)
			require.Equal(t, llm.TimedOut, failure.Cause)
			require.Equal(t, test.message, failure.Error())
		})
	}
}

func TestCancelledCallerReceivesNothingMore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var chunks int
	var last error
	for chunk, err := range stub(t, "streams").Chat(ctx, hello) {
		last = err
		if chunk.Text != "" {
			chunks++
			cancel()
		}
	}
	cancel()
	require.Positive(t, chunks)
	require.ErrorIs(t, last, context.Canceled)
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	t.Parallel()
	model := stub(t, "talks")
	for want, req := range map[string]llm.Request{
		`a message has the unknown role "system"`: {Messages: []llm.Message{{Role: "system"}}},
		`parameters of tool stock are not a JSON object: json: cannot`: {
			Tools: []llm.Tool{{Name: "stock", Parameters: json.RawMessage(`[]`)}}},
	} {
		_, err := llm.Collect(model.Chat(t.Context(), req))
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, model.asked(t))
}

func TestInvalidConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config provider.Config
		want   string
	}{
		"no model": {provider.Config{}, "the model's name is missing"},
		"no scheme": {provider.Config{Model: "m", BaseURL: "user:secret@example.com/v1"},
			"the model provider's address is not an http or https URL"},
		"another scheme": {provider.Config{Model: "m", BaseURL: "ftp://example.com"},
			"the model provider's address is not an http or https URL"},
		"OpenAI's own":    {provider.Config{Model: "m"}, ""},
		"a local address": {provider.Config{Model: "m", BaseURL: "http://127.0.0.1:11434/v1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, err := provider.New(test.config)
			if test.want != "" {
				require.EqualError(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "m", model.Name())
		})
	}
}
