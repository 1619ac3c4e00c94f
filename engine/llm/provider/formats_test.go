package provider_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

// script has the events of a format, as its provider publishes them. The text of start is "Good " and that of end is
// "day".
type script struct {
	start, end string
	// says is an event with a text, %s.
	says string
	// blank, filtered, long and nameless end an answer: white space, a filter, a length limit, a call without a name.
	blank, filtered, long, nameless string
	// overloaded is an error within a stream, with its code in the failure.
	overloaded, code string
	// cached has a thought, a text and the usage: 100 input tokens, 80 of them cached, and 7 output tokens.
	cached string
	// calls has two calls, with a state if the format has one.
	calls string
	// refusedKey is the response to a wrong key.
	refusedKey string
	keyStatus  int
}

func event(data ...string) string {
	var s strings.Builder
	for _, each := range data {
		s.WriteString("data: " + each + "\n\n")
	}
	return s.String()
}

// named is an event as Anthropic and Responses send it: the name of the event is its type.
func named(data ...string) string {
	var s strings.Builder
	for _, each := range data {
		var typed struct{ Type string }
		_ = json.Unmarshal([]byte(each), &typed)
		s.WriteString("event: " + typed.Type + "\ndata: " + each + "\n\n")
	}
	return s.String()
}

const openaiRefusal = `{"error":{"message":"Incorrect API key provided: stub-key.","type":"invalid_request_error","code":"invalid_api_key","param":null}}`

