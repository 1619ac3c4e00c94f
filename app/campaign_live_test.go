package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// After a change, a campaign's items are counted once for all followers. The test ignores reads of the campaign's own
// row, which each signal repeats.
func TestCampaignFollowersShareItsCounts(t *testing.T) {
	t.Parallel()
	g, writer := countingGateway(t, "campaign_item")
	company, err := writer.CreateCompany(t.Context(), "Watchers")
	require.NoError(t, err)
	tenant := writer.Tenant(company.ID)
	_, key := g.keyOf(t, company.ID, model.APIKeyScopeRead)
	campaign, items := runningCampaign(t, tenant, 3)
	const watch = `subscription ($id: ID!) { campaignUpdated(campaignId: $id) { status itemVersion counts { total pending
		calling } } }`
	followers := make([]*subscriber, 20)
	for i := range followers {
		// Half of the followers use a different operation.
		operation := watch
		if i%2 == 0 {
			operation += fmt.Sprint(" # ", i)
		}
		followers[i] = g.follow(t, key, operation, map[string]any{"id": campaign.ID})
		first := followers[i].receive()
		require.Equal(t, "next", first.Type)
		require.JSONEq(t, `{"data":{"campaignUpdated":{"status":"Running","itemVersion":3,"counts":{"total":3,"pending":3,"calling":0}}}}`, string(first.Payload))
	}
	before := g.statements.Load()
	advance(t, tenant, items[0], model.CampaignItemStatusCalling)
	for _, f := range followers {
		require.JSONEq(t, `{"data":{"campaignUpdated":{"status":"Running","itemVersion":4,"counts":{"total":3,"pending":2,"calling":1}}}}`, string(f.receive().Payload))
	}
	require.EqualValues(t, 1, g.statements.Load()-before)

	_, err = tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID,
		Status: new(model.CampaignStatusPaused)})
	require.NoError(t, err)
	for _, f := range followers {
		require.Contains(t, string(f.receive().Payload), `"Paused"`)
	}
	var read struct {
		Campaign struct{ ItemVersion int32 }
	}
	g.must(t, key, `query ($id: ID!) { campaign(id: $id) { itemVersion } }`, map[string]any{"id": campaign.ID}, &read)
	require.EqualValues(t, 4, read.Campaign.ItemVersion)
}

// Subscriptions of the same operation share a response only if @skip and @include select the same root field.
func TestFollowersGetTheFieldTheyChose(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Choosers")
	campaign, items := runningCampaign(t, tenant, 1)
	const watch = `subscription ($id: ID!, $a: Boolean!) { a: campaignUpdated(campaignId: $id) @include(if: $a) { status }
		... @skip(if: $a) { b: campaignUpdated(campaignId: $id) { itemVersion } } }`
	a := g.follow(t, key, watch, map[string]any{"id": campaign.ID, "a": true})
	b := g.follow(t, key, watch, map[string]any{"id": campaign.ID, "a": false})
	require.JSONEq(t, `{"data":{"a":{"status":"Running"}}}`, string(a.receive().Payload))
	require.JSONEq(t, `{"data":{"b":{"itemVersion":1}}}`, string(b.receive().Payload))
	advance(t, tenant, items[0], model.CampaignItemStatusCalling)
	require.JSONEq(t, `{"data":{"a":{"status":"Running"}}}`, string(a.receive().Payload))
	require.JSONEq(t, `{"data":{"b":{"itemVersion":2}}}`, string(b.receive().Payload))
}
