package resolvers

import (
	"context"
	"encoding/base64"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *chunkResolver) Document(ctx context.Context, obj *model.Chunk) (*model.Document, error) {
	return query.One[*model.Document](ctx, obj)
}

func (r *datasetResolver) Documents(ctx context.Context, obj *model.Dataset, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.Document], error) {
	return query.Page[*model.Document](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *datasetResolver) DocumentCount(ctx context.Context, obj *model.Dataset) (int32, error) {
	counts, err := query.Value(ctx, obj, "counts", query.ReadMethod((*db.Tenant).CountsOfDatasets))
	return counts.Documents, err
}

func (r *datasetResolver) ChunkCount(ctx context.Context, obj *model.Dataset) (int32, error) {
	counts, err := query.Value(ctx, obj, "counts", query.ReadMethod((*db.Tenant).CountsOfDatasets))
	return counts.Chunks, err
}

func (r *documentResolver) Dataset(ctx context.Context, obj *model.Document) (*model.Dataset, error) {
	return query.One[*model.Dataset](ctx, obj)
}

func (r *documentResolver) Content(ctx context.Context, obj *model.Document, offset int32, length int32) (string, error) {
	part, err := r.tenant(ctx).PartOfDocument(ctx, obj.ID, offset, length)
	return base64.StdEncoding.EncodeToString(part), err
}

func (r *documentResolver) Chunks(ctx context.Context, obj *model.Document, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.Chunk], error) {
	return query.Page[*model.Chunk](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *mutationResolver) AddDocument(ctx context.Context, input model.AddDocumentInput) (*model.AddDocumentPayload, error) {
	document, err := r.engine.Knowledge().AddDocument(ctx, r.tenant(ctx), input)
	return &model.AddDocumentPayload{Document: document}, err
}

func (r *mutationResolver) ReindexDocument(ctx context.Context, input model.ReindexDocumentInput) (*model.ReindexDocumentPayload, error) {
	document, err := r.tenant(ctx).ReindexDocument(ctx, input.DocumentID)
	return &model.ReindexDocumentPayload{Document: document}, err
}

func (r *mutationResolver) DeleteDocument(ctx context.Context, input model.DeleteDocumentInput) (*model.DeleteDocumentPayload, error) {
	return &model.DeleteDocumentPayload{DeletedID: input.DocumentID}, r.tenant(ctx).DeleteDocument(ctx, input)
}

func (r *queryResolver) Document(ctx context.Context, id string, datasetID *string) (*model.Document, error) {
	if datasetID == nil {
		return query.ByID[*model.Document](ctx, id)
	}
	return r.tenant(ctx).DocumentInDataset(ctx, *datasetID, id, query.Columns(ctx)...)
}

func (r *queryResolver) Documents(ctx context.Context, datasetID *string, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.DocumentFilter) (*model.Page[*model.Document], error) {
	return r.tenant(ctx).Documents(ctx, model.NewPageArgs(first, after, offset, last, before), datasetID, filter, query.Columns(ctx)...)
}

func (r *subscriptionResolver) DocumentUpdated(ctx context.Context, datasetID string) (<-chan *model.Document, error) {
	return r.tenant(ctx).FollowDocuments(ctx, datasetID)
}

func (r *Resolver) Chunk() graph.ChunkResolver { return &chunkResolver{r} }

func (r *Resolver) Document() graph.DocumentResolver { return &documentResolver{r} }

type (
	chunkResolver    struct{ *Resolver }
	documentResolver struct{ *Resolver }
)
