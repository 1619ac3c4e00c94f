package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

func ptr[V any](v V) *V { return &v }

// mocks returns a mock of one tool with a delay.
func mocks(toolID string, delay float64) []model.MockedTool {
	return []model.MockedTool{{ToolID: toolID, Mock: model.Mock{DelaySeconds: delay}}}
}

// isMet reports whether a condition holds for the arguments of a call.
func isMet(t testing.TB, c model.MockCondition, call content.Values) bool {
	return rules.NewChecker().Applies(t.Context(), &model.MockRule{When: []model.MockCondition{c}}, call, 0)
}

func callOf(t require.TestingT, text string) content.Values {
	call, _, err := content.ParseArguments(text)
	require.NoError(t, err)
	return call
}

func TestMockConditionsMatchArguments(t *testing.T) {
	t.Parallel()
	const call = `{"day":"Monday","n":2,"price":2.50,"big":9007199254740993,"yes":true,"none":null,
		"list":[1,"a"],"who":{"name":"Ana","age":{"years":30}},"a.b":"whole","a":{"b":"part","c":"d"},"":"empty"}`
	for name, test := range map[string]struct {
		condition model.MockCondition
		want      bool
	}{
		"text":                   {model.MockCondition{Argument: "day", Equals: ptr("Monday")}, true},
		"other text":             {model.MockCondition{Argument: "day", Equals: ptr("monday")}, false},
		"text is not JSON":       {model.MockCondition{Argument: "day", Equals: ptr(`"Monday"`)}, false},
		"number":                 {model.MockCondition{Argument: "n", Equals: ptr("2")}, true},
		"number in another form": {model.MockCondition{Argument: "price", Equals: ptr("25e-1")}, true},
		"number that is text":    {model.MockCondition{Argument: "n", Equals: ptr(`"2"`)}, false},
		"numbers keep digits":    {model.MockCondition{Argument: "big", Equals: ptr("9007199254740992")}, false},
		"not JSON":               {model.MockCondition{Argument: "n", Equals: ptr("two")}, false},
		"huge":                   {model.MockCondition{Argument: "n", Equals: ptr("1e999999999")}, false},
		"boolean":                {model.MockCondition{Argument: "yes", Equals: ptr("true")}, true},
		"null":                   {model.MockCondition{Argument: "none", Equals: ptr("null")}, true},
		"list":                   {model.MockCondition{Argument: "list", Equals: ptr(`[ 1.0, "a" ]`)}, true},
		"other list":             {model.MockCondition{Argument: "list", Equals: ptr(`["a",1]`)}, false},
		"object": {model.MockCondition{Argument: "who", Equals: ptr(`{"age":{"years":30},"name":"Ana"}`)},
			true},
		"other object":           {model.MockCondition{Argument: "who", Equals: ptr(`{"name":"Ana"}`)}, false},
		"dots":                   {model.MockCondition{Argument: "who.age.years", Equals: ptr("30")}, true},
		"dots that lead nowhere": {model.MockCondition{Argument: "day.name", Equals: ptr("Monday")}, false},
		"a name with a dot":      {model.MockCondition{Argument: "a.b", Equals: ptr("whole")}, true},
		"a dot selects a member beside a name with a dot": {model.MockCondition{Argument: "a.c", Equals: ptr("d")}, true},
		"missing":                     {model.MockCondition{Argument: "x", Equals: ptr("")}, false},
		"regex":                       {model.MockCondition{Argument: "day", Matches: ptr("(?i)^mon")}, true},
		"regex in the middle":         {model.MockCondition{Argument: "day", Matches: ptr("nda")}, true},
		"regex that does not match":   {model.MockCondition{Argument: "day", Matches: ptr("^Tue")}, false},
		"regex on a number":           {model.MockCondition{Argument: "price", Matches: ptr(`^2\.50$`)}, true},
		"regex on an object":          {model.MockCondition{Argument: "who", Matches: ptr(`"years":30`)}, true},
		"regex on a missing argument": {model.MockCondition{Argument: "x", Matches: ptr("")}, false},
		"present":                     {model.MockCondition{Argument: "none", Present: ptr(true)}, true},
		"present within":              {model.MockCondition{Argument: "who.name", Present: ptr(true)}, true},
		"absent":                      {model.MockCondition{Argument: "x", Present: ptr(true)}, false},
		"not present":                 {model.MockCondition{Argument: "x", Present: ptr(false)}, true},
		"present, but must be absent": {model.MockCondition{Argument: "day", Present: ptr(false)}, false},
		"all parts of a condition": {model.MockCondition{Argument: "day", Present: ptr(true), Equals: ptr("Monday"),
			Matches: ptr("^M")}, true},
		"all parts but one": {model.MockCondition{Argument: "day", Present: ptr(true), Equals: ptr("Monday"),
			Matches: ptr("^T")}, false},
		"a regex that is refused": {model.MockCondition{Argument: "day", Matches: ptr("(")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, isMet(t, test.condition, callOf(t, call)))
		})
	}
}

