package model

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolParametersAreValidated(t *testing.T) {
	t.Parallel()
	write := toolWith(func(in *CreateToolInput, schema string) { in.Parameters = JSONObject(schema) })
	for _, good := range []string{
		`{"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"number"}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		`{"type":"object","properties":{"self":{"$ref":"#"}}}`,
	} {
		require.NoError(t, write(good), good)
	}
	for _, bad := range []string{
		`{}`, `{"type":"string"}`, `{"type":["object"]}`, `[]`, `null`, `{"type":"object"`, `{"type":"object"} x`, `1`,
		`{"type":"object","properties":[]}`, `{"type":"object","required":"a"}`,
		`{"type":"object","properties":{"a":{"type":"text"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		`{"type":"object","$ref":"https://a.example/schema"}`,
		`{"type":"object","$ref":"other.json"}`, `{"type":"object","$ref":"#/$defs/none"}`,
		`{"$schema":"file:///etc/hostname","type":"object"}`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`,
	} {
		faults(t, write(bad), "parameters", "must ")
	}
}

func TestToolEndpointsAreValidated(t *testing.T) {
	t.Parallel()
	write := toolWith(func(in *CreateToolInput, url string) {
		in.Endpoint = &ToolEndpointInput{Method: HTTPMethodGet, URL: url, TimeoutSeconds: 1}
	})
	address := "https://a.example/"
	require.NoError(t, write("http://a.example:8080/x?y={z}"))
	require.NoError(t, write(address+strings.Repeat("a", 2_000-len(address))))
	for _, bad := range []string{
		"", "a.example", "/x", "ftp://a.example", "file:///etc/passwd", "https://", "https://user:password@a.example",
		"https://:80",
		"https://a.example/\x00", "https://a.example/\n", "javascript:alert(1)", "https://{a}.example/",
		"https://a.example:{a}/", "{a}://a.example/", "https://a.example{a}", address +
			strings.Repeat("a", 2_001-len(address)),
	} {
		faults(t, write(bad), "endpoint.url", "must ")
	}
	faults(t, toolWith(func(in *CreateToolInput, method HTTPMethod) {
		in.Endpoint = &ToolEndpointInput{Method: method, URL: address, TimeoutSeconds: 1}
	})("TRACE"), "endpoint.method", "PATCH")
}

func TestEndpointHeadersAreValidated(t *testing.T) {
	t.Parallel()
	write := toolWith(func(in *CreateToolInput, headers string) {
		in.Endpoint = &ToolEndpointInput{Method: HTTPMethodGet, URL: "https://a.example", TimeoutSeconds: 1,
			Headers: JSONObject(headers)}
	})
	list := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`"X-%d":"a"`, i)
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	for _, good := range []string{`{}`, list(20), `{"X-A":""}`, `{"X-A":"` + strings.Repeat("a", 4_000) + `"}`} {
		require.NoError(t, write(good))
	}
	for _, reserved := range []string{"Host", "content-length", "TE", "Accept-Encoding", "proxy-authorization"} {
		faults(t, write(`{"`+reserved+`":"a"}`), "endpoint.headers."+http.CanonicalHeaderKey(reserved), "must not be given")
	}
	for bad, field := range map[string]string{
		list(21): "", `{"X-A":1}`: "", `{"X-A":null}`: "", `{"X-A":["a"]}`: "",
		`{"X-A":"` + strings.Repeat("a", 4_001) + `"}`: ".X-A", `{"X-A":"a\r\nX-B: b"}`: ".X-A", `{"a b":"a"}`: ".a b",
		`{"":"a"}`: ".", `{"X-A":"a\u0000"}`: ".X-A",
	} {
		err := write(bad)
		faults(t, err, "endpoint.headers"+field, "must ")
		require.NotContains(t, err.Error(), "aaaa", "values are secrets")
	}
}
