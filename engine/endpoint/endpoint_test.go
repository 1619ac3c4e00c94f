package endpoint

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"crypto/tls"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// seen is a request that a server received.
type seen struct {
	Method, URI, Body string
	Header            http.Header
}

// record starts a server that answers with the received request, as JSON.
func record(t *testing.T) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(seen{r.Method, r.RequestURI, string(body), r.Header})
	})
}

func decode(t *testing.T, text string) seen {
	t.Helper()
	var s seen
	require.NoError(t, json.Unmarshal([]byte(text), &s), text)
	return s
}

func TestEveryMethodSendsItsArguments(t *testing.T) {
	t.Parallel()
	c, address := local(t), record(t)
	arguments := model.JSONObject(`{"id":"a b","note":"<é>","n":1.10,"list":[1,2]}`)
	const query, body = "/orders/a%20b?fixed=1&list=1&list=2&n=1.10&note=%3C%C3%A9%3E",
		`{"list":[1,2],"n":1.10,"note":"<é>"}`
	for method, want := range map[model.HTTPMethod]seen{
		model.HTTPMethodGet:    {URI: query},
		model.HTTPMethodDelete: {URI: query},
		model.HTTPMethodPost:   {URI: "/orders/a%20b?fixed=1", Body: body},
		model.HTTPMethodPut:    {URI: "/orders/a%20b?fixed=1", Body: body},
		model.HTTPMethodPatch:  {URI: "/orders/a%20b?fixed=1", Body: body},
	} {
		text, err := c.Call(t.Context(), endpoint(method, address+"/orders/{id}?fixed=1"), nil, arguments)
		require.NoError(t, err, method)
		got := decode(t, text)
		require.Equal(t, string(method), got.Method)
		require.Equal(t, want.URI, got.URI)
		header := http.Header{"User-Agent": {"agentgraph"}, "Accept": {"application/json, text/*;q=0.9"},
			"Accept-Encoding": {"gzip"}}
		if want.Body == "" {
			require.Empty(t, got.Body)
		} else {
			require.JSONEq(t, want.Body, got.Body)
			require.Contains(t, got.Body, "1.10")
			header.Set("Content-Type", "application/json")
			header["Content-Length"] = got.Header["Content-Length"]
		}
		require.Equal(t, header, got.Header)
	}
	text, err := c.Call(t.Context(), endpoint(model.HTTPMethodPost, address), nil, nil)
	require.NoError(t, err)
	require.Equal(t, "{}", decode(t, text).Body)
}

func TestEndpointHeadersCannotChangeTheMessage(t *testing.T) {
	t.Parallel()
	c := local(t)
	var host string
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		host = r.Host
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != `{"a":1}` {
			w.WriteHeader(http.StatusBadRequest)
		}
		// The values are reversed, because the program would hide them otherwise.
		_ = json.NewEncoder(w).Encode(r.Header)
	})
	text, err := c.Call(t.Context(), endpoint(model.HTTPMethodPost, address), map[string]string{
		"x-key": "k-1", "content-type": "application/vnd.x+json", "Accept": "text/plain", "user-agent": "mine",
		"Host": "other.example", "content-length": "3", "Connection": "close, X-Key", "Transfer-Encoding": "chunked",
		"TE":              "trailers",
		"Accept-Encoding": "br", "Upgrade": "h2c", "Expect": "100-continue", "Proxy-Authorization": "p",
	}, model.JSONObject(`{"a":1}`))
	require.NoError(t, err)
	var header http.Header
	require.NoError(t, json.Unmarshal([]byte(text), &header))
	require.Equal(t, http.Header{
		"X-Key": {"k-1"}, "Content-Type": {"application/vnd.x+json"}, "Accept": {"text/plain"}, "User-Agent": {"mine"},
		"Accept-Encoding": {"gzip"}, "Content-Length": {"7"},
	}, header)
	require.Equal(t, strings.TrimPrefix(address, "http://"), host)
}

func TestArgumentsThatDoNotFitAreNeverSent(t *testing.T) {
	t.Parallel()
	c := local(t)
	address := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was called") })
	for arguments, want := range map[string]string{
		`{}`:           `the argument "id" is missing, and the tool's address needs it`,
		`{"id":"../"}`: `the argument "id" must not be empty and must not contain "/", "\" or control characters`,
		`[]`:           "the arguments are not a JSON object",
	} {
		_, err := c.Call(t.Context(), endpoint(model.HTTPMethodPost, address+"/{id}"), nil, model.JSONObject(arguments))
		require.Equal(t, want, fails(t, err, Arguments).Message)
	}
}

