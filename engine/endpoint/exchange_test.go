package endpoint

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestAnswerIsText(t *testing.T) {
	t.Parallel()
	c := local(t)
	for name, want := range map[string]struct {
		status                  int
		contentType, body, text string
	}{
		"json":                 {200, "application/json; charset=utf-8", `{"a": [1]}`, `{"a": [1]}`},
		"text":                 {201, "text/plain", "é\nok", "é\nok"},
		"no type":              {202, "", "{", "{"},
		"no content":           {204, "", "", ""},
		"empty json":           {200, "application/json", "", ""},
		"not utf-8":            {200, "text/plain", "a\xff\xfeb", "a\uFFFDb"},
		"latin-1":              {200, "text/plain; charset=ISO-8859-1", "Gr\xfc\xdfe", "Grüße"},
		"latin-1 json":         {200, "application/json; charset=latin1", "\"Gr\xfc\xdfe\"", `"Grüße"`},
		"an unknown charset":   {200, "text/plain; charset=klingon", "é", "é"},
		"a text image":         {200, "image/svg+xml", "<svg>é</svg>", "<svg>é</svg>"},
		"zero":                 {200, "text/plain", "a\x00b\x00", "ab"},
		"as long as the limit": {200, "text/plain", strings.Repeat("x", 4096), strings.Repeat("x", 4096)},
		"an invalid type":      {200, ";;;", "{", "{"},
	} {
		text, err := get(t, c, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{want.contentType}
			w.WriteHeader(want.status)
			_, _ = io.WriteString(w, want.body)
		}))
		require.NoError(t, err, name)
		require.Equal(t, want.text, text, name)
	}
}

func TestErrorStatusesAreFailures(t *testing.T) {
	t.Parallel()
	c := local(t)
	status, body := 0, ""
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	long := strings.Repeat("é", 501)
	for _, want := range []struct {
		status     int
		body, text string
	}{
		{400, ` {"error":"no such order"} `, `the tool answered 400 Bad Request: {"error":"no such order"}`},
		{401, "", "the tool answered 401 Unauthorized"},
		{404, "a\x00\xff", "the tool answered 404 Not Found: a\uFFFD"},
		{429, "slow down", "the tool answered 429 Too Many Requests: slow down"},
		{500, long, "the tool answered 500 Internal Server Error: " + long[:2*500] + "…"},
		{503, strings.Repeat("x", 1<<20), "the tool answered 503 Service Unavailable: " + strings.Repeat("x", 500) + "…"},
		{599, "x", "the tool answered 599: x"},
		{302, "no location", "the tool answered 302 Found: no location"},
		{304, "", "the tool answered 304 Not Modified"},
	} {
		status, body = want.status, want.body
		_, err := get(t, c, address)
		failure := fails(t, err, Status)
		require.Equal(t, want.text, failure.Message)
	}
}

func TestTooLargeAnswersAreRefused(t *testing.T) {
	t.Parallel()
	c := local(t)
	for name, handler := range map[string]http.HandlerFunc{
		"announced": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 4097)) },
		"without end": func(w http.ResponseWriter, _ *http.Request) {
			for range 64 << 10 {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
			t.Error("64 MiB were taken")
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			bomb := gzip.NewWriter(w)
			for range 16 {
				_, _ = bomb.Write(make([]byte, 1<<20))
			}
			_ = bomb.Close()
		},
	} {
		_, err := get(t, c, serve(t, handler))
		require.Equal(t, "the tool answered with more than 4096 bytes", fails(t, err, TooLarge).Message, name)
	}
}

func TestGzipIsDecompressed(t *testing.T) {
	t.Parallel()
	text, err := get(t, local(t), serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = io.WriteString(packed, "unpacked")
		_ = packed.Close()
	}))
	require.NoError(t, err)
	require.Equal(t, "unpacked", text)
}

const (
	cutOff  = "the tool did not finish its answer, or did not answer in HTTP"
	encoded = "the tool answered in a content encoding that it was not asked for"
)