var scripts = map[provider.Format]script{
	provider.Completions: {
		start:    startOfText,
		end:      endOfText + done,
		says:     event(`{"choices":[{"delta":{"content":"%s"}}]}`),
		blank:    event(`{"choices":[{"delta":{"content":" \n"},"finish_reason":"stop"}]}`),
		filtered: event(`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`),
		long:     event(`{"choices":[{"delta":{},"finish_reason":"length"}]}`),
		nameless: event(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
		overloaded: event(
			`{"error":{"message":"stub-key is out of luck","code":"server_overloaded"}}`), code: " (server_overloaded)",
		cached: event(`{"choices":[{"delta":{"reasoning_content":"Hm."}}]}`,
			`{"choices":[{"delta":{"content":"Good day"},"finish_reason":"stop"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":80}}}`),
		calls: event(`{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":""}}]}`,
			`{"choices":[{"delta":{"reasoning_content":"H"}}]}`, `{"choices":[{"delta":{"reasoning_content":"m."}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"H","format":"f","index":0,"signature":null}]}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"m.","index":0,"signature":"c2ln"}]}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"ZA==","id":"a","index":0},{"type":"reasoning.encrypted","data":"ZQ==","id":"b","index":0}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"first","arguments":"{\"x\":"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"second","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`),
		refusedKey: openaiRefusal, keyStatus: 401,
	},
	provider.Responses: {
		start: named(`{"type":"response.created","response":{"status":"in_progress","error":null,"incomplete_details":null,"usage":null},"sequence_number":0}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Good "}`),
		end: named(`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"day"}`,
			`{"type":"response.output_text.done","text":"Good day"}`,
			`{"type":"response.completed","response":{"status":"completed","error":null,"incomplete_details":null,"usage":null}}`),
		says: named(`{"type":"response.output_text.delta","delta":"%s"}`),
		blank: named(`{"type":"response.output_text.delta","delta":" \n"}`,
			`{"type":"response.completed","response":{"status":"completed"}}`),
		filtered: named(
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`),
		long: named(
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`),
		nameless: named(
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","arguments":"{}"}}`,
			`{"type":"response.completed","response":{"status":"completed"}}`),
		overloaded: named(
			`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"stub-key"}}}`),
		code: " (server_error)",
		cached: named(`{"type":"response.reasoning_summary_text.delta","delta":"Hm."}`,
			`{"type":"response.reasoning_text.delta","delta":"Hm."}`,
			`{"type":"response.output_text.delta","delta":"Good day"}`,
			`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":100,"output_tokens":7,"input_tokens_details":{"cached_tokens":80},"output_tokens_details":{"reasoning_tokens":3}}}}`),
		calls: named(
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln","status":null}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"a","name":"first","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\":1}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"a","name":"first","arguments":"{\"x\":1}"}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"b","name":"second","arguments":"{}"}}`,
			`{"type":"response.completed","response":{"status":"completed"}}`),
		refusedKey: openaiRefusal, keyStatus: 401,
	},
	provider.Messages: {
		start: named(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":0,"output_tokens":0}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"ping"}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good "}}`),
		end: named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"day"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":0}}`,
			`{"type":"message_stop"}`),
		says: named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`),
		blank: named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" \n"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`),
		filtered: named(`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`),
		long:     named(`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`),
		nameless: named(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","input":{}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
		overloaded: named(`{"type":"error","error":{"type":"overloaded_error","message":"stub-key"}}`),
		code:       " (overloaded_error)",
		cached: named(`{"type":"message_start","message":{"usage":{"input_tokens":15,"cache_creation_input_tokens":5,"cache_read_input_tokens":80,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Good day"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`),
		calls: named(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"first","input":{}}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b","name":"second","input":{}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
		refusedKey: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`,
		keyStatus:  401,
	},
	provider.Contents: {
		start:      event(`{"candidates":[{"content":{"parts":[{"text":"Good "}],"role":"model"},"index":0}]}`),
		end:        event(`{"candidates":[{"content":{"parts":[{"text":"day"}],"role":"model"},"finishReason":"STOP","index":0}]}`),
		says:       event(`{"candidates":[{"content":{"parts":[{"text":"%s"}]}}]}`),
		blank:      event(`{"candidates":[{"content":{"parts":[{"text":" \n"}]},"finishReason":"STOP"}]}`),
		filtered:   event(`{"candidates":[{"finishReason":"SAFETY"}]}`),
		long:       event(`{"candidates":[{"finishReason":"MAX_TOKENS"}]}`),
		nameless:   event(`{"candidates":[{"content":{"parts":[{"functionCall":{"args":{}}}]},"finishReason":"STOP"}]}`),
		overloaded: event(`{"error":{"code":503,"message":"stub-key","status":"UNAVAILABLE"}}`),
		code:       " (unavailable)",
		cached: event(`{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true}]}}],"usageMetadata":{"promptTokenCount":100}}`,
			`{"candidates":[{"content":{"parts":[{"text":"Good day"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":80,"candidatesTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":107}}`),
		calls: event(
			`{"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"first","args":{"x":1}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"b","name":"second","args":{}}}]},"finishReason":"STOP"}]}`),
		refusedKey: `{"error":{"code":400,"message":"API key not valid: stub-key","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
		keyStatus:  400,
	},
}

// speak starts a scripted provider of a format and returns a model that asks it.
func speak(t *testing.T, format provider.Format, configure func(*provider.Config), answers ...http.HandlerFunc) (
	*scripted, *provider.Model) {
	t.Helper()
	return serve(t, func(c *provider.Config) {
		c.Format = format
		if configure != nil {
			configure(c)
		}
	}, answers...)
}

// failure is a way in which a provider fails.
type failure struct {
	configure func(*provider.Config)
	answer    func(script) http.HandlerFunc
	cause     llm.Cause
	message   string
	// coded adds the code of the format's error to the message.
	coded bool
	asked int32
	text  string
}

func always(answer http.HandlerFunc) func(script) http.HandlerFunc {
	return func(script) http.HandlerFunc { return answer }
}

func idle(c *provider.Config)  { c.IdleTimeout = 200 * time.Millisecond }
func short(c *provider.Config) { c.Timeout = 200 * time.Millisecond }

var (
	cutOff = failure{cause: llm.CutOff, asked: 1, text: "Good ",
		message: "the provider answered 200, but the connection ended before the answer did"}
	notEvents = failure{cause: llm.Malformed, asked: 1,
		message: "the provider answered 200 with a stream whose events are not JSON"}
	silent = failure{cause: llm.TimedOut, asked: 1, configure: idle,
		message: "the provider answered 200 and then sent nothing for 200ms"}
)

func (f failure) on(text string, answer func(script) http.HandlerFunc) failure {
	f.answer, f.text = answer, text
	return f
}

var failures = map[string]failure{
	"silence after the first piece": silent.on("Good ", func(s script) http.HandlerFunc {
		return eventsThen(fallSilent, s.start)
	}),
	"silence before the response": {cause: llm.TimedOut, asked: 1, configure: idle,
		answer: always(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after reading the body
			fallSilent(w, r)
		}), message: "the provider did not answer in time"},
	"no response within the whole time": {cause: llm.TimedOut, asked: 1, configure: short,
		answer: always(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			fallSilent(w, r)
		}), message: "the provider did not answer in time"},
	"comments are silence": silent.on("", always(repeat(": still here\n\n"))),
	"words without an end": {cause: llm.TimedOut, asked: 1, configure: short, text: "*",
		answer:  func(s script) http.HandlerFunc { return repeat(s.start) },
		message: "the provider answered 200, but did not finish within 200ms"},
	"end without a finish reason": cutOff.on("Good ", func(s script) http.HandlerFunc { return events(s.start) }),
	"connection lost after the first piece": cutOff.on("Good ", func(s script) http.HandlerFunc {
		return eventsThen(hangUp, s.start)
	}),
	"connection lost within an event": cutOff.on("Good ", func(s script) http.HandlerFunc {
		return eventsThen(hangUp, s.start, s.end[:30])
	}),
	"connection lost before the first piece, every time": {cause: llm.CutOff, asked: 3,
		answer: always(eventsThen(hangUp, ": welcome\n\n")), message: cutOff.message},
	"connection closed without a response, every time": {cause: llm.Unavailable, asked: 3, answer: always(hangUp),
		message: "the provider could not be reached"},
	"event that is not JSON": notEvents.on("Good ", func(s script) http.HandlerFunc {
		return events(s.start, "data: {\"choices\": [stub-key\n\n", s.end)
	}),
	"event that is not an object": notEvents.on("Good ", func(s script) http.HandlerFunc {
		return events(s.start, "data: [1]\n\n", s.end)
	}),
	"endless event": notEvents.on("", always(repeat(strings.Repeat("a", 600<<10)))),
	"endless answer": {cause: llm.TooLong, asked: 1, text: "*",
		answer: func(s script) http.HandlerFunc {
			return repeat(strings.Replace(s.says, "%s", strings.Repeat("a", 600<<10), 1))
		}, message: "the provider answered 200 with more than 1048576 bytes"},
	"call that names no tool": {cause: llm.Malformed, asked: 1,
		answer:  func(s script) http.HandlerFunc { return events(s.nameless) },
		message: "the provider answered 200 with a tool call that names no tool"},
	"error within the stream": {cause: llm.Unavailable, asked: 1, coded: true, text: "Good ",
		answer:  func(s script) http.HandlerFunc { return events(s.start, s.overloaded) },
		message: "the provider answered 200 and then reported an error"},
	"error before the first piece, every time": {cause: llm.Unavailable, asked: 3, coded: true,
		answer:  func(s script) http.HandlerFunc { return events(s.overloaded) },
		message: "the provider answered 200 and then reported an error"},
	"named event of an error": {cause: llm.Unavailable, asked: 3,
		answer:  always(events("event: error\ndata: {\"object\":\"error\",\"message\":\"stub-key\"}\n\n")),
		message: "the provider answered 200 and then reported an error"},
	"error of vLLM": {cause: llm.Rejected, asked: 1,
		answer: always(events(event(
			`{"object":"error","message":"stub-key","type":"BadRequestError","param":null,"code":400}`), done)),
		message: "the provider answered 200 and then reported an error (badrequesterror)"},
	"error of llama.cpp": {cause: llm.Unavailable, asked: 1, text: "Good ",
		answer: func(s script) http.HandlerFunc {
			return events(s.start, "error: {\"code\":500,\"message\":\"stub-key\",\"type\":\"server_error\"}\n\n")
		}, message: "the provider answered 200 and then reported an error (server_error)"},
	"limit within the stream, every time": {cause: llm.RateLimited, asked: 3,
		answer:  always(events(event(`{"error":{"message":"stub-key","code":429}}`))),
		message: "the provider answered 200 and then reported an error (429)"},
	"refusal within the stream": {cause: llm.Rejected, asked: 1,
		answer:  always(events(event(`{"error":{"message":"stub-key","code":"400","type":{"a":1}}}`))),
		message: "the provider answered 200 and then reported an error (400)"},
	"event that the end cuts off": {cause: llm.CutOff, asked: 1, text: "Good ", message: cutOff.message,
		answer: func(s script) http.HandlerFunc { return events(s.start, s.end[:30]) }},
	"white space only": {cause: llm.Empty, asked: 1, text: " \n",
		answer:  func(s script) http.HandlerFunc { return events(s.blank) },
		message: "the provider answered 200 with an empty answer"},
	"content filter": {cause: llm.Filtered, asked: 1, text: "Good ",
		answer:  func(s script) http.HandlerFunc { return events(s.start, s.filtered) },
		message: "the provider answered 200, but its content filter stopped the answer"},
	"length limit": {cause: llm.TooLong, asked: 1, text: "Good ",
		answer:  func(s script) http.HandlerFunc { return events(s.start, s.long) },
		message: "the provider answered 200, but the answer reached its length limit"},
	"wrong key": {cause: llm.Unauthorized, asked: 1,
		answer: func(s script) http.HandlerFunc {
			return refuse(s.keyStatus, "Content-Type", "application/json", s.refusedKey)
		}, message: "the provider answered 40"},
	"key without the right": {cause: llm.Unauthorized, asked: 1, answer: always(refuse(403, "", "", "")),
		message: "the provider answered 403 Forbidden"},
	"unknown model": {cause: llm.Rejected, asked: 1,
		answer:  always(refuse(404, "", "", `{"error":{"message":"stub-key","type":"stub-key","code":"stub-key"}}`)),
		message: "the provider answered 404 Not Found"},
	"quota used up": {cause: llm.RateLimited, asked: 1,
		answer: always(refuse(429, "Retry-After", "11",
			`{"error":{"message":"stub-key","type":"insufficient_quota","code":null}}`)),
		message: "the provider answered 429 Too Many Requests (insufficient_quota)"},
	"quota used up without Retry-After": {cause: llm.RateLimited, asked: 1,
		answer: always(refuse(429, "", "",
			`{"error":{"message":"stub-key","type":"insufficient_quota","code":"insufficient_quota"}}`)),
		message: "the provider answered 429 Too Many Requests (insufficient_quota)"},
	"balance used up": {cause: llm.RateLimited, asked: 1,
		answer:  always(refuse(402, "", "", `{"error":{"message":"stub-key","code":402}}`)),
		message: "the provider answered 402 Payment Required"},
	"balance used up within the stream": {cause: llm.RateLimited, asked: 1,
		answer:  always(events(event(`{"error":{"message":"stub-key","code":402}}`))),
		message: "the provider answered 200 and then reported an error (402)"},
	"bug of the provider, every time": {cause: llm.Unavailable, asked: 3, answer: always(refuse(500, "", "", `{"error":5}`)),
		message: "the provider answered 500 Internal Server Error"},
	"whole error": {cause: llm.Unavailable, asked: 3,
		answer:  always(refuse(200, "Content-Type", "application/json", `{"error":{"message":"stub-key","code":502}}`)),
		message: "the provider answered 200 and then reported an error (502)"},
	"page instead of an answer": {cause: llm.Malformed, asked: 1,
		answer:  always(refuse(200, "Content-Type", "text/html", "<html>stub-key</html>")),
		message: "the provider answered 200 OK, but not with a stream"},
	"page of a proxy": {cause: llm.Unavailable, asked: 3,
		answer:  always(refuse(502, "Content-Type", "text/html", "<html>stub-key</html>")),
		message: "the provider answered 502 Bad Gateway"},
	"answer that is not a stream": {cause: llm.Malformed, asked: 1,
		answer:  always(refuse(200, "Content-Type", "application/json", `{"choices":[]}`)),
		message: "the provider answered 200 OK, but not with a stream"},
}

func TestEachFailureOfEachFormatIsReported(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(failures), 27)
	for name, test := range failures {
		overFormats(t, func(t *testing.T, spoken func(*provider.Config)) {
			var config provider.Config
			spoken(&config)
			script := scripts[config.Format]
			asked, model := speak(t, config.Format, test.configure, test.answer(script))
			answer, err := llm.Collect(model.Chat(t.Context(), hello))
			failed := requireFailure(t, err)
			require.Equal(t, test.cause, failed.Cause, "%s: %v", name, err)
			message := "the language model: " + test.message
			if test.coded {
				message += script.code
			}
			if test.message == failures["wrong key"].message {
				require.Contains(t, failed.Error(), message)
			} else {
				require.Equal(t, message, failed.Error(), name)
			}
			require.Equal(t, test.asked, asked.asked.Load(), name)
			if test.text != "*" {
				require.Equal(t, test.text, answer.Text, name)
			}
		})
	}
}

func TestThinkingIsLeftOutAndUsageIsRead(t *testing.T) {
	t.Parallel()
	for format, script := range scripts {
		_, model := speak(t, format, nil, events(script.cached))
		answer, err := llm.Collect(model.Chat(t.Context(), hello))
		require.NoError(t, err, format)
		require.Equal(t, llm.Answer{Text: "Good day", Finish: llm.FinishStop,
			Usage: llm.Usage{InputTokens: 100, CachedTokens: 80, OutputTokens: 7}}, answer, format)
	}
}

func TestOutputAtTheEndIsRead(t *testing.T) {
	t.Parallel()
	_, model := speak(t, provider.Responses, nil, events(named(
		`{"type":"response.created","response":{"status":"in_progress","output":[]}}`,
		`{"type":"response.completed","response":{"status":"completed","output":[`+
			`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln"},`+
			`{"type":"message","content":[{"type":"output_text","text":"Good "},{"type":"output_text","text":"day"}]},`+
			`{"type":"function_call","call_id":"a","name":"first","arguments":"{}"}]}}`)))
	answer, err := llm.Collect(model.Chat(t.Context(), hello))
	require.NoError(t, err)
	require.Equal(t, "Good day", answer.Text)
	require.Len(t, answer.ToolCalls, 1)
	require.Contains(t, answer.ToolCalls[0].State, "c2ln")
}

// Compatible servers send arguments as an object, or whole in the start of a block.
func TestArgumentsThatAreObjectsAreRead(t *testing.T) {
	t.Parallel()
	for format, answer := range map[provider.Format]string{
		provider.Completions: event(
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"first","arguments":{"x":1}}}]},"finish_reason":"tool_calls"}]}`),
		provider.Responses: named(
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"first","arguments":{"x":1}}}`,
			`{"type":"response.completed","response":{"status":"completed"}}`),
		provider.Messages: named(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"first","input":{"x":1}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`),
	} {
		_, model := speak(t, format, nil, events(answer))
		got, err := llm.Collect(model.Chat(t.Context(), hello))
		require.NoError(t, err, format)
		require.Equal(t, []llm.ToolCall{{ID: "a", Name: "first", Arguments: `{"x":1}`}}, got.ToolCalls, format)
	}
}

// heard starts a provider that makes the calls of a script and then answers with text. It returns the bodies of the
// requests to the provider.
func heard(t *testing.T, format provider.Format, settings llm.Request) []map[string]any {
	t.Helper()
	var bodies []map[string]any
	var paths []string
	script := scripts[format]
	record := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			bodies, paths = append(bodies, body), append(paths, r.URL.RequestURI())
			next(w, r)
		}
	}
	_, model := speak(t, format, nil, record(events(script.calls)), record(events(script.start, script.end)))
	req := settings
	first, err := llm.Collect(model.Chat(t.Context(), req))
	require.NoError(t, err, format)
	got := first.ToolCalls
	require.Len(t, got, 2, format)
	require.Equal(t, []string{"a", "first", `{"x":1}`, "b", "second", "{}"},
		[]string{got[0].ID, got[0].Name, got[0].Arguments, got[1].ID, got[1].Name, got[1].Arguments}, format)
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: "One moment.", ToolCalls: got},
		llm.Message{Role: llm.RoleTool, ToolCallID: "a", Text: `{"left":3}`},
		llm.Message{Role: llm.RoleTool, ToolCallID: "b", Text: "done"})
	_, err = llm.Collect(model.Chat(t.Context(), req))
	require.NoError(t, err, format)
	require.Equal(t, map[provider.Format]string{
		provider.Completions: "/chat/completions", provider.Responses: "/responses", provider.Messages: "/messages",
		provider.Contents: "/models/m:streamGenerateContent?alt=sse",
	}[format], paths[0])
	return bodies
}

// Each format gets a conversation that begins with the model, calls with their results, and the state of the calls.
func TestConversationsAreEncoded(t *testing.T) {
	t.Parallel()
	temperature, topP := 1.5, 0.3
	req := llm.Request{
		System: "You answer the telephone of a bakery.",
		Messages: []llm.Message{
			{Role: llm.RoleAssistant, Text: "Hello."}, {Role: llm.RoleUser, Text: "Any bread?"}, {Role: llm.RoleUser, Text: "Now?"},
		},
		Tools: []llm.Tool{
			{Name: "first", Description: "How much is left.",
				Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"integer"}}}`)},
			{Name: "second"}, {Name: "third", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Settings: llm.Settings{Temperature: &temperature, TopP: &topP},
	}
	for format, want := range map[provider.Format]string{
		provider.Completions: `{
			"model": "m", "stream": true, "stream_options": {"include_usage": true}, "temperature": 1.5, "top_p": 0.3,
			"messages": [
				{"role": "system", "content": "You answer the telephone of a bakery."},
				{"role": "assistant", "content": "Hello."},
				{"role": "user", "content": "Any bread?"},
				{"role": "user", "content": "Now?"},
				{"role": "assistant", "content": "One moment.", "reasoning_content": "Hm.",
					"reasoning_details": [
						{"type": "reasoning.text", "text": "Hm.", "format": "f", "index": 0, "signature": "c2ln"},
						{"type": "reasoning.encrypted", "data": "ZA==", "id": "a", "index": 0},
						{"type": "reasoning.encrypted", "data": "ZQ==", "id": "b", "index": 0}],
					"tool_calls": [
						{"type": "function", "id": "a", "function": {"name": "first", "arguments": "{\"x\":1}"},
							"extra_content": {"google": {"thought_signature": "c2ln"}}},
						{"type": "function", "id": "b", "function": {"name": "second", "arguments": "{}"}}]},
				{"role": "tool", "tool_call_id": "a", "content": "{\"left\":3}"},
				{"role": "tool", "tool_call_id": "b", "content": "done"}
			],
			"tools": [
				{"type": "function", "function": {"name": "first", "description": "How much is left.",
					"parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}},
				{"type": "function", "function": {"name": "second"}},
				{"type": "function", "function": {"name": "third", "parameters": {"type": "object", "properties": {}}}}
			]
		}`,
		provider.Responses: `{
			"model": "m", "stream": true, "store": false, "temperature": 1.5, "top_p": 0.3,
			"include": ["reasoning.encrypted_content"],
			"instructions": "You answer the telephone of a bakery.", "prompt_cache_key": "9b9157f3fadb336e",
			"input": [
				{"type": "message", "role": "assistant", "content": "Hello."},
				{"type": "message", "role": "user", "content": "Any bread?"},
				{"type": "message", "role": "user", "content": "Now?"},
				{"type": "message", "role": "assistant", "content": "One moment."},
				{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"},
				{"type": "function_call", "call_id": "a", "name": "first", "arguments": "{\"x\":1}"},
				{"type": "function_call", "call_id": "b", "name": "second", "arguments": "{}"},
				{"type": "function_call_output", "call_id": "a", "output": "{\"left\":3}"},
				{"type": "function_call_output", "call_id": "b", "output": "done"}
			],
			"tools": [
				{"type": "function", "name": "first", "description": "How much is left.", "strict": false,
					"parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}},
				{"type": "function", "name": "second", "strict": false, "parameters": {"type": "object", "properties": {}}},
				{"type": "function", "name": "third", "strict": false, "parameters": {"type": "object", "properties": {}}}
			]
		}`,
		provider.Messages: `{
			"model": "m", "stream": true, "max_tokens": 16384, "temperature": 1,
			"cache_control": {"type": "ephemeral"},
			"system": [{"type": "text", "text": "You answer the telephone of a bakery.", "cache_control": {"type": "ephemeral"}}],
			"messages": [
				{"role": "user", "content": [{"type": "text", "text": "(The conversation begins.)"}]},
				{"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
				{"role": "user", "content": [{"type": "text", "text": "Any bread?"}, {"type": "text", "text": "Now?"}]},
				{"role": "assistant", "content": [
					{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
					{"type": "redacted_thinking", "data": "ZGF0YQ=="},
					{"type": "text", "text": "One moment."},
					{"type": "tool_use", "id": "a", "name": "first", "input": {"x": 1}},
					{"type": "tool_use", "id": "b", "name": "second", "input": {}}]},
				{"role": "user", "content": [
					{"type": "tool_result", "tool_use_id": "a", "content": "{\"left\":3}"},
					{"type": "tool_result", "tool_use_id": "b", "content": "done"}]}
			],
			"tools": [
				{"name": "first", "description": "How much is left.",
					"input_schema": {"type": "object", "properties": {"x": {"type": "integer"}}}},
				{"name": "second", "input_schema": {"type": "object", "properties": {}}},
				{"name": "third", "input_schema": {"type": "object", "properties": {}}}
			]
		}`,
		provider.Contents: `{
			"generationConfig": {"temperature": 1.5, "topP": 0.3},
			"systemInstruction": {"parts": [{"text": "You answer the telephone of a bakery."}]},
			"contents": [
				{"role": "user", "parts": [{"text": "(The conversation begins.)"}]},
				{"role": "model", "parts": [{"text": "Hello."}]},
				{"role": "user", "parts": [{"text": "Any bread?"}, {"text": "Now?"}]},
				{"role": "model", "parts": [
					{"text": "One moment."},
					{"functionCall": {"id": "a", "name": "first", "args": {"x": 1}}, "thoughtSignature": "c2ln"},
					{"functionCall": {"id": "b", "name": "second", "args": {}}}]},
				{"role": "user", "parts": [
					{"functionResponse": {"id": "a", "name": "first", "response": {"left": 3}}},
					{"functionResponse": {"id": "b", "name": "second", "response": {"value": "done"}}}]}
			],
			"tools": [{"functionDeclarations": [
				{"name": "first", "description": "How much is left.",
					"parametersJsonSchema": {"type": "object", "properties": {"x": {"type": "integer"}}}},
				{"name": "second"}, {"name": "third", "parametersJsonSchema": {"type": "object", "properties": {}}}
			]}]
		}`,
	} {
		var wanted map[string]any
		require.NoError(t, json.Unmarshal([]byte(want), &wanted))
		bodies := heard(t, format, req)
		require.Empty(t, cmp.Diff(wanted, bodies[1]), format)
	}
}

