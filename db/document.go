package db

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

const document = "document"

// Document returns one document, or NOT_FOUND.
func (t *Tenant) Document(ctx context.Context, id string) (*model.Document, error) {
	row := &model.Document{}
	return row, t.db.One(ctx, document, id, row)
}

// Lists of a company's documents: by their ids, in pages, and by their datasets. The chunks of documents are in order.
var (
	DocumentRows        = pg.Rows{Type: document, Model: (*model.Document)(nil), Key: pg.ByID}
	DocumentList        = pg.List{Model: (*model.Document)(nil), Order: pg.NewestFirst}
	DocumentsOfDatasets = pg.List{Model: (*model.Document)(nil), Of: "?TableAlias.dataset_id = ?1", Order: pg.NewestFirst}
	ChunkRows           = pg.Rows{Type: "chunk", Model: (*model.Chunk)(nil), Key: pg.ByID}
	ChunksOfDocuments   = pg.List{Model: (*model.Chunk)(nil), Of: "?TableAlias.document_id = ?1", Order: pg.OldestFirst}
)

// DocumentsByID returns the documents with the ids, in any order. Ids that do not exist are left out.
func (t *Tenant) DocumentsByID(ctx context.Context, ids []string, columns ...string) ([]*model.Document, error) {
	return pg.Find[*model.Document](ctx, t.db, DocumentRows, ids, columns...)
}

// DocumentInDataset returns one document of the dataset, or NOT_FOUND.
func (t *Tenant) DocumentInDataset(
	ctx context.Context, datasetID, id string, columns ...string,
) (*model.Document, error) {
	rows := []*model.Document{}
	err := t.db.SelectColumns(&rows, columns).Where("?TableAlias.id = ?", id).
		Where("?TableAlias.dataset_id = ?", datasetID).Scan(ctx)
	if err == nil && len(rows) == 0 {
		return nil, model.Missing(document, id)
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// Documents returns a page of the documents that pass the filter, newest first. If datasetID is set, it returns only
// documents of that dataset, or NOT_FOUND if there is no such dataset.
func (t *Tenant) Documents(
	ctx context.Context, args model.PageArgs, datasetID *string, filter *model.DocumentFilter, columns ...string,
) (*model.Page[*model.Document], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	if err := t.db.Exists(ctx, dataset, datasetID, (*model.Dataset)(nil)); err != nil {
		return nil, err
	}
	return pg.Page[*model.Document](ctx, t.db, DocumentList, args, columns,
		append(WhereDataset(datasetID), DocumentsMatching(filter)...))
}

// DocumentsMatching returns the filter of a list of documents. wanted is valid or nil.
func DocumentsMatching(wanted *model.DocumentFilter) (f pg.Filter) {
	if wanted == nil {
		return nil
	}
	if wanted.NameContains != nil {
		f = nameContains(f, schema.DocumentsView, *wanted.NameContains)
	}
	return pg.OneOf(f, "status", wanted.Statuses)
}

// ChunksByID returns the chunks with the ids, in any order. Ids that do not exist are left out.
func (t *Tenant) ChunksByID(ctx context.Context, ids []string, columns ...string) ([]*model.Chunk, error) {
	return pg.Find[*model.Chunk](ctx, t.db, ChunkRows, ids, columns...)
}

const hasPassage = `SELECT count(*) > 0 FROM chunks WHERE company_id = $1 AND document_id = $2
	AND (strpos(btrim(regexp_replace(normalize(content, NFKC), '\s+', ' ', 'g')), $3) > 0
		OR strpos($3, btrim(regexp_replace(normalize(content, NFKC), '\s+', ' ', 'g'))) > 0)`

// HasPassage reports whether a chunk of the document contains the passage of a labeled question, or is a part of it.
func (t *Tenant) HasPassage(ctx context.Context, documentID, passage string) (isThere bool, err error) {
	err = t.db.ReadRows(ctx, func(rows pgx.Rows) (err error) {
		isThere, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
		return err
	}, hasPassage, t.CompanyID(), documentID, model.InOneLine(passage))
	return isThere, err
}

// CountsOfDatasets returns the number of documents and chunks of each dataset, by its id.
func (t *Tenant) CountsOfDatasets(ctx context.Context, ids []string) (map[string]model.DatasetCounts, error) {
	rows := []struct {
		DatasetID string
		Counts    model.DatasetCounts `bun:"embed:"`
	}{}
	err := t.db.Select((*model.Document)(nil)).
		ColumnExpr("?TableAlias.dataset_id, count(*) AS documents, sum(?TableAlias.chunk_count) AS chunks").
		Where("?TableAlias.dataset_id IN (?)", bun.List(ids)).GroupExpr("?TableAlias.dataset_id").Scan(ctx, &rows)
	counts := make(map[string]model.DatasetCounts, len(ids))
	for _, row := range rows {
		counts[row.DatasetID] = row.Counts
	}
	return counts, err
}

// AddDocument adds a document from model.NewDocument, with its content, to its dataset, and enqueues its indexing. It
// returns NOT_FOUND when the dataset does not exist. It returns UNPROCESSABLE when the dataset has model.MaxDocuments
// documents, or when the company would store more bytes than it may.
func (t *Tenant) AddDocument(ctx context.Context, added *model.Document, content io.ReadSeeker) error {
	if t.store.bucket != nil && added.Size > 0 {
		// These checks are made again in the transaction, because other requests can add documents.
		if err := t.db.Exists(ctx, dataset, &added.DatasetID, (*model.Dataset)(nil)); err != nil {
			return err
		}
		if err := t.checkDocumentCount(ctx, added.DatasetID, 1); err != nil {
			return err
		}
		if err := t.checkStorageLimit(ctx, int64(added.Size)); err != nil {
			return err
		}
		if err := t.putContent(ctx, added, content); err != nil {
			return err
		}
	}
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// With this lock, either a change of the chunking settings sees the document, or the indexing of the document sees
		// the change.
		if err := t.lock(ctx, dataset, added.DatasetID, &model.Dataset{}, forShare); err != nil {
			return err
		}
		// The size is checked before the content is written, and again at the end, because other requests can add documents.
		if err := t.checkStorageLimit(ctx, int64(added.Size)); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, added); err != nil {
			return err
		}
		if err := t.saveOrKeep(ctx, added, content); err != nil {
			return err
		}
		if err := t.addStored(ctx, int64(added.Size)); err != nil {
			return err
		}
		// Other requests of the company wait in addStored, so none adds a document after this count.
		if err := t.checkDocumentCount(ctx, added.DatasetID, 0); err != nil {
			return err
		}
		t.wake(added.DatasetID)
		return t.enqueue(ctx, documentJob, []string{added.IndexingID})
	})
}

