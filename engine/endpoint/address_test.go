package endpoint

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/model"
)

func TestAddressIsFilledFromTheArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		template, arguments, want, unused string
	}{
		"nothing to fill": {"https://a.example/x?y=1", `{"b":2}`, "https://a.example/x?y=1", `{"b":2}`},
		"no path":         {"https://a.example?q={q}", `{"q":"a b&c=d"}`, "https://a.example?q=a+b%26c%3Dd", `{}`},
		"path and query": {"https://a.example/{a}/x/{b}?c={c}", `{"a":"é 1","b":true,"c":1.50,"d":null}`,
			"https://a.example/%C3%A9%201/x/true?c=1.50", `{"d":null}`},
		"numbers as written": {"https://a.example/{a}", `{"a":12345678901234567890}`,
			"https://a.example/12345678901234567890", `{}`},
		"twice": {"https://a.example/{a}?a={a}", `{"a":"1"}`, "https://a.example/1?a=1", `{}`},
		"reserved in a segment": {"https://a.example/{a}/x", `{"a":"1?x#y;z%2f"}`,
			"https://a.example/1%3Fx%23y%3Bz%252f/x", `{}`},
		"dots select members of objects": {"https://a.example/{c.id}/{c.name.first}",
			`{"c":{"id":1,"name":{"first":"A"},"tier":"x"}}`, "https://a.example/1/A", `{"c":{"tier":"x"}}`},
		"an object that becomes empty": {"https://a.example/{c.d.id}", `{"c":{"d":{"id":1}}}`, "https://a.example/1", `{}`},
		"a name with a dot comes first": {"https://a.example/{c.id}", `{"c.id":"x","c":{"id":"y"}}`, "https://a.example/x",
			`{"c":{"id":"y"}}`},
		"placeholders in values are not filled": {"https://a.example/{a}/{b}", `{"a":"{b}","b":"x"}`, "https://a.example/%7Bb%7D/x", `{}`},
		"dots in a longer segment":              {"https://a.example/v{a}..{b}", `{"a":".","b":"."}`, "https://a.example/v....", `{}`},
		"a template's own text": {"https://a.example/é x/a%2Fb%20{a}?f[a]=ü {a}", `{"a":"1"}`,
			"https://a.example/%C3%A9%20x/a%2Fb%201?f%5Ba%5D=%C3%BC%201", `{}`},
		"arguments do not complete an escape": {"https://a.example/x?a=%{a}", `{"a":"41"}`, "https://a.example/x?a=%2541", `{}`},
		"no fragment":                         {"https://a.example/x#{a}", `{"a":"41"}`, "https://a.example/x", `{"a":"41"}`},
		"other braces": {"https://a.example/{1}/{a b}", `{"a":"41"}`, "https://a.example/%7B1%7D/%7Ba%20b%7D",
			`{"a":"41"}`},
	} {
		arguments, err := parseArguments(model.JSONObject(c.arguments))
		require.NoError(t, err, name)
		u, unused, err := buildURL(c.template, arguments)
		require.NoError(t, err, name)
		require.Equal(t, c.want, u.String(), name)
		rest, err := json.Marshal(unused)
		require.NoError(t, err)
		require.JSONEq(t, c.unused, string(rest), name)
		after, err := parseArguments(model.JSONObject(c.arguments))
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(after, arguments), name)
	}
}