// malformed has invalid responses as bytes, with the resulting errors.
var malformed = map[string]struct {
	answer, want string
	cause        Cause
}{
	"nothing":           {"", cutOff, Malformed},
	"not HTTP":          {"SSH-2.0-%s\r\n\r\n", cutOff, Malformed},
	"a bad status":      {"HTTP/1.1 %s\r\n\r\n", cutOff, Malformed},
	"a bad header":      {"HTTP/1.1 200 OK\r\nX: a\r\n%s\r\n\r\n", cutOff, Malformed},
	"a bad length":      {"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", cutOff, Malformed},
	"cut in the header": {"HTTP/1.1 200 OK\r\nX: %s", cutOff, Malformed},
	"cut in the body":   {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n%s", cutOff, Malformed},
	"cut in a chunk":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n%s", cutOff, Malformed},
	"a bad chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n", cutOff, Malformed},
	"a bad transfer":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n", cutOff, Malformed},
	"a huge header":     {"HTTP/1.1 200 OK\r\nX: %s" + strings.Repeat("x", 200<<10) + "\r\n\r\n", cutOff, Malformed},
	"not gzip": {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n%s" + strings.Repeat("x", 40), cutOff,
		Malformed},
	"not asked for": {"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n%s", encoded, Malformed},
	"a bad location": {"HTTP/1.1 302 Found\r\nLocation: http://%s:%%zz/\r\nContent-Length: 0\r\n\r\n", cutOff,
		Malformed},
	"malformed JSON": {"HTTP/1.1 200 OK\r\nContent-Type: application/problem+json\r\n\r\n{\"a\": %s",
		`the tool answered with malformed JSON: {"a": [hidden]`, Malformed},
	"an image": {"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n%s",
		"the tool answered with neither JSON nor text", Malformed},
	"an error in br": {"HTTP/1.1 500 Oops\r\nContent-Encoding: br\r\n\r\n%s",
		"the tool answered 500 Internal Server Error", Status},
	"an error that is cut off": {"HTTP/1.1 500 %[1]s\r\nContent-Length: 1000\r\n\r\nnot %[1]s",
		"the tool answered 500 Internal Server Error: not [hidden]", Status},
	"switching protocols": {"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: %s\r\n\r\n",
		"the tool answered 101 Switching Protocols", Status},
	"a secret at the end of the excerpt": {"HTTP/1.1 400 Bad\r\n\r\n" + strings.Repeat("x", 490) + "%s",
		"the tool answered 400 Bad Request: " + strings.Repeat("x", 490) + "[hidden]", Status},
}

// The server returns a header's value in many places, but no error contains it.
func TestMalformedAnswersAreReportedWithoutSecrets(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-token-1234"
	c := local(t)
	for name, m := range malformed {
		answer := m.answer
		if strings.Contains(answer, "%") {
			answer = fmt.Sprintf(answer, secret)
		}
		address := serveRaw(t, answer, name == "switching protocols")
		_, err := c.Call(t.Context(), endpoint(model.HTTPMethodPost, address), map[string]string{"Authorization": "Bearer " +
			secret}, nil)
		require.Error(t, err, name)
		require.Equal(t, m.want, fails(t, err, m.cause).Message, name)
		for ; err != nil; err = errors.Unwrap(err) {
			require.NotContains(t, fmt.Sprintf("%v %+v %q", err, err, err), secret, name)
		}
	}
}

func TestSecretHeadersInResponsesAreHidden(t *testing.T) {
	t.Parallel()
	c := local(t)
	headers := map[string]string{
		"Authorization": "Bearer tok-12345678", "X-Quoted": `pass"word\x`, "Cookie": "session=abcdefgh; theme=dark",
		"X-Short": "short", "X-Tiny": "abc", "Accept": "application/json",
	}
	const echo = `tok-12345678 Bearer tok-12345678 tok-1234 pass\"word\\x pass"word\x abcdefgh dark short abc bearer TOK-12345678 application/json`
	const hidden = `[hidden] [hidden] tok-1234 [hidden] [hidden] [hidden] [hidden] [hidden] abc [hidden] application/json`
	for status, want := range map[int]string{200: hidden, 403: "the tool answered 403 Forbidden: " + hidden} {
		text, err := c.Call(t.Context(), endpoint(model.HTTPMethodGet, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, echo)
		})), headers, nil)
		if err != nil {
			text = err.Error()
		}
		require.Equal(t, want, text)
	}
}

