package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestAuditEventsGoToAWebhook(t *testing.T) {
	const secret = "a secret that nobody guesses"
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
	t.Setenv("AGENTGRAPH_AUDIT_WEBHOOK_SECRET_FILE", path)
	type event struct{ ID, Action, TargetID string }
	type delivery struct {
		CompanyID string
		Events    []event
	}
	verifier, err := standardwebhooks.NewWebhookRaw([]byte(secret))
	require.NoError(t, err)
	got := make(chan delivery, 10)
	var asked atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent delivery
		switch {
		case err != nil || verifier.Verify(body, r.Header) != nil || json.Unmarshal(body, &sent) != nil:
			w.WriteHeader(http.StatusBadRequest)
		case asked.Add(1) == 1:
			http.Redirect(w, r, "/elsewhere", http.StatusFound) // the redirect is not followed
		default:
			got <- sent
		}
	}))
	t.Cleanup(receiver.Close)
	address := dbtest.URL(t)
	tenant, key := newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Acme")
	s := serve(t, address, key, "--audit-webhook", receiver.URL+"/audit?token=x")
	first := dbtest.Receive(t, got)
	require.Equal(t, tenant.CompanyID(), first.CompanyID)
	require.Equal(t, "CreateApiKey", first.Events[0].Action)
	require.GreaterOrEqual(t, asked.Load(), int64(2), "failed deliveries are repeated")
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	s.must(t, `mutation { createAgent(input: {name: "Front desk", channel: Web, direction: Inbound, language: "en",
		prompt: "Be kind."}) { agent { id } } }`, nil, &made)
	second := dbtest.Receive(t, got)
	require.Len(t, second.Events, 1, "each comes once")
	require.Equal(t, "CreateAgent", second.Events[0].Action)
	require.Equal(t, made.CreateAgent.Agent.ID, second.Events[0].TargetID)
}
