package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) SubAgents(ctx context.Context, obj *model.Agent) ([]*model.SubAgent, error) {
	return query.Many[*model.SubAgent](ctx, obj)
}

func (r *agentResolver) Parents(ctx context.Context, obj *model.Agent, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.Agent], error) {
	return query.Page[*model.Agent](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *mutationResolver) AddSubAgent(ctx context.Context, input model.AddSubAgentInput) (*model.AddSubAgentPayload, error) {
	subAgent, agent, err := r.tenant(ctx).AddSubAgent(ctx, input)
	return &model.AddSubAgentPayload{SubAgent: subAgent, Agent: agent}, err
}

func (r *mutationResolver) UpdateSubAgent(ctx context.Context, input model.UpdateSubAgentInput) (*model.UpdateSubAgentPayload, error) {
	subAgent, agent, err := r.tenant(ctx).UpdateSubAgent(ctx, input)
	return &model.UpdateSubAgentPayload{SubAgent: subAgent, Agent: agent}, err
}

func (r *mutationResolver) RemoveSubAgent(ctx context.Context, input model.RemoveSubAgentInput) (*model.RemoveSubAgentPayload, error) {
	agent, err := r.tenant(ctx).RemoveSubAgent(ctx, input.SubAgentID)
	return &model.RemoveSubAgentPayload{DeletedID: input.SubAgentID, Agent: agent}, err
}

func (r *subAgentResolver) Agent(ctx context.Context, obj *model.SubAgent) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *subAgentResolver) Parent(ctx context.Context, obj *model.SubAgent) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *Resolver) SubAgent() graph.SubAgentResolver { return &subAgentResolver{r} }

type subAgentResolver struct{ *Resolver }
