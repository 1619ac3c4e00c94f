package provider_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

func TestCheckReportsAWrongKey(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet || r.URL.Path != "/v1/models":
			w.WriteHeader(http.StatusInternalServerError)
		case r.Header.Get("Authorization") != "Bearer right":
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	check := func(address, key string) error {
		m, err := provider.New(provider.Config{BaseURL: address, Key: key, Model: "m"})
		require.NoError(t, err)
		return m.Check(t.Context())
	}
	require.NoError(t, check(server.URL+"/v1", "right"))
	require.NoError(t, check(server.URL, "right"), "a provider that lists no models says nothing about the key")
	refused := requireFailure(t, check(server.URL+"/v1", "wrong"))
	require.Equal(t, llm.Unauthorized, refused.Cause)
	require.Equal(t, "the language model: the provider refuses the key: it answered 401 Unauthorized", refused.Message)
	require.Equal(t, llm.Unavailable, requireFailure(t, check("http://127.0.0.1:1", "right")).Cause)
}