// No part of a header's value remains at the end of a response's excerpt, however long the value is.
func TestSecretsAreHiddenBeforeAnswersAreCut(t *testing.T) {
	t.Parallel()
	c := local(t)
	for _, length := range []int{100, 2_900, 6_001, 9_000} {
		secret := strings.Repeat("0123456789", length/10)
		_, err := c.Call(t.Context(), endpoint(model.HTTPMethodGet, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, strings.Repeat(secret+"\x00é", 60_000/length))
		})), map[string]string{"X-Key": secret}, nil)
		require.Contains(t, err.Error(), "[hidden]é")
		require.NotContains(t, err.Error(), "0123")
	}
}

func TestOverlappingSecretsAreHidden(t *testing.T) {
	t.Parallel()
	s := newSecrets(map[string]string{"X-One": "abcd", "X-Two": "CDEFGH", "X-Three": "clé-é",
		"Authorization": "Basic dXNlcg=="})
	for text, want := range map[string]string{
		"xabcdefghx":        "x[hidden]x",
		"ABCDabcd":          "[hidden][hidden]",
		"CLé-é clé-É":       "[hidden] clé-É",
		"basic DXNLCG== cd": "[hidden] cd",
		"basic":             "basic",
		"":                  "",
	} {
		require.Equal(t, want, s.redact(text))
	}
	require.Equal(t, "x[hidden]", s.redactPrefix("xabcdx", 3))
	require.Equal(t, "x", s.redactPrefix("xabcdx", 1))
}

