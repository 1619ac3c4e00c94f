package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

func TestLostAndDuplicatedOperationsAreCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation operation
		want      tally
	}{
		"kept":    {operation{isAcked: true, recorded: 1}, tally{attempted: 1, acknowledged: 1}},
		"lost":    {operation{isAcked: true}, tally{attempted: 1, acknowledged: 1, lost: 1}},
		"doubled": {operation{isAcked: true, recorded: 2}, tally{attempted: 1, acknowledged: 1, doubled: 1}},
		"again after a doubt": {operation{isAcked: true, recorded: 2, doubts: 1},
			tally{attempted: 1, acknowledged: 1, inDoubt: 1, again: 1}},
		"more often than doubted": {operation{isAcked: true, recorded: 4, doubts: 1},
			tally{attempted: 1, acknowledged: 1, inDoubt: 1, again: 1, doubled: 2}},
		"never heard of":            {operation{}, tally{attempted: 1}},
		"kept without a response":   {operation{recorded: 1, doubts: 1}, tally{attempted: 1, inDoubt: 1}},
		"kept twice without a word": {operation{recorded: 2, doubts: 1}, tally{attempted: 1, inDoubt: 1, doubled: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got tally
			got.add(&c.operation)
			require.Equal(t, c.want, got)
		})
	}
}

func TestDuplicateRepliesCountAsFound(t *testing.T) {
	t.Parallel()
	result, why := judge([]byte(
		`{"data":{"createAgentTest":null},"errors":[{"message":"name is \"test 1\", the name of another test in the same folder, test_1",`+
			`"extensions":{"code":"UNPROCESSABLE"}}]}`), nil)
	require.Equal(t, repeated, result)
	result, _ = judge([]byte(
		`{"errors":[{"message":"the request with this Idempotency-Key was executed, but its response was lost: the server `+
			`stopped before it was kept","extensions":{"code":"UNPROCESSABLE"}}]}`), nil)
	require.Equal(t, repeated, result)
	result, _ = judge([]byte(`{"errors":[{"message":"name is too long","extensions":{"code":"UNPROCESSABLE"}}]}`), nil)
	require.Equal(t, refused, result)
	b, doubted, sure := &ledger{}, &operation{doubts: 1}, &operation{}
	b.confirmEarlier(doubted, why)
	b.confirmEarlier(sure, why)
	require.True(t, doubted.isAcked)
	require.Empty(t, doubted.refused)
	require.Equal(t, why, sure.refused)
	require.False(t, sure.isAcked)
}

func TestLedgerIsComparedWithPostgres(t *testing.T) {
	t.Parallel()
	env := dbtest.NewEnvironment(t)
	b := &ledger{}
	b.beginPhase("none")
	for _, name := range []string{"kept", "missing"} {
		b.acknowledge(b.begin("usage", name))
	}
	_, err := env.Tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{
		{IdempotencyKey: "kept", AgentID: "agent_1", Channel: model.ChannelPhone, Credits: 1},
	}})
	require.NoError(t, err)
	require.NoError(t, b.compare(t.Context(), env.Address))
	require.ErrorContains(t, b.verdict(), "lost or doubled")
	var out strings.Builder
	b.print(&out)
	require.Contains(t, out.String(), `lost: usage missing, during "none"`)
	require.NotContains(t, out.String(), "usage kept")

	b.operations = b.operations[:1]
	require.NoError(t, b.verdict())
	b.operations[0].recorded = 2
	require.ErrorContains(t, b.verdict(), "lost or doubled")
	b.operations = nil
	require.ErrorContains(t, b.verdict(), "nothing was acknowledged")
}
