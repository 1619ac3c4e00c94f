package db_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// contacts returns an input with count contacts.
func contacts(campaignID string, count int) model.AddCampaignItemsInput {
	in := model.AddCampaignItemsInput{CampaignID: campaignID}
	for i := range count {
		in.Items = append(in.Items, &model.CampaignItemInput{PhoneNumber: fmt.Sprintf("+1 202 555-%04d", 100+i),
			DataBag: model.JSONObject(`{"b":"1","a":"it's"}`)})
	}
	return in
}

func add(t *testing.T, tenant *db.Tenant, campaignID string, count int) []*model.CampaignItem {
	t.Helper()
	in := contacts(campaignID, count)
	in.OnDuplicate = model.OnDuplicateKeep
	added, err := tenant.AddCampaignItems(t.Context(), in)
	require.NoError(t, err)
	require.Len(t, added.Items, count)
	return added.Items
}

func advance(ctx context.Context, tenant *db.Tenant, item *model.CampaignItem, to model.CampaignItemStatus,
	answered *bool) (*model.CampaignItem, error) {
	return tenant.AdvanceCampaignItem(ctx, model.AdvanceCampaignItemInput{CampaignID: item.CampaignID, ItemID: item.ID,
		To: to, Answered: answered})
}

// report advances the item, and requires that this succeeds.
func report(t *testing.T, tenant *db.Tenant, item *model.CampaignItem,
	to model.CampaignItemStatus) *model.CampaignItem {
	t.Helper()
	moved, err := advance(t.Context(), tenant, item, to, nil)
	require.NoError(t, err)
	return moved
}

func eventsOf(t *testing.T, tenant *db.Tenant, itemID string) (events []*model.CampaignItemEvent, types string) {
	t.Helper()
	events, err := dbtest.Find[*model.CampaignItemEvent](t.Context(), tenant, db.EventsOfItems, []string{itemID})
	require.NoError(t, err)
	var names []string
	for i, e := range events {
		require.EqualValues(t, i+1, e.Number)
		names = append(names, e.Type.String())
	}
	return events, strings.Join(names, " ")
}

// stored requires that the stored item equals the given one, and returns it.
func stored(t *testing.T, tenant *db.Tenant, item *model.CampaignItem) *model.CampaignItem {
	t.Helper()
	read, err := tenant.CampaignItem(t.Context(), item.CampaignID, item.ID)
	require.NoError(t, err)
	for _, i := range []*model.CampaignItem{item, read} {
		i.Owned = model.Owned{CompanyID: read.CompanyID}
	}
	same(t, item, read)
	return read
}

func TestItemMovesFromPendingToProcessed(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	item := stored(t, tenant, add(t, tenant, campaign.ID, 1)[0])
	require.Equal(t, "+12025550100", item.PhoneNumber)
	require.Equal(t, `{"b":"1","a":"it's"}`, string(item.DataBag))
	types, err := tenant.Types(t.Context(), []string{item.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]string{item.ID: "campaign item"}, types)

	item = stored(t, tenant, report(t, tenant, item, model.CampaignItemStatusCalling))
	require.EqualValues(t, 1, item.AttemptCount)
	item, err = advance(t.Context(), tenant, item, model.CampaignItemStatusPending, new(false))
	require.NoError(t, err)
	stored(t, tenant, item)
	require.WithinDuration(t, item.LastCallDate.Add(30*time.Minute), *item.NextTryDate, time.Minute)

	report(t, tenant, item, model.CampaignItemStatusCalling)
	item, err = advance(t.Context(), tenant, item, model.CampaignItemStatusCalling, new(true))
	require.NoError(t, err)
	require.True(t, stored(t, tenant, item).IsPickedUp)
	stored(t, tenant, report(t, tenant, item, model.CampaignItemStatusProcessingResult))
	item, err = tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{
		CampaignID: campaign.ID, ItemID: item.ID, To: model.CampaignItemStatusProcessed,
		Result: &model.CampaignItemResultInput{
			Tag: &model.CampaignItemTagInput{Name: "Booked"}, Summary: new(`it's \u0000 booked`),
			Metadata: model.JSONObject(`{"z":"Monday","a":2.50}`),
			Conversation: &model.CampaignItemConversationInput{ID: "call_1", Messages: []*model.CampaignItemMessageInput{
				{Timestamp: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), Role: model.MessageRoleUser, Text: "Yes",
					Intent: new("agree")},
			}},
		},
	})
	require.NoError(t, err)
	read := stored(t, tenant, item)
	require.Equal(t, `{"z":"Monday","a":2.50}`, string(read.Result.Metadata))
	require.Equal(t, "agree", *read.Result.Conversation.Messages[0].Intent)
	events, names := eventsOf(t, tenant, item.ID)
	require.Equal(t, "LaunchCall EndCall LaunchCall PickUp EndCall", names)
	require.Equal(t, "Attempt 2 of 2 began: +*******0100.", events[2].Description)

	item, err = tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID,
		ItemID: item.ID})
	require.NoError(t, err)
	read = stored(t, tenant, item)
	require.Zero(t, read.AttemptCount)
	require.Nil(t, read.Result)
	_, names = eventsOf(t, tenant, item.ID)
	require.Equal(t, "LaunchCall EndCall LaunchCall PickUp EndCall ResetCall", names)
}

