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
	if err != nil {
		return nil, err
	}
	return &model.CreateDatasetPayload{Dataset: dataset}, nil
}

func (r *mutationResolver) UpdateDataset(ctx context.Context, input model.UpdateDatasetInput) (*model.UpdateDatasetPayload, error) {
	dataset, err := r.tenant(ctx).UpdateDataset(ctx, input)
	if err != nil {
		return nil, err
	}
	return &model.UpdateDatasetPayload{Dataset: dataset}, nil
}

func (r *mutationResolver) DeleteDataset(ctx context.Context, input model.DeleteDatasetInput) (*model.DeleteDatasetPayload, error) {
	if err := r.tenant(ctx).DeleteDataset(ctx, input.DatasetID); err != nil {
		return nil, err
	}
	return &model.DeleteDatasetPayload{DeletedID: input.DatasetID}, nil
}

func (r *mutationResolver) ReindexDataset(ctx context.Context, input model.ReindexDatasetInput) (*model.ReindexDatasetPayload, error) {
	dataset, err := r.tenant(ctx).ReindexDataset(ctx, input.DatasetID)
	if err != nil {
		return nil, err
	}
	return &model.ReindexDatasetPayload{Dataset: dataset}, nil
}

func (r *queryResolver) Dataset(ctx context.Context, id string) (*model.Dataset, error) {
	return query.ByID[*model.Dataset](ctx, id)
}

func (r *queryResolver) Datasets(ctx context.Context, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.NameFilter) (*model.Page[*model.Dataset], error) {
	return r.tenant(ctx).Datasets(ctx, model.NewPageArgs(first, after, offset, last, before), filter, query.Columns(ctx)...)
}

func (r *Resolver) Dataset() graph.DatasetResolver { return &datasetResolver{r} }

type datasetResolver struct{ *Resolver }