func TestSchemasAreForcedInEachFormat(t *testing.T) {
	t.Parallel()
	req := hello
	req.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	var schema any
	require.NoError(t, json.Unmarshal(req.Schema, &schema))
	for format, member := range map[provider.Format]string{
		provider.Completions: "response_format", provider.Responses: "text", provider.Messages: "output_config",
		provider.Contents: "generationConfig",
	} {
		want := map[provider.Format]any{
			provider.Completions: map[string]any{"type": "json_schema",
				"json_schema": map[string]any{"name": "answer", "strict": true, "schema": schema}},
			provider.Responses: map[string]any{"format": map[string]any{"type": "json_schema", "name": "answer",
				"strict": true, "schema": schema}},
			provider.Messages: map[string]any{"format": map[string]any{"type": "json_schema", "schema": schema}},
			provider.Contents: map[string]any{"responseMimeType": "application/json", "responseJsonSchema": schema},
		}[format]
		bodies := heard(t, format, req)
		require.Empty(t, cmp.Diff(want, bodies[0][member]), format)
		require.NotContains(t, bodies[0], "cache_control", "nobody reads the cache of a single request")
	}
}

// A call of another model has neither a state that Gemini accepts nor thinking that Anthropic has signed.
func TestStateOfOtherModelsIsLeftOut(t *testing.T) {
	t.Parallel()
	for format := range scripts {
		requireOwnState(t, format, format, "another")
		for other := range scripts {
			requireOwnState(t, format, other, "m")
		}
	}
}

