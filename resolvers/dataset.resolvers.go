package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *datasetResolver) Chats(ctx context.Context, obj *model.Dataset, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.KnowledgeBaseChat], error) {
	return query.Page[*model.KnowledgeBaseChat](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *mutationResolver) CreateDataset(ctx context.Context, input model.CreateDatasetInput) (*model.CreateDatasetPayload, error) {
	dataset, err := r.tenant(ctx).CreateDataset(ctx, input)
	return &model.CreateDatasetPayload{Dataset: dataset}, err
}

func (r *mutationResolver) UpdateDataset(ctx context.Context, input model.UpdateDatasetInput) (*model.UpdateDatasetPayload, error) {
	dataset, err := r.tenant(ctx).UpdateDataset(ctx, input)
	return &model.UpdateDatasetPayload{Dataset: dataset}, err
}

func (r *mutationResolver) DeleteDataset(ctx context.Context, input model.DeleteDatasetInput) (*model.DeleteDatasetPayload, error) {
	return &model.DeleteDatasetPayload{DeletedID: input.DatasetID}, r.tenant(ctx).DeleteDataset(ctx, input.DatasetID)
}

func (r *mutationResolver) ReindexDataset(ctx context.Context, input model.ReindexDatasetInput) (*model.ReindexDatasetPayload, error) {
	dataset, err := r.tenant(ctx).ReindexDataset(ctx, input.DatasetID)
	return &model.ReindexDatasetPayload{Dataset: dataset}, err
}

func (r *queryResolver) Dataset(ctx context.Context, id string) (*model.Dataset, error) {
	return query.ByID[*model.Dataset](ctx, id)
}

func (r *queryResolver) Datasets(ctx context.Context, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.NameFilter) (*model.Page[*model.Dataset], error) {
	return r.tenant(ctx).Datasets(ctx, model.NewPageArgs(first, after, offset, last, before), filter, query.Columns(ctx)...)
}

func (r *Resolver) Dataset() graph.DatasetResolver { return &datasetResolver{r} }

type datasetResolver struct{ *Resolver }
