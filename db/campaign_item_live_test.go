package db_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestFollowersSeeEveryItemToItsEnd(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	replicas := []*db.Tenant{tenant, dbtest.Reopen(t, store).Tenant(company)}
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 250)
	var followers []<-chan *model.CampaignItem
	for i := range 4 {
		follower, err := replicas[i%2].FollowCampaignItems(t.Context(), campaign.ID, 0)
		require.NoError(t, err)
		followers = append(followers, follower)
	}
	failed := make(chan error, 1)
	go func() {
		errs := together(8, func(i int) error {
			for ; i < len(items); i += 8 {
				for _, to := range []model.CampaignItemStatus{
					model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult, model.CampaignItemStatusProcessed,
				} {
					if _, err := advance(t.Context(), replicas[i%2], items[i], to, nil); err != nil {
						return err
					}
				}
			}
			return nil
		})
		_, err := tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID,
			Status: new(model.CampaignStatusArchived)})
		failed <- append(errs, err)[0]
	}()
	for _, follower := range followers {
		last := map[string]*model.CampaignItem{}
		version := int32(0)
		for item, open := next(t, follower); open; item, open = next(t, follower) {
			require.Greater(t, item.Version, version, "in order, and nothing twice")
			version = item.Version
			last[item.ID] = item
		}
		require.Len(t, last, len(items))
		for _, item := range last {
			require.Equal(t, model.CampaignItemStatusProcessed, item.RunningStatus)
		}
	}
	require.NoError(t, <-failed)
}

func TestReconnectedFollowersMissNoItem(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 3)
	ctx, leave := context.WithCancel(t.Context())
	follower, err := tenant.FollowCampaignItems(ctx, campaign.ID, 1)
	require.NoError(t, err)
	for _, item := range items[1:] {
		seen, _ := next(t, follower)
		require.Equal(t, item.ID, seen.ID)
	}
	report(t, tenant, items[0], model.CampaignItemStatusCalling)
	seen, _ := next(t, follower)
	require.Equal(t, items[0].ID, seen.ID)
	require.Equal(t, model.CampaignItemStatusCalling, seen.RunningStatus)
	leave()
	for open := true; open; {
		_, open = next(t, follower)
	}
	report(t, tenant, items[0], model.CampaignItemStatusProcessingResult)
	added := add(t, tenant, campaign.ID, 1)[0]
	follower, err = tenant.FollowCampaignItems(t.Context(), campaign.ID, seen.Version)
	require.NoError(t, err)
	for _, id := range []string{items[0].ID, added.ID} {
		seen, _ := next(t, follower)
		require.Equal(t, id, seen.ID)
	}
	require.NoError(t, tenant.DeleteAgent(t.Context(), campaign.AgentID))
	_, err = tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID})
	fails(t, err, model.NotFound)
	_, err = tenant.FollowCampaignItems(t.Context(), campaign.ID, 0)
	fails(t, err, model.NotFound)
	_, err = tenant.FollowCampaignItems(t.Context(), campaign.ID, -1)
	faults(t, err, model.BadInput, "afterVersion", "must not be negative")
}

func TestFollowingAnArchivedCampaignEnds(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	item := add(t, tenant, campaign.ID, 1)[0]
	become(t, tenant, campaign.ID, model.CampaignStatusArchived)
	follower, err := tenant.FollowCampaignItems(t.Context(), campaign.ID, 0)
	require.NoError(t, err)
	seen, _ := next(t, follower)
	require.Equal(t, item.ID, seen.ID)
	_, open := next(t, follower)
	require.False(t, open)
}
