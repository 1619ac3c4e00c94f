package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

// document returns one document of the company or, if datasetID is given, of that dataset.
func (r *Resolver) document(ctx context.Context, id string, datasetID *string) (*model.Document, error) {
	if datasetID == nil {
		return query.ByID[*model.Document](ctx, id)
	}
	return r.tenant(ctx).DocumentOf(ctx, *datasetID, id, query.Columns(ctx)...)
}