func TestFirstMatchingRuleAnswers(t *testing.T) {
	t.Parallel()
	mock := &model.Mock{
		ResultTemplate: ptr("own {day}"), DelaySeconds: 1,
		Rules: []model.MockRule{
			{When: []model.MockCondition{{Argument: "day", Equals: ptr("Monday")}, {Argument: "seats", Present: ptr(true)}},
				ResultTemplate: ptr("both")},
			{CallIndex: ptr(int32(1)), DelaySeconds: 0.5, ResultTemplate: ptr("second {day}")},
			{When: []model.MockCondition{{Argument: "day", Equals: ptr("Monday")}},
				Failure: &model.MockFailure{Kind: model.MockFailureKindTimeout}, DelaySeconds: 2},
			{When: []model.MockCondition{{Argument: "day", Equals: ptr("Sunday")}}},
		},
	}
	for name, test := range map[string]struct {
		call    string
		number  int32
		rule    *int32
		result  string
		delay   time.Duration
		failure bool
	}{
		"every condition": {`{"day":"Monday","seats":1}`, 1, ptr(int32(0)), "both", 0, false},
		"the index":       {`{"day":"Monday"}`, 1, ptr(int32(1)), "second Monday", 500 * time.Millisecond, false},
		"the failure":     {`{"day":"Monday"}`, 0, ptr(int32(2)), "", 2 * time.Second, true},
		"the default": {`{"day":"Sunday"}`, 7, ptr(int32(3)),
			`{"status":"success","message":"The call to book succeeded."}`, 0, false},
		"none": {`{"day":"Friday"}`, 0, nil, "own Friday", time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := answerMock(t.Context(), rules.NewChecker(), mock, "book", callOf(t, test.call), test.number, nil)
			require.Equal(t, test.rule, got.rule)
			require.Equal(t, test.result, got.result)
			require.Equal(t, test.delay, got.delay)
			require.Equal(t, test.failure, got.failure != nil)
		})
	}
}

func TestVariablesFillConditionsOfMocks(t *testing.T) {
	t.Parallel()
	when := func(c model.MockCondition, result string) model.MockRule {
		return model.MockRule{When: []model.MockCondition{c}, ResultTemplate: &result}
	}
	mock := &model.Mock{ResultTemplate: ptr("none"), Rules: []model.MockRule{
		when(model.MockCondition{Argument: "card", Equals: ptr("{card}")}, "equal"),
		when(model.MockCondition{Argument: "card", Matches: ptr(`^{card}\d{2}$`)}, "matches"),
	}}
	for card, want := range map[string]string{"4.1": "equal", "4.122": "matches", "4x122": "none", "{card}": "equal"} {
		got := answerMock(t.Context(), rules.NewChecker(), mock, "block", content.Values{"card": card}, 0,
			content.Values{"card": "4.1"})
		require.Equal(t, want, got.result, card)
	}
}

