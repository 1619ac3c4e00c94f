package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

const (
	start   = "POST /SimulationChat/start"
	send    = "POST /SimulationChat/send-message"
	prompt  = "PUT /Agent/a/prompt"
	connect = "PUT /Agent/a/chat"
	patch   = "PATCH /KnowledgeBaseChat/c"
	create  = "POST /Dataset"
)

const notAnID = "must be a string that is not empty and holds no U+0000"

// refused sends a body that is refused before an operation runs.
func refused(t *testing.T, request, body string, headers ...string) problem {
	t.Helper()
	b, server := newServer(t)
	method, path, _ := strings.Cut(request, " ")
	w := call(server, method, path, body, headers...)
	require.GreaterOrEqual(t, w.Code, 400, body)
	require.Zero(t, b.calls)
	return problemOf(t, w)
}

func taken(t *testing.T, request, body string, headers ...string) map[string]any {
	t.Helper()
	b, server := newServer(t)
	method, path, _ := strings.Cut(request, " ")
	w := call(server, method, path, body, headers...)
	require.Equal(t, 200, w.Code, w.Body.String())
	return b.variables
}

func TestBodyErrorsNameTheirFields(t *testing.T) {
	t.Parallel()
	const wholeNumber = "must be a whole number"
	tests := []struct {
		request, body string
		errors        model.Fields
	}{
		{prompt, `{}`, model.Fields{"prompt": {"is required"}}},
		{prompt, `{"prompt":null}`, model.Fields{"prompt": {"is required"}}},
		{prompt, `{"prompt":5}`, model.Fields{"prompt": {"must be a string"}}},
		{prompt, `{"prompt":["x"]}`, model.Fields{"prompt": {"must be a string"}}},
		{connect, `{}`, model.Fields{"chatId": {"is required"}}},
		{connect, `{"chatId":null}`, model.Fields{"chatId": {"is required"}}},
		{connect, `{"chatId":""}`, model.Fields{"chatId": {notAnID}}},
		{connect, `{"chatId":17}`, model.Fields{"chatId": {notAnID}}},
		{connect, `{"chatId":"a\u0000"}`, model.Fields{"chatId": {notAnID}}},
		{send, `{}`, model.Fields{"simulationChatId": {"is required"}, "message": {"is required"}}},
		{send, `{"simulationChatId":"s","message":"m","text":"m"}`, model.Fields{"text": {"is not a known property"}}},
		{patch, `{"name":{}}`, model.Fields{"name": {"must be a string"}}},
		{patch, `{"datasetIds":"d"}`, model.Fields{"datasetIds": {"must be an array"}}},
		{patch, `{"datasetIds":["d",null,3]}`, model.Fields{
			"datasetIds.1": {"must not be null"}, "datasetIds.2": {notAnID}}},
		{patch, `{"llmSettings":[],"promptSettings":"x"}`, model.Fields{
			"llmSettings": {"must be an object"}, "promptSettings": {"must be an object"}}},
		{patch, `{"llmSettings":{"topP":"NaN","temperature":1e999}}`, model.Fields{
			"llmSettings.topP": {"must be a number"}, "llmSettings.temperature": {"must be a number"}}},
		{patch, `{"promptSettings":{"topN":1.5,"showQuote":"true"}}`, model.Fields{
			"promptSettings.topN": {wholeNumber}, "promptSettings.showQuote": {"must be true or false"}}},
		{patch, `{"promptSettings":{"topN":"six"}}`, model.Fields{"promptSettings.topN": {wholeNumber}}},
		{patch, `{"promptSettings":{"topN":""}}`, model.Fields{"promptSettings.topN": {wholeNumber}}},
		{patch, `{"promptSettings":{"topN":true}}`, model.Fields{"promptSettings.topN": {wholeNumber}}},
		{create, `{"parserConfig":{"chunkTokenNum":"\"512\""}}`, model.Fields{
			"name": {"is required"}, "parserConfig.chunkTokenNum": {wholeNumber}}},
	}
	for _, test := range tests {
		t.Run(test.request+" "+test.body, func(t *testing.T) {
			t.Parallel()
			p := refused(t, test.request, test.body)
			require.Equal(t, 400, p.Status)
			require.Equal(t, model.BadInput, p.Code)
			require.Empty(t, cmp.Diff(test.errors, p.Errors))
		})
	}
}

