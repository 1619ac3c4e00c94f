package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// campaignLoaders are the loaders of campaigns and their items.
type campaignLoaders struct {
	agentCampaigns *edge[*model.Agent, *model.CampaignConnection]
	campaignAgent  *edge[*model.Campaign, *model.Agent]
	// fieldsAgent reads the agent with its fields alone.
	fieldsAgent    *edge[*model.Campaign, *model.Agent]
	campaignCounts *edge[*model.Campaign, *model.CampaignItemCounts]
	campaignItems  *edgesBy[itemFilter, *model.Campaign, *model.CampaignItemConnection]
	itemCampaign   *edge[*model.CampaignItem, *model.Campaign]
	itemEvents     *edge[*model.CampaignItem, []*model.CampaignItemEvent]
}

// itemFilter says which items of a campaign are wanted; empty is any.
type itemFilter struct {
	status model.CampaignItemStatus
	// archived says whether isArchived is given.
	archived, isArchived bool
}

func newItemFilter(status *model.CampaignItemStatus, isArchived *bool) itemFilter {
	f := itemFilter{status: textOf(status), archived: isArchived != nil}
	f.isArchived = f.archived && *isArchived
	return f
}

func (f itemFilter) of(t *db.Tenant) db.Children[*model.CampaignItem] {
	if !f.archived {
		return t.ItemsOfCampaigns(given(f.status), nil)
	}
	return t.ItemsOfCampaigns(given(f.status), &f.isArchived)
}

func newCampaignLoaders(ctx context.Context, t *db.Tenant, n nouns) *campaignLoaders {
	agentOf := func(c *model.Campaign) string { return c.AgentID }
	fields := func(ctx context.Context, ids []string, _ ...string) ([]*model.Agent, error) {
		return t.AgentsByID(ctx, ids, "fields")
	}
	return &campaignLoaders{
		agentCampaigns: newEdge(ctx, n.campaign, idOf[*model.Agent], pages(t.CampaignsOfAgents())),
		campaignAgent:  newEdge(ctx, n.agent, agentOf, one("agent", t.AgentsByID)),
		fieldsAgent:    newEdge(ctx, nil, agentOf, one("agent", fields)),
		campaignCounts: newEdge(ctx, nil, idOf[*model.Campaign], mapped(t.CountsOfCampaigns)),
		campaignItems: newEdgesBy(func(f itemFilter) *edge[*model.Campaign, *model.CampaignItemConnection] {
			return newEdge(ctx, n.campaignItem, idOf[*model.Campaign], pages(f.of(t)))
		}),
		itemCampaign: newEdge(ctx, n.campaign, func(i *model.CampaignItem) string { return i.CampaignID }, one("campaign", t.CampaignsByID)),
		itemEvents:   newEdge(ctx, nil, idOf[*model.CampaignItem], many(whole(t.EventsOfItems))),
	}
}

// campaign returns one campaign; NOT_FOUND names the argument, as it does where other things are looked up
// in a campaign.
func (r *Resolver) campaign(ctx context.Context, id string) (*model.Campaign, error) {
	found, err := r.tenant(ctx).CampaignsByID(ctx, []string{id}, r.nouns.campaign.names(r.nouns.campaign.selected(ctx))...)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, model.MissingCampaign("id", id)
	}
	return found[0], nil
}

// campaignCounts returns how many items of the campaign are in which state.
func campaignCounts(ctx context.Context, campaign *model.Campaign) (*model.CampaignItemCounts, error) {
	counts, err := load(ctx).campaignCounts.load(ctx, campaign)
	if err != nil || counts != nil {
		return counts, err
	}
	return &model.CampaignItemCounts{}, nil
}

// campaignFields returns the fields of the campaign's agent and its own.
func campaignFields(ctx context.Context, campaign *model.Campaign) ([]*model.CampaignField, error) {
	agent, err := load(ctx).fieldsAgent.load(ctx, campaign)
	if err != nil {
		return nil, err
	}
	return campaign.Fields(agent), nil
}
