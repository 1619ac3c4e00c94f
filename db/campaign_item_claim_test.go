package db_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func claimItems(t *testing.T, tenant *db.Tenant, campaignID string, limit int32) (string, []*model.CampaignItem) {
	t.Helper()
	id, items, err := tenant.ClaimCampaignItems(t.Context(), model.ClaimCampaignItemsInput{CampaignID: campaignID,
		Limit: limit, LeaseSeconds: 60})
	require.NoError(t, err)
	if id == nil {
		require.Empty(t, items)
		return "", nil
	}
	return *id, items
}

// lapse ends every claim and every delay.
func lapse(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	_, err := conn.Exec(t.Context(), "UPDATE campaign_items SET due_at = due_at - interval '1 day'")
	require.NoError(t, err)
}

func TestDialersNeverShareAnItem(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	replicas := []*db.Tenant{tenant, dbtest.Reopen(t, store).Tenant(company)}
	campaign := newCampaign(t, tenant)
	add(t, tenant, campaign.ID, 1_000)
	var mu sync.Mutex
	taken := map[string][]string{}
	errs := together(32, func(i int) error {
		for {
			id, items, err := replicas[i%2].ClaimCampaignItems(t.Context(), model.ClaimCampaignItemsInput{
				CampaignID: campaign.ID, Limit: int32(1 + i%9), LeaseSeconds: 60,
			})
			if err != nil || id == nil {
				return err
			}
			if len(items) > 1+i%9 {
				return fmt.Errorf("%d items, more than the limit", len(items))
			}
			mu.Lock()
			for _, item := range items {
				taken[item.ID] = append(taken[item.ID], *item.ClaimID)
			}
			mu.Unlock()
		}
	})
	require.Empty(t, errs)
	// A claim may return no item while other dialers receive the last ones. No item remains unclaimed.
	require.Len(t, taken, 1_000)
	for id, claims := range taken {
		require.Len(t, claims, 1, id)
	}
}

func TestClaimsExpireAndAreRenewed(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 4)
	id, first := claimItems(t, tenant, campaign.ID, 3)
	require.Equal(t, idsOf(items[:3]), idsOf(first), "those that have waited longest")
	for _, item := range first {
		require.Equal(t, model.CampaignItemStatusPending, stored(t, tenant, item).RunningStatus)
		require.WithinDuration(t, time.Now().Add(time.Minute), *item.ClaimedUntil(), 30*time.Second)
		require.Zero(t, item.AttemptCount)
	}
	_, rest := claimItems(t, tenant, campaign.ID, 3)
	require.Equal(t, []string{items[3].ID}, idsOf(rest))
	none, _ := claimItems(t, tenant, campaign.ID, 3)
	require.Empty(t, none)

	// When its call starts, an item leaves the claim. It is never claimed again.
	report(t, tenant, items[0], model.CampaignItemStatusCalling)
	held, err := tenant.RenewCampaignClaim(t.Context(), model.RenewCampaignClaimInput{CampaignID: campaign.ID, ClaimID: id,
		LeaseSeconds: 3_600})
	require.NoError(t, err)
	require.Equal(t, idsOf(items[1:3]), idsOf(held))
	require.WithinDuration(t, time.Now().Add(time.Hour), *held[0].ClaimedUntil(), time.Minute)

	lapse(t, conn)
	require.Nil(t, reread(t, tenant, items[1]).ClaimedUntil())
	second, again := claimItems(t, tenant, campaign.ID, 10)
	require.ElementsMatch(t, idsOf(items[1:]), idsOf(again))
	held, err = tenant.RenewCampaignClaim(t.Context(), model.RenewCampaignClaimInput{CampaignID: campaign.ID, ClaimID: id,
		LeaseSeconds: 60})
	require.NoError(t, err)
	require.Empty(t, held, "somebody else has them")
	late := func(claim string) error {
		_, err := tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{
			CampaignID: campaign.ID, ItemID: items[1].ID, To: model.CampaignItemStatusCalling, ClaimID: &claim,
		})
		return err
	}
	require.Contains(t, fails(t, late(id), model.Conflict), "no longer claimed")
	require.NoError(t, late(second))

	// Renewing an expired claim claims its items again, except those that another dialer has claimed.
	lapse(t, conn)
	held, err = tenant.RenewCampaignClaim(t.Context(), model.RenewCampaignClaimInput{CampaignID: campaign.ID,
		ClaimID: second, LeaseSeconds: 60})
	require.NoError(t, err)
	require.Equal(t, idsOf(items[2:]), idsOf(held))
	none, _ = claimItems(t, tenant, campaign.ID, 10)
	require.Empty(t, none)
}