func TestInvalidStartIsUnprocessable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body   string
		errors model.Fields
	}{
		{``, nil},
		{`{`, nil},
		{`[]`, nil},
		{`{}`, model.Fields{"agentId": {"is required"}}},
		{`{"agentId":"","color":1}`, model.Fields{"agentId": {notAnID}, "color": {"is not a known property"}}},
		{`{"agentId":"a","dataBag":["x"]}`, model.Fields{"dataBag": {"must be an object"}}},
		{`{"agentId":"a","toolMocking":{"mockEverything":true,"mockedTools":[{"toolId":"t","delay":1,"delaySeconds":null},{}]}}`, model.Fields{
			"toolMocking.mockEverything":       {"is not a known property"},
			"toolMocking.mockedTools.0.delay":  {"is not a known property"},
			"toolMocking.mockedTools.1.toolId": {"is required"},
		}},
		{`{"agentId":"a","toolMocking":{"sideEffects":"Deny","mockedTools":[{"toolId":"t","rules":[]}]}}`, model.Fields{
			"toolMocking.sideEffects":         {"is not a known property"},
			"toolMocking.mockedTools.0.rules": {"is not a known property"},
		}},
		{`{"agentId":"a","toolMocking":{"mockedSubAgents":[{"subAgentId":"s","resultTemplate":7}],"mockAllTools":null}}`,
			model.Fields{
				"toolMocking.mockedSubAgents.0.resultTemplate": {"must be a string"},
			}},
	}
	for _, test := range tests {
		t.Run(test.body, func(t *testing.T) {
			t.Parallel()
			p := refused(t, start, test.body, "Content-Type: application/json")
			require.Equal(t, 422, p.Status)
			require.Equal(t, model.Unprocessable, p.Code)
			require.Empty(t, cmp.Diff(test.errors, p.Errors))
		})
	}
}

func TestDomainErrorsUseTheCallersNames(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.fails(model.BadInput, "text must not be empty", model.Fields{"text": {"must not be empty"}})
	w := call(server, "POST", "/SimulationChat/send-message", `{"simulationChatId":"s","message":""}`)
	p := problemOf(t, w)
	require.Equal(t, 400, p.Status)
	require.Equal(t, model.Fields{"message": {"must not be empty"}}, p.Errors)
	require.Equal(t, "message must not be empty", p.Detail)

	b.fails(model.BadInput, "2 fields are not valid", model.Fields{"llmSettings.topP": {"is too large"},
		"promptSettings": {"is odd"}})
	p = problemOf(t, call(server, "PATCH", "/KnowledgeBaseChat/c", `{"llmSettings":{"topP":7}}`))
	require.Equal(t, 400, p.Status)
	require.Equal(t, model.Fields{"llmSettings.topP": {"is too large"}, "promptSettings": {"is odd"}}, p.Errors)

	b.fails(model.BadInput, "dataBag must map names to strings", model.Fields{"dataBag": {"must map names to strings"}})
	p = problemOf(t, call(server, "POST", "/SimulationChat/start", `{"agentId":"a","dataBag":{"x":1}}`))
	require.Equal(t, 422, p.Status)
	require.Equal(t, model.Unprocessable, p.Code)
	require.Equal(t, model.Fields{"dataBag": {"must map names to strings"}}, p.Errors)

	b.fails(model.BadInput, "id is too long", model.Fields{"id": {"is too long"}})
	p = problemOf(t, call(server, "GET", "/Agent/a", ""))
	require.Equal(t, model.Fields{"agentId": {"is too long"}}, p.Errors)
}

