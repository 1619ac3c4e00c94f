package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Campaign returns one campaign, or NOT_FOUND.
func (t *Tenant) Campaign(ctx context.Context, id string) (*model.Campaign, error) {
	return findCampaign(ctx, t.db.Select((*model.Campaign)(nil)), id)
}

func (t tenantTx) lockCampaign(ctx context.Context, id string, strength rowLock) (*model.Campaign, error) {
	return findCampaign(ctx, t.db.Select((*model.Campaign)(nil)).For(string(strength)), id)
}

func findCampaign(ctx context.Context, query *bun.SelectQuery, id string) (*model.Campaign, error) {
	campaigns := []*model.Campaign{}
	if err := query.Where("?TableAlias.id = ?", id).Scan(ctx, &campaigns); err != nil {
		return nil, err
	}
	if len(campaigns) == 0 {
		return nil, model.MissingCampaign("campaignId", id)
	}
	return campaigns[0], nil
}

// Lists of a company's campaigns: by their ids, in pages, and by their agents.
var (
	CampaignRows      = pg.Rows{Type: "campaign", Model: (*model.Campaign)(nil), Key: pg.ByID}
	CampaignList      = pg.List{Model: (*model.Campaign)(nil), Order: pg.NewestFirst}
	CampaignsOfAgents = pg.List{Model: (*model.Campaign)(nil), Of: "?TableAlias.agent_id = ?1", Order: pg.NewestFirst}
)

// Campaigns returns a page of the campaigns that pass the filter, newest first.
func (t *Tenant) Campaigns(ctx context.Context, args model.PageArgs, filter *model.CampaignFilter,
	columns ...string) (*model.Page[*model.Campaign], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return pg.Page[*model.Campaign](ctx, t.db, CampaignList, args, columns, CampaignsMatching(filter))
}

// CampaignsMatching returns the filter of a list of campaigns. wanted is valid or nil.
func CampaignsMatching(wanted *model.CampaignFilter) (f pg.Filter) {
	if wanted == nil {
		return nil
	}
	f = WhereAgent(wanted.AgentID)
	if wanted.Statuses != nil {
		f = f.And("?TableAlias.status = ANY (?::text[])", wanted.Statuses)
	}
	return f.NameContains(wanted.NameContains)
}

// CreateCampaign creates a campaign, as a draft.
func (t *Tenant) CreateCampaign(ctx context.Context, in model.CreateCampaignInput) (*model.Campaign, error) {
	campaign, err := model.NewCampaign(in, now())
	if err != nil {
		return nil, err
	}
	return campaign, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.lockAgent(ctx, campaign.AgentID, forShare); err != nil {
			return err
		}
		return pg.Insert(ctx, t.db, campaign)
	})
}

// UpdateCampaign changes the fields that the input sets. It returns CONFLICT when the campaign is archived, when it
// cannot move to the new state, or when the input archives it while items are in progress. It returns UNPROCESSABLE
// when the input starts it although its agent is inbound.
func (t *Tenant) UpdateCampaign(ctx context.Context, in model.UpdateCampaignInput) (*model.Campaign, error) {
	var campaign *model.Campaign
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if campaign, err = t.lockCampaign(ctx, in.CampaignID, forUpdate); err != nil {
			return err
		}
		if err := model.Unchanged("campaign", campaign.ID, in.ExpectedUpdatedAt, campaign.UpdatedAt); err != nil {
			return err
		}
		was := campaign.Status
		if err := campaign.Update(in, now()); err != nil {
			return err
		}
		if campaign.Status != was {
			if err := t.checkStatusChange(ctx, campaign); err != nil {
				return err
			}
		}
		return t.revise(ctx, campaign, nil, "name", "status", "max_attempts", "retry_delay_minutes", "default_region",
			"updated_at")
	})
	return campaign, err
}

// DeleteCampaign deletes an archived campaign with its items. It only marks the campaign, because it can have many
// items. It returns CONFLICT when the campaign is not archived.
func (t *Tenant) DeleteCampaign(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		campaign, err := t.lockCampaign(ctx, id, forDelete)
		if err != nil {
			return err
		}
		if campaign.Status != model.CampaignStatusArchived {
			return model.Errorf(model.Conflict, "campaign %q is not archived: archive it first", id)
		}
		if err := t.recordTombstone(ctx, typeCampaign, id); err != nil {
			return err
		}
		return t.markCampaigns(ctx, pg.Where("id = ?", id))
	})
}