func TestMockTemplatesAreFilled(t *testing.T) {
	t.Parallel()
	variables := content.Values{"day": "of the variables", "clinic": "Lakeside", "order.id": "A-7"}
	for name, test := range map[string]struct {
		template, want string
		unknown        []string
	}{
		"parameters first": {template: "{day} at {clinic}", want: "Monday at Lakeside"},
		"null is absent": {template: "{clinic} {none} {who.none}", want: "Lakeside {none} {who.none}",
			unknown: []string{"none", "who.none"}},
		"dots":      {template: "{who.name} {who.age.years} {order.id}", want: "Ana 30 A-7"},
		"an object": {template: `{"who":{who}}`, want: `{"who":{"age":{"years":30},"name":"Ana <&>"}}`},
		"indexes of lists": {template: "{seats.1} {seats.2} {seats.-1} {seats.x}", want: "B2 {seats.2} {seats.-1} {seats.x}",
			unknown: []string{"seats.2", "seats.-1", "seats.x"}},
		"hyphens": {template: "{first-name}", want: "Zoë"},
		"as JSON": {template: `{"day":{day|json},"who":{who.name|json},"n":{none|json}}`,
			want: `{"day":"Monday","who":"Ana","n":{none|json}}`, unknown: []string{"none|json"}},
		"literals":          {template: `{day|literal} {day|json|literal} {x|literal|literal}`, want: `{day} {day|json} {x|literal}`},
		"literals in texts": {template: `{"x":"{day|literal} {day}"}`, want: `{"x":"{day} Monday"}`},
		"escaped in texts": {template: `{"said":"\\{quote}\"{quote}","all":"{who|json}"}`,
			want: `{"said":"\\She said \"no\"\n\"She said \"no\"\n","all":"{\"age\":{\"years\":30},\"name\":\"Ana\"}"}`},
		"not escaped outside of JSON": {template: `The answer is "{quote}".`, want: "The answer is \"She said \"no\"\n\"."},
		"no recursion":                {template: "{trap}", want: "{clinic}"},
		"unknown placeholders stay":   {template: "{x} {who.x} {x}", want: "{x} {who.x} {x}", unknown: []string{"x", "who.x"}},
		"JSON":                        {template: `{"ok":true,"day":"{day}"}`, want: `{"ok":true,"day":"Monday"}`},
		"empty":                       {template: "", want: `{"status":"success","message":"The call to book succeeded."}`},
		"blank":                       {template: " ", want: " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := `{"day":"Monday","who":{"name":"Ana","age":{"years":30}},"trap":"{clinic}","seats":["A1","B2"],"first-name":"Zoë","quote":"She said \"no\"\n"}`
			if name == "null is absent" {
				call = `{"clinic":null,"none":null,"who":{"none":null}}`
			}
			if name == "an object" {
				call = strings.Replace(call, "Ana", "Ana <&>", 1)
			}
			got := answerMock(t.Context(), rules.NewChecker(), &model.Mock{ResultTemplate: &test.template}, "book",
				callOf(t, call), 0, variables)
			require.Equal(t, test.want, got.result)
			require.Equal(t, test.unknown, got.unknown)
		})
	}
}

func TestTemplatesFillKnownPlaceholders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOf(rapid.StringMatching(`[a-c]`), rapid.String()).Draw(t, "parameters")
		variables := content.Values{}
		for name, value := range rapid.MapOf(rapid.StringMatching(`[b-e]`), rapid.String()).Draw(t, "variables") {
			variables[name] = value
		}
		call := content.Values{}
		for name, value := range values {
			call[name] = content.Clean(value)
		}
		var template, want strings.Builder
		for range rapid.IntRange(1, 12).Draw(t, "pieces") {
			if rapid.Bool().Draw(t, "literal") {
				// The text has braces only as JSON, which is no placeholder.
				text := rapid.StringMatching(`[^{}A-Za-z0-9_.]{0,5}(\{"[a-z]":\{\}\})?`).Draw(t, "text")
				template.WriteString(text)
				want.WriteString(text)
				continue
			}
			name := rapid.StringMatching(`[a-f]`).Draw(t, "name")
			template.WriteString("{" + name + "}")
			if value, ok := call.Text(name); ok {
				want.WriteString(value)
			} else if value, ok := variables.Text(name); ok {
				want.WriteString(value)
			} else {
				want.WriteString("{" + name + "}")
			}
		}
		text := template.String()
		if text == "" {
			return
		}
		got := answerMock(t.Context(), rules.NewChecker(), &model.Mock{ResultTemplate: &text}, "book", call, 0, variables)
		require.Equal(t, want.String(), got.result)
		for _, name := range got.unknown {
			require.Contains(t, text, "{"+name+"}")
		}
	})
}

func TestMockedCallsReturnTheirTemplate(t *testing.T) {
	t.Parallel()
	s := newScene(do("book", `{"day":"Monday"}`, "look", `{}`, "ask_expert", `{"request":"What?"}`), say("Done"))
	s.mocking = model.ToolMocking{
		MockAllTools: true,
		MockedTools: []model.MockedTool{{ToolID: "tool_book", Mock: model.Mock{
			ResultTemplate: ptr("{day} at {clinic} for {nobody}"), DelaySeconds: 0.25,
		}}},
		MockedSubAgents: []model.MockedSubAgent{
			{SubAgentID: "sub_expert", Mock: model.Mock{ResultTemplate: ptr("On {request}: 42")}}},
	}
	got := s.play(t)
	require.NoError(t, got.err)
	require.Empty(t, s.effected)
	require.NotContains(t, s.script.asked, "Expert of Lakeside", "the sub-agent's conversation is never opened")
	require.Equal(t, []time.Duration{250 * time.Millisecond}, s.waited)
	require.GreaterOrEqual(t, got.calls[0].DurationMs, int32(250), "a delay counts even where nobody waits")
	require.Equal(t, []string{"the mock of book has the placeholder {nobody}, which has no value and is left unchanged"},
		got.warnings)
	require.Empty(t, s.started)
	require.Equal(t, []string{
		"Monday at Lakeside for {nobody}", `{"status":"success","message":"The call to look succeeded."}`, "On What?: 42",
	}, s.resultsBefore(1))
	for _, call := range got.calls {
		require.True(t, call.Mocked)
		require.Nil(t, call.MockRule)
	}
}

func TestMockedFailuresAreReportedToTheModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failure model.MockFailure
		want    string
	}{
		"timeout": {model.MockFailure{Kind: model.MockFailureKindTimeout}, "did not answer in time"},
		"status": {model.MockFailure{Kind: model.MockFailureKindHTTPError, Status: ptr(int32(404))},
			"answered 404 Not Found"},
		"status without a text": {model.MockFailure{Kind: model.MockFailureKindHTTPError, Status: ptr(int32(599))}, "answered 599"},
		"no status":             {model.MockFailure{Kind: model.MockFailureKindHTTPError}, "answered 500 Internal Server Error"},
		"a body": {model.MockFailure{Kind: model.MockFailureKindHTTPError, Body: ptr(" full\n")},
			"answered 500 Internal Server Error: full"},
		"malformed":                 {model.MockFailure{Kind: model.MockFailureKindMalformedJSON}, "answered with malformed JSON"},
		"an empty body is no error": {model.MockFailure{Kind: model.MockFailureKindEmptyBody}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do("look", `{}`, "ask_expert", `{"request":"x"}`), say("Sorry"))
			mock := model.Mock{Rules: []model.MockRule{{Failure: &test.failure}}}
			s.mocking.MockedTools = []model.MockedTool{{ToolID: "tool_look", Mock: mock}}
			s.mocking.MockedSubAgents = []model.MockedSubAgent{{SubAgentID: "sub_expert", Mock: mock}}
			got := s.play(t)
			require.NoError(t, got.err)
			for i, callee := range []string{"the tool ", "the sub-agent "} {
				call := got.calls[i]
				require.True(t, call.Mocked)
				require.Equal(t, int32(0), *call.MockRule)
				if test.want == "" {
					require.Empty(t, *call.Result)
				} else {
					require.Equal(t, callee+test.want, *call.Error)
				}
			}
		})
	}
}

func TestCallIndexCountsCallsOfTheChat(t *testing.T) {
	t.Parallel()
	s := newScene(
		do("look", `{"n":"a"}`, "book", `{"day":"x"}`, "look", `{"n":"b"}`, "book", `{}`),
		do("look", `{"n":"c"}`, "book", `{"day":"y"}`), say("Done"))
	third, first := ptr(int32(3)), ptr(int32(1))
	s.mocking.MockedTools = []model.MockedTool{
		{ToolID: "tool_look", Mock: model.Mock{ResultTemplate: ptr("{n}"),
			Rules: []model.MockRule{{CallIndex: third, ResultTemplate: ptr("rule {n}")}}}},
		{ToolID: "tool_book", Mock: model.Mock{ResultTemplate: ptr("{day}"),
			Rules: []model.MockRule{{CallIndex: first, ResultTemplate: ptr("rule {day}")}}}},
	}
	s.made = map[string]int32{"tool_look": 2}
	got := s.play(t)
	require.NoError(t, got.err)
	for _, call := range got.calls {
		require.Equal(t, string(call.Arguments) != "{}", call.Mocked, "the mock does not answer an invalid call")
	}
	told := s.resultsBefore(2)
	require.Equal(t, []string{"a", "x", "rule b"}, told[:3], "in the order in which the model wrote them, after those "+
		"of earlier turns")
	require.Equal(t, []string{"c", "rule y"}, told[4:], "an invalid call does not count")
}

func TestDelayEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newScene(do("look", `{}`))
	s.mocking.MockedTools = mocks("tool_look", 60)
	s.effects.wait = func(ctx context.Context, delay time.Duration) error {
		require.Equal(t, time.Minute, delay)
		cancel()
		return Wait(ctx, delay)
	}
	got := s.playUntil(ctx, t)
	require.ErrorIs(t, got.err, context.Canceled)
	require.Equal(t, "the turn ended before the call did", *got.calls[0].Error)
	require.NoError(t, Wait(t.Context(), time.Nanosecond))
}

func TestMocksAreIndependent(t *testing.T) {
	t.Parallel()
	kinds := []model.ToolCallKind{model.ToolCallKindTool, model.ToolCallKindSubAgent, model.ToolCallKindCallTransfer}
	all := []model.CallEffect{model.CallEffectReal, model.CallEffectReal, model.CallEffectReal}
	with := func(i int, effect model.CallEffect) []model.CallEffect {
		changed := append([]model.CallEffect{}, all...)
		changed[i] = effect
		return changed
	}
	for name, test := range map[string]struct {
		mocking model.ToolMocking
		want    []model.CallEffect
	}{
		"nothing":    {model.ToolMocking{}, all},
		"tools":      {model.ToolMocking{MockAllTools: true}, with(0, model.CallEffectMocked)},
		"one tool":   {model.ToolMocking{MockedTools: mocks("tool_look", 0)}, with(0, model.CallEffectMocked)},
		"sub-agents": {model.ToolMocking{MockAllSubAgents: true}, with(1, model.CallEffectMocked)},
		"transfer":   {model.ToolMocking{MockCallTransfer: true}, with(2, model.CallEffectMocked)},
		"denied": {
			model.ToolMocking{SideEffects: model.SideEffectsDeny},
			[]model.CallEffect{model.CallEffectDenied, model.CallEffectReal, model.CallEffectDenied},
		},
		"denied but mocked": {
			model.ToolMocking{SideEffects: model.SideEffectsDeny, MockAllTools: true, MockCallTransfer: true},
			[]model.CallEffect{model.CallEffectMocked, model.CallEffectReal, model.CallEffectMocked},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do("look", `{}`, "ask_expert", `{"request":"x"}`, llm.TransferCall, `{"reason":"y"}`), say("Done"))
			s.script.answers["Expert of Lakeside"] = []answer{say("42")}
			s.mocking = test.mocking
			got := s.play(t)
			require.NoError(t, got.err)
			for i, kind := range kinds {
				for _, call := range got.calls {
					if call.Kind != kind {
						continue
					}
					require.Equal(t, test.want[i] == model.CallEffectMocked, call.Mocked, kind)
					require.Equal(t, test.want[i] == model.CallEffectReal, call.IsReal(), kind)
					if test.want[i] == model.CallEffectDenied {
						require.Equal(t, string(errDenied), *call.Error)
					} else {
						require.NotNil(t, call.Result)
					}
				}
			}
			var effects []model.CallEffect
			for _, target := range s.main.targets(&test.mocking, true)[1:] {
				effects = append(effects, target.Effect)
			}
			require.Equal(t, test.want, effects, "targets have the effects that coverage reports")
		})
	}
}