func TestBodiesMustBeJSON(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"prompt":"secret"`, `{"prompt":"secret"} x`, `{"prompt":"secret"}{"prompt":"secret"}`, `{'prompt':'secret'}`,
		`{"prompt":"secret",}`, `{"prompt":NaN}`, `secret`, "{\"prompt\":\"secret\xff\"}", `"secret"`, `["secret"]`, `null`,
		`17`, ` `,
		`{"prompt":` + strings.Repeat("[", 20_000),
	} {
		p := refused(t, prompt, body)
		require.Equal(t, 400, p.Status, body)
		require.Empty(t, p.Errors)
		require.NotContains(t, fmt.Sprint(p), "secret")
	}
	require.Equal(t, 400, refused(t, prompt, "").Status)
	require.Contains(t, refused(t, prompt, ` {"prompt" 1}`).Detail, "byte 12")
}

func TestV1BodiesAreReadLeniently(t *testing.T) {
	t.Parallel()
	type values = map[string]any
	require.Equal(t, values{"agentId": "a", "prompt": "x"},
		taken(t, prompt, `{"PROMPT":"x","agentId":"other","extra":{"deep":[1]}}`), "names ignore case, the path wins")
	require.Equal(t, values{"agentId": "a", "prompt": "last"},
		taken(t, prompt, `{"prompt":3,"Prompt":"first","prompt":"last"}`))
	require.Equal(t, values{"chatId": "c"}, taken(t, patch,
		`{"name":null,"datasetIds":null,"llmSettings":null,"promptSettings":null}`), "null is absent")
	for _, three := range []string{"3", "3.0", "30e-1", `"3"`, `" 3.0 "`} {
		require.Equal(t, values{"chatId": "c", "promptSettings": values{"topN": int64(3)}},
			taken(t, patch, `{"promptSettings":{"topN":`+three+`}}`), "they are the same number")
	}
	require.Equal(t, values{"chatId": "c", "llmSettings": values{"topP": 0.5}},
		taken(t, patch, `{"llmSettings":{"topP":"0.5"}}`), "v1 accepted numbers in strings")
	for number, nearest := range map[string]int64{"1e10": math.MaxInt32, "2147483648": math.MaxInt32,
		"-1e10": math.MinInt32} {
		require.Equal(t, values{"chatId": "c", "promptSettings": values{"topN": nearest}},
			taken(t, patch, `{"promptSettings":{"topN":`+number+`}}`), "the field's own bound refuses it")
	}
	require.Equal(t, values{"agentId": "a", "prompt": "x"}, taken(t, prompt, "\uFEFF"+`{"prompt":"x"}`),
		"a byte order mark is not part of JSON")
	require.Equal(t, values{"chatId": "c", "llmSettings": values{}},
		taken(t, patch, `{"llmSettings":{"TOPP":null,"other":1}}`))
	require.Equal(t, values{"agentId": "a", "dataBag": json.RawMessage(`{"FirstName":"A","firstname":"b"}`)},
		taken(t, start, `{"AgentId":"a","databag":{"FirstName":"A","firstname":"b"},"toolMocking":null}`),
		"a data bag's keys are data")
	require.Equal(t, values{"agentId": "a", "prompt": "\n{x} \u2028😀"},
		taken(t, prompt, `{"prompt":"\n{x} \u2028\ud83d\ude00"}`))
}

func TestSimulationTestBodiesAreConverted(t *testing.T) {
	t.Parallel()
	type values = map[string]any
	const (
		simulate    = "POST /AgentTest/simulation"
		frame       = `{"agentId":"a","name":"n","scenario":"s","criteria":["c"],`
		wholeNumber = "must be a whole number"
		unknown     = "is not a known property"
		dateTime    = "must be a date-time such as 2026-03-01T09:30:00Z"
	)
	var expectations []string
	for _, f := range theSchema(t).Types["TestExpectationInput"].Fields {
		expectations = append(expectations, f.Name)
	}
	oneExpectation := "must have exactly one of " + strings.Join(expectations, ", ")
	base := func(more values) values {
		want := values{"agentId": "a", "name": "n", "scenario": "s", "criteria": []any{"c"}, "maxTurns": int64(10),
			"conversationContext": []any(nil),
			"criteriaWeights":     []any(nil), "checks": []any(nil), "judgeSees": []any(nil), "contactSays": []any(nil)}
		maps.Copy(want, more)
		return want
	}
	for body, want := range map[string]values{
		`"extra":{"deep":[1]},"sideEffects":"Deny"}`: base(nil),
		`"folderId":""}`:   base(values{"folderId": ""}),
		`"folderId":null}`: base(nil),
		`"CONVERSATIONMESSAGES":[{"role":"USER","text":"Hi"}]}`: base(values{
			"conversationContext": []any{values{"role": "user", "text": "Hi"}}}),
		`"conversationMessages":null}`:         base(nil),
		`"toolMocking":{"MOCKALLTOOLS":true}}`: base(values{"toolMocking": values{"mockAllTools": true}}),
		`"conversationContext":[{"role":"user","text":"Hi","timestamp":"2026-03-01T09:30:00+02:00","extra":1}]}`: base(values{
			"conversationContext": []any{values{"role": "user", "text": "Hi", "timestamp": "2026-03-01T09:30:00+02:00"}}}),
	} {
		require.Empty(t, cmp.Diff(want, taken(t, simulate, frame+body)), body)
	}
	const change = "PATCH /AgentTest/t"
	require.Equal(t, values{"testId": "t", "folderId": ""}, taken(t, change, `{"folderId":null,"name":null}`),
		"null moves it to the root")
	require.Equal(t, values{"testId": "t", "conversationMessages": []any{values{"role": "user", "text": "Hi"}}},
		taken(t, change, `{"conversationContext":[{"role":"user","text":"Hi"}]}`))
	require.Equal(t, values{"testId": "t", "conversationContext": values{"messages": []any{}}},
		taken(t, change, `{"conversationContext":{"messages":[]}}`))
	b, server := newServer(t)
	b.fails(model.BadInput, "wrong", model.Fields{"conversationMessages.0.text": {"is too long"}, "criteria": {"is odd"}})
	p := problemOf(t, call(server, "PATCH", "/AgentTest/t", `{"conversationContext":[{"role":"user","text":"Hi"}]}`))
	require.Equal(t, model.Fields{"conversationContext.0.text": {"is too long"}, "criteria": {"is odd"}}, p.Errors)
	for body, want := range map[string]model.Fields{
		`"extra":1,"toolMocking":{"extra":1,"mockedTools":[{"toolId":"t","delay":1}]}}`: {
			"toolMocking.extra": {unknown}, "toolMocking.mockedTools.0.delay": {unknown}},
		`"toolMocking":{"sideEffects":"Deny"}}`: {"toolMocking.sideEffects": {unknown}},
		`"maxTurns":1.5}`:                       {"maxTurns": {wholeNumber}},
		`"checks":[{"expect":{}},{"expect":{"turnsAtMost":3,"tag":"a"}},{"expect":{"tag":null}}]}`: {
			"checks.0.expect": {oneExpectation}, "checks.1.expect": {oneExpectation}, "checks.2.expect": {oneExpectation}},
		`"maxTurns":"five"}`: {"maxTurns": {wholeNumber}},
		`"conversationMessages":[{"role":"nobody","text":"Hi"}]}`: {
			"conversationMessages.0.role": {"must be one of assistant, user"}},
		`"conversationMessages":[],"conversationContext":[]}`: {"conversationMessages": {
			"means the same as conversationContext, which is given too: give one of them"}},
		`"conversationContext":[{"role":"user","text":"Hi","timestamp":17}]}`: {
			"conversationContext.0.timestamp": {dateTime}},
		`"conversationContext":[{"role":"user","text":"Hi","timestamp":"soon"}]}`: {
			"conversationContext.0.timestamp": {dateTime}},
	} {
		p := refused(t, simulate, frame+body)
		require.Equal(t, 400, p.Status, body)
		require.Equal(t, model.BadInput, p.Code)
		require.Empty(t, cmp.Diff(want, p.Errors), body)
	}
}

// A decoder would replace half of a surrogate pair by U+FFFD.
func TestHalfSurrogatePairsAreRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"name":"a\ud800b"}`, `{"name":"n","description":"\ude00\ud83d"}`, `{"name":"n","\ud800":1}`} {
		p := refused(t, create, body)
		require.Equal(t, 400, p.Status, body)
		require.Regexp(t, "^the body has half of a surrogate pair at byte [0-9]+: send whole characters$", p.Detail)
	}
	require.Equal(t, "a\\ud800", taken(t, create, `{"name":"a\\ud800"}`)["name"])
}

func TestOnlyJSONContentTypesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"application/json", "Application/JSON; charset=UTF-8", `application/json;charset="utf-8"`, "text/json",
		"application/vnd.x+json", "application/merge-patch+json; charset=utf-8",
	} {
		taken(t, prompt, `{"prompt":"x"}`, "Content-Type: "+good)
	}
	for _, bad := range []string{
		"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "application/+json",
		"application/xml", "text/vnd.x+json", "json", "multipart/form-data; boundary=x", "application/json;;",
	} {
		require.Equal(t, 415, refused(t, prompt, `{"prompt":"x"}`, "Content-Type: "+bad).Status, bad)
		require.Equal(t, 415, refused(t, start, `{"agentId":"x"}`, "Content-Type: "+bad).Status, bad)
	}
	require.Equal(t, 415, refused(t, prompt, `{"prompt":"x"}`, "Content-Encoding: gzip").Status)
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	frame := len(`{"prompt":""}`)
	taken(t, prompt, `{"prompt":"`+strings.Repeat("x", bodyLimit-frame)+`"}`)
	p := refused(t, prompt, `{"prompt":"`+strings.Repeat("x", bodyLimit-frame+1)+`"}`)
	require.Equal(t, 413, p.Status)
	require.Equal(t, model.LimitExceeded, p.Code)
	require.Equal(t, 413, refused(t, start, strings.Repeat(" ", bodyLimit+1)).Status)
}

