package client

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProxyThatRefusesIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	requests := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	var log strings.Builder
	connected := Server{URL: "https://agents.example.com", APIKey: "k"}.connect("test", &log)
	connected.http.Transport.(*http.Transport).Proxy = http.ProxyURL(address)
	err = connected.Query(t.Context(), "{ company { id } }", nil, &struct{}{})
	require.EqualError(t, err, "the proxy "+address.Host+" in HTTPS_PROXY does not connect to the server: it answered "+
		"403 Forbidden")
	require.Equal(t, 1, requests)
	require.Empty(t, log.String())
}

func TestAddressesWithoutServersFailAtOnceUnlessAwaited(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"http://127.0.0.1:1":         "connection refused",
		"http://server.invalid:8080": "lookup server.invalid",
	} {
		var log strings.Builder
		connected := Server{URL: address, APIKey: "k"}.connect("test", &log)
		ctx, cancel := context.WithCancel(t.Context())
		attempts := 0
		ask := func() error {
			if attempts++; attempts == 3 {
				cancel()
			}
			_, _, err := connected.Execute(t.Context(), Request{Query: "{ company { id } }"})
			return err
		}
		require.ErrorContains(t, connected.Retry(ctx, ask), says)
		require.Equal(t, 1, attempts, address)
		connected.RetryFor(Patience)
		require.ErrorContains(t, connected.Retry(ctx, ask), says)
		require.Equal(t, 3, attempts, address)
		require.Empty(t, log.String())
	}
}

func TestErrorsThatRemainAreNotRetried(t *testing.T) {
	t.Parallel()
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write([]byte(`{"data":{"page":"none"}}`))
	}))
	t.Cleanup(server.Close)
	connected := Server{URL: server.URL, APIKey: "k"}.connect("test", &strings.Builder{})
	const says = "the server's response does not fit this version of the program: "
	var read struct{ Page struct{} }
	require.ErrorContains(t, connected.Query(t.Context(), "{ page }", nil, &read), says)
	require.ErrorContains(t, connected.Mutate(t.Context(), "mutation { page }", nil, nil, &read), says)
	require.Equal(t, 2, requests)

	secure := Server{URL: "https" + strings.TrimPrefix(server.URL, "http"), APIKey: "k"}.connect("test",
		&strings.Builder{})
	err := secure.Query(t.Context(), "{ page }", nil, &read)
	require.ErrorContains(t, err, "server gave HTTP response to HTTPS client")
	require.False(t, IsTemporary(err))
	require.NotContains(t, err.Error(), "SSL_CERT_FILE")
	require.EqualError(t, Server{URL: server.URL, APIKey: "k\nk"}.Validate(),
		"--api-key must not contain control characters")
}