// A reset that is based on an older state of an item does not undo later events.
func TestResetOfAChangedItemIsRefused(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	seen := add(t, tenant, campaign.ID, 1)[0]
	called, err := tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{CampaignID: campaign.ID,
		ItemID: seen.ID, To: model.CampaignItemStatusCalling})
	require.NoError(t, err)

	_, err = tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID, ItemID: seen.ID,
		ExpectedVersion: &seen.Version})
	require.Contains(t, fails(t, err, model.Conflict), "it is Calling")
	faults(t, err, model.Conflict, "expectedVersion", "must be the current version")
	_, err = tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID, ItemID: seen.ID,
		ExpectedVersion: new(int32(0))})
	faults(t, err, model.BadInput, "expectedVersion", "must be at least 1")
	stored(t, tenant, called)

	reset, err := tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID,
		ItemID: seen.ID, ExpectedVersion: &called.Version})
	require.NoError(t, err)
	require.Equal(t, model.CampaignItemStatusPending, reset.RunningStatus)
}

// After any report, the stored item equals the result of the state machine, and its events are stored.
func TestRandomReportsFollowTheStateMachine(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	random := rand.New(rand.NewPCG(1, 2))
	legal := 0
	for _, item := range add(t, tenant, campaign.ID, 8) {
		for range 25 {
			want, tried := *item, time.Now()
			var err error
			var now *model.CampaignItem
			var events []*model.CampaignItemEvent
			if random.IntN(6) == 0 {
				events, err = want.Reset(tried)
				require.NoError(t, err)
				now, err = tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID,
					ItemID: item.ID})
				require.NoError(t, err)
			} else {
				in := model.AdvanceCampaignItemInput{
					CampaignID: campaign.ID, ItemID: item.ID,
					To:       model.AllCampaignItemStatus[random.IntN(len(model.AllCampaignItemStatus))],
					Answered: []*bool{nil, new(true), new(false)}[random.IntN(3)],
				}
				events, err = want.Advance(in, campaign, nil, tried)
				var refused error
				now, refused = tenant.AdvanceCampaignItem(t.Context(), in)
				if err != nil {
					require.EqualError(t, refused, err.Error())
					continue
				}
				require.NoError(t, refused)
			}
			legal++
			item = stored(t, tenant, now)
			require.Equal(t, want.RunningStatus, item.RunningStatus)
			require.Equal(t, want.AttemptCount, item.AttemptCount)
			require.Equal(t, want.EventCount, item.EventCount)
			kept, _ := eventsOf(t, tenant, item.ID)
			require.Len(t, kept, int(want.EventCount))
			for i, event := range events {
				require.Equal(t, event.Type, kept[len(kept)-len(events)+i].Type)
			}
		}
	}
	require.Greater(t, legal, 50)
}

func TestConcurrentReportsOfATransitionAreSavedOnce(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	replicas := []*db.Tenant{tenant, dbtest.Reopen(t, store).Tenant(company)}
	campaign := newCampaign(t, tenant)
	for _, item := range add(t, tenant, campaign.ID, 10) {
		for _, to := range []model.CampaignItemStatus{
			model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult, model.CampaignItemStatusProcessed,
		} {
			var won atomic.Int32
			errs := together(8, func(i int) error {
				_, err := advance(t.Context(), replicas[i%2], item, to, nil)
				if err == nil {
					won.Add(1)
				}
				return err
			})
			require.EqualValues(t, 1, won.Load())
			for _, err := range errs {
				fails(t, err, model.Conflict)
			}
		}
		_, types := eventsOf(t, tenant, item.ID)
		require.Equal(t, "LaunchCall PickUp EndCall", types)
		require.EqualValues(t, 1, stored(t, tenant, reread(t, tenant, item)).AttemptCount)
	}
}

