package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// chain is a schema whose definitions each refer twice to the next one.
func chain(levels int) string {
	var definitions []string
	for i := range levels {
		definitions = append(definitions, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	definitions = append(definitions, fmt.Sprintf(`"d%d":{"type":"object"}`, levels))
	return `{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{` + strings.Join(definitions, ",") + `}}`
}

func TestSchemasAreBoundedByWhatTheyCheck(t *testing.T) {
	t.Parallel()
	words := `"` + strings.Join(strings.Fields(strings.Repeat("word ", 1_500)), `","`) + `"`
	for name, c := range map[string]struct {
		schema string
		fault  string
	}{
		"a booking":             {`{"type":"object","properties":{"day":{"type":"string","pattern":"^\\d{4}-\\d\\d-\\d\\d$"},"kind":{"enum":["a","b"]}},"required":["day"]}`, ""},
		"a tree":                {`{"type":"object","properties":{"left":{"$ref":"#"}}}`, ""},
		"a list of trees":       {`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`, ""},
		"a short chain":         {chain(5), ""},
		"a chain":               {chain(20), "at most 2000 checks"},
		"a long chain":          {chain(60), "at most 2000 checks"},
		"a chain through a map": {`{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}`, "at most 2000 checks"},
		"a circle":              {`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "at most 2000 checks"},
		"many words":            {`{"type":"object","properties":{"a":{"enum":[` + words + `]},"b":{"enum":[` + words + `]}}}`, "at most 2000 checks"},
		"a pattern":             {`{"type":"object","properties":{"a":{"pattern":"(?:` + strings.Repeat("x", 900) + `){1000}"}}}`, "at most 1000 instructions"},
		"names by a pattern":    {`{"type":"object","patternProperties":{"(?:` + strings.Repeat("x", 900) + `){1000}":true}}`, "at most 1000 instructions"},
		"many patterns":         {`{"type":"object","properties":{"a":{"pattern":"a{600}"},"b":{"pattern":"b{600}"}}}`, "at most 1000 instructions"},
		"a list":                {`{"type":"array"}`, `"type": "object"`},
		"another document":      {`{"type":"object","$ref":"file:///etc/passwd"}`, "without references to other documents"},
	} {
		_, err := model.NewToolSchema(c.schema)
		if c.fault == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fault, name)
		}
	}
}

func TestArgumentsAreBoundedByTheirSchema(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range 1_000 {
		words = append(words, fmt.Sprintf("%q", fmt.Sprint("w", i)))
	}
	schema, err := model.NewToolSchema(`{"type":"object","properties":{"items":{"type":"array","items":{"enum":[` + strings.Join(words, ",") + `]}}}}`)
	require.NoError(t, err)
	read := func(text string) (arguments map[string]any) {
		require.NoError(t, json.Unmarshal([]byte(text), &arguments))
		return arguments
	}
	require.NoError(t, schema.Validate(t.Context(), read(`{"items":["w1","w999"]}`)))
	require.ErrorContains(t, schema.Validate(t.Context(), read(`{"items":["x"]}`)), "value must be one of")
	require.ErrorContains(t, schema.Validate(t.Context(), read(`{"items":[`+strings.Repeat(`"w1",`, 10_000)+`"w2"]}`)), "too large for the tool's schema")
}
