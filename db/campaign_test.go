package db_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

func newOutboundAgent(t *testing.T, tenant *db.Tenant, fields ...*model.AgentField) *model.Agent {
	t.Helper()
	in := agentInput()
	in.Direction, in.Fields = model.DirectionOutbound, fields
	agent, err := tenant.CreateAgent(t.Context(), in)
	require.NoError(t, err)
	return agent
}

// newCampaign returns a running campaign. The changes are applied to its input. It belongs to a new agent unless a
// change sets an agent.
func newCampaign(t *testing.T, tenant *db.Tenant, changes ...func(*model.CreateCampaignInput)) *model.Campaign {
	t.Helper()
	in := model.CreateCampaignInput{Name: "A campaign", MaxAttempts: 2, RetryDelayMinutes: 30}
	for _, change := range changes {
		change(&in)
	}
	if in.AgentID == "" {
		in.AgentID = newOutboundAgent(t, tenant).ID
	}
	campaign, err := tenant.CreateCampaign(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, model.CampaignStatusDraft, campaign.Status)
	return become(t, tenant, campaign.ID, model.CampaignStatusRunning)
}

func become(t *testing.T, tenant *db.Tenant, id string, status model.CampaignStatus) *model.Campaign {
	t.Helper()
	campaign, err := tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: id, Status: &status})
	require.NoError(t, err)
	return campaign
}

func TestCampaignChangesUntilItIsArchived(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.DefaultRegion = new("FR") })
	types, err := tenant.Types(t.Context(), []string{campaign.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]string{campaign.ID: "campaign"}, types)
	changed, err := tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{
		CampaignID: campaign.ID, Name: new("Renamed"), MaxAttempts: new(int32(5)), DefaultRegion: new(""),
		Status: new(model.CampaignStatusPaused),
	})
	require.NoError(t, err)
	require.Nil(t, changed.DefaultRegion)
	changed, field, err := tenant.AddCampaignField(t.Context(), model.AddCampaignFieldInput{CampaignID: campaign.ID,
		Name: "offer", IsMandatory: true})
	require.NoError(t, err)
	require.Equal(t, "offer", field.Name)
	read, err := tenant.Campaign(t.Context(), campaign.ID)
	require.NoError(t, err)
	same(t, changed, read)
	require.Equal(t, "Renamed", read.Name)
	require.EqualValues(t, 5, read.MaxAttempts)

	become(t, tenant, campaign.ID, model.CampaignStatusArchived)
	_, err = tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID, Name: new("Again")})
	require.Contains(t, fails(t, err, model.Conflict), "is archived")
	_, err = tenant.AddCampaignItems(t.Context(), contacts(campaign.ID, 1))
	require.Contains(t, fails(t, err, model.Conflict), "is archived")
}

func TestOnlyOutboundAgentsRunCampaigns(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign, err := tenant.CreateCampaign(t.Context(), model.CreateCampaignInput{AgentID: newAgent(t, tenant).ID,
		Name: "A", MaxAttempts: 1})
	require.NoError(t, err)
	_, err = tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID,
		Status: new(model.CampaignStatusRunning)})
	faults(t, err, model.Unprocessable, "status", "inbound")
	_, err = tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: campaign.AgentID,
		Direction: new(model.DirectionOutbound)})
	require.NoError(t, err)
	become(t, tenant, campaign.ID, model.CampaignStatusRunning)
	turn := func() error {
		_, err := tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: campaign.AgentID,
			Direction: new(model.DirectionInbound)})
		return err
	}
	faults(t, turn(), model.Unprocessable, "direction", fmt.Sprintf("campaign %q is Running: pause it first", campaign.ID))
	agent, err := tenant.Agent(t.Context(), campaign.AgentID)
	require.NoError(t, err)
	require.Equal(t, model.DirectionOutbound, agent.Direction)
	become(t, tenant, campaign.ID, model.CampaignStatusPaused)
	require.NoError(t, turn())
}

// An agent that becomes inbound and a start of its campaign wait for each other.
func TestAgentTurnsInboundWhileItsCampaignStarts(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	for range 20 {
		campaign := newCampaign(t, tenant)
		become(t, tenant, campaign.ID, model.CampaignStatusPaused)
		errs := together(2, func(i int) (err error) {
			if i == 0 {
				_, err = tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: campaign.AgentID,
					Direction: new(model.DirectionInbound)})
			} else {
				_, err = tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID,
					Status: new(model.CampaignStatusRunning)})
			}
			return err
		})
		require.Len(t, errs, 1)
		fails(t, errs[0], model.Unprocessable)
	}
}