func reread(t *testing.T, tenant *db.Tenant, item *model.CampaignItem) *model.CampaignItem {
	t.Helper()
	again, err := tenant.CampaignItem(t.Context(), item.CampaignID, item.ID)
	require.NoError(t, err)
	return again
}

func TestItemsAreAddedAllOrNone(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant, func(in *model.CreateCampaignInput) {
		in.AgentID = newOutboundAgent(t, tenant, &model.AgentField{Name: "a", IsMandatory: true},
			&model.AgentField{Name: "phoneNumber", IsMandatory: true, IsSystem: true}).ID
	})
	total := func() int32 {
		page, err := tenant.CampaignItems(t.Context(), model.PageArgs{First: 1}, campaign.ID, nil, nil, nil)
		require.NoError(t, err)
		count, err := page.TotalCount(t.Context())
		require.NoError(t, err)
		return count
	}
	in := contacts(campaign.ID, 1_000)
	in.Items[999].PhoneNumber, in.Items[3].PhoneNumber = "12", ""
	_, err := tenant.AddCampaignItems(t.Context(), in)
	faults(t, err, model.BadInput, "items.999.phoneNumber", "valid phone number")
	faults(t, err, model.BadInput, "items.3.phoneNumber", "Phone campaigns need")
	in = contacts(campaign.ID, 1_000)
	in.Items[7].DataBag = nil
	_, err = tenant.AddCampaignItems(t.Context(), in)
	faults(t, err, model.Unprocessable, "items.7.dataBag.a", "mandatory")
	require.Zero(t, total())
	items := add(t, tenant, campaign.ID, 1_000)
	require.EqualValues(t, 1_000, total())
	for i, item := range items {
		require.EqualValues(t, i+1, item.Version)
	}
	_, err = tenant.AddCampaignItems(t.Context(), contacts("campaign_none", 1))
	faults(t, err, model.NotFound, "campaignId", "must be the id of a campaign")
}

func TestItemsAreFilteredByStatusAndArchive(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 5)
	add(t, tenant, newCampaign(t, tenant).ID, 2)
	report(t, tenant, items[0], model.CampaignItemStatusCalling)
	archived, err := tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{
		CampaignID: campaign.ID, ItemIds: []string{items[4].ID, items[1].ID, items[4].ID}, IsArchived: true,
	})
	require.NoError(t, err)
	require.Equal(t, []string{items[4].ID, items[1].ID}, idsOf(archived))
	stored(t, tenant, archived[0])
	for _, c := range []struct {
		status     *model.CampaignItemStatus
		isArchived *bool
		want       []int
	}{
		{nil, nil, []int{4, 3, 2, 1, 0}}, {nil, new(true), []int{4, 1}}, {nil, new(false), []int{3, 2, 0}},
		{new(model.CampaignItemStatusPending), nil, []int{4, 3, 2, 1}}, {new(model.CampaignItemStatusPending), new(false),
			[]int{3, 2}},
		{new(model.CampaignItemStatusCalling), nil, []int{0}}, {new(model.CampaignItemStatusError), nil, []int{}},
	} {
		want := []string{}
		for _, i := range c.want {
			want = append(want, items[i].ID)
		}
		page, err := tenant.CampaignItems(t.Context(), model.PageArgs{First: 10}, campaign.ID, c.status, c.isArchived, nil,
			"running_status")
		require.NoError(t, err)
		require.Equal(t, want, idsOf(page.Nodes))
		wanted := db.ItemsMatching(c.status, c.isArchived, nil)
		listed, err := dbtest.Pages[*model.CampaignItem](t.Context(), tenant, db.ItemsOfCampaigns, wanted,
			[]string{campaign.ID}, model.PageArgs{First: 10})
		require.NoError(t, err)
		require.Equal(t, want, idsOf(listed))
		counts, err := dbtest.Counts(t.Context(), tenant, db.ItemsOfCampaigns, wanted, []string{campaign.ID})
		require.NoError(t, err)
		require.Equal(t, []int32{int32(len(want))}, counts)
	}
	_, err = tenant.CampaignItems(t.Context(), model.PageArgs{First: 10}, "campaign_none", nil, nil, nil)
	faults(t, err, model.NotFound, "campaignId", "must be the id of a campaign")
}

