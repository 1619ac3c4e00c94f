package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestItemsWithTheSameNumberAreAddedOnce(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	germany := "DE"
	campaign := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.DefaultRegion = &germany })
	give := func(on model.OnDuplicate, numbers ...string) (*model.AddCampaignItemsPayload, error) {
		in := model.AddCampaignItemsInput{CampaignID: campaign.ID, OnDuplicate: on}
		for _, number := range numbers {
			in.Items = append(in.Items, &model.CampaignItemInput{PhoneNumber: number})
		}
		return tenant.AddCampaignItems(t.Context(), in)
	}
	added, err := give(model.OnDuplicateSkip, "030 123456", "+49 30 654321", "+49 (0)30 123456")
	require.NoError(t, err)
	require.Len(t, added.Items, 2)
	first, second := added.Items[0], added.Items[1]
	zero := int32(0)
	require.Equal(t, []*model.CampaignItemDuplicate{{Index: 2, PhoneNumber: "+4930123456", FirstIndex: &zero}},
		added.Duplicates)

	_, err = give(model.OnDuplicateRefuse, "+4940123456", "+4930123456", "040 123456")
	faults(t, err, model.Conflict, "items.1.phoneNumber", "is already the number of the open item \""+first.ID+"\"")
	faults(t, err, model.Conflict, "items.2.phoneNumber", "is also the number of items.0")
	added, err = give(model.OnDuplicateKeep, "+4930123456")
	require.NoError(t, err)
	require.Len(t, added.Items, 1)
	require.Equal(t, []*model.CampaignItemDuplicate{{PhoneNumber: "+4930123456", ItemID: &first.ID}}, added.Duplicates)

	// A contact has one open item at a time. Closed items do not count.
	_, err = tenant.ArchiveCampaignItems(t.Context(), model.ArchiveCampaignItemsInput{CampaignID: campaign.ID,
		ItemIds: []string{second.ID}, IsArchived: true})
	require.NoError(t, err)
	added, err = give(model.OnDuplicateSkip, "+4930654321", "+4930123456")
	require.NoError(t, err)
	require.Len(t, added.Items, 1)
	require.Len(t, added.Duplicates, 1)
	added, err = give(model.OnDuplicateSkip, "+4930654321")
	require.NoError(t, err)
	require.Empty(t, added.Items)
	counts := reread(t, tenant, first)
	require.Equal(t, first.Version, counts.Version)
}

func TestConcurrentItemsWithTheSameNumberAreAddedOnce(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	replicas := []*db.Tenant{tenant, dbtest.Reopen(t, store).Tenant(company)}
	campaign := newCampaign(t, tenant)
	errs := together(16, func(i int) error {
		_, err := replicas[i%2].AddCampaignItems(t.Context(), contacts(campaign.ID, 20))
		return err
	})
	require.Empty(t, errs)
	page, err := tenant.CampaignItems(t.Context(), model.PageArgs{First: 100}, campaign.ID, nil, nil, nil)
	require.NoError(t, err)
	numbers := map[string]bool{}
	for _, item := range page.Nodes {
		numbers[item.PhoneNumber] = true
	}
	require.Len(t, page.Nodes, 20)
	require.Len(t, numbers, 20)
}
