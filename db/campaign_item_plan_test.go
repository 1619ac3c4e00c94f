package db_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// A list of a few archived items does not read whole campaigns, whether of one campaign or of several.
func TestArchivedItemsAreListedByTheirIndex(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	asked := &recorder{}
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{Tracer: asked}))
	conn := connect(t, address)
	campaign := newCampaign(t, tenant)
	for range 5 {
		add(t, tenant, campaign.ID, 1_000)
	}
	archived := add(t, tenant, campaign.ID, 3)
	_, err := tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{CampaignID: campaign.ID,
		ItemIds: idsOf(archived), IsArchived: true})
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	boundByPolicies(t, conn)

	asked.asked = nil
	page, err := tenant.CampaignItems(t.Context(), model.PageArgs{First: 50}, campaign.ID, nil, new(true), nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 3)
	total, err := page.TotalCount(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, total)
	wanted := db.ItemsMatching(nil, new(true), nil)
	items, err := dbtest.Pages[*model.CampaignItem](t.Context(), tenant, db.ItemsOfCampaigns, wanted,
		[]string{campaign.ID}, model.PageArgs{First: 50})
	require.NoError(t, err)
	require.Len(t, items, 3)
	counts, err := dbtest.Counts(t.Context(), tenant, db.ItemsOfCampaigns, wanted, []string{campaign.ID})
	require.NoError(t, err)
	require.Equal(t, []int32{3}, counts)

	seen := 0
	for _, statement := range asked.asked {
		if !strings.Contains(statement, "is_archived") {
			continue
		}
		seen++
		rows, err := conn.Query(t.Context(), "EXPLAIN "+statement)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Contains(t, strings.Join(lines, "\n"), "campaign_items_archived_idx", statement)
	}
	require.Equal(t, 4, seen)
}
