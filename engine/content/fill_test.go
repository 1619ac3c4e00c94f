package content

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestPlaceholdersAreFilled(t *testing.T) {
	t.Parallel()
	values := Values{"name": "Ana", "order.id": "A-7", "_x": "underscore", "empty": "", "brace": "{name}",
		"age": json.Number("41"), "vip": true, "none": nil, "tags": []any{"a", "b"},
		"customer": map[string]any{"name": "Bo", "home": map[string]any{"city": "Lyon"}, "none": nil}}
	for name, test := range map[string]struct {
		text, want string
		unknown    []string
	}{
		"nothing to fill": {text: "Good morning", want: "Good morning"},
		"empty":           {},
		"values":          {text: "{name}, {order.id}, {_x}!", want: "Ana, A-7, underscore!"},
		"side by side":    {text: "{name}{name}", want: "AnaAna"},
		"empty value":     {text: "<{empty}>", want: "<>"},
		"other values":    {text: "{age} {vip} {tags}", want: `41 true ["a","b"]`},
		"within objects": {text: "{customer.name} of {customer.home.city}: {customer.home}",
			want: `Bo of Lyon: {"city":"Lyon"}`},
		"null is no value": {text: "{none} {customer.none} {customer.age}", want: "{none} {customer.none} {customer.age}",
			unknown: []string{"none", "customer.none", "customer.age"}},
		"unknown names stay": {text: "{who} and {name} and {who} and {what}", want: "{who} and Ana and {who} and {what}",
			unknown: []string{"who", "what"}},
		"case matters":                          {text: "{Name}", want: "{Name}", unknown: []string{"Name"}},
		"placeholders in values are not filled": {text: "{brace}", want: "{name}"},
		"JSON": {text: `{"name": "{name}", "list": [{}, { "a": 1 }]}`,
			want: `{"name": "Ana", "list": [{}, { "a": 1 }]}`},
		"JSON without spaces": {text: `{"a":{"b":{name}}}`, want: `{"a":{"b":Ana}}`},
		"not a name": {text: "{ name } {1a} {a-b} {a b} {.a} {é} {} {",
			want: "{ name } {1a} {a-b} {a b} {.a} {é} {} {"},
		"doubled braces":       {text: "{{name}}", want: "{Ana}"},
		"unclosed":             {text: "{name", want: "{name"},
		"broken UTF-8 is kept": {text: "\xff{name}\xff", want: "\xffAna\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, unknown, err := Render(test.text, values)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			require.Equal(t, test.unknown, unknown)
		})
	}
}

func TestRenderedTextIsBounded(t *testing.T) {
	t.Parallel()
	_, _, err := Render(strings.Repeat("{x}", 10_000), Values{"x": strings.Repeat("y", 10_000)})
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.Unprocessable, known.Code)
}
