package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentTestBlameResolver) GoodRun(ctx context.Context, obj *model.AgentTestBlame) (*model.AgentTestRun, error) {
	return query.One[*model.AgentTestRun](ctx, obj)
}

func (r *agentTestBlameResolver) BadRun(ctx context.Context, obj *model.AgentTestBlame) (*model.AgentTestRun, error) {
	return query.One[*model.AgentTestRun](ctx, obj)
}

func (r *mutationResolver) StartBlame(ctx context.Context, input model.StartBlameInput) (*model.StartBlamePayload, error) {
	search, err := r.evaluator.StartBlame(ctx, r.tenant(ctx), input)
	return &model.StartBlamePayload{Search: search}, err
}

func (r *mutationResolver) CancelBlame(ctx context.Context, input model.CancelBlameInput) (*model.CancelBlamePayload, error) {
	search, err := r.tenant(ctx).CancelBlameSearch(ctx, input.SearchID)
	return &model.CancelBlamePayload{Search: search}, err
}

func (r *subscriptionResolver) BlameUpdated(ctx context.Context, searchID string) (<-chan *model.BlameSearch, error) {
	return r.tenant(ctx).FollowBlameSearch(ctx, searchID)
}

func (r *Resolver) AgentTestBlame() graph.AgentTestBlameResolver { return &agentTestBlameResolver{r} }

type agentTestBlameResolver struct{ *Resolver }
