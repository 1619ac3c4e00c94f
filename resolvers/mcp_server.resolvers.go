package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *mcpServerResolver) Tools(ctx context.Context, obj *model.McpServer) ([]*model.Tool, error) {
	return query.Many[*model.Tool](ctx, obj)
}

func (r *mutationResolver) CreateMcpServer(ctx context.Context, input model.CreateMcpServerInput) (*model.CreateMcpServerPayload, error) {
	if err := r.checkEndpoint(input.Endpoint); err != nil {
		return nil, model.JoinFaults(err, input.Validate())
	}
	server, err := r.engine.CreateMcpServer(ctx, r.tenant(ctx), input)
	return &model.CreateMcpServerPayload{McpServer: server}, err
}

func (r *mutationResolver) UpdateMcpServer(ctx context.Context, input model.UpdateMcpServerInput) (*model.UpdateMcpServerPayload, error) {
	if err := r.checkEndpoint(input.Endpoint); err != nil {
		return nil, err
	}
	server, err := r.tenant(ctx).UpdateMcpServer(ctx, input)
	return &model.UpdateMcpServerPayload{McpServer: server}, err
}

func (r *mutationResolver) RefreshMcpServer(ctx context.Context, input model.RefreshMcpServerInput) (*model.RefreshMcpServerPayload, error) {
	server, changes, err := r.engine.RefreshMcpServer(ctx, r.tenant(ctx), input.McpServerID)
	return &model.RefreshMcpServerPayload{McpServer: server, Changes: changes}, err
}

func (r *mutationResolver) DeleteMcpServer(ctx context.Context, input model.DeleteMcpServerInput) (*model.DeleteMcpServerPayload, error) {
	return &model.DeleteMcpServerPayload{DeletedID: input.McpServerID}, r.tenant(ctx).DeleteMcpServer(ctx, input.McpServerID)
}

func (r *queryResolver) McpServers(ctx context.Context) ([]*model.McpServer, error) {
	return r.tenant(ctx).McpServers(ctx)
}

func (r *queryResolver) McpServer(ctx context.Context, id string) (*model.McpServer, error) {
	return query.ByID[*model.McpServer](ctx, id)
}

func (r *Resolver) McpServer() graph.McpServerResolver { return &mcpServerResolver{r} }

type mcpServerResolver struct{ *Resolver }