// requireOwnState requires that a model of a format gets the state of a call back only if the model made it.
func requireOwnState(t *testing.T, format, other provider.Format, maker string) {
	t.Helper()
	_, first := speak(t, other, func(c *provider.Config) { c.Model = maker }, events(scripts[other].calls))
	called, err := llm.Collect(first.Chat(t.Context(), hello))
	require.NoError(t, err)
	bodies := make(chan string, 1)
	_, model := speak(t, format, nil, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		send(w, scripts[format].start, scripts[format].end)
	})
	req := hello
	req.Messages = append(req.Messages[:1:1], llm.Message{Role: llm.RoleAssistant, ToolCalls: called.ToolCalls},
		llm.Message{Role: llm.RoleTool, ToolCallID: "a", Text: "1"},
		llm.Message{Role: llm.RoleTool, ToolCallID: "b", Text: "2"})
	_, err = llm.Collect(model.Chat(t.Context(), req))
	require.NoError(t, err)
	body := <-bodies
	hasOwn := format == other && maker == "m"
	require.Equal(t, hasOwn, strings.Contains(body, "c2ln"), "%s after %s: %s", format, other, body)
	require.Equal(t, format == provider.Contents && !hasOwn, strings.Contains(body, "skip_thought_signature_validator"))
}

func TestKeysAreSentInTheHeaderOfTheFormat(t *testing.T) {
	t.Parallel()
	for format, want := range map[provider.Format][2]string{
		provider.Completions: {"Authorization", "Bearer stub-key"}, provider.Responses: {"Authorization", "Bearer stub-key"},
		provider.Messages: {"X-Api-Key", stubKey}, provider.Contents: {"X-Goog-Api-Key", stubKey},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get(want[0]) != want[1] ||
				format == provider.Messages && r.Header.Get("Anthropic-Version") == "" {
				refuse(scripts[format].keyStatus, "Content-Type", "application/json", scripts[format].refusedKey)(w, r)
			}
		}))
		t.Cleanup(server.Close)
		for key, cause := range map[string]llm.Cause{stubKey: "", "wrong": llm.Unauthorized} {
			model, err := provider.New(provider.Config{Format: format, BaseURL: server.URL + "/v1", Key: key, Model: "m"})
			require.NoError(t, err)
			err = model.Check(t.Context())
			if cause == "" {
				require.NoError(t, err, format)
				continue
			}
			require.Equal(t, cause, requireFailure(t, err).Cause, format)
		}
	}
}

