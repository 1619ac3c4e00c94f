package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) Tools(ctx context.Context, obj *model.Agent) ([]*model.Tool, error) {
	return query.Many[*model.Tool](ctx, obj)
}

func (r *mutationResolver) CreateTool(ctx context.Context, input model.CreateToolInput) (*model.CreateToolPayload, error) {
	if err := r.checkEndpoint(input.Endpoint); err != nil {
		return nil, model.JoinFaults(err, input.Validate())
	}
	tool, err := r.tenant(ctx).CreateTool(ctx, input)
	return &model.CreateToolPayload{Tool: tool}, err
}

func (r *mutationResolver) UpdateTool(ctx context.Context, input model.UpdateToolInput) (*model.UpdateToolPayload, error) {
	if err := r.checkEndpoint(input.Endpoint); err != nil {
		return nil, err
	}
	tool, err := r.tenant(ctx).UpdateTool(ctx, input)
	return &model.UpdateToolPayload{Tool: tool}, err
}

func (r *mutationResolver) CallTool(ctx context.Context, input model.CallToolInput) (*model.CallToolPayload, error) {
	return r.engine.CallTool(ctx, r.tenant(ctx), input)
}

func (r *mutationResolver) DeleteTool(ctx context.Context, input model.DeleteToolInput) (*model.DeleteToolPayload, error) {
	return &model.DeleteToolPayload{DeletedID: input.ToolID}, r.tenant(ctx).DeleteTool(ctx, input.ToolID)
}

func (r *mutationResolver) ConnectTool(ctx context.Context, input model.ConnectToolInput) (*model.ConnectToolPayload, error) {
	agent, err := r.tenant(ctx).ConnectTool(ctx, input)
	return &model.ConnectToolPayload{Agent: agent}, err
}

func (r *mutationResolver) DisconnectTool(ctx context.Context, input model.DisconnectToolInput) (*model.DisconnectToolPayload, error) {
	agent, err := r.tenant(ctx).DisconnectTool(ctx, input)
	return &model.DisconnectToolPayload{Agent: agent}, err
}

func (r *queryResolver) Tool(ctx context.Context, id string) (*model.Tool, error) {
	return query.ByID[*model.Tool](ctx, id)
}

func (r *queryResolver) Tools(ctx context.Context, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.NameFilter) (*model.Page[*model.Tool], error) {
	return r.tenant(ctx).Tools(ctx, model.NewPageArgs(first, after, offset, last, before), filter, query.Columns(ctx)...)
}

func (r *toolResolver) McpServer(ctx context.Context, obj *model.Tool) (*model.McpServer, error) {
	return query.One[*model.McpServer](ctx, obj)
}

func (r *toolResolver) Agents(ctx context.Context, obj *model.Tool, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.Agent], error) {
	return query.Page[*model.Agent](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *Resolver) Tool() graph.ToolResolver { return &toolResolver{r} }

type toolResolver struct{ *Resolver }
