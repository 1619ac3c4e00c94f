package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *knowledgeBaseChatResolver) Datasets(ctx context.Context, obj *model.KnowledgeBaseChat) ([]*model.Dataset, error) {
	return query.Many[*model.Dataset](ctx, obj)
}

func (r *knowledgeBaseChatResolver) DatasetIds(ctx context.Context, obj *model.KnowledgeBaseChat) ([]string, error) {
	return datasetTexts(ctx, obj, func(d *model.Dataset) string { return d.ID })
}

func (r *knowledgeBaseChatResolver) DatasetNames(ctx context.Context, obj *model.KnowledgeBaseChat) ([]string, error) {
	return datasetTexts(ctx, obj, func(d *model.Dataset) string { return d.Name })
}

func (r *knowledgeBaseChatResolver) ConnectedAgentCount(ctx context.Context, obj *model.KnowledgeBaseChat) (int32, error) {
	return query.Total(ctx, obj)
}

func (r *knowledgeBaseChatResolver) Retrieve(ctx context.Context, obj *model.KnowledgeBaseChat, question string, settings *model.PromptSettingsInput, belowThreshold int32) ([]*model.RetrievedChunk, error) {
	tried, err := r.store.TryPromptSettings(obj, settings)
	if err != nil {
		return nil, err
	}
	return r.engine.Knowledge().Examine(ctx, r.tenant(ctx), tried, question, belowThreshold)
}

func (r *knowledgeBaseChatResolver) Agents(ctx context.Context, obj *model.KnowledgeBaseChat, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.Agent], error) {
	return query.Page[*model.Agent](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *mutationResolver) CreateKnowledgeBaseChat(ctx context.Context, input model.CreateKnowledgeBaseChatInput) (*model.CreateKnowledgeBaseChatPayload, error) {
	chat, err := r.tenant(ctx).CreateKnowledgeBaseChat(ctx, input)
	return &model.CreateKnowledgeBaseChatPayload{KnowledgeBaseChat: chat}, err
}

func (r *mutationResolver) UpdateKnowledgeBaseChat(ctx context.Context, input model.UpdateKnowledgeBaseChatInput) (*model.UpdateKnowledgeBaseChatPayload, error) {
	chat, err := r.tenant(ctx).UpdateKnowledgeBaseChat(ctx, input)
	return &model.UpdateKnowledgeBaseChatPayload{KnowledgeBaseChat: chat}, err
}

func (r *mutationResolver) DeleteKnowledgeBaseChat(ctx context.Context, input model.DeleteKnowledgeBaseChatInput) (*model.DeleteKnowledgeBaseChatPayload, error) {
	err := r.tenant(ctx).DeleteKnowledgeBaseChat(ctx, input.ChatID)
	return &model.DeleteKnowledgeBaseChatPayload{DeletedID: input.ChatID}, err
}

func (r *mutationResolver) ConnectKnowledgeBaseChat(ctx context.Context, input model.ConnectKnowledgeBaseChatInput) (*model.ConnectKnowledgeBaseChatPayload, error) {
	agent, err := r.tenant(ctx).ConnectKnowledgeBaseChat(ctx, input)
	return &model.ConnectKnowledgeBaseChatPayload{Agent: agent}, err
}

func (r *mutationResolver) DisconnectKnowledgeBaseChat(ctx context.Context, input model.DisconnectKnowledgeBaseChatInput) (*model.DisconnectKnowledgeBaseChatPayload, error) {
	agent, err := r.tenant(ctx).DisconnectKnowledgeBaseChat(ctx, input.AgentID)
	return &model.DisconnectKnowledgeBaseChatPayload{Agent: agent}, err
}

func (r *queryResolver) KnowledgeBaseChat(ctx context.Context, id string) (*model.KnowledgeBaseChat, error) {
	return query.ByID[*model.KnowledgeBaseChat](ctx, id)
}

func (r *queryResolver) KnowledgeBaseChats(ctx context.Context, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.NameFilter) (*model.Page[*model.KnowledgeBaseChat], error) {
	return r.tenant(ctx).KnowledgeBaseChats(ctx, model.NewPageArgs(first, after, offset, last, before), filter, query.Columns(ctx)...)
}

func (r *Resolver) KnowledgeBaseChat() graph.KnowledgeBaseChatResolver {
	return &knowledgeBaseChatResolver{r}
}

type knowledgeBaseChatResolver struct{ *Resolver }