func TestOnlyDueItemsAreClaimed(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 3)
	other := newCampaign(t, tenant)
	add(t, tenant, other.ID, 1)
	_, err := tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{CampaignID: campaign.ID,
		ItemIds: []string{items[0].ID}, IsArchived: true})
	require.NoError(t, err)
	report(t, tenant, items[1], model.CampaignItemStatusCalling)
	missed, err := advance(t.Context(), tenant, items[1], model.CampaignItemStatusPending, new(false))
	require.NoError(t, err)
	require.NotNil(t, missed.NextTryDate)
	_, due := claimItems(t, tenant, campaign.ID, 10)
	require.Equal(t, []string{items[2].ID}, idsOf(due))
	lapse(t, conn)
	_, due = claimItems(t, tenant, campaign.ID, 10)
	require.ElementsMatch(t, idsOf(items[1:]), idsOf(due))
	reset, err := tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID,
		ItemID: items[1].ID})
	require.NoError(t, err)
	require.Nil(t, reset.ClaimedUntil())
	_, due = claimItems(t, tenant, campaign.ID, 10)
	require.Equal(t, []string{items[1].ID}, idsOf(due), "due immediately")

	for _, status := range []model.CampaignStatus{model.CampaignStatusPaused, model.CampaignStatusCompleted,
		model.CampaignStatusArchived} {
		become(t, tenant, other.ID, status)
		_, _, err := tenant.ClaimCampaignItems(t.Context(), model.ClaimCampaignItemsInput{CampaignID: other.ID, Limit: 1,
			LeaseSeconds: 60})
		require.Contains(t, fails(t, err, model.Conflict), "is "+status.String())
	}
	_, _, err = tenant.ClaimCampaignItems(t.Context(), model.ClaimCampaignItemsInput{CampaignID: "campaign_none", Limit: 1,
		LeaseSeconds: 60})
	faults(t, err, model.NotFound, "campaignId", "must be the id of a campaign")
	_, err = tenant.RenewCampaignClaim(t.Context(), model.RenewCampaignClaimInput{CampaignID: "campaign_none",
		ClaimID: "claim_1", LeaseSeconds: 60})
	faults(t, err, model.NotFound, "campaignId", "must be the id of a campaign")
}

