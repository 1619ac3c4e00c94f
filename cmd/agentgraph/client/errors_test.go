package client

import (
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
