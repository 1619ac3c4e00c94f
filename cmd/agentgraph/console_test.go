package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDevLinkSignsInOnce(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	shown, stop := startDev(t, "--ephemeral")
	defer stop()
	page, code, found := strings.Cut(shown.ConsoleURL, "#code=")
	require.True(t, found, shown.ConsoleURL)
	exchange := func() (status int, body []byte) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page+"session",
			strings.NewReader(`{"code":"`+code+`"}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		body, err = io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, body
	}
	status, body := exchange()
	require.Equal(t, http.StatusOK, status)
	var session struct {
		Token  string
		Scopes []string
	}
	require.NoError(t, json.Unmarshal(body, &session))
	require.Equal(t, []string{"read", "write", "simulate"}, session.Scopes, "and not admin")

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shown.RestURL+"/graphql",
		strings.NewReader(`{"query":"{ company { name apiKeys { id } } }"}`))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+session.Token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Errors []struct{ Extensions struct{ Code string } }
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.Len(t, answer.Errors, 1)
	require.Equal(t, "FORBIDDEN", answer.Errors[0].Extensions.Code, "the session can read, but not list keys")

	status, _ = exchange()
	require.Equal(t, http.StatusGone, status)
	require.Zero(t, stop())
}

func TestDevRunsWithoutTheConsole(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("AGENTGRAPH_CONSOLE", "off")
	shown, stop := startDev(t, "--ephemeral")
	defer stop()
	require.Empty(t, shown.ConsoleURL)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shown.RestURL+"/console/", nil)
	require.NoError(t, err)
	request.Header.Set("X-Api-Key", *shown.APIKey)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Zero(t, stop())
}