func TestAddressRefusesLongIDs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ template, arguments, want string }{
		"missing":                                {"https://a.example/{order_id}", `{}`, `"order_id" is missing`},
		"null":                                   {"https://a.example/{a}", `{"a":null}`, `"a" is missing`},
		"missing in an object":                   {"https://a.example/{a.b}", `{"a":{}}`, `"a.b" is missing`},
		"not an object":                          {"https://a.example/{a.b.c}", `{"a":{"b":"x"}}`, `"a.b.c" is missing`},
		"missing in the query":                   {"https://a.example/?a={a}", `{}`, `"a" is missing`},
		"an object":                              {"https://a.example/{a}", `{"a":{}}`, `"a" must be a string, a number or a boolean`},
		"an array":                               {"https://a.example/?a={a}", `{"a":[]}`, `"a" must be a string, a number or a boolean`},
		"empty":                                  {"https://a.example/orders/{a}", `{"a":""}`, `"a" must not be empty`},
		"a slash":                                {"https://a.example/orders/{a}", `{"a":"1/cancel"}`, `must not contain "/"`},
		"a backslash":                            {"https://a.example/orders/{a}", `{"a":"..\\admin"}`, `must not contain "/"`},
		"a control character":                    {"https://a.example/orders/{a}", `{"a":"1\u0000"}`, `control characters`},
		"a line break":                           {"https://a.example/orders/{a}", `{"a":"1\r\nX-A: b"}`, `control characters`},
		"dot":                                    {"https://a.example/orders/{a}", `{"a":"."}`, `into "." or ".."`},
		"dots":                                   {"https://a.example/orders/{a}/x", `{"a":".."}`, `into "." or ".."`},
		"dots of two arguments":                  {"https://a.example/orders/{a}{b}", `{"a":".","b":"."}`, `into "." or ".."`},
		"dots together with the template's text": {"https://a.example/orders/%2e{a}", `{"a":"."}`, `into "." or ".."`},
		"dots after a slash":                     {"https://a.example/orders/a%2f{a}", `{"a":".."}`, `into "." or ".."`},
		"in the host":                            {"https://{a}.example/", `{"a":"x"}`, "address is not valid"},
		"as the port":                            {"https://a.example:{a}/", `{"a":"80"}`, "address is not valid"},
		"as the scheme":                          {"{a}://a.example/", `{"a":"http"}`, "address is not valid"},
		"another scheme":                         {"file:///etc/{a}", `{"a":"passwd"}`, "address is not valid"},
		"no host":                                {"http:///etc/{a}", `{"a":"passwd"}`, "address is not valid"},
	} {
		arguments, err := parseArguments(model.JSONObject(c.arguments))
		require.NoError(t, err, name)
		_, _, err = buildURL(c.template, arguments)
		require.ErrorContains(t, err, c.want, name)
	}
	for _, text := range []string{`null`, `[]`, `"a"`, `{"a":`, `{} {}`, `{"a":1}]`} {
		_, err := parseArguments(model.JSONObject(text))
		require.ErrorContains(t, err, "JSON object", text)
	}
}

func TestArgumentsCannotChangeTheShapeOfAnAddress(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[./\\%2eEfF?#@:;&=+\[\] ]{0,6}`))
	rapid.Check(t, func(t *rapid.T) {
		arguments := map[string]any{"a": value.Draw(t, "a"), "b": value.Draw(t, "b"),
			"o": map[string]any{"c": value.Draw(t, "c")}}
		u, unused, err := buildURL("https://a.example:8443/v1/{a}/x-{b}{o.c}/end?first={a}&{b}={o.c}&last=1", arguments)
		if err != nil {
			return
		}
		require.Empty(t, unused)
		// Parse the URL of the request as a server does.
		sent, err := url.ParseRequestURI(u.RequestURI())
		require.NoError(t, err)
		require.Equal(t, "https", u.Scheme)
		require.Equal(t, "a.example:8443", u.Host)
		require.Nil(t, u.User)
		a, b, c := arguments["a"].(string), arguments["b"].(string), arguments["o"].(map[string]any)["c"].(string)
		segments := strings.Split(sent.Path, "/")
		require.Equal(t, []string{"", "v1", a, "x-" + b + c, "end"}, segments)
		require.Len(t, strings.Split(sent.EscapedPath(), "/"), 5)
		require.NotContains(t, segments, "..")
		require.NotContains(t, segments, ".")
		want := url.Values{}
		want.Add("first", a)
		want.Add(b, c)
		want.Add("last", "1")
		got, err := url.ParseQuery(sent.RawQuery)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestQueryContainsTheOtherArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, arguments, want string }{
		"none": {"https://a.example/", `{}`, ""},
		"scalars": {"https://a.example/", `{"t":"a&b=c +é","n":1.0,"b":false,"z":null,"e":""}`,
			"b=false&e=&n=1.0&t=a%26b%3Dc+%2B%C3%A9"},
		"arrays": {"https://a.example/", `{"a":[2,"x",null,[1],{"k":"v"}],"none":[]}`,
			"a=2&a=x&a=%5B1%5D&a=%7B%22k%22%3A%22v%22%7D"},
		"objects":  {"https://a.example/", `{"o":{"k":1}}`, "o=%7B%22k%22%3A1%7D"},
		"appended": {"https://a.example/?key=1", `{"a":1}`, "key=1&a=1"},
	} {
		arguments, err := parseArguments(model.JSONObject(c.arguments))
		require.NoError(t, err)
		u, err := url.Parse(c.url)
		require.NoError(t, err)
		require.NoError(t, addQuery(u, arguments), name)
		require.Equal(t, c.want, u.RawQuery, name)
	}
	u, err := url.Parse("https://a.example/?tenant=5")
	require.NoError(t, err)
	require.ErrorContains(t, addQuery(u, map[string]any{"tenant": "6"}), `"tenant" is already fixed`)
}
