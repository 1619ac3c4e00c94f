package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// chain returns a schema in which each definition refers twice to the next.
func chain(levels int) string {
	var definitions []string
	for i := range levels {
		definitions = append(definitions, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i,
			i+1, i+1))
	}
	definitions = append(definitions, fmt.Sprintf(`"d%d":{"type":"object"}`, levels))
	return `{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{` + strings.Join(definitions, ",") + `}}`
}

// distinct returns n different words, as the elements of a JSON array.
func distinct(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("%q", fmt.Sprint("w", i))
	}
	return strings.Join(words, ",")
}

func TestSchemaWorkIsBounded(t *testing.T) {
	t.Parallel()
	words := `"` + strings.Join(strings.Fields(strings.Repeat("word ", 1_500)), `","`) + `"`
	for name, c := range map[string]struct {
		schema string
		fault  string
	}{
		"a booking": {
			`{"type":"object","properties":{"day":{"type":"string","pattern":"^\\d{4}-\\d\\d-\\d\\d$"},"kind":{"enum":["a","b"]}},"required":["day"]}`, ""},
		"a tree":          {`{"type":"object","properties":{"left":{"$ref":"#"}}}`, ""},
		"a list of trees": {`{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`, ""},
		"a short chain":   {chain(5), ""},
		"a chain":         {chain(20), "at most 2000 checks"},
		"a long chain":    {chain(60), "at most 2000 checks"},
		"a chain through a map": {`{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}`,
			"at most 2000 checks"},
		"a circle": {
			`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
			"at most 2000 checks"},
		"many words": {`{"type":"object","properties":{"a":{"enum":[` + words + `]},"b":{"enum":[` + words +
			`]}}}`, "at most 2000 checks"},
		"a pattern": {`{"type":"object","properties":{"a":{"pattern":"(?:` + strings.Repeat("x", 900) +
			`){1000}"}}}`, "at most 1000 instructions"},
		"names by a pattern": {`{"type":"object","patternProperties":{"(?:` + strings.Repeat("x", 900) + `){1000}":true}}`,
			"at most 1000 instructions"},
		"a large pattern": {
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"pattern":"^[a-z]{600}$"}}}`, ""},
		"many patterns": {
			`{"type":"object","properties":{"a":{"pattern":"a{900}"},"b":{"pattern":"b{900}"},"c":{"pattern":"c{900}"}}}`,
			"at most 2000 checks"},
		"many names": {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","required":[` +
			distinct(3_000) + `]}}}}`, "at most 2000 checks"},
		"a moving target": {`{"type":"object","$dynamicAnchor":"node","properties":{"a":{"allOf":[{"$ref":"inner"},{"$ref":"inner2"}]}},"$defs":{
			"inner":{"$id":"inner","$dynamicRef":"#node","$defs":{"n":{"$dynamicAnchor":"node"}}},
			"inner2":{"$id":"inner2","$dynamicRef":"#node","$defs":{"n":{"$dynamicAnchor":"node"}}}}}`, "at most 2000 checks"},
		"a list":           {`{"type":"array"}`, `"type": "object"`},
		"no such pointer":  {`{"type":"object","properties":{"a":{"$ref":"#/x"}}}`, "$ref to something that the schema does not contain"},
		"no such anchor":   {`{"type":"object","properties":{"a":{"$ref":"#x"}}}`, "$ref to something that the schema does not contain"},
		"another document": {`{"type":"object","$ref":"file:///etc/passwd"}`, "without references to other documents"},
	} {
		_, err := model.NewToolSchema(c.schema)
		if c.fault == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.fault, name)
		}
	}
}

func TestSchemaBoundsItsArguments(t *testing.T) {
	t.Parallel()
	schema, err := model.NewToolSchema(`{"type":"object","properties":{"items":{"type":"array","items":{"enum":[` +
		distinct(1_000) + `]}}}}`)
	require.NoError(t, err)
	read := func(text string) (arguments map[string]any) {
		require.NoError(t, json.Unmarshal([]byte(text), &arguments))
		return arguments
	}
	require.NoError(t, schema.Validate(t.Context(), read(`{"items":["w1","w999"]}`)))
	require.ErrorContains(t, schema.Validate(t.Context(), read(`{"items":["x"]}`)), "value must be one of")
	require.ErrorContains(t, schema.Validate(t.Context(), read(`{"items":[`+strings.Repeat(`"w1",`, 10_000)+`"w2"]}`)),
		"too large for the schema")
}

// Some drafts check values of the format regex. Each value is checked independently of earlier and concurrent checks.
func TestRegexValuesAreCheckedSeparately(t *testing.T) {
	t.Parallel()
	schema, err := model.NewToolSchema(
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","format":"regex"}}}`)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				assert.NoError(t, schema.Validate(t.Context(), map[string]any{"a": strings.Repeat("x", 300)}))
			}
		})
	}
	all.Wait()
	require.Error(t, schema.Validate(t.Context(), map[string]any{"a": "("}))
}
