package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) PromptVersions(ctx context.Context, obj *model.Agent, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.PromptVersion], error) {
	return query.Page[*model.PromptVersion](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *agentResolver) KnowledgeBaseChatName(ctx context.Context, obj *model.Agent) (*string, error) {
	chat, err := query.One[*model.KnowledgeBaseChat](ctx, obj)
	if err != nil || chat == nil {
		return nil, err
	}
	return &chat.Name, nil
}

func (r *agentResolver) KnowledgeBaseChat(ctx context.Context, obj *model.Agent) (*model.KnowledgeBaseChat, error) {
	return query.One[*model.KnowledgeBaseChat](ctx, obj)
}

func (r *mutationResolver) CreateAgent(ctx context.Context, input model.CreateAgentInput) (*model.CreateAgentPayload, error) {
	if err := input.Choose(r.engine.ModelNames()); err != nil {
		return nil, err
	}
	agent, err := r.tenant(ctx).CreateAgent(ctx, input)
	return &model.CreateAgentPayload{Agent: agent}, err
}

func (r *mutationResolver) UpdateAgent(ctx context.Context, input model.UpdateAgentInput) (*model.UpdateAgentPayload, error) {
	if err := input.Choose(r.engine.ModelNames()); err != nil {
		return nil, err
	}
	agent, err := r.tenant(ctx).UpdateAgent(ctx, input)
	return &model.UpdateAgentPayload{Agent: agent}, err
}

func (r *mutationResolver) DuplicateAgent(ctx context.Context, input model.DuplicateAgentInput) (*model.DuplicateAgentPayload, error) {
	agent, err := r.tenant(ctx).DuplicateAgent(ctx, input)
	return &model.DuplicateAgentPayload{Agent: agent}, err
}

func (r *mutationResolver) DeleteAgent(ctx context.Context, input model.DeleteAgentInput) (*model.DeleteAgentPayload, error) {
	return &model.DeleteAgentPayload{DeletedID: input.AgentID}, r.tenant(ctx).DeleteAgent(ctx, input.AgentID)
}

func (r *mutationResolver) UpdateAgentPrompt(ctx context.Context, input model.UpdateAgentPromptInput) (*model.UpdateAgentPromptPayload, error) {
	agent, err := r.tenant(ctx).UpdateAgentPrompt(ctx, input)
	return &model.UpdateAgentPromptPayload{Agent: agent}, err
}

func (r *mutationResolver) EditAgentPrompt(ctx context.Context, input model.EditAgentPromptInput) (*model.EditAgentPromptPayload, error) {
	agent, err := r.tenant(ctx).EditAgentPrompt(ctx, input)
	return &model.EditAgentPromptPayload{Agent: agent}, err
}

func (r *queryResolver) Agent(ctx context.Context, id string) (*model.Agent, error) {
	if principal, _ := model.PrincipalOf(ctx); !principal.Reach.HasAgent(id) {
		return nil, model.Missing("agent", id)
	}
	return query.ByID[*model.Agent](ctx, id)
}

func (r *queryResolver) Agents(ctx context.Context, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.AgentFilter, orderBy model.AgentOrder) (*model.Page[*model.Agent], error) {
	args := model.NewPageArgs(first, after, offset, last, before)
	args.OrderBy = orderBy
	return r.tenant(ctx).Agents(ctx, args, filter, query.Columns(ctx)...)
}

func (r *Resolver) Agent() graph.AgentResolver { return &agentResolver{r} }

type agentResolver struct{ *Resolver }
