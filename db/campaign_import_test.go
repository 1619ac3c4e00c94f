package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestCampaignImportIsAtomic(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newOutboundAgent(t, tenant)
	past := time.Date(2025, 11, 3, 9, 30, 0, 0, time.UTC)
	campaign, err := model.NewCampaign(model.CreateCampaignInput{AgentID: agent.ID, Name: "Of last year", MaxAttempts: 1},
		past)
	require.NoError(t, err)
	items, err := campaign.NewItems(contacts(campaign.ID, 3), agent, past)
	require.NoError(t, err)
	campaign.ItemVersion = 3
	var events []*model.CampaignItemEvent
	for _, in := range []model.AdvanceCampaignItemInput{
		{To: model.CampaignItemStatusCalling}, {To: model.CampaignItemStatusPending, Answered: new(false)},
	} {
		more, err := items[1].Advance(in, campaign, nil, past.Add(time.Hour))
		require.NoError(t, err)
		events = append(events, more...)
	}
	require.NoError(t, tenant.ImportCampaign(t.Context(), campaign, items, events))
	read, err := tenant.Campaign(t.Context(), campaign.ID)
	require.NoError(t, err)
	same(t, campaign, read)
	for _, item := range items {
		same(t, item, stored(t, tenant, item))
	}
	_, types := eventsOf(t, tenant, items[1].ID)
	require.Equal(t, "LaunchCall EndCall", types)

	// The second item exists already.
	again, err := model.NewCampaign(model.CreateCampaignInput{AgentID: agent.ID, Name: "Again", MaxAttempts: 1}, past)
	require.NoError(t, err)
	others, err := again.NewItems(contacts(again.ID, 2), agent, past)
	require.NoError(t, err)
	others[1].ID = items[1].ID
	require.Error(t, tenant.ImportCampaign(t.Context(), again, others, nil))
	_, err = tenant.Campaign(t.Context(), again.ID)
	fails(t, err, model.NotFound)

	again.AgentID = model.NewID("agent")
	fails(t, tenant.ImportCampaign(t.Context(), again, nil, nil), model.NotFound)
}