func TestCallsTimeOut(t *testing.T) {
	t.Parallel()
	c := local(t)
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a disconnect only after reading the body
		<-r.Context().Done()
	}
	slow := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the beginning")
		_ = http.NewResponseController(w).Flush()
		silent(w, r)
	}
	for name, handler := range map[string]http.HandlerFunc{"no answer": silent, "slow bytes": slow} {
		e := endpoint(model.HTTPMethodPost, serve(t, handler))
		e.TimeoutSeconds = 0.2
		_, err := c.Call(t.Context(), e, nil, nil)
		require.Equal(t, "the tool did not answer in time", fails(t, err, TimedOut).Message, name)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		ended, cancel := context.WithCancel(t.Context())
		arrived := make(chan struct{}, 1)
		e = endpoint(model.HTTPMethodPost, serve(t, func(w http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			handler(w, r)
		}))
		go func() {
			<-arrived
			cancel()
		}()
		_, err = c.Call(ended, e, nil, nil)
		_ = fails(t, err, Cancelled)
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestTransferIsPostedToTheWebhook(t *testing.T) {
	t.Parallel()
	c := local(t)
	var got seen
	status := http.StatusAccepted
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.RequestURI, string(body), r.Header}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no lines are free")
	})
	transfer := Transfer{ConversationID: "chat_1", AgentID: "agent_1", Reason: "The contact asks for a \"human\"."}
	require.NoError(t, c.Transfer(t.Context(), address+"/hook?key=sesame", transfer))
	require.Equal(t, "POST /hook?key=sesame", got.Method+" "+got.URI)
	require.JSONEq(t, `{"conversationId":"chat_1","agentId":"agent_1","reason":"The contact asks for a \"human\"."}`,
		got.Body)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, "agentgraph", got.Header.Get("User-Agent"))

	for _, status = range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusServiceUnavailable} {
		err := c.Transfer(t.Context(), address+"/hook?key=sesame", transfer)
		failure := fails(t, err, Status)
		require.Contains(t, failure.Message, fmt.Sprint("the telephony provider answered ", status))
		require.Contains(t, failure.Message, ": no lines are free")
		require.NotContains(t, got.URI, "elsewhere")
	}
	err := c.Transfer(t.Context(), "http://127.0.0.2:1/hook?key=sesame", transfer)
	require.Equal(t, "the address of the telephony provider is in a network that may not be reached",
		fails(t, err, Refused).Message)
	for _, webhook := range []string{"", "/hook", "ftp://a.example/", "http://a b/", "http://"} {
		err = c.Transfer(t.Context(), webhook, transfer)
		require.Equal(t, "the address of the telephony provider is not valid", fails(t, err, Refused).Message, webhook)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = fails(t, c.Transfer(ended, address, transfer), Cancelled)
}

func TestConnectionsAreKeptAndShared(t *testing.T) {
	t.Parallel()
	c := local(t)
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	for range 20 {
		_, err := get(t, c, server.URL)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, opened.Load())

	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			text, err := c.Call(t.Context(), endpoint(model.HTTPMethodGet, server.URL), nil, nil)
			if err != nil || text != "ok" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	calls.Wait()
}

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c := local(t)
	_, err := get(t, c, server.URL)
	require.Equal(t, "the certificate of the tool cannot be trusted", fails(t, err, Unreachable).Message)

	trusting := local(t)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	trusting.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	text, err := get(t, trusting, server.URL)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0", text)

	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, err = get(t, c, strings.Replace(plain, "http:", "https:", 1))
	require.Equal(t, "the tool does not speak HTTPS at its address", fails(t, err, Unreachable).Message)
}

// The environment of these tests names a proxy, and TestMain counts its requests. Loopback addresses bypass proxies, so
// the test uses a host name.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	t.Parallel()
	c := caller(t, "tool.test")
	resolve(t, c, func(string, int) string { return "127.0.0.1" })
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") })
	text, err := get(t, c, strings.Replace(address, "127.0.0.1", "tool.test", 1))
	require.NoError(t, err)
	require.Equal(t, "direct", text)
	require.Zero(t, proxied.Load())
}
