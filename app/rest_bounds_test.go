package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// ofBounds matches errors about a bound, as opposed to errors about existing objects.
var ofBounds = regexp.MustCompile(
	`must have \d|must have at most|must have at least|must be between|must be a number between|must not be empty`)

// requireBounds sends every body of the story again for each bound in the document. A value at the bound must be
// accepted, and a value beyond it must be refused.
func (s *story) requireBounds(t *testing.T) {
	t.Helper()
	tried := map[string]map[string]bool{}
	for _, call := range slices.Clone(s.calls) {
		if call.Body == nil {
			continue
		}
		o := s.operation(t, call.Operation)
		schema := o.RequestBody.Value.Content["application/json"].Schema.Value
		if tried[call.Operation] == nil {
			tried[call.Operation] = map[string]bool{}
		}
		text, err := json.Marshal(call.Body)
		require.NoError(t, err)
		for _, attempt := range attempts(t, schema, text) {
			tried[call.Operation][attempt.property] = true
			status, answer := s.send(t, o, call.Parameters, attempt.body)
			var problem struct{ Errors map[string][]string }
			if status >= http.StatusBadRequest {
				require.NoError(t, json.Unmarshal(answer, &problem))
			}
			fault := strings.Join(problem.Errors[attempt.path], "; ")
			require.Equal(t, attempt.isBeyond, ofBounds.MatchString(fault), "%s, %s: %d %.500s", call.Operation, attempt.name,
				status, answer)
			require.Less(t, status, http.StatusInternalServerError)
		}
	}
	for _, call := range s.calls {
		if call.Body == nil {
			continue
		}
		schema := s.operation(t, call.Operation).RequestBody.Value.Content["application/json"].Schema.Value
		for _, path := range boundedPaths("", schema) {
			require.Contains(t, slices.Collect(maps.Keys(tried[call.Operation])), path, "no body of %s has it", call.Operation)
		}
	}
}

// attempt is a body with a value at or beyond a bound. property is the path of the property without array indexes.
type attempt struct {
	name, path, property string
	body                 any
	isBeyond             bool
}

// spot is a position in a body whose value can be replaced.
type spot struct {
	path, property string
	schema         *openapi3.Schema
	set            func(any)
	value          any
}

// attempts returns bodies that each differ from the text in one value.
func attempts(t *testing.T, schema *openapi3.Schema, text []byte) []attempt {
	t.Helper()
	fresh := func() (body any, spots []spot) {
		require.NoError(t, json.Unmarshal(text, &body))
		return body, spotsOf("", "", schema, body)
	}
	_, all := fresh()
	var list []attempt
	for i, place := range all {
		for _, edge := range edges(place) {
			body, spots := fresh()
			spots[i].set(edge.value)
			path := place.path + edge.below
			list = append(list, attempt{path + " " + edge.name, path, place.property, body, edge.isBeyond})
		}
	}
	return list
}

// resolved returns the schema of a property, which may be nullable.
func resolved(ref *openapi3.SchemaRef) *openapi3.Schema {
	if len(ref.Value.AnyOf) > 0 {
		return ref.Value.AnyOf[0].Value
	}
	return ref.Value
}

func isBounded(s *openapi3.Schema) bool {
	if s.Items != nil && s.Items.Value.MaxLength != nil {
		return true
	}
	return s.MaxLength != nil || s.MaxItems != nil || s.MaxProps != nil || s.Max != nil
}

func spotsOf(path, propertyPath string, schema *openapi3.Schema, value any) []spot {
	var spots []spot
	members, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		given, found := members[name]
		if !found {
			continue
		}
		property := resolved(schema.Properties[name])
		at, below := strings.TrimPrefix(path+"."+name, "."), strings.TrimPrefix(propertyPath+"."+name, ".")
		if isBounded(property) {
			spots = append(spots, spot{at, below, property, func(v any) { members[name] = v }, given})
		}
		elements, _ := given.([]any)
		for i, element := range elements {
			spots = append(spots, spotsOf(fmt.Sprintf("%s.%d", at, i), below, property.Items.Value, element)...)
		}
		spots = append(spots, spotsOf(at, below, property, given)...)
	}
	return spots
}

// boundedPaths are the paths of all properties with bounds.
func boundedPaths(propertyPath string, schema *openapi3.Schema) []string {
	var paths []string
	for name, ref := range schema.Properties {
		property, below := resolved(ref), strings.TrimPrefix(propertyPath+"."+name, ".")
		if isBounded(property) {
			paths = append(paths, below)
		}
		if property.Items != nil {
			paths = append(paths, boundedPaths(below, property.Items.Value)...)
		}
		paths = append(paths, boundedPaths(below, property)...)
	}
	return paths
}

// edge is a value at or beyond a bound. below is the path from the property to the error.
type edge struct {
	name, below string
	value       any
	isBeyond    bool
}

func edges(at spot) []edge {
	s := at.schema
	var all []edge
	if s.Max != nil {
		all = append(all, edge{"least", "", *s.Min, false}, edge{"less", "", *s.Min - 1, true},
			edge{"most", "", *s.Max, false}, edge{"more", "", *s.Max + 1, true})
	}
	if s.Items != nil && s.Items.Value.Max != nil {
		least, most := *s.Items.Value.Min, *s.Items.Value.Max
		all = append(all, edge{"least", ".0", []any{least}, false}, edge{"less", ".0", []any{least - 1}, true},
			edge{"most", ".0", []any{most}, false}, edge{"more", ".0", []any{most + 1}, true})
	}
	all = append(all, lengths("", s.MinLength, s.MaxLength, func(n int) any { return words(n) })...)
	if s.Items != nil && s.Items.Value.MaxLength != nil {
		all = append(all, lengths(".0", s.Items.Value.MinLength, s.Items.Value.MaxLength,
			func(n int) any { return []any{words(n)} })...)
	}
	all = append(all, lengths("", s.MinItems, s.MaxItems,
		func(n int) any { return slices.Repeat(at.value.([]any)[:1], n) })...)
	all = append(all, lengths("", s.MinProps, s.MaxProps, func(n int) any {
		object := map[string]any{}
		for i := range n {
			object[fmt.Sprintf("name%d", i)] = "value"
		}
		return object
	})...)
	return all
}

// lengths returns values at and beyond bounds of characters or entries.
func lengths(below string, least uint64, most *uint64, value func(n int) any) []edge {
	if most == nil {
		return nil
	}
	n, m := int(least), int(*most) //nolint:gosec // bounds are small
	all := []edge{{"most", below, value(m), false}, {"more", below, value(m + 1), true}, {"least", below, value(n), false}}
	if n > 0 {
		all = append(all, edge{"less", below, value(n - 1), true})
	}
	return all
}

// words returns a text of n characters. A long text has the placeholder that a knowledge prompt needs.
func words(n int) string {
	const placeholder = "{knowledge}"
	if n < 5_000 {
		return strings.Repeat("a", n)
	}
	return placeholder + strings.Repeat("a", n-len(placeholder))
}
