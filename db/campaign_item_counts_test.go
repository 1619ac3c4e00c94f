package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// requireCountersMatchRows requires that the counters agree with the rows: the counts of each campaign by state, and
// the totals of lists with each filter.
func requireCountersMatchRows(t *rapid.T, tenant *db.Tenant, conn *pgx.Conn, campaignID string) {
	totals := func(status *model.CampaignItemStatus, isArchived *bool) (n int32) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*)::int FROM campaign_items
			WHERE campaign_id = $1 AND ($2::text IS NULL OR running_status = $2) AND ($3::bool IS NULL OR is_archived = $3)`,
			campaignID, status, isArchived).Scan(&n))
		return n
	}
	counts, err := tenant.CountsOfCampaigns(t.Context(), []string{campaignID})
	require.NoError(t, err)
	counted := counts[campaignID]
	if counted == nil {
		counted = &model.CampaignItemCounts{}
	}
	require.Equal(t, totals(nil, new(false)), counted.Total)
	for status, n := range map[model.CampaignItemStatus]int32{
		model.CampaignItemStatusPending: counted.Pending, model.CampaignItemStatusCalling: counted.Calling,
		model.CampaignItemStatusProcessed:        counted.Processed,
		model.CampaignItemStatusProcessingResult: counted.ProcessingResult, model.CampaignItemStatusError: counted.Error,
	} {
		require.Equal(t, totals(&status, new(false)), n, status)
		for _, isArchived := range []*bool{nil, new(true)} {
			page, err := tenant.CampaignItems(t.Context(), model.PageArgs{First: 1}, campaignID, &status, isArchived, nil)
			require.NoError(t, err)
			total, err := page.TotalCount(t.Context())
			require.NoError(t, err)
			require.Equal(t, totals(&status, isArchived), total)
			byParent, err := tenant.Count(t.Context(), db.ItemsOfCampaigns, db.ItemsMatching(&status, isArchived, nil),
				[]string{campaignID})
			require.NoError(t, err)
			require.Equal(t, total, byParent[campaignID])
		}
	}
}

func TestCountersEqualTheRows(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	require.NoError(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: model.RetentionCampaignItems,
		Days: 1}))
	sources := map[bool]string{true: "by counters", false: "by rows"}
	seen := map[string]bool{}
	cases := 0
	rapid.Check(t, func(r *rapid.T) {
		if cases++; cases > 20 {
			return
		}
		campaign := newCampaign(t, tenant)
		items := add(t, tenant, campaign.ID, rapid.IntRange(1, 8).Draw(r, "items"))
		for range rapid.IntRange(1, 15).Draw(r, "changes") {
			item := rapid.SampledFrom(items).Draw(r, "item")
			switch rapid.IntRange(0, 7).Draw(r, "change") {
			case 0:
				_, _ = tenant.ResetCampaignItem(r.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID, ItemID: item.ID})
			case 1:
				_, _ = tenant.ArchiveCampaignItems(r.Context(), model.ArchiveCampaignItemsInput{CampaignID: campaign.ID,
					ItemIds: idsOf(items[:1]), IsArchived: rapid.Bool().Draw(r, "isArchived")})
			case 2:
				_ = tenant.DeleteCampaignItem(r.Context(), model.DeleteCampaignItemInput{CampaignID: campaign.ID, ItemID: item.ID})
			case 3:
				_, err := tenant.UpdateCampaign(r.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID,
					Name: new("Another")})
				require.NoError(r, err)
			case 4: // an older program changes an item without updating the counters
				_, err := conn.Exec(r.Context(),
					`WITH item AS (UPDATE campaign_items SET running_status = 'Error', error = 'old', attempt_count = 1,
						last_call_date = '2020-01-01', created_at = '2020-01-01', processed_at = NULL, next_try_date = NULL,
						is_picked_up = false, result = NULL, claim_id = NULL
						WHERE id = $1 RETURNING campaign_id) UPDATE campaigns SET version = version + 1 FROM item
						WHERE campaigns.id = item.campaign_id`, item.ID)
				require.NoError(r, err)
			case 5:
				require.NoError(r, db.Sweep(store)(r.Context()))
			default:
				to := rapid.SampledFrom(model.AllCampaignItemStatus).Draw(r, "to")
				_, _ = advance(r.Context(), tenant, item, to, nil)
			}
			requireCountersMatchRows(r, tenant, conn, campaign.ID)
			var isCounted bool
			require.NoError(r, conn.QueryRow(r.Context(), "SELECT coalesce(counted_at, 0) = version + coalesce(revision, 0) "+
				"FROM campaigns WHERE id = $1", campaign.ID).Scan(&isCounted))
			seen[sources[isCounted]] = true
		}
		require.NoError(r, db.Sweep(store)(r.Context()))
		requireCountersMatchRows(r, tenant, conn, campaign.ID)
	})
	require.Len(t, seen, 2)
}

func TestRunsAreCountedByTheirExecutions(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	for _, status := range model.AllAgentTestRunStatus {
		page, err := tenant.AgentTestRuns(t.Context(), model.PageArgs{First: 1}, model.AgentTestRunFilter{Status: &status})
		require.NoError(t, err)
		total, err := page.TotalCount(t.Context())
		require.NoError(t, err)
		require.Zero(t, total, "there is no execution")
	}
	ends := []model.AgentTestRunStatus{model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed,
		model.AgentTestRunStatusPassed}
	for _, end := range ends {
		require.NoError(t, finish(t, tenant, newRun(t, tenant).ID, end))
	}
	newRun(t, tenant) // this run is in progress
	// One run was finished by an older program, which stored no counts.
	_, err := conn.Exec(t.Context(),
		`UPDATE agent_test_executions SET passed_runs = NULL, failed_runs = NULL, error_runs = NULL, cancelled_runs = NULL,
			skipped_runs = NULL
		WHERE id = (SELECT min(execution_id) FROM agent_test_runs WHERE status = 'Passed')`)
	require.NoError(t, err)
	for range 2 {
		all := int32(0)
		for _, status := range model.AllAgentTestRunStatus {
			for _, wanted := range []model.AgentTestRunFilter{{Status: &status}, {Statuses: []model.AgentTestRunStatus{status}},
				{Statuses: model.AllAgentTestRunStatus, Status: &status}} {
				page, err := tenant.AgentTestRuns(t.Context(), model.PageArgs{First: 1}, wanted)
				require.NoError(t, err)
				total, err := page.TotalCount(t.Context())
				require.NoError(t, err)
				var rows int32
				require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*)::int FROM agent_test_runs WHERE status = $1",
					status).Scan(&rows))
				require.Equal(t, rows, total, status)
				all += total
			}
		}
		require.EqualValues(t, 12, all)
		// The second time, the rows of the execution without stored counts differ. So the totals must come from these rows.
		_, err = conn.Exec(t.Context(), "UPDATE agent_test_runs SET status = 'Failed' WHERE status = 'Passed' AND "+
			"execution_id IN (SELECT id FROM agent_test_executions WHERE passed_runs IS NULL)")
		require.NoError(t, err)
	}
	ids := []string{}
	rows, err := conn.Query(t.Context(), "SELECT id FROM agent_test_executions")
	require.NoError(t, err)
	ids, err = pgx.AppendRows(ids, rows, pgx.RowTo[string])
	require.NoError(t, err)
	counts, err := tenant.CountsOfExecutions(t.Context(), ids)
	require.NoError(t, err)
	sum := model.AgentTestRunCounts{}
	for _, c := range counts {
		require.EqualValues(t, 1, c.Total)
		sum.Passed, sum.Failed, sum.Running, sum.Queued = sum.Passed+c.Passed, sum.Failed+c.Failed, sum.Running+c.Running,
			sum.Queued+c.Queued
	}
	require.EqualValues(t, 1, sum.Passed)
	require.EqualValues(t, 2, sum.Failed)
	require.EqualValues(t, 1, sum.Running+sum.Queued)
}
