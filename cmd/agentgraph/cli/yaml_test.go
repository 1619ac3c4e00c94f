package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

func TestYAMLThatExpandsTooFarIsRefused(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for n := 1; n < 10; n++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", n, n, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", n-1), 10), ", "))
	}
	var merged strings.Builder
	merged.WriteString("m0: &m0 {a: x, b: x}\n")
	for n := 1; n < 40; n++ {
		fmt.Fprintf(&merged, "m%d: &m%d {a: *m%d, b: *m%d}\n", n, n, n-1, n-1)
	}
	for text, says := range map[string]string{
		bomb.String():   "has more than 2000000 values or 67108864 bytes once its aliases are expanded",
		merged.String(): "has more than",
		"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 100) + "]": "has more than",
		strings.Repeat("[", 101) + strings.Repeat("]", 101): "is nested deeper than 100 " +
			"levels",
		strings.Repeat("- ", 20_000): "is nested deeper than 100 " +
			"levels",
		strings.Repeat("{a: ", 20_000): "is nested deeper than 100 " +
			"levels",
		strings.Repeat("[\n", 20_000): "is nested deeper than 100 " +
			"levels",
		strings.Repeat("# comment\n", MaxYAML/9): "must have at most 8388608 bytes",
		"a: 1\n---\nb: 2\n":                      "must hold a single document",
		"a: 1\nb: Z\xfcrich\n":                   "line 2 is not UTF-8",
	} {
		var value any
		err := DecodeYAML([]byte(text), &value)
		require.ErrorContains(t, err, says, "%.40q", text)
	}
	var deep strings.Builder
	for n := range 300 {
		deep.WriteString(strings.Repeat(" ", n) + "a:\n")
	}
	_, err := ParseYAML([]byte(deep.String()))
	require.ErrorContains(t, err, "is nested deeper than 100 levels")
}

func TestYAMLNumbersThatWouldChangeAreRefused(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"01067", "-007", "007", "00.5", "!!str 01067", "12345678901234567890",
		"9223372036854775808", "0xffffffffffffffff"} {
		_, err := ParseYAML([]byte("a: 1\nb: [" + number + "]\n"))
		written := strings.TrimPrefix(number, "!!str ")
		require.ErrorContains(t, err, "the number "+written+" would be changed: put it in quotes to keep its digits")
		require.ErrorContains(t, err, "[2:", "the line")
	}
	var value map[string][]any
	require.NoError(t, DecodeYAML([]byte(`a: ["01067", 08001, 0, 0.5, -0.5, 0o17, 0x1f, 9223372036854775807, -1,
  123456789012345678901234567890]`), &value))
	require.Equal(t, []any{"01067", "08001", uint64(0), 0.5, -0.5, uint64(15), uint64(31), uint64(math.MaxInt64),
		int64(-1), "123456789012345678901234567890"}, value["a"])
}

func TestYAMLWithinTheBoundsIsDecoded(t *testing.T) {
	t.Parallel()
	var value struct {
		List  []any
		Same  map[string]any
		Merge map[string]any
	}
	text := "list: &l [&x one, *x, ~, [[2]]]\nsame: &s {a: *l}\nmerge:\n  <<: *s\n  b: |\n    text\n"
	require.NoError(t, DecodeYAML([]byte(text), &value, yaml.Strict()))
	require.Equal(t, []any{"one", "one", nil, []any{[]any{uint64(2)}}}, value.List)
	require.Equal(t, map[string]any{"a": value.List, "b": "text\n"}, value.Merge)
	require.NoError(t, DecodeYAML(nil, &value))
	var marked map[string]any
	require.NoError(t, DecodeYAML([]byte("\ufeffa: b\n"), &marked), "a byte order mark")
	require.Equal(t, map[string]any{"a": "b"}, marked)
	require.NoError(t, DecodeYAML([]byte("a: &a [*a]\n"), new(any)), "a self-reference has no value there")
}

func TestOtherKeysOverrideYAMLMergeKeys(t *testing.T) {
	t.Parallel()
	text := `a: &a {x: a, y: a, inner: {z: a}}
b: &b {<<: *a, y: b}
before: {<<: *b, x: own}
after:
  x: own
  <<: *b
list:
  <<: [{x: first}, *b]
  inner: {<<: {z: merged, w: merged}, z: own}
`
	var value yaml.MapSlice
	require.NoError(t, DecodeYAML([]byte(text), &value, yaml.UseOrderedMap()))
	inner := yaml.MapSlice{{Key: "z", Value: "a"}}
	want := map[string]yaml.MapSlice{
		"before": {{Key: "inner", Value: inner}, {Key: "y", Value: "b"}, {Key: "x", Value: "own"}},
		"after":  {{Key: "x", Value: "own"}, {Key: "inner", Value: inner}, {Key: "y", Value: "b"}},
		"list": {{Key: "x", Value: "first"}, {Key: "y", Value: "b"},
			{Key: "inner", Value: yaml.MapSlice{{Key: "w", Value: "merged"}, {Key: "z", Value: "own"}}}},
	}
	got := value.ToMap()
	for name, mapping := range want {
		require.ElementsMatch(t, mapping, got[name], name)
	}
	for _, wrong := range []string{"a: {<<: x}", "a: &a {<<: *a}", "a: {<<: *none}", "a: {<<: [[{x: 1}]]}",
		"a: {<<: null}"} {
		require.ErrorContains(t, DecodeYAML([]byte(wrong), new(any)), "<< must name a mapping, or a list of mappings", wrong)
	}
}
