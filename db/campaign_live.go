package db

import (
	"context"
	"time"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// campaignInterval is the minimum time between two updates to the followers of a campaign.
const campaignInterval = time.Second

// countTimeout bounds the counting of a campaign's items for its followers.
const countTimeout = 20 * time.Second

// FollowCampaign delivers the current state of a campaign, and again after changes of it or its items, at most once a
// second. Changes in quicker succession are delivered once, with the last state. It closes the channel after
// delivering the archived campaign, when the campaign was deleted, and when ctx ends.
func (t *Tenant) FollowCampaign(ctx context.Context, id string) (<-chan *model.Campaign, error) {
	p, r, err := t.followCampaign(ctx, id)
	if err != nil {
		return nil, err
	}
	return live.Channel(ctx, r.campaigns.Follow(0, p.release)), nil
}

// followCampaign returns the topic of a campaign. The caller must release the topic.
func (t *Tenant) followCampaign(ctx context.Context, id string) (*topic, *campaignReader, error) {
	p := t.acquireTopic(followedCampaigns, id, newCampaignReader(id))
	campaign, err := t.Campaign(ctx, id)
	if err != nil {
		p.release()
		return nil, nil, err
	}
	r := p.reader.(*campaignReader)
	p.begin(campaign.Version(), campaign.Status == model.CampaignStatusArchived, func() {
		r.campaigns.Begin(campaignPosition(campaign))
		r.items.Begin(live.Position(campaign.ItemVersion))
	})
	return p, r, nil
}

type campaignReader struct {
	tenant    *Tenant
	id        string
	campaigns *live.Log[*model.Campaign]
	items     *live.Log[*model.CampaignItem]
	// deliveredAt is when followers last got an update. again is the timer that delivers changes less than
	// campaignInterval after that.
	deliveredAt time.Time
	again       *time.Timer
}

func newCampaignReader(id string) func(*Tenant, *live.MemoryBudget) reader {
	return func(t *Tenant, budget *live.MemoryBudget) reader {
		r := &campaignReader{tenant: t, id: id}
		r.campaigns = newLog(t, budget, readCurrent(t.Campaign, id, campaignPosition))
		r.items = newLog(t, budget, r.readItems)
		return r
	}
}

// campaignPosition returns the position of a campaign: one more than its version, because the position 0 is the start.
func campaignPosition(campaign *model.Campaign) live.Position {
	return live.Position(campaign.Version()) + 1
}

func (r *campaignReader) poll(ctx context.Context, p *topic, isWoken bool) (pollResult, error) {
	if !isWoken {
		return waitForSignal, nil
	}
	campaign, err := r.tenant.Campaign(ctx, r.id)
	if err != nil {
		return waitForSignal, err
	}
	isOver := campaign.Status == model.CampaignStatusArchived
	r.deliver(p, campaign, isOver)
	if err := catchUp(ctx, r.items, live.Position(campaign.ItemVersion), r.readItems); err != nil {
		return waitForSignal, err
	}
	p.version.Store(campaign.Version())
	if isOver {
		return topicEnded, nil
	}
	return waitForSignal, nil
}

// deliver delivers a changed campaign to its followers, now or after campaignInterval.
func (r *campaignReader) deliver(p *topic, campaign *model.Campaign, isOver bool) {
	at := campaignPosition(campaign)
	if at <= r.campaigns.End() {
		return
	}
	if !r.campaigns.IsFollowed() {
		r.campaigns.Begin(at)
		return
	}
	if rest := time.Until(r.deliveredAt.Add(campaignInterval)); rest > 0 && !isOver {
		if r.again == nil {
			r.again = time.AfterFunc(rest, func() { p.wake(true) })
		}
		r.again.Reset(rest)
		return
	}
	r.deliveredAt = time.Now()
	campaign.ShareCounts(r.count)
	r.campaigns.Add(live.Stored[*model.Campaign]{Value: campaign, At: at, Size: sizeOf(campaign)})
}

// count counts the items once for all followers of one change.
func (r *campaignReader) count() (*model.CampaignItemCounts, error) {
	ctx, cancel := context.WithTimeout(pg.WithConnectionsOf(context.Background(), r.tenant.CompanyID()), countTimeout)
	defer cancel()
	counts, err := r.tenant.CountsOfCampaigns(ctx, []string{r.id})
	return counts[r.id], err
}

func (r *campaignReader) closeFollowers() {
	r.campaigns.Close()
	r.items.Close()
}