// checkDocumentCount returns UNPROCESSABLE if the dataset would have too many documents after adding the given number.
func (t *Tenant) checkDocumentCount(ctx context.Context, datasetID string, more int64) error {
	documents, err := t.db.Select((*model.Document)(nil)).Where("dataset_id = ?", datasetID).Count(ctx)
	if err == nil && documents+more > model.MaxDocuments {
		err = model.Errorf(model.Unprocessable, "the dataset has %d documents, the maximum: delete some, or use another "+
			"dataset", model.MaxDocuments)
	}
	return err
}

// lockDatasetOf keeps the dataset of a document from being deleted. Every transaction locks datasets before documents.
// If the dataset no longer exists, it returns NOT_FOUND with the document's id.
func (t tenantTx) lockDatasetOf(ctx context.Context, d *model.Document) error {
	err := t.lockDatasets(ctx, []string{d.DatasetID})
	if pg.IsMissing(err) {
		return model.Missing(document, d.ID)
	}
	return err
}

// DeleteDocument deletes a document with its chunks. A job deletes its object from the bucket. It returns NOT_FOUND
// when the document is not in the given dataset.
func (t *Tenant) DeleteDocument(ctx context.Context, in model.DeleteDocumentInput) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		deleted, err := t.Document(ctx, in.DocumentID)
		if err != nil {
			return err
		}
		if in.DatasetID != nil && *in.DatasetID != deleted.DatasetID {
			return model.Missing(document, in.DocumentID)
		}
		if err := t.lockDatasetOf(ctx, deleted); err != nil {
			return err
		}
		if err := t.lock(ctx, document, in.DocumentID, deleted, forDelete); err != nil {
			return err
		}
		if err := t.replaceChunks(ctx, deleted, nil); err != nil {
			return err
		}
		if err := t.delete(ctx, document, deleted.ID, (*model.Document)(nil)); err != nil {
			return err
		}
		if err := t.addStored(ctx, -int64(deleted.Size)); err != nil || deleted.ObjectID == nil {
			return err
		}
		return t.enqueue(ctx, objectJob, []string{*deleted.ObjectID})
	})
}
