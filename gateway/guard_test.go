package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

func nested(levels int) string {
	return strings.Repeat("{ tree ", levels-1) + "{ name }" + strings.Repeat(" }", levels-1)
}

// deep returns a query with the given number of levels, including the root and the leaf.
func deep(levels int) string {
	return "{ tree " + strings.ReplaceAll(nested(levels-1), "tree", "child") + " }"
}

func TestDocumentsBeyondTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	var chain strings.Builder
	chain.WriteString("{ tree { ...f0 } }")
	for i := range 30 {
		fmt.Fprintf(&chain, " fragment f%d on Tree { child { ...f%d ...f%d } }", i, i+1, i+1)
	}
	chain.WriteString(" fragment f30 on Tree { name }")

	for name, c := range map[string]struct{ query, limit string }{
		"bytes":                {"{ hello #" + strings.Repeat("x", 32<<10) + "\n}", "32768 bytes"},
		"tokens":               {"{" + strings.Repeat(" ...{ hello }", 1000) + "}", "4000"},
		"comments":             {"{ hello }" + strings.Repeat("#\n", 4000), "4000"},
		"depth":                {deep(26), "25 levels"},
		"depth of fragments":   {chain.String(), "25 levels"},
		"repeats":              {"{" + strings.Repeat(" hello", 101) + "}", "100 times"},
		"repeats in fragments": {"{" + strings.Repeat(" ...{ hello } ...{ ...{ hello } }", 51) + "}", "100 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := f.post(t, c.query)
			require.Equal(t, http.StatusBadRequest, a.status)
			err, code := a.fault(t)
			require.Equal(t, "LIMIT_EXCEEDED", code)
			require.Contains(t, err["message"], c.limit)
			require.NotContains(t, a.json, "data")
		})
	}
}

func TestDocumentsAtTheLimitsPass(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, query := range map[string]string{
		"bytes":   "{ hello #" + strings.Repeat("x", 32<<10-11) + "\n}",
		"tokens":  "{" + strings.Repeat(" ...{ hello }", 100) + "}",
		"depth":   deep(25),
		"repeats": "{" + strings.Repeat(" hello", 100) + "}",
		// This is the deepest path of the introspection query that GraphQL tools send.
		"introspection": "{ __schema { types { fields { args { type " + strings.Repeat("{ ofType ", 9) + "{ name }" +
			strings.Repeat(" }", 9) + " } } } } }",
	} {
		require.Equal(t, http.StatusOK, f.post(t, query).status, name)
	}
	loop := f.post(t, "{ tree { ...f } } fragment f on Tree { child { ...f } }")
	_, code := loop.fault(t)
	require.Equal(t, "GRAPHQL_VALIDATION_FAILED", code)
}

