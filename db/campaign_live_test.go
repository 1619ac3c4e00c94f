package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// Followers of a campaign receive its counts after changes by any replica, but not after every single change.
func TestCampaignFollowersReceiveCounts(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	campaign := newCampaign(t, tenant)
	started := time.Now()
	var followers []<-chan *model.Campaign
	for _, replica := range []*db.Tenant{tenant, tenant, dbtest.Reopen(t, store).Tenant(company)} {
		follower, err := replica.FollowCampaign(t.Context(), campaign.ID)
		require.NoError(t, err)
		seen, _ := next(t, follower)
		require.Zero(t, seen.ItemVersion)
		require.Equal(t, model.CampaignStatusRunning, seen.Status)
		followers = append(followers, follower)
	}
	told := make([]int, len(followers))
	// until receives campaigns until one fulfills the condition.
	until := func(isSo func(*model.Campaign) bool) {
		t.Helper()
		for i, follower := range followers {
			for isOver := false; !isOver; {
				seen, open := next(t, follower)
				require.True(t, open)
				told[i]++
				isOver = isSo(seen)
			}
		}
	}
	items := add(t, tenant, campaign.ID, 100)
	for _, item := range items[:50] {
		report(t, tenant, item, model.CampaignItemStatusCalling)
	}
	until(func(c *model.Campaign) bool { return c.ItemVersion == 150 })
	require.NoError(t, tenant.DeleteCampaignItem(t.Context(), model.DeleteCampaignItemInput{CampaignID: campaign.ID,
		ItemID: items[99].ID}))
	before, err := tenant.Campaign(t.Context(), campaign.ID)
	require.NoError(t, err)
	require.EqualValues(t, 150, before.ItemVersion, "no item has changed")
	until(func(c *model.Campaign) bool { return c.Revision == before.Revision })
	_, _, err = tenant.AddCampaignField(t.Context(), model.AddCampaignFieldInput{CampaignID: campaign.ID, Name: "offer"})
	require.NoError(t, err)
	until(func(c *model.Campaign) bool { return len(c.OwnFields) == 1 })
	for _, item := range items[:50] {
		report(t, tenant, item, model.CampaignItemStatusProcessingResult)
		report(t, tenant, item, model.CampaignItemStatusProcessed)
	}
	become(t, tenant, campaign.ID, model.CampaignStatusArchived)
	for i, follower := range followers {
		var last *model.Campaign
		for seen, open := next(t, follower); open; seen, open = next(t, follower) {
			told[i]++
			last = seen
		}
		require.Equal(t, model.CampaignStatusArchived, last.Status)
		require.EqualValues(t, 250, last.ItemVersion)
		// The final state is sent without waiting, so there can be one more update.
		require.LessOrEqual(t, told[i], int(time.Since(started)/time.Second)+2)
	}

	late, err := tenant.FollowCampaign(t.Context(), campaign.ID)
	require.NoError(t, err)
	seen, _ := next(t, late)
	require.Equal(t, model.CampaignStatusArchived, seen.Status)
	_, open := next(t, late)
	require.False(t, open)
	stranger, _ := newCompany(t, store)
	_, err = stranger.FollowCampaign(t.Context(), campaign.ID)
	fails(t, err, model.NotFound)
}
