package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

func TestSchemaCannotReadFiles(t *testing.T) {
	t.Parallel()
	s := NewChecker()
	file := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"object"}`), 0o600))
	for _, schema := range []string{`{"type":"object","$ref":"file://` + file + `"}`,
		`{"type":"object","$ref":"http://127.0.0.1/x"}`, `{`} {
		require.ErrorContains(t, s.Validate(t.Context(), []byte(schema), content.Values{}), "not usable")
	}
	recursive := []byte(`{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}`)
	require.NoError(t, s.Validate(t.Context(), recursive,
		content.Values{"next": map[string]any{"next": map[string]any{}}}))
	require.ErrorContains(t,
		s.Validate(t.Context(), recursive, content.Values{"next": map[string]any{"x": json.Number("1")}}),
		"next: additional properties 'x' not allowed")
	_, isCached := s.schemas.Get(string(recursive))
	require.True(t, isCached)
	_, isCached = s.schemas.Get("{")
	require.False(t, isCached)
}

// The language model gets the same text each time, so that runs can be repeated.
func TestFaultsOfArgumentsHaveAnOrder(t *testing.T) {
	t.Parallel()
	s := NewChecker()
	schema := []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"additionalProperties":false}`)
	call, one := content.Values{}, json.Number("1")
	for _, name := range []string{"b", "a", "z", "y", "x", "w"} {
		call[name] = one
	}
	for range 50 {
		require.EqualError(t, s.Validate(t.Context(), schema, call), "the arguments are invalid: additional properties "+
			"'w', 'x', 'y', 'z' not allowed; a: got number, want string; b: got number, want string")
	}
}

func TestFaultsOfArgumentsAreInJSON(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object","properties":{"a":false,"b":{"enum":[null,1]},"c":{"const":null}}}`)
	call := content.Values{"a": "x", "b": "x", "c": "x"}
	require.EqualError(t, NewChecker().Validate(t.Context(), schema, call), "the arguments are invalid: a: is not "+
		"allowed; b: value must be one of null, 1; c: value must be null")
}

// A rule applies to the call with its number, if all of its conditions hold. A missing argument equals nothing.
func TestMockRulesApplyToTheirCalls(t *testing.T) {
	t.Parallel()
	c, call := NewChecker(), content.Values{"day": "Monday"}
	applies := func(number int32, rule model.MockRule) bool { return c.Applies(t.Context(), &rule, call, number) }
	monday := model.MockCondition{Argument: "day", Equals: new("Monday")}
	none := model.MockCondition{Argument: "hour", Equals: new("9")}
	require.True(t, applies(0, model.MockRule{When: []model.MockCondition{monday}}))
	require.False(t, applies(0, model.MockRule{When: []model.MockCondition{none}}))
	require.False(t, applies(0, model.MockRule{When: []model.MockCondition{monday, none}}))
	second := model.MockRule{CallIndex: new(int32(1))}
	for number, want := range []bool{false, true, false} {
		require.Equal(t, want, applies(int32(number), second), number)
	}
}