// gqlparser accepts these variables. The gateway refuses them.
func TestInvalidVariablesAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	const query = "query($input: EchoInput) { echo(input: $input) }"
	type object = map[string]any
	for name, c := range map[string]struct {
		input     object
		at, fault string
	}{
		"int too large": {object{"int": 1 << 31}, "input.int",
			"Int cannot represent non 32-bit signed integer value."},
		"int too small": {object{"int": -(1 << 31) - 1}, "input.int",
			"Int cannot represent non 32-bit signed integer value."},
		"int as text":              {object{"int": "1"}, "input.int", "Int cannot represent non-integer value."},
		"int with a fraction":      {object{"int": 1.5}, "input.int", "Int cannot represent non-integer value."},
		"float as text":            {object{"float": "1.5"}, "input.float", "Float cannot represent non numeric value."},
		"text as number":           {object{"text": 1}, "input.text", "String cannot represent a non string value."},
		"id with a fraction":       {object{"id": 1.5}, "input.id", "ID cannot represent value."},
		"enum in lower case":       {object{"colour": "red"}, "input.colour", `Value does not exist in "Colour" enum. It has RED, GREEN.`},
		"enum that does not exist": {object{"colour": "BLUE"}, "input.colour", `Value does not exist in "Colour" enum. It has RED, GREEN.`},
		"enum as number": {object{"colour": 1}, "input.colour",
			`Enum "Colour" cannot represent non-string value.`},
		"oneOf with none": {object{"choice": object{}}, "input.choice",
			`Exactly one key must be specified for OneOf type "Choice".`},
		"oneOf with two": {object{"choice": object{"text": "a", "number": 1}}, "input.choice",
			`Exactly one key must be specified for OneOf type "Choice".`},
		"oneOf with two, one null": {object{"choice": object{"text": "a", "number": nil}}, "input.choice",
			`Exactly one key must be specified for OneOf type "Choice".`},
		"oneOf with null": {object{"choice": object{"text": nil}}, "input.choice.text",
			`Field "text" must be non-null.`},
		"in a list": {object{"list": []any{1, 1 << 31}}, "input.list.1",
			"Int cannot represent non 32-bit signed integer value."},
		"null in a list": {object{"list": []any{1, nil}}, "input.list.1",
			`Expected non-nullable type "Int!" not to be null.`},
		"deep inside": {object{"nested": object{"nested": object{"int": 1 << 31}}}, "input.nested.nested.int",
			"Int cannot represent non 32-bit signed integer value."},
		"unknown field": {object{"nested": object{"nested": object{"it": 1}}}, "input.nested.nested",
			`Field "it" is not defined by type "EchoInput".`},
		"not an object":          {object{"nested": 7}, "input.nested", `Expected type "EchoInput" to be an object.`},
		"wrong value for a list": {object{"list": "x"}, "input.list", "Int cannot represent non-integer value."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := f.post(t, query, object{"input": c.input})
			require.Equal(t, http.StatusBadRequest, a.status, a.text)
			err, code := a.fault(t)
			require.Equal(t, "GRAPHQL_VALIDATION_FAILED", code)
			want := `Variable "$input" got invalid value at "` + c.at + `"; ` + c.fault
			require.Equal(t, want, err["message"])
			require.Equal(t, []any{object{"line": 1.0, "column": 7.0}}, err["locations"])
			fields := object{c.at: []any{c.fault}}
			if name == "unknown field" {
				fields = object{c.at + ".it": []any{"is unknown"}}
			}
			require.Equal(t, fields, err["extensions"].(object)["fields"])
			require.NotContains(t, err, "path")
		})
	}
	for variables, want := range map[string]string{
		`{}`:           `Variable "$of" of required type "[Int!]!" was not provided.`,
		`{"of": null}`: `Variable "$of" of non-null type "[Int!]!" must not be null.`,
		`{"of": "x"}`:  `Variable "$of" got invalid value; Int cannot represent non-integer value.`,
	} {
		err, _ := f.do(t, call{method: "POST", path: "/graphql",
			body: `{"query":"query($of: [Int!]!) { list(of: $of) }","variables":` + variables + `}`}).fault(t)
		require.Equal(t, want, err["message"])
	}

	right := object{"int": 1<<31 - 1, "float": 2, "text": "1", "id": 7, "colour": "RED", "choice": object{"number": 1},
		"list": 5}
	a := f.post(t, query, object{"input": right})
	require.Equal(t, http.StatusOK, a.status, a.text)
	require.Contains(t, a.json["data"].(object)["echo"], `"list":[5]`)

	require.Equal(t, http.StatusOK, f.post(t, "query($of: [Int!]) { list(of: $of) }", object{"of": 5}).status)
	require.Equal(t, http.StatusBadRequest, f.post(t, "query($of: [Int!]) { list(of: $of) }", object{"of": 1 << 31}).
		status)
	require.Equal(t, http.StatusBadRequest, f.post(t, "query($of: [Int!]) { list(of: $of) }", object{"of": "5"}).status)
}

