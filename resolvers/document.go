package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// documentLoaders are the loaders of documents and their chunks.
type documentLoaders struct {
	datasetDocuments *edge[*model.Dataset, *model.DocumentConnection]
	datasetCounts    *edge[*model.Dataset, model.DatasetCounts]
	documentDataset  *edge[*model.Document, *model.Dataset]
	documentChunks   *edge[*model.Document, *model.ChunkConnection]
	chunkDocument    *edge[*model.Chunk, *model.Document]
}

func newDocumentLoaders(ctx context.Context, t *db.Tenant, n nouns) *documentLoaders {
	return &documentLoaders{
		datasetDocuments: newEdge(ctx, n.document, idOf[*model.Dataset], pages(t.DocumentsOfDatasets())),
		datasetCounts:    newEdge(ctx, nil, idOf[*model.Dataset], mapped(t.CountsOfDatasets)),
		documentDataset:  newEdge(ctx, n.dataset, func(d *model.Document) string { return d.DatasetID }, one("dataset", t.DatasetsByID)),
		documentChunks:   newEdge(ctx, n.chunk, idOf[*model.Document], pages(t.ChunksOfDocuments())),
		chunkDocument:    newEdge(ctx, n.document, func(c *model.Chunk) string { return c.DocumentID }, one("document", t.DocumentsByID)),
	}
}

// documentsOf reads the documents of the company, or those of one dataset.
func documentsOf(t *db.Tenant, datasetID *string) rowsOf[*model.Document] {
	if datasetID == nil {
		return t.DocumentsByID
	}
	return func(ctx context.Context, ids []string, columns ...string) ([]*model.Document, error) {
		return t.DocumentsOf(ctx, *datasetID, ids, columns...)
	}
}