// A company chooses its headers and the responses, so overlapping secrets must not need much memory or time.
func TestSecretsThatOverlapOftenAreHidden(t *testing.T) {
	t.Parallel()
	var value strings.Builder
	for n := minSecret; value.Len() < 3_900; n++ {
		value.WriteString(strings.Repeat("a", n) + " ")
	}
	headers := map[string]string{}
	for i := range 20 {
		headers[fmt.Sprint("X-", i)] = value.String()
	}
	s, text := newSecrets(headers), strings.Repeat("a", 64<<10)+`\`
	allocated := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			require.Equal(b, `[hidden]\`, s.redact(text))
		}
	}).AllocedBytesPerOp()
	require.Less(t, allocated, int64(4<<20))
}

func TestEscapedSecretsAreHidden(t *testing.T) {
	t.Parallel()
	s := newSecrets(map[string]string{"Authorization": "Bearer eyJ0/abc+def", "X-Quoted": `pass"word\x`, "X-Wide": "clé-😀",
		"X-Basic": "Basic " + base64.StdEncoding.EncodeToString([]byte("user:swordfish"))})
	for text, want := range map[string]string{
		`{"e":"Bearer eyJ0\/abc+def"}`:                     `{"e":"[hidden]"}`,
		`{"e":"eyJ0/abc\u002Bdef \u0065YJ0/abc\u002bdef"}`: `{"e":"[hidden] [hidden]"}`,
		`{"e":"{\"e\":\"eyJ0\\/abc+def\"}"}`:               `{"e":"{\"e\":\"[hidden]\"}"}`,
		`"a\nb", "pass\"word\\x"`:                          `"a\nb", "[hidden]"`,
		`cl\u00e9-\ud83d\ude00 cl\u00c9`:                   `[hidden] cl\u00c9`,
		`USER:swordfish \u0073wordfish \`:                  `[hidden] [hidden] \`,
		`\u12 \ud83d\ud83d \q \u`:                          `\u12 \ud83d\ud83d \q \u`,
	} {
		require.Equal(t, want, s.redact(text))
	}
	require.Equal(t, "x[hidden]", s.redactPrefix(`xeyJ0\/abc+defx`, 3))
	c := local(t)
	_, err := c.Call(t.Context(), endpoint(model.HTTPMethodGet, serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		var escaped strings.Builder
		for _, char := range r.Header.Get("X-Key") {
			fmt.Fprintf(&escaped, `\u%04x`, char)
		}
		_, _ = io.WriteString(w, strings.Repeat(escaped.String(), 20))
	})), map[string]string{"X-Key": strings.Repeat("0123456789", 300)}, nil)
	require.Regexp(t, `Bad Gateway: (\[hidden\])+$`, err.Error())
}

func TestUnreachableHostsAreReported(t *testing.T) {
	t.Parallel()
	c := caller(t, "127.0.0.1", "closed.test")
	resolve(t, c, func(name string, _ int) string { return map[string]string{"closed.test": "127.0.0.1"}[name] })
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	for host, want := range map[string]string{
		"127.0.0.1": "the host of the tool refuses connections", "closed.test": "the host of the tool refuses connections",
		"nowhere.test": "the host of the tool cannot be found",
	} {
		_, err := get(t, c, "http://"+host+":"+port)
		require.Equal(t, want, fails(t, err, Unreachable).Message)
	}
}

func TestRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	c, target := local(t), record(t)
	for status, want := range map[int]string{301: "GET", 302: "GET", 303: "GET", 307: `POST {"a":1}`,
		308: `POST {"a":1}`} {
		text, err := c.Call(t.Context(),
			endpoint(model.HTTPMethodPost, serve(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, target+"/to?x=1", status)
			})+"/from?q={q}"), map[string]string{"X-Key": "k", "Authorization": "a", "User-Agent": "u",
				"Content-Type": "application/x+json"}, model.JSONObject(`{"a":1,"q":"private"}`))
		require.NoError(t, err)
		got := decode(t, text)
		require.Equal(t, want, strings.TrimSpace(got.Method+" "+got.Body), status)
		require.Equal(t, "/to?x=1", got.URI)
		// Another port is another origin.
		delete(got.Header, "Content-Length")
		header := http.Header{"User-Agent": {"agentgraph"}, "Accept": {"application/json, text/*;q=0.9"},
			"Accept-Encoding": {"gzip"}}
		if got.Body != "" {
			header.Set("Content-Type", "application/json")
		}
		require.Equal(t, header, got.Header, status)
	}
}

func TestHeadersStayWithTheirOrigin(t *testing.T) {
	t.Parallel()
	c := local(t)
	var first, second string
	keys := map[string]string{}
	first = serve(t, func(w http.ResponseWriter, r *http.Request) {
		keys[r.URL.Path] = r.Header.Get("X-Key")
		switch r.URL.Path {
		case "/1":
			http.Redirect(w, r, "/2", http.StatusFound)
		case "/2":
			http.Redirect(w, r, second+"/3", http.StatusFound)
		}
	})
	second = serve(t, func(w http.ResponseWriter, r *http.Request) {
		keys[r.URL.Path] = r.Header.Get("X-Key")
		http.Redirect(w, r, first+"/4", http.StatusFound)
	})
	_, err := c.Call(t.Context(), endpoint(model.HTTPMethodGet, first+"/1"), map[string]string{"X-Key": "k"}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"/1": "k", "/2": "k", "/3": "", "/4": ""}, keys)
}

func TestRedirectsAreBounded(t *testing.T) {
	t.Parallel()
	c := local(t)
	calls := 0
	_, err := get(t, c, serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	require.Equal(t, "the tool redirects more than 3 times", fails(t, err, Malformed).Message)
	require.Equal(t, 4, calls)
}

func TestRedirectsToPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	c := local(t)
	for target, want := range map[string]string{
		"http://127.0.0.2:1/":                      "the address of the tool is in a network that may not be reached",
		"http://169.254.169.254/latest/meta-data/": "the address of the tool is in a network that may not be reached",
		"http://[::1]:1/":                          "the address of the tool is in a network that may not be reached",
		"//2130706433:1/":                          "the address of the tool is in a network that may not be reached",
		"http://:1/":                               "the tool redirects to an address that is not HTTP or HTTPS",
		"file:///etc/passwd":                       "the tool redirects to an address that is not HTTP or HTTPS",
		"gopher://127.0.0.1/":                      "the tool redirects to an address that is not HTTP or HTTPS",
	} {
		_, err := get(t, c, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
		}))
		require.Equal(t, want, fails(t, err, Refused).Message, target)
	}
}
