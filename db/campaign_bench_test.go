package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// benchmarkCampaign returns a running campaign. thousands is the number of its items, in thousands.
func benchmarkCampaign(b *testing.B, thousands int) (*db.Tenant, *model.Campaign) {
	b.Helper()
	store := dbtest.Open(b, dbtest.URL(b), db.Options{MaxConnections: 24})
	company, err := store.CreateCompany(b.Context(), "A company")
	require.NoError(b, err)
	tenant := store.Tenant(company.ID)
	in := agentInput()
	in.Direction = model.DirectionOutbound
	agent, err := tenant.CreateAgent(b.Context(), in)
	require.NoError(b, err)
	campaign, err := tenant.CreateCampaign(b.Context(), model.CreateCampaignInput{AgentID: agent.ID, Name: "A",
		MaxAttempts: 2})
	require.NoError(b, err)
	_, err = tenant.UpdateCampaign(b.Context(), model.UpdateCampaignInput{CampaignID: campaign.ID,
		Status: new(model.CampaignStatusRunning)})
	require.NoError(b, err)
	for range thousands {
		_, err := tenant.AddCampaignItems(b.Context(), contacts(campaign.ID, 1_000))
		require.NoError(b, err)
	}
	return tenant, campaign
}

// BenchmarkClaimItems measures how many items per second concurrent dialers claim, out of 20,000.
func BenchmarkClaimItems(b *testing.B) {
	for _, dialers := range []int{1, 16} {
		for _, limit := range []int32{1, 50} {
			b.Run(fmt.Sprintf("dialers=%d/limit=%d", dialers, limit), func(b *testing.B) {
				tenant, campaign := benchmarkCampaign(b, 20)
				var left, handed atomic.Int64
				left.Store(int64(b.N))
				b.ResetTimer()
				started := time.Now()
				errs := together(dialers, func(int) error {
					for left.Add(-1) >= 0 {
						_, items, err := tenant.ClaimCampaignItems(b.Context(), model.ClaimCampaignItemsInput{
							CampaignID: campaign.ID, Limit: limit, LeaseSeconds: 3_600,
						})
						if err != nil {
							return err
						}
						handed.Add(int64(len(items)))
					}
					return nil
				})
				require.Empty(b, errs)
				b.ReportMetric(float64(handed.Load())/time.Since(started).Seconds(), "items/s")
			})
		}
	}
}

// BenchmarkAdvanceItems measures how many transitions of one campaign's items are stored per second by 16 concurrent
// clients.
func BenchmarkAdvanceItems(b *testing.B) {
	tenant, campaign := benchmarkCampaign(b, 1)
	page, err := tenant.CampaignItems(b.Context(), model.PageArgs{First: 16}, campaign.ID, nil, nil, nil)
	require.NoError(b, err)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	errs := together(len(page.Nodes), func(i int) error {
		item := page.Nodes[i]
		for n := 0; left.Add(-1) >= 0; n++ {
			if n%2 == 1 {
				if _, err := tenant.ResetCampaignItem(b.Context(), model.ResetCampaignItemInput{CampaignID: campaign.ID,
					ItemID: item.ID}); err != nil {
					return err
				}
				continue
			}
			if _, err := advance(b.Context(), tenant, item, model.CampaignItemStatusCalling, nil); err != nil {
				return err
			}
		}
		return nil
	})
	require.Empty(b, errs)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "moves/s")
}