// markCampaigns marks campaigns as deleted, records this in the audit log, and notifies their followers.
func (t tenantTx) markCampaigns(ctx context.Context, which pg.Selection) error {
	ids := []string{}
	if err := t.db.Select((*model.Campaign)(nil)).Column("id").Apply(which).Order("id").For(string(forDelete)).
		Scan(ctx, &ids); err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		if err := t.audit(ctx, deletions[typeCampaign], id); err != nil {
			return err
		}
		t.wake(id)
	}
	return exec(ctx, t.db.Update((*model.Campaign)(nil)).Set("deleted_at = ?", now()).Where("id IN (?)", bun.List(ids)))
}

// checkStatusChange checks whether the agent and the items of a locked campaign allow its new state.
func (t *Tenant) checkStatusChange(ctx context.Context, campaign *model.Campaign) error {
	switch campaign.Status {
	case model.CampaignStatusRunning:
		agent, err := t.Agent(ctx, campaign.AgentID)
		if err != nil {
			return err
		}
		var faults model.Fields
		if agent.Direction != model.DirectionOutbound {
			faults.Add("status", "must not be Running, because the agent is inbound: only outbound agents run campaigns")
		}
		return faults.As(model.Unprocessable)
	case model.CampaignStatusArchived:
		count, err := t.db.Select((*model.CampaignItem)(nil)).Where("campaign_id = ?", campaign.ID).
			Where("running_status IN (?)", bun.List(inProgress)).Count(ctx)
		if err != nil {
			return err
		}
		if count > 0 {
			return model.Errorf(model.Conflict, "campaign %q cannot be archived until its calls and evaluations "+
				"end; in progress: %d", campaign.ID, count)
		}
	}
	return nil
}

// checkDirectionChange returns UNPROCESSABLE when a locked agent becomes inbound while one of its campaigns is running.
// It locks the agent's campaigns, so none of them starts during the transaction.
func (t tenantTx) checkDirectionChange(ctx context.Context, agent *model.Agent) error {
	if agent.Direction == model.DirectionOutbound {
		return nil
	}
	campaigns := []*model.Campaign{}
	err := t.db.Select(&campaigns).Column("id", "status").Where("agent_id = ?", agent.ID).Order("id").
		For(string(forShare)).Scan(ctx)
	if err != nil {
		return err
	}
	var faults model.Fields
	for _, campaign := range campaigns {
		if campaign.Status == model.CampaignStatusRunning {
			faults.Add("direction", "must not be Inbound, because campaign %q is Running: pause it first", campaign.ID)
			break
		}
	}
	return faults.As(model.Unprocessable)
}

// inProgress lists the states of items that are neither waiting nor finished.
var inProgress = []model.CampaignItemStatus{model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult}

// AddCampaignField adds a custom field to a campaign, and returns both.
func (t *Tenant) AddCampaignField(ctx context.Context,
	in model.AddCampaignFieldInput) (*model.Campaign, *model.CampaignField, error) {
	var campaign *model.Campaign
	var field *model.CampaignField
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if campaign, err = t.lockCampaign(ctx, in.CampaignID, forUpdate); err != nil {
			return err
		}
		agent, err := t.Agent(ctx, campaign.AgentID)
		if err != nil {
			return err
		}
		if field, err = campaign.AddField(in, agent, now()); err != nil {
			return err
		}
		return t.revise(ctx, campaign, nil, "own_fields", "updated_at")
	})
	return campaign, field, err
}

// revise writes columns of a locked campaign, with its next revision and its counters, and notifies its followers.
func (t tenantTx) revise(ctx context.Context, campaign *model.Campaign, counted counterDeltas,
	columns ...string) error {
	campaign.Revision++
	t.wake(campaign.ID)
	return exec(ctx, counted.saveCounters(t.db.Update(campaign).Column(append(columns, "revision")...).WherePK(), 1))
}

// deleteItems deletes some of the items of a locked campaign, and reports whether more may remain.
func (t tenantTx) deleteItems(ctx context.Context, campaign *model.Campaign,
	some *bun.SelectQuery) (isLeft bool, err error) {
	items := []*model.CampaignItem{}
	err = t.db.Delete((*model.CampaignItem)(nil)).Where("id IN (?)", some.Limit(itemsPerPart)).
		Returning("running_status, is_archived").Scan(ctx, &items)
	if err != nil || len(items) == 0 {
		return false, err
	}
	return len(items) == itemsPerPart, t.revise(ctx, campaign, counterDeltas{}.countItems(-1, items...))
}

// WhereCampaign narrows a list to the rows of the campaign. A nil id adds no condition.
func WhereCampaign(id *string) pg.Filter { return pg.Equal(nil, "campaign_id", id) }
