package rest

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestTransportKnowsItsPaths(t *testing.T) {
	t.Parallel()
	transport, err := New(theSchema(t), Options{
		Status: statusOf, TraceID: func(context.Context) string { return "" },
		Ledger: func(context.Context, model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error] { return nil },
	})
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"/Agent/a": true, "/agent/a": true, "/v1/Agent/a/": true, "/SimulationChat/start": true, "/Consumption/export": true,
		"/": false, "/nowhere": false, "/Agent/a/b/c/d": false, "/favicon.ico": false, "/AuditEvent/export": false,
	} {
		require.Equal(t, want, transport.MatchesPath(path), path)
	}
}
