package resolvers

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

// campaign returns one campaign. NOT_FOUND names the argument, as for all lookups within a campaign.
func (r *Resolver) campaign(ctx context.Context, id string) (*model.Campaign, error) {
	campaign, err := query.ByID[*model.Campaign](ctx, id)
	if missing, ok := errors.AsType[*model.Error](err); ok && missing.Code == model.NotFound {
		return nil, model.MissingCampaign("id", id)
	}
	return campaign, err
}

// campaignCounts counts the campaign's items by state.
func campaignCounts(ctx context.Context, campaign *model.Campaign) (*model.CampaignItemCounts, error) {
	counts, isShared, err := campaign.SharedCounts()
	if !isShared {
		counts, err = query.Value(ctx, campaign, "counts", query.Of((*db.Tenant).CountsOfCampaigns))
	}
	if err != nil || counts != nil {
		return counts, err
	}
	return &model.CampaignItemCounts{}, nil
}

// campaignFields returns the fields of the campaign's agent and its own.
func campaignFields(ctx context.Context, campaign *model.Campaign) ([]*model.CampaignField, error) {
	agent, err := query.One[*model.Agent](ctx, campaign)
	if err != nil {
		return nil, err
	}
	return campaign.Fields(agent), nil
}

// mayFilterItems refuses a filter that tells of contacts what the caller may not read: who can try prefixes finds the
// number.
func mayFilterItems(ctx context.Context, filter *model.CampaignItemFilter) error {
	if principal, _ := model.PrincipalOf(ctx); filter != nil && filter.PhoneNumberPrefix != nil &&
		!principal.Can(model.APIKeyScopeContacts) {
		return model.Errorf(model.Forbidden, "the credential does not have the scope contacts, which the filter "+
			"phoneNumberPrefix needs")
	}
	return nil
}
