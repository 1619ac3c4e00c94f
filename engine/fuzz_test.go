package engine

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// FuzzRender requires that Render fills the same placeholders as a replacement by a regular expression.
func FuzzRender(f *testing.F) {
	f.Add("Hello {firstName}, {agency} here.", "firstName", "Ana")
	f.Add(`{"name": "{name}", "list": [{}, {a.b}]}`, "name", "{name}")
	f.Add("{{a}}{a{a}} {1a} { a } \xff{é}", "a", "\x00}")
	f.Add(strings.Repeat("{x}", 1_000), "x", strings.Repeat("y", 2_000))
	f.Fuzz(func(t *testing.T, text, name, value string) {
		var missing []string
		want := content.Placeholder().ReplaceAllStringFunc(text, func(found string) string {
			if found == "{"+name+"}" {
				return value
			}
			if inner := found[1 : len(found)-1]; !slices.Contains(missing, inner) {
				missing = append(missing, inner)
			}
			return found
		})
		filled, unknown, err := content.Render(text, content.Values{name: value})
		if len(want) > content.MaxRendered {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, filled)
		require.Equal(t, missing, unknown)
		same, _, err := content.Render(text, nil)
		require.NoError(t, err)
		require.Equal(t, text, same)
	})
}

// escapedNull matches the JSON escape of U+0000, which jsonb refuses. After an escaped backslash, u0000 is ordinary
// text.
var escapedNull = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\u0000`)

// FuzzArguments requires that the arguments of a call equal the result of encoding/json, and that their stored text
// decodes to the same values.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"day":"Monday","n":2.50,"who":{"b":1,"a":[null,true]},"n":3}`, `{"a\u0000":1,"a":2}`, `{"a":1e400,"b":-1E-401}`,
		`{"a":1e308,"b":-1E-400}`, `{"a":1e309,"a":1}`,
		`{"a":"\ud83d\ude00\ud83d<&>\u2028"}`,
		`{"\\u0000":0}`, `{} x`, `[]`, `null`, `{"a":00}`, "{\"\xff\":\"\xff\"}", ` { } `,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, written string) {
		call, text, err := content.ParseArguments(written)
		if err != nil {
			require.Equal(t, "{}", string(text))
			return
		}
		digits := func(text string) (value any) {
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			require.NoError(t, decoder.Decode(&value))
			return value
		}
		want := digits(written)
		require.NotRegexp(t, escapedNull, string(text))
		if !strings.Contains(written, `\u0000`) {
			require.Equal(t, want, digits(string(text)))
		}
		// Clients read numbers as 64-bit floating point, so each must be in its range.
		require.NoError(t, json.Unmarshal(text, new(any)))
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, text))
		require.Equal(t, compact.String(), string(text))
		if len(text) > content.MaxArguments {
			return // half a surrogate pair takes fewer bytes as an escape
		}
		again, twice, err := content.ParseArguments(string(text))
		require.NoError(t, err)
		require.Equal(t, string(text), string(twice))
		require.True(t, content.Equal(map[string]any(call), map[string]any(again)))
	})
}

// FuzzMockCondition requires that every valid condition of a mock can be evaluated. A regular expression matches the
// same values as when it is used alone, and an argument equals its own text.
func FuzzMockCondition(f *testing.F) {
	f.Add(`{"day":"Monday"}`, "day", "(?i)^mon")
	f.Add(`{"who":{"name":"Ana","n":2.50}}`, "who.n", `^2\.50$`)
	f.Add(`{"a.b":[1e2,"x"],"a":{"b":null}}`, "a.b", `[`)
	f.Add(`{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}`, "a", `^(a+)+$`)
	f.Add(`{"a":1}`, "a", `((a{0,100}){0,100}){0,100}`)
	f.Fuzz(func(t *testing.T, written, argument, pattern string) {
		call, _, err := content.ParseArguments(written)
		if err != nil {
			return
		}
		matches := model.MockCondition{Argument: argument, Matches: &pattern}
		input := model.StartSimulationChatInput{AgentID: "agent_a", ToolMocking: &model.ToolMocking{
			MockedTools: []model.MockedTool{
				{ToolID: "tool_a", Mock: model.Mock{Rules: []model.MockRule{{When: []model.MockCondition{matches}}}}}},
		}}
		if input.Validate() != nil {
			require.NotPanics(t, func() { isMet(t, matches, call) })
			return
		}
		value, present := call.Lookup(argument)
		require.Equal(t, present && regexp.MustCompile(pattern).MatchString(content.TextOf(value)), isMet(t, matches, call))
		require.Equal(t, present, isMet(t, model.MockCondition{Argument: argument, Present: ptr(true)}, call))
		if present {
			require.True(t, isMet(t, model.MockCondition{Argument: argument, Equals: ptr(content.TextOf(value))}, call))
		}
	})
}

// FuzzToolSchema requires that every accepted JSON Schema of a tool can be used, and that its errors are short.
func FuzzToolSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"next":{"$ref":"#"}}}`,
		`{"type":"object","$defs":{"b":{"pattern":"^(a+)+$"}},"properties":{"a":{"$ref":"#/$defs/b"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"$id":"b","type":"number"}},"properties":{"a":{"$ref":"b"}}}`,
		`{"type":"object","$id":"https://a.example/b","$anchor":"c","properties":{"a":{"$ref":"#c"}}}`,
		`{"type":"object","allOf":[{"$ref":"#"}]}`,
		`{"type":"object","properties":{"a":{"multipleOf":1e-300,"maximum":1e308}},"dependentSchemas":{"a":false}}`,
	} {
		f.Add(seed, `{"a":"b","next":{"next":1}}`)
	}
	f.Fuzz(func(t *testing.T, schema, written string) {
		call, _, err := content.ParseArguments(written)
		if err != nil {
			return
		}
		var parameters model.JSONObject
		if parameters.UnmarshalGQL(json.RawMessage(schema)) != nil {
			return
		}
		in := model.CreateToolInput{Name: "a", TechnicalName: "a", Parameters: parameters}
		_, err = model.NewTool(in.Changes(), time.Time{}, nil)
		if err != nil {
			return
		}
		parametersOf([]byte(parameters))
		if err := rules.NewChecker().Validate(t.Context(), []byte(parameters), call); err != nil {
			require.NotContains(t, err.Error(), "not usable")
			require.LessOrEqual(t, len(err.Error()), rules.MaxFault+100)
		}
	})
}
