package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// served is a running server, and a key to it.
type served struct {
	url, key string
	// metrics is the address of the metrics, or "".
	metrics string
	log     *servedLog
}

// serve runs the command on the database, with additional flags.
func serve(t testing.TB, databaseURL, key string, flags ...string) *served {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	log := &servedLog{serving: make(chan serving, 1)}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"serve", "--database-url", databaseURL, "--listen", "127.0.0.1:0", "--drain-delay",
			"0s"}, flags...), streams{out: io.Discard, log: log})
	}()
	select {
	case at := <-log.serving:
		t.Cleanup(func() {
			end()
			require.Zero(t, <-code, log.String())
		})
		return &served{url: "http://" + at.Address, key: key, metrics: at.Metrics, log: log}
	case <-code:
		end()
		require.Fail(t, "the program ended", log.String())
		return nil
	}
}

// serving is the log line with the addresses of the program.
type serving struct{ Msg, Address, Metrics string }

// servedLog is the log of a serving program. It sends the addresses on a channel when they are logged.
type servedLog struct {
	dbtest.Output
	serving chan serving
}

func (l *servedLog) Write(line []byte) (int, error) {
	var entry serving
	if json.Unmarshal(line, &entry) == nil && entry.Msg == "serving" {
		l.serving <- entry
	}
	return l.Output.Write(line)
}

// ask sends a GraphQL request and returns its HTTP status and its data. The error holds the errors of the response.
func (s *served) ask(t testing.TB, document string, variables map[string]any) (status int, data json.RawMessage,
	err error) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/graphql", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", s.key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	var read struct{ Data, Errors json.RawMessage }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&read))
	if read.Errors != nil {
		err = errors.New(string(read.Errors))
	}
	return response.StatusCode, read.Data, err
}

// must sends a request that must not fail. It decodes the data unless into is nil.
func (s *served) must(t testing.TB, document string, variables map[string]any, into any) {
	t.Helper()
	_, data, err := s.ask(t, document, variables)
	require.NoError(t, err)
	if into != nil {
		require.NoError(t, json.Unmarshal(data, into))
	}
}

// newCompany creates a company and returns its tenant with a key that has every scope.
func newCompany(t testing.TB, store *db.Store, name string) (*db.Tenant, string) {
	t.Helper()
	company, err := store.CreateCompany(t.Context(), name)
	require.NoError(t, err)
	tenant := store.Tenant(company.ID)
	return tenant, newKey(t, tenant, model.APIKeyScopeAdmin)
}

func newKey(t testing.TB, tenant *db.Tenant, scopes ...model.APIKeyScope) string {
	t.Helper()
	_, secret, err := tenant.CreateAPIKey(t.Context(), model.CreateAPIKeyInput{Name: "test", Scopes: scopes})
	require.NoError(t, err)
	return secret
}