func TestEndlessBodyIsRefused(t *testing.T) {
	t.Parallel()
	b, handler := newServer(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The gateway sets the same deadline.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	body, more := io.Pipe()
	t.Cleanup(func() { _ = more.Close() })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/Agent/a/prompt", body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 400, response.StatusCode)
	require.Zero(t, b.calls)
}

func TestHostileBodiesGetSmallAnswers(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	body.WriteString(`{"agentId":"a"`)
	for i := range 2_000 {
		fmt.Fprintf(&body, `,"x%d":1`, i)
	}
	body.WriteString("}")
	require.Len(t, refused(t, start, body.String()).Errors, stored.MaxFaults)

	p := refused(t, start, `{"agentId":"a","`+strings.Repeat("é", 10_000)+`":1}`)
	require.Equal(t, model.Fields{strings.Repeat("é", 64) + "…": {"is not a known property"}}, p.Errors)
}

func FuzzBody(f *testing.F) {
	f.Add(`{"agentId":"a","toolMocking":{"mockedTools":[{"toolId":"t"}]}}`)
	f.Add(`{"agentId":null,"dataBag":{"a":1e999},"toolMocking":[[]]}`)
	schema := theSchema(f)
	all, err := stored.Read(operations)
	require.NoError(f, err)
	endpoints, err := newEndpoints(schema, all, routes)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body string) {
		object, err := parse([]byte(body))
		if err != nil {
			return
		}
		for _, e := range endpoints {
			d := stored.Decoder{Types: schema.Types, Strict: e.strict, V1: true}
			values := d.Object("", object, e.members)
			for _, member := range e.members {
				if _, given := values[member.Name]; member.Type.NonNull && member.DefaultValue == nil && !given {
					require.NotEmpty(t, d.Faults)
				}
			}
		}
	})
}