func TestCampaignWithActiveItemsIsNotArchived(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	item := add(t, tenant, campaign.ID, 1)[0]
	report(t, tenant, item, model.CampaignItemStatusCalling)
	archive := func() error {
		_, err := tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID,
			Status: new(model.CampaignStatusArchived)})
		return err
	}
	require.Contains(t, fails(t, archive(), model.Conflict), "in progress: 1")
	report(t, tenant, item, model.CampaignItemStatusProcessingResult)
	require.Contains(t, fails(t, archive(), model.Conflict), "in progress: 1")
	report(t, tenant, item, model.CampaignItemStatusProcessed)
	require.NoError(t, archive())
	_, err := tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID, ItemID: item.ID})
	fails(t, err, model.Conflict)
	fails(t, tenant.DeleteCampaignItem(t.Context(), model.DeleteCampaignItemInput{CampaignID: campaign.ID,
		ItemID: item.ID}), model.Conflict)
}

func TestCampaignsAreFiltered(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	first := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.Name = "Spring renewals" })
	second := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.Name = "Autumn leads" })
	become(t, tenant, second.ID, model.CampaignStatusPaused)
	for _, c := range []struct {
		filter *model.CampaignFilter
		want   []string
	}{
		{nil, []string{second.ID, first.ID}},
		{&model.CampaignFilter{AgentID: &first.AgentID}, []string{first.ID}},
		{&model.CampaignFilter{Statuses: []model.CampaignStatus{model.CampaignStatusPaused, model.CampaignStatusDraft}},
			[]string{second.ID}},
		{&model.CampaignFilter{Statuses: []model.CampaignStatus{}}, []string{}},
		{&model.CampaignFilter{NameContains: new("RENEW")}, []string{first.ID}},
		{&model.CampaignFilter{NameContains: new("renew"), AgentID: &second.AgentID}, []string{}},
	} {
		page, err := tenant.Campaigns(t.Context(), model.PageArgs{First: 10}, c.filter, "name")
		require.NoError(t, err)
		require.Equal(t, c.want, idsOf(page.Nodes))
		total, err := page.TotalCount(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, len(c.want), total)
	}
	add(t, tenant, first.ID, 3)
	report(t, tenant, add(t, tenant, first.ID, 1)[0], model.CampaignItemStatusCalling)
	archived := add(t, tenant, first.ID, 1)
	_, err := tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{CampaignID: first.ID,
		ItemIds: idsOf(archived), IsArchived: true})
	require.NoError(t, err)
	counts, err := tenant.CountsOfCampaigns(t.Context(), []string{first.ID, second.ID})
	require.NoError(t, err)
	same(t, map[string]*model.CampaignItemCounts{first.ID: {Total: 4, Pending: 3, Calling: 1}}, counts)
}

func TestDeletedAgentDeletesItsCampaigns(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	campaign := newCampaign(t, tenant)
	report(t, tenant, add(t, tenant, campaign.ID, 2)[0], model.CampaignItemStatusCalling)
	other := add(t, tenant, newCampaign(t, tenant).ID, 1)[0]
	require.NoError(t, tenant.DeleteAgent(t.Context(), campaign.AgentID))
	var deleted []string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT array_agg(target_id) FROM audit_events WHERE action = "+
		"'DeleteCampaign'").Scan(&deleted))
	require.Equal(t, []string{campaign.ID}, deleted)
	_, err := tenant.Campaign(t.Context(), campaign.ID)
	require.Equal(t, `campaign "`+campaign.ID+`" does not exist`, fails(t, err, model.NotFound))
	require.NoError(t, db.Sweep(store)(t.Context()))
	var items, events int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*), (SELECT count(*) FROM campaign_item_events) FROM "+
		"campaign_items").Scan(&items, &events))
	require.Equal(t, 1, items)
	require.Zero(t, events)
	_, err = tenant.CampaignItem(t.Context(), other.CampaignID, other.ID)
	require.NoError(t, err)
}

// Deleting an agent and reporting on its items take locks in the same order, so they cannot deadlock.
func TestAgentIsDeletedWhileItsItemsAdvance(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	for range 5 {
		campaign := newCampaign(t, tenant)
		items := add(t, tenant, campaign.ID, 6)
		errs := together(len(items)+2, func(i int) error {
			switch i {
			case 0:
				return tenant.DeleteAgent(t.Context(), campaign.AgentID)
			case 1:
				_, _, err := tenant.ClaimCampaignItems(t.Context(), model.ClaimCampaignItemsInput{CampaignID: campaign.ID,
					Limit: 10, LeaseSeconds: 60})
				return err
			}
			_, err := tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{
				CampaignID: campaign.ID, ItemID: items[i-2].ID, To: model.CampaignItemStatusCalling,
			})
			return err
		})
		for _, err := range errs {
			fails(t, err, model.NotFound)
		}
		_, err := tenant.Campaign(t.Context(), campaign.ID)
		fails(t, err, model.NotFound)
	}
	require.NoError(t, db.Sweep(store)(t.Context()))
	var left int
	require.NoError(t, conn.QueryRow(t.Context(),
		`SELECT (SELECT count(*) FROM campaigns) + (SELECT count(*) FROM campaign_items)
		+ (SELECT count(*) FROM campaign_item_events)`).Scan(&left))
	require.Zero(t, left, "no item outlives its campaign")
}
