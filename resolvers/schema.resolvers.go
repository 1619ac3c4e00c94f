package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *queryResolver) Company(ctx context.Context) (*model.Company, error) {
	return r.tenant(ctx).Company(ctx)
}

func (r *queryResolver) Node(ctx context.Context, id string) (model.Node, error) {
	nodes, err := query.Nodes(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	return nodes[0], nil
}

func (r *queryResolver) Nodes(ctx context.Context, ids []string) ([]model.Node, error) {
	return query.Nodes(ctx, ids)
}

func (r *Resolver) Mutation() graph.MutationResolver { return &mutationResolver{r} }

func (r *Resolver) Query() graph.QueryResolver { return &queryResolver{r} }

func (r *Resolver) Subscription() graph.SubscriptionResolver { return &subscriptionResolver{r} }

type (
	mutationResolver     struct{ *Resolver }
	queryResolver        struct{ *Resolver }
	subscriptionResolver struct{ *Resolver }
)
