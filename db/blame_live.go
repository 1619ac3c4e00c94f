package db

import (
	"context"

	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// FollowBlameSearch delivers the current state of a search, and again after each change. It closes the channel after
// delivering the finished search, when the search was deleted, and when ctx ends.
func (t *Tenant) FollowBlameSearch(ctx context.Context, id string) (<-chan *model.BlameSearch, error) {
	p := t.acquireTopic(followedBlameSearches, id, func(t *Tenant, budget *live.MemoryBudget) reader {
		r := &blameReader{tenant: t, id: id}
		r.searches = newLog(t, budget, readCurrent(t.BlameSearch, id,
			func(s *model.BlameSearch) live.Position { return live.Position(s.Version) }))
		return r
	})
	search, err := t.BlameSearch(ctx, id)
	if err != nil {
		p.release()
		return nil, err
	}
	r := p.reader.(*blameReader)
	p.begin(search.Version, search.IsFinished(), func() { r.searches.Begin(live.Position(search.Version)) })
	return live.Channel(ctx, r.searches.Follow(0, p.release)), nil
}

type blameReader struct {
	tenant   *Tenant
	id       string
	searches *live.Log[*model.BlameSearch]
}

func (r *blameReader) poll(ctx context.Context, p *topic, isWoken bool) (pollResult, error) {
	if !isWoken {
		return waitForSignal, nil
	}
	search, err := r.tenant.BlameSearch(ctx, r.id)
	if err != nil {
		return waitForSignal, err
	}
	if at := live.Position(search.Version); at > r.searches.End() {
		r.searches.Add(live.Stored[*model.BlameSearch]{Value: search, At: at, Size: sizeOf(search)})
	}
	p.version.Store(search.Version)
	if search.IsFinished() {
		return topicEnded, nil
	}
	return waitForSignal, nil
}

func (r *blameReader) closeFollowers() { r.searches.Close() }