func TestArchivedItemsCannotChange(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 2)
	archive := func(isArchived bool, ids ...string) error {
		_, err := tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{CampaignID: campaign.ID,
			ItemIds: ids, IsArchived: isArchived})
		return err
	}
	require.NoError(t, archive(true, items[0].ID))
	_, err := advance(t.Context(), tenant, items[0], model.CampaignItemStatusCalling, nil)
	require.Contains(t, fails(t, err, model.Conflict), "is archived")
	_, err = tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID,
		ItemID: items[0].ID})
	require.Contains(t, fails(t, err, model.Conflict), "is archived")
	version := reread(t, tenant, items[0]).Version
	require.NoError(t, archive(true, items[0].ID), "again is no change")
	require.Equal(t, version, reread(t, tenant, items[0]).Version)
	report(t, tenant, items[1], model.CampaignItemStatusCalling)
	require.NoError(t, archive(false, items[0].ID))
	fails(t, archive(true, items[0].ID, items[1].ID), model.Conflict)
	require.Contains(t, fails(t, archive(true, items[0].ID, "item_none"), model.NotFound), "item_none")
	require.False(t, reread(t, tenant, items[0]).IsArchived, "all or none")
	report(t, tenant, items[0], model.CampaignItemStatusCalling)
}

func TestItemsAreDeletedUnlessTheyAreBeingCalled(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign, other := newCampaign(t, tenant), newCampaign(t, tenant)
	item := add(t, tenant, campaign.ID, 1)[0]
	remove := func(campaignID, itemID string) error {
		return tenant.DeleteCampaignItem(t.Context(), model.DeleteCampaignItemInput{CampaignID: campaignID, ItemID: itemID})
	}
	require.Equal(t, `campaign "campaign_none" does not exist`, fails(t, remove("campaign_none", item.ID), model.NotFound))
	require.Contains(t, fails(t, remove(other.ID, item.ID), model.NotFound), item.ID)
	report(t, tenant, item, model.CampaignItemStatusCalling)
	require.Contains(t, fails(t, remove(campaign.ID, item.ID), model.Conflict), "is in a call")
	report(t, tenant, item, model.CampaignItemStatusProcessingResult)
	require.NoError(t, remove(campaign.ID, item.ID))
	require.Contains(t, fails(t, remove(campaign.ID, item.ID), model.NotFound), item.ID)
	_, types := eventsOf(t, tenant, item.ID)
	require.Empty(t, types)
	_, err := tenant.CampaignItem(t.Context(), campaign.ID, item.ID)
	fails(t, err, model.NotFound)
}

func TestNumbersAreFilteredWithOrWithoutPlus(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	add(t, tenant, campaign.ID, 3)
	for prefix, want := range map[string]int{"+1202": 3, "1202": 3, "": 3, "+": 3, "202": 0} {
		page, err := tenant.CampaignItems(t.Context(), model.PageArgs{First: 10}, campaign.ID, nil, nil,
			&model.CampaignItemFilter{PhoneNumberPrefix: &prefix})
		require.NoError(t, err)
		require.Len(t, page.Nodes, want, prefix)
	}
}

func TestItemsAreFilteredByVersion(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 3)
	changedAfter := func(version int32) []string {
		page, err := tenant.CampaignItems(t.Context(), model.PageArgs{First: 10}, campaign.ID, nil, nil,
			&model.CampaignItemFilter{AfterVersion: &version})
		require.NoError(t, err)
		ids := []string{}
		for _, item := range page.Nodes {
			ids = append(ids, item.ID)
		}
		return ids
	}
	require.Len(t, changedAfter(0), 3)
	before, err := tenant.Campaign(t.Context(), campaign.ID)
	require.NoError(t, err)
	require.Empty(t, changedAfter(before.ItemVersion))
	_, err = tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{CampaignID: campaign.ID,
		ItemIds: []string{items[1].ID}, IsArchived: true})
	require.NoError(t, err)
	require.Equal(t, []string{items[1].ID}, changedAfter(before.ItemVersion))
}
