package db

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// maxChanges bounds what itemsAfter returns at once.
const maxChanges = 100

// FollowCampaignItems delivers every item of a campaign that changed after the version as it is now, in the
// order of their last changes, and again after each change of it; of changes that follow each other quickly
// the last one. The channel is closed when the campaign is archived and every item is delivered as it is
// then, when the campaign is gone, and when ctx ends. BAD_INPUT for a negative version.
func (t *Tenant) FollowCampaignItems(ctx context.Context, campaignID string, version int32) (<-chan *model.CampaignItem, error) {
	var faults model.Fields
	if version < 0 {
		faults.Add("afterVersion", "must not be negative")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	p := t.followed(followedCampaigns, campaignID, newItemReader(campaignID))
	campaign, err := t.Campaign(ctx, campaignID)
	if err != nil {
		p.release()
		return nil, err
	}
	r := p.reader.(*itemReader)
	p.begin(campaign.Version, campaign.Status == model.CampaignStatusArchived, func() { r.items.Begin(live.Position(campaign.Version)) })
	return live.Channel(ctx, r.items.Follow(live.Position(version), p.release)), nil
}

// itemReader reads the items of a campaign as they change.
type itemReader struct {
	tenant *Tenant
	id     string
	items  *live.Log[*model.CampaignItem]
}

func newItemReader(id string) func(*Tenant, *live.Budget) reader {
	return func(t *Tenant, budget *live.Budget) reader {
		r := &itemReader{tenant: t, id: id}
		r.items = live.NewLog(budget, r.read)
		return r
	}
}

func (r *itemReader) look(ctx context.Context, p *topic, isWoken bool) (outlook, error) {
	if !isWoken {
		return nothingYet, nil
	}
	campaign, err := r.tenant.Campaign(ctx, r.id)
	if err != nil {
		return nothingYet, err
	}
	known := live.Position(campaign.Version)
	for after := r.items.End(); after < known; after = r.items.End() {
		items, upTo, err := r.read(ctx, after, known)
		if err != nil {
			return nothingYet, err
		}
		for i := range items {
			items[i].Size = sizeOf(items[i].Value)
		}
		r.items.Add(items...)
		r.items.Skip(upTo)
	}
	p.version.Store(campaign.Version)
	if campaign.Status == model.CampaignStatusArchived {
		return nothingEver, nil
	}
	return nothingYet, nil
}

func (r *itemReader) end() { r.items.Close() }

// read reads, in the order of their last changes, items that changed after the version. Whoever changes items holds
// their campaign, which numbers the changes, until the commit: a change that is seen has none before it that is not.
func (r *itemReader) read(ctx context.Context, after, known live.Position) ([]live.Kept[*model.CampaignItem], live.Position, error) {
	items := []*model.CampaignItem{}
	err := pageOf(r.tenant, &items, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.campaign_id = ?", r.id).Where("?TableAlias.version > ?", int32(after))
	}, "version", "octet_length(concat(data_bag, result))", maxChanges).Scan(ctx)
	if err != nil {
		return nil, after, translate(err)
	}
	kept := make([]live.Kept[*model.CampaignItem], len(items))
	for i, item := range items {
		after = live.Position(item.Version)
		kept[i] = live.Kept[*model.CampaignItem]{Value: item, At: after}
	}
	if len(items) == 0 {
		after = max(after, known)
	}
	return kept, after, nil
}

// sizeOf is about what a row holds.
func sizeOf(row any) int {
	text, err := json.Marshal(row)
	if err != nil {
		return pageBytes // What was read as JSON can be written as JSON.
	}
	return sizeOfEvent + len(text)
}