// A nullable variable may be used as a non-null value if the variable, the argument or the input field has a default.
// An explicit null is a fault even then.
func TestNullIsRefusedWhereValueIsNeeded(t *testing.T) {
	t.Parallel()
	f := start(t)
	for query, used := range map[string]string{
		"query($x: Boolean = true) { hello @include(if: $x) }":                                                      "Boolean!",
		"query($x: Boolean = true) { ... @skip(if: $x) { hello } }":                                                 "Boolean!",
		"query($x: Boolean = true) { ...f @include(if: true) } fragment f on Query { tree { name @skip(if: $x) } }": "Boolean!",
		"query($x: Boolean = true) { ...f } fragment f on Query { hello ...g @include(if: $x) } " +
			"fragment g on Query { hello }": "Boolean!",
		"query($x: Int = 1) { slow(milliseconds: $x) }":                                           "Int!",
		"query($x: Int) { slow(milliseconds: $x) }":                                               "Int!",
		"query($x: Int = 1) { hello list(of: [2, $x]) }":                                          "Int!",
		"query($x: Int = 1) { ...f } fragment f on Query { echo(input: {nested: {list: [$x]}}) }": "Int!",
	} {
		a := f.post(t, query, map[string]any{"x": nil})
		require.Equal(t, http.StatusBadRequest, a.status, a.text)
		err, code := a.fault(t)
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", code)
		require.Equal(t, `Variable "$x" must not be null: it is used as a value of type "`+used+`".`, err["message"])
		require.Equal(t, http.StatusOK, f.post(t, query).status, query)
	}
	require.Equal(t, http.StatusOK, f.post(t, "query($n: Int = 1, $x: Boolean = true) { echo(input: {int: $n}) "+
		"hello @include(if: $x) }", map[string]any{"n": nil}).status, "other uses may be null")
	for variables, want := range map[string]string{
		`{}`:         `Variable "$x" of required type "Boolean!" was not provided.`,
		`{"x":null}`: `Variable "$x" of non-null type "Boolean!" must not be null.`,
		`{"x":"no"}`: `Variable "$x" got invalid value; Boolean cannot represent a non boolean value.`,
	} {
		err, _ := f.do(t, call{method: "POST", path: "/graphql",
			body: `{"query":"query($x: Boolean!) { hello @skip(if: $x) }","variables":` + variables + `}`}).fault(t)
		require.Equal(t, want, err["message"])
	}
}

func TestOverflowingLiteralIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	const tooLarge = "Int cannot represent non 32-bit signed integer value: "
	for query, want := range map[string]string{
		"{ list(of: [1, 2147483648]) }":                               tooLarge + "2147483648",
		"{ echo(input: {nested: {int: -2147483649}}) }":               tooLarge + "-2147483649",
		"{ echo(input: {nested: {int: 9223372036854775808}}) }":       tooLarge + "9223372036854775808",
		"query ($of: [Int!] = [2147483648]) { list(of: $of) }":        tooLarge + "2147483648",
		"{ ...f } fragment f on Query { list(of: [2147483648]) }":     tooLarge + "2147483648",
		"{ echo(input: {text: \"secret\", nested: {float: 1e400}}) }": "Float cannot represent non numeric value: 1e400",
	} {
		a := f.post(t, query)
		err, code := a.fault(t)
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", code)
		require.Equal(t, want, err["message"])
		require.NotEmpty(t, err["locations"])
		require.NotContains(t, a.text, "secret")
	}
	require.Equal(t, http.StatusOK, f.post(t, "{ list(of: [2147483647, -2147483648]) }").status)
}

// gqlparser counts the names of a subscription's root fields.
func TestSubscriptionsHaveOneRootField(t *testing.T) {
	t.Parallel()
	f := start(t)
	const many = "Anonymous Subscription must select only one top level field."
	const none = "Anonymous Subscription must select one top level field: @skip or @include leaves it out."
	for query, want := range map[string]string{
		"subscription { count(to: 1) tree { name } }":      many,
		"subscription { a: count(to: 1) b: count(to: 1) }": many,
		"subscription { ...s b: count(to: 1) } " +
			"fragment s on Subscription { a: count(to: 1) }": many,
		"subscription { count(to: 1) @skip(if: true) }":             none,
		"subscription { ... @include(if: false) { count(to: 1) } }": none,
		"subscription S { a: count(to: 1) b: count(to: 1) }":        `Subscription "S"` + many[len("Anonymous Subscription"):],
	} {
		events := f.events(t, query)
		require.Len(t, events, 2, query)
		fault := gjson.Get(events[0].data, "errors.0")
		require.Equal(t, want, fault.Get("message").Str, query)
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", fault.Get("extensions.code").Str)
		require.True(t, fault.Get("locations.0.line").Exists())
	}
	require.Len(t, f.events(t, "subscription { count(to: 1) count(to: 1) b: count(to: 1) @skip(if: true) }"), 2)
}