func TestClaimsAreRenewedWhileItemsAreArchived(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 300)
	id, _ := claimItems(t, tenant, campaign.ID, 300)
	errs := together(6, func(n int) error {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		ids := idsOf(items)
		for range 20 {
			var err error
			if n%2 == 0 {
				_, err = tenant.RenewCampaignClaim(t.Context(), model.RenewCampaignClaimInput{CampaignID: campaign.ID, ClaimID: id,
					LeaseSeconds: 60})
			} else {
				random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				_, err = tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{
					CampaignID: campaign.ID, ItemIds: ids[:150], IsArchived: random.IntN(2) == 0,
				})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.Empty(t, errs)
	renewed, err := tenant.RenewCampaignClaim(t.Context(), model.RenewCampaignClaimInput{CampaignID: campaign.ID,
		ClaimID: id, LeaseSeconds: 60})
	require.NoError(t, err)
	for _, item := range renewed {
		require.False(t, item.IsArchived, "archived items are not claimed")
	}
	counts, err := tenant.CountsOfCampaigns(t.Context(), []string{campaign.ID})
	require.NoError(t, err)
	var archived int32
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM campaign_items WHERE is_archived").Scan(&archived))
	require.EqualValues(t, len(items), counts[campaign.ID].Total+archived)
}

func TestItemsWithoutAttemptsAreNotCalled(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	campaign := newCampaign(t, tenant)
	attempts := func(most int32) {
		_, err := tenant.UpdateCampaign(t.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID, MaxAttempts: &most})
		require.NoError(t, err)
	}
	attempts(3)
	item, waiting := add(t, tenant, campaign.ID, 1)[0], add(t, tenant, campaign.ID, 1)[0]
	for range 2 {
		report(t, tenant, item, model.CampaignItemStatusCalling)
		_, err := advance(t.Context(), tenant, item, model.CampaignItemStatusPending, new(false))
		require.NoError(t, err)
	}
	lapse(t, conn)
	claim, claimed := claimItems(t, tenant, campaign.ID, 10)
	require.ElementsMatch(t, []string{item.ID, waiting.ID}, idsOf(claimed))

	attempts(2)
	renewed, err := tenant.RenewCampaignClaim(t.Context(), model.RenewCampaignClaimInput{CampaignID: campaign.ID,
		ClaimID: claim, LeaseSeconds: 60})
	require.NoError(t, err)
	require.Equal(t, []string{waiting.ID}, idsOf(renewed))
	_, err = advance(t.Context(), tenant, item, model.CampaignItemStatusCalling, nil)
	require.Contains(t, fails(t, err, model.Conflict), "had 2 of 2 attempts")
	_, types := eventsOf(t, tenant, item.ID)
	require.Equal(t, "LaunchCall EndCall LaunchCall EndCall", types)
	lapse(t, conn)
	_, claimed = claimItems(t, tenant, campaign.ID, 10)
	require.Equal(t, []string{waiting.ID}, idsOf(claimed))

	attempts(3)
	lapse(t, conn)
	_, claimed = claimItems(t, tenant, campaign.ID, 10)
	require.ElementsMatch(t, []string{item.ID, waiting.ID}, idsOf(claimed))
	attempts(1)
	_, err = tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID, ItemID: item.ID})
	require.NoError(t, err)
	report(t, tenant, item, model.CampaignItemStatusCalling)
	last, err := advance(t.Context(), tenant, item, model.CampaignItemStatusPending, new(false))
	require.NoError(t, err)
	require.Equal(t, model.CampaignItemStatusProcessed, last.RunningStatus)
}

func TestPausedCampaignStartsNoCalls(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	for _, status := range []model.CampaignStatus{model.CampaignStatusPaused, model.CampaignStatusCompleted} {
		campaign := newCampaign(t, tenant)
		items := add(t, tenant, campaign.ID, 3)
		claim, _ := claimItems(t, tenant, campaign.ID, 2)
		call := func(item *model.CampaignItem, claim *string) error {
			_, err := tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{CampaignID: campaign.ID,
				ItemID: item.ID, To: model.CampaignItemStatusCalling, ClaimID: claim})
			return err
		}
		require.NoError(t, call(items[0], &claim))

		become(t, tenant, campaign.ID, status)
		for _, err := range []error{call(items[1], &claim), call(items[2], nil)} {
			require.Contains(t, fails(t, err, model.Conflict),
				"is "+status.String()+", so no call can start: calls in progress continue")
		}
		renew := model.RenewCampaignClaimInput{CampaignID: campaign.ID, ClaimID: claim, LeaseSeconds: 60}
		_, err := tenant.RenewCampaignClaim(t.Context(), renew)
		require.Contains(t, fails(t, err, model.Conflict), "is "+status.String())
		_, err = advance(t.Context(), tenant, items[0], model.CampaignItemStatusCalling, new(true))
		require.NoError(t, err)
		report(t, tenant, items[0], model.CampaignItemStatusProcessingResult)
		report(t, tenant, items[0], model.CampaignItemStatusProcessed)

		become(t, tenant, campaign.ID, model.CampaignStatusRunning)
		held, err := tenant.RenewCampaignClaim(t.Context(), renew)
		require.NoError(t, err)
		require.Equal(t, idsOf(items[1:2]), idsOf(held))
		require.NoError(t, call(items[1], &claim))
	}
}
