package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

func TestOneResponseUsesFewConnections(t *testing.T) {
	t.Parallel()
	// There are enough connections for both responses, even if a slow machine uses more of them for shared reads.
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), db.Options{MaxConnections: 20}))
	ctx := pg.WithSlots(t.Context())
	var readers []*pg.Reader
	for range 3 {
		reader, err := tenant.Reader(ctx)
		require.NoError(t, err)
		readers = append(readers, reader)
		defer reader.Close() // otherwise a failure would wait for it
	}
	impatient, cancel := context.WithCancel(ctx)
	cancel()
	_, err := tenant.Reader(impatient)
	require.ErrorIs(t, err, context.Canceled)
	_, err = tenant.Agents(impatient, model.PageArgs{First: 1}, nil)
	require.Error(t, err, "both ways to read wait for a slot")
	other, err := tenant.Reader(pg.WithSlots(t.Context()))
	require.NoError(t, err, "another response has its own slots")
	other.Close()

	readers[0].Close()
	_, err = tenant.Reader(model.WithMemoryBudget(ctx, &testBudget{left: -1}))
	require.ErrorIs(t, err, model.ErrTooLarge, "nothing is read for a response that is cut short")
	_, err = tenant.Agents(ctx, model.PageArgs{First: 1}, nil)
	require.NoError(t, err, "and its slot is released")
}