func TestGoogleSaysWhenToRetry(t *testing.T) {
	t.Parallel()
	_, model := speak(t, provider.Contents, nil, refuse(429, "", "",
		`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37s"}]}}`))
	_, err := llm.Collect(model.Chat(t.Context(), hello))
	failed := requireFailure(t, err)
	require.Equal(t, 37*time.Second, failed.RetryAfter)
	require.Equal(t, "the language model: the provider answered 429 Too Many Requests (resource_exhausted)",
		failed.Error())
}

// Gemini ends an answer like this when it wrote a tool call that it cannot read. Another sample is usually right.
func TestAnswersThatGeminiCannotReadAreRepeated(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"} {
		asked, model := speak(t, provider.Contents, nil, events(event(`{"candidates":[{"finishReason":"`+reason+`"}]}`)))
		_, err := llm.Collect(model.Chat(t.Context(), hello))
		failed := requireFailure(t, err)
		require.Equal(t, llm.CutOff, failed.Cause, reason)
		require.EqualValues(t, 3, asked.asked.Load(), reason)
	}
}

func TestBlockedPromptsAreFiltered(t *testing.T) {
	t.Parallel()
	_, model := speak(t, provider.Contents, nil, events(event(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`)))
	_, err := llm.Collect(model.Chat(t.Context(), hello))
	require.Equal(t, llm.Filtered, requireFailure(t, err).Cause)
}

func TestUnknownFormatIsRefused(t *testing.T) {
	t.Parallel()
	_, err := provider.New(provider.Config{Format: "cohere", Model: "m"})
	require.EqualError(t, err,
		"the format of the model's provider must be one of anthropic, gemini, openai, openai-responses, not cohere")
}
