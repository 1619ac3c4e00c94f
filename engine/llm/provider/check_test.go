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
	require.NoError(t, check(server.URL, "right"), "the server failed, which says nothing about the key")
	refused := requireFailure(t, check(server.URL+"/v1", "wrong"))
	require.Equal(t, llm.Unauthorized, refused.Cause)
	require.Equal(t, "the language model: the provider refuses the key: it answered 401 Unauthorized", refused.Message)
	away := check("http://user:hunter2@127.0.0.1:1", "right")
	require.Equal(t, llm.Unavailable, requireFailure(t, away).Cause)
	require.ErrorContains(t, away, "the provider cannot be reached at 127.0.0.1:1: ")
	require.ErrorContains(t, away, "connection refused")
	require.NotContains(t, away.Error(), "hunter2")
}

func TestCheckReportsAWrongAddress(t *testing.T) {
	t.Parallel()
	for format, path := range map[provider.Format]string{
		provider.Completions: "/v1/chat/completions", provider.Responses: "/v1/responses", provider.Messages: "/v1/messages",
		provider.Contents: "/v1/models/m:streamGenerateContent",
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		for address, isWrong := range map[string]bool{"/v1": false, "": true, path: true} {
			m, err := provider.New(provider.Config{Format: format, BaseURL: server.URL + address, Model: "m"})
			require.NoError(t, err)
			err = m.Check(t.Context())
			if isWrong {
				require.EqualError(t, err, "the language model: the address answered 404 Not Found", "%s %s", format, address)
			} else {
				require.NoError(t, err, "%s has no list of models", format)
			}
		}
	}
}

func TestCheckComparesTheListOfModels(t *testing.T) {
	t.Parallel()
	for format, list := range map[provider.Format]string{
		provider.Completions: `{"object":"list","data":[{"id":"m"},{"id":"other"}]}`,
		provider.Responses:   `{"data":[{"id":"m"}]}`,
		provider.Messages:    `{"data":[{"id":"m","display_name":"M"}],"has_more":true}`,
		provider.Contents:    `{"models":[{"name":"models/m"}],"nextPageToken":"x"}`,
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(list)) })
		mux.HandleFunc("GET /v1/models/alias", func(http.ResponseWriter, *http.Request) {})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		for name, isListed := range map[string]bool{
			"m": true, "models/m": true, "m:free": true, "alias": true, "nope": false,
		} {
			m, err := provider.New(provider.Config{Format: format, BaseURL: server.URL + "/v1", Model: name})
			require.NoError(t, err)
			err = m.Check(t.Context())
			if isListed {
				require.NoError(t, err, "%s %s", format, name)
				continue
			}
			require.ErrorIs(t, err, provider.ErrNotListed)
			require.EqualError(t, err, `the language model: the provider's list has no model "nope"`, format)
		}
	}
}
