package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestAuditCommandExportsEvents(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Acme")
	dbtest.Tests(t, tenant, 1, 1)
	command := func(want int, args ...string) string {
		var out, log bytes.Buffer
		require.Equal(t, want,
			run(t.Context(), append([]string{"audit", "export", "--company", "Acme", "--database-url", address}, args...),
				streams{out: &out, log: &log}), log.String())
		return out.String() + log.String()
	}
	var events []map[string]any
	for lines := json.NewDecoder(bytes.NewBufferString(command(0))); lines.More(); {
		var event map[string]any
		require.NoError(t, lines.Decode(&event))
		events = append(events, event)
	}
	require.Len(t, events, 2)
	require.Equal(t, "CreateApiKey", events[0]["action"])
	require.Equal(t, "CreateAgent", events[1]["action"])
	require.Nil(t, events[1]["apiKeyId"])
	require.Empty(t, command(0, "--until", "2026-01-01"))
	require.Empty(t, command(0, "--since", time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)))
	require.Contains(t, command(2, "--since", "2026-01-02", "--until", "2026-01-01"), "--until must not be before --since")
}
