package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) TestFolders(ctx context.Context, obj *model.Agent) ([]*model.AgentTestFolder, error) {
	return query.Many[*model.AgentTestFolder](ctx, obj)
}

func (r *agentTestFolderResolver) Agent(ctx context.Context, obj *model.AgentTestFolder) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *agentTestFolderResolver) Tests(ctx context.Context, obj *model.AgentTestFolder, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[model.AgentTest], error) {
	return query.Page[model.AgentTest](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *mutationResolver) CreateAgentTestFolder(ctx context.Context, input model.CreateAgentTestFolderInput) (*model.CreateAgentTestFolderPayload, error) {
	folder, err := r.tenant(ctx).CreateAgentTestFolder(ctx, input)
	return &model.CreateAgentTestFolderPayload{Folder: folder}, err
}

func (r *mutationResolver) UpdateAgentTestFolder(ctx context.Context, input model.UpdateAgentTestFolderInput) (*model.UpdateAgentTestFolderPayload, error) {
	folder, err := r.tenant(ctx).UpdateAgentTestFolder(ctx, input)
	return &model.UpdateAgentTestFolderPayload{Folder: folder}, err
}

func (r *mutationResolver) DeleteAgentTestFolder(ctx context.Context, input model.DeleteAgentTestFolderInput) (*model.DeleteAgentTestFolderPayload, error) {
	err := r.tenant(ctx).DeleteAgentTestFolder(ctx, input.FolderID)
	return &model.DeleteAgentTestFolderPayload{DeletedID: input.FolderID}, err
}

func (r *queryResolver) AgentTestFolder(ctx context.Context, id string) (*model.AgentTestFolder, error) {
	return query.ByID[*model.AgentTestFolder](ctx, id)
}

func (r *queryResolver) AgentTestFolders(ctx context.Context, agentID *string, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.AgentTestFolder], error) {
	return r.tenant(ctx).AgentTestFolders(ctx, model.NewPageArgs(first, after, offset, last, before), agentID, query.Columns(ctx)...)
}

func (r *Resolver) AgentTestFolder() graph.AgentTestFolderResolver {
	return &agentTestFolderResolver{r}
}

type agentTestFolderResolver struct{ *Resolver }
