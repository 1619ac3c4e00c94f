package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestSeedCreatesTheCampaigns(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	tenant := store.Tenant(shown.ID)
	page, err := tenant.Campaigns(t.Context(), wholeList, nil)
	require.NoError(t, err)
	byName, ids := map[string]*model.Campaign{}, []string{}
	for _, campaign := range page.Nodes {
		byName[campaign.Name] = campaign
		ids = append(ids, campaign.ID)
	}
	counts, err := tenant.CountsOfCampaigns(t.Context(), ids)
	require.NoError(t, err)

	content := mustRead(t, "merrowby").Campaigns
	require.Len(t, byName, len(content))
	var all model.CampaignItemCounts
	for _, want := range content {
		campaign := byName[want.Name]
		require.NotNil(t, campaign, want.Name)
		require.Equal(t, want.Status, campaign.Status)
		require.Len(t, campaign.OwnFields, len(want.Fields))
		got := counts[campaign.ID]
		expected := &model.CampaignItemCounts{
			Pending: int32(want.Contacts[waiting] + want.Contacts[retrying]), Calling: int32(want.Contacts[calling]),
			ProcessingResult: int32(want.Contacts[evaluating]),
			Processed:        int32(want.Contacts[finished] + want.Contacts[unanswered]),
			Error:            int32(want.Contacts[failed]), Total: got.Total,
		}
		require.Equal(t, expected, got, want.Name)
		all.Total += got.Total
		all.Pending += got.Pending
		all.Calling += got.Calling
		all.ProcessingResult += got.ProcessingResult
		all.Processed += got.Processed
		all.Error += got.Error

		if want.Status != model.CampaignStatusRunning {
			continue
		}
		// The campaign continues: a dialer receives the items that are due.
		_, items, err := tenant.ClaimCampaignItems(t.Context(), model.ClaimCampaignItemsInput{CampaignID: campaign.ID,
			Limit: 5, LeaseSeconds: 60})
		require.NoError(t, err)
		require.Len(t, items, 5)
		called, err := tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{
			CampaignID: campaign.ID, ItemID: items[0].ID, To: model.CampaignItemStatusCalling,
		})
		require.NoError(t, err)
		require.Equal(t, items[0].AttemptCount+1, called.AttemptCount)
		require.Greater(t, called.Version, got.Total)
	}
	require.EqualValues(t, 400, all.Total)
	for _, count := range []int32{all.Pending, all.Calling, all.ProcessingResult, all.Processed, all.Error} {
		require.Positive(t, count)
	}
}

// dayOf returns a date bound of a whole day.
func dayOf(t *testing.T, at time.Time) model.DateBound {
	t.Helper()
	bound, err := model.ParseDateBound(at.Format(time.DateOnly))
	require.NoError(t, err)
	return bound
}

func TestSeedRecordsUsage(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	tenant := store.Tenant(shown.ID)
	now := time.Now().UTC()
	month := model.MonthOf(now)
	// The test reads twelve months and then the two months before, because a breakdown spans at most a year.
	year, err := tenant.ConsumptionBreakdown(t.Context(), dayOf(t, month.AddDate(0, -11, 0)), dayOf(t, now),
		model.AllConsumptionAxes)
	require.NoError(t, err)
	before, err := tenant.ConsumptionBreakdown(t.Context(), dayOf(t, month.AddDate(0, -13, 0)),
		dayOf(t, month.AddDate(0, -11, -1)), model.AllConsumptionAxes)
	require.NoError(t, err)

	deleted := 0
	for _, b := range []*model.ConsumptionBreakdown{year, before} {
		var channels, months, agents, counted model.Credits
		for _, channel := range b.ByChannel {
			require.Positive(t, channel.Credits, channel.Channel)
			channels += channel.Credits
		}
		for _, m := range b.ByMonth {
			require.True(t, m.Credits > 0 || m.Month == model.MonthName(month), m.Month)
			months += m.Credits
		}
		for _, agent := range b.ByAgent {
			agents += agent.Credits
			if agent.NameStatus == model.NameStatusDeleted {
				deleted++
				require.Empty(t, agent.Campaigns)
				continue
			}
			require.Equal(t, model.NameStatusResolved, agent.NameStatus)
			for _, campaign := range agent.Campaigns {
				require.Equal(t, model.NameStatusResolved, campaign.NameStatus)
				require.Positive(t, campaign.Credits)
			}
		}
		for entry, err := range tenant.UsageEntries(t.Context(), model.ConsumptionRange{From: b.PeriodFrom,
			End: b.PeriodTo.Add(time.Millisecond)}) {
			require.NoError(t, err)
			counted += entry.Credits
		}
		require.Equal(t, []model.Credits{b.TotalCredits, b.TotalCredits, b.TotalCredits, b.TotalCredits},
			[]model.Credits{channels, months, agents, counted})
	}
	require.Equal(t, 2, deleted, "both include the deleted agent")

	campaigns := 0
	for _, agent := range year.ByAgent {
		campaigns += len(agent.Campaigns)
	}
	require.Equal(t, 3, campaigns, "a draft uses nothing")

	plan, err := tenant.Subscription(t.Context(), now)
	require.NoError(t, err)
	require.NotNil(t, plan)
	require.Nil(t, plan.Budget)
	require.Equal(t, model.CompanySubscriptionStatusActive, plan.Status())
	require.Equal(t, year.ByMonth[len(year.ByMonth)-1].Credits, plan.CreditsUsed)
}
