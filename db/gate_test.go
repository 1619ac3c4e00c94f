package db_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// A company that uses all connections that it may use does not delay another company.
func TestConnectionsAreSharedBetweenCompanies(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{MaxConnections: 4})
	busy, busyID := newCompany(t, store)
	other, otherID := newCompany(t, store)
	mine, theirs := newAgent(t, other), newAgent(t, busy)
	as := func(ctx context.Context, companyID string) context.Context {
		return model.WithPrincipal(ctx, model.Principal{CompanyID: companyID})
	}
	lock := connect(t, address)
	_, err := lock.Exec(t.Context(), "BEGIN; LOCK TABLE agents")
	require.NoError(t, err)

	reads := 4 - db.MaxPipelines(store)

	// There are two ways to read. Eight statements of each wait for the lock on the table, or for a connection.
	ctx, cancel := context.WithCancel(as(t.Context(), busyID))
	var waiting sync.WaitGroup
	for range 8 {
		waiting.Go(func() { _, _ = busy.FindTogether(ctx, pg.Want{Rows: db.AgentRows, Keys: []string{theirs.ID}}) })
		waiting.Go(func() { _, _ = busy.Agents(ctx, model.PageArgs{First: 1}, nil) })
	}
	require.Eventually(t, func() bool {
		var held int
		err := lock.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks JOIN pg_database AS base ON base.oid = database "+
			"WHERE NOT granted AND datname = current_database()").Scan(&held)
		return assert.NoError(t, err) && held == 3+reads*3/4
	}, waitFor, 10*time.Millisecond, "three quarters of the connections for writes, and of those for reads")

	patient, stop := context.WithTimeout(as(t.Context(), otherID), waitFor)
	defer stop()
	_, err = other.FindTogether(patient, pg.Want{Rows: db.ToolRows, Keys: []string{mine.ID}})
	require.NoError(t, err)
	_, err = other.Tools(patient, model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	cancel()
	waiting.Wait()
	_, err = lock.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	_, err = busy.FindTogether(as(patient, busyID), pg.Want{Rows: db.AgentRows, Keys: []string{theirs.ID}})
	require.NoError(t, err, "nothing is lost")
}
