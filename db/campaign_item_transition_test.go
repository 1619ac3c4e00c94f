package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// If another request changes the rows that a legal transition depends on, the transition is retried.
func TestTransitionsDetectConcurrentChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change string
		check  func(t *testing.T, item *model.CampaignItem, err error)
	}{
		"a claim stays": {
			`UPDATE campaign_items SET claim_id = 'claim_x' WHERE id = $1`,
			func(t *testing.T, item *model.CampaignItem, err error) {
				require.NoError(t, err)
				require.Equal(t, model.CampaignItemStatusCalling, item.RunningStatus)
				require.Equal(t, "claim_x", *item.ClaimID)
			},
		},
		"another move": {
			`UPDATE campaign_items SET running_status = 'Calling', attempt_count = 2, next_try_date = NULL, version = 100
				WHERE id = $1`,
			func(t *testing.T, _ *model.CampaignItem, err error) {
				require.Contains(t, fails(t, err, model.Conflict), "is Calling")
			},
		},
		"archived": {
			`UPDATE campaign_items SET is_archived = true, version = 100 WHERE id = $1`,
			func(t *testing.T, _ *model.CampaignItem, err error) {
				require.Contains(t, fails(t, err, model.Conflict), "is archived")
			},
		},
		"deleted": {
			`DELETE FROM campaign_items WHERE id = $1`,
			func(t *testing.T, _ *model.CampaignItem, err error) { fails(t, err, model.NotFound) },
		},
		"fewer attempts": {
			`UPDATE campaigns SET max_attempts = 1 FROM campaign_items AS item WHERE campaigns.id = item.campaign_id
				AND item.id = $1`,
			func(t *testing.T, _ *model.CampaignItem, err error) {
				require.Contains(t, fails(t, err, model.Conflict), "had 1 of 1 attempts")
			},
		},
		"the campaign archived": {
			`UPDATE campaigns SET status = 'Archived' FROM campaign_items AS item WHERE campaigns.id = item.campaign_id
				AND item.id = $1`,
			func(t *testing.T, _ *model.CampaignItem, err error) {
				require.Contains(t, fails(t, err, model.Conflict), "is archived")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, conn := fresh(t)
			tenant, _ := newCompany(t, store)
			item := add(t, tenant, newCampaign(t, tenant).ID, 1)[0]
			report(t, tenant, item, model.CampaignItemStatusCalling)
			_, err := advance(t.Context(), tenant, item, model.CampaignItemStatusPending, new(false))
			require.NoError(t, err)

			other, err := conn.Begin(t.Context())
			require.NoError(t, err)
			_, err = other.Exec(t.Context(), test.change, item.ID)
			require.NoError(t, err)
			done := make(chan struct{})
			var moved *model.CampaignItem
			var failed error
			go func() {
				defer close(done)
				moved, failed = advance(t.Context(), tenant, item, model.CampaignItemStatusCalling, nil)
			}()
			waitForLocks(t, connect(t, conn.Config().ConnString()), 1)
			require.NoError(t, other.Commit(t.Context()))
			<-done
			test.check(t, moved, failed)
			if failed == nil {
				stored(t, tenant, moved)
			}
		})
	}
}

func TestConcurrentResetsOfAnItemSucceed(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	item := add(t, tenant, newCampaign(t, tenant).ID, 1)[0]
	const resets = 24
	require.Empty(t, together(resets, func(int) error {
		_, err := tenant.ResetCampaignItem(t.Context(), model.ResetCampaignItemInput{CampaignID: item.CampaignID,
			ItemID: item.ID})
		return err
	}))
	events, _ := eventsOf(t, tenant, item.ID)
	require.Len(t, events, resets)
	require.Greater(t, reread(t, tenant, item).Version, int32(resets))
}
