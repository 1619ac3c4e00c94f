package db

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// maxChanges bounds the items or documents that are read for followers at once.
const maxChanges = 100

// FollowCampaignItems delivers every item of a campaign that changed after the version, in the order of the last
// changes, and again after each change. Changes in quick succession are delivered once, with the last state. It
// closes the channel when ctx ends, when the campaign was deleted, and when the campaign is archived and all items
// are delivered in their final state. It returns BAD_INPUT for a negative version.
func (t *Tenant) FollowCampaignItems(ctx context.Context, campaignID string,
	version int32) (<-chan *model.CampaignItem, error) {
	var faults model.Fields
	if version < 0 {
		faults.Add("afterVersion", "must not be negative")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	p, r, err := t.followCampaign(ctx, campaignID)
	if err != nil {
		return nil, err
	}
	return live.Channel(ctx, r.items.Follow(live.Position(version), p.release)), nil
}

// readItems reads items that changed after the version, in the order of their last changes. The campaign numbers the
// changes of its items, and stays locked from the numbering until the commit. So changes become visible in the order of
// their numbers.
func (r *campaignReader) readItems(ctx context.Context, after,
	known live.Position) ([]live.Stored[*model.CampaignItem], live.Position, error) {
	items := []*model.CampaignItem{}
	err := pageOf(r.tenant, &items, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.campaign_id = ?", r.id).Where("?TableAlias.version > ?", int32(after))
	}, "version", "octet_length(concat(data_bag, result))", maxChanges).Scan(ctx)
	if err != nil {
		return nil, after, err
	}
	kept, after := eventsOf(items, func(i *model.CampaignItem) live.Position { return live.Position(i.Version) }, after,
		known)
	return kept, after, nil
}

// sizeOf estimates the size of a row in bytes.
func sizeOf(row any) int {
	text, err := json.Marshal(row)
	if err != nil {
		return pageBytes // unreachable: what was read as JSON can be written as JSON
	}
	return sizeOfEvent + len(text)
}
