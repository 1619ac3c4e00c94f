package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func campaignCounts(ctx context.Context, campaign *model.Campaign) (*model.CampaignItemCounts, error) {
	counts, isShared, err := campaign.SharedCounts()
	if !isShared {
		counts, err = query.Value(ctx, campaign, "counts", query.ReadMethod((*db.Tenant).CountsOfCampaigns))
	}
	if err != nil || counts != nil {
		return counts, err
	}
	return &model.CampaignItemCounts{}, nil
}

// checkItemFilter refuses a filter by phone number to callers who may not read contacts. Otherwise they could find a
// number by trying prefixes.
func checkItemFilter(ctx context.Context, filter *model.CampaignItemFilter) error {
	if principal, _ := model.PrincipalOf(ctx); filter != nil && filter.PhoneNumberPrefix != nil &&
		!principal.Can(model.APIKeyScopeContacts) {
		return model.Errorf(model.Forbidden, "the filter phoneNumberPrefix needs the scope contacts, which the "+
			"credential does not have")
	}
	return nil
}
