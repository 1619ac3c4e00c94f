package db_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestSchedulesSkipUnavailableCompanies(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	near, _ := newCompany(t, store)
	away, awayID := newCompany(t, store)
	for _, tenant := range []*db.Tenant{near, away} {
		agent := newAgent(t, tenant)
		newSimulationTest(t, tenant, agent.ID)
		newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) { in.AgentID = &agent.ID })
		pass(t, tenant)
	}
	dbtest.SimulateNodeDown(t, conn, "agent_test_schedules", awayID)
	require.ErrorContains(t, db.StartScheduled(t.Context(), store), "remote node postgres@db-2:5432")
	require.Len(t, executionsOf(t, near), 1)
}

func TestRemovalSkipsUnavailableCompanies(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	near, nearID := newCompany(t, store)
	away, awayID := newCompany(t, store)
	for _, tenant := range []*db.Tenant{near, away} {
		campaign := newCampaign(t, tenant)
		add(t, tenant, campaign.ID, 2)
		require.NoError(t, tenant.DeleteAgent(t.Context(), campaign.AgentID))
	}
	dbtest.SimulateNodeDown(t, conn, "campaigns", awayID)
	require.ErrorContains(t, db.Sweep(store)(t.Context()), "remote node postgres@db-2:5432")
	for companyID, left := range map[string]int{nearID: 0, awayID: 2} {
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM campaign_items WHERE company_id = $1", companyID).
			Scan(&n))
		require.Equal(t, left, n)
	}
}

func TestWebhooksSkipUnavailableCompanies(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	near, nearID := newCompany(t, store)
	away, awayID := newCompany(t, store)
	for _, tenant := range []*db.Tenant{near, away} {
		hook, _ := newWebhook(t, tenant, model.WebhookEventAgentTestExecutionEnded)
		for range 2 {
			_, err := tenant.SendTestWebhook(t.Context(), hook.ID)
			require.NoError(t, err)
		}
	}
	_, err := conn.Exec(t.Context(), "UPDATE webhook_deliveries SET created_at = created_at - interval '400 days' WHERE "+
		"id IN (SELECT min(id) FROM webhook_deliveries GROUP BY company_id)")
	require.NoError(t, err)
	dbtest.SimulateNodeDown(t, conn, "webhook_deliveries", awayID)

	require.ErrorContains(t, db.Sweep(store)(t.Context()), "remote node postgres@db-2:5432")
	var left int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM webhook_deliveries_there WHERE company_id = $1",
		nearID).Scan(&left))
	require.Equal(t, 1, left, "old messages are removed")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := 0
	store.DeliverWebhooks(ctx, func(context.Context, db.WebhookRequest) (int, error) {
		told++
		cancel()
		return 200, nil
	}, db.AuditWebhook{}, slog.New(slog.DiscardHandler))
	require.Equal(t, 1, told)
}
