package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

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

// DocumentOf returns one document of the dataset, or NOT_FOUND.
func (t *Tenant) DocumentOf(ctx context.Context, datasetID, id string, columns ...string) (*model.Document, error) {
	rows := []*model.Document{}
	err := t.db.SelectColumns(&rows, columns).Where("?TableAlias.id = ?", id).Where("?TableAlias.dataset_id = ?",
		datasetID).Scan(ctx)
	if err == nil && len(rows) == 0 {
		return nil, model.Missing(document, id)
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// Documents returns a page of the documents that pass the filter, newest first: of the company, or of one dataset. It
// returns NOT_FOUND with the id of a dataset that does not exist.
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
		append(OfDataset(datasetID), DocumentsThat(filter)...))
}

// DocumentsThat returns the filter of a list of documents. wanted is valid or nil.
func DocumentsThat(wanted *model.DocumentFilter) (f pg.Filter) {
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
// returns UNPROCESSABLE when the dataset has model.MaxDocuments documents, or when the company would store more bytes
// than it may.
func (t *Tenant) AddDocument(ctx context.Context, added *model.Document, content io.Reader) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// With this lock, either a change of the chunking settings sees the document, or the indexing of the document sees
		// the change.
		if err := t.lock(ctx, dataset, added.DatasetID, &model.Dataset{}, forShare); err != nil {
			return err
		}
		documents, err := t.db.Select((*model.Document)(nil)).Where("dataset_id = ?", added.DatasetID).Count(ctx)
		if err != nil {
			return err
		}
		if documents >= model.MaxDocuments {
			return model.Errorf(model.Unprocessable, "the dataset has %d documents, the maximum: delete some, or use "+
				"another dataset", documents)
		}
		// The size is checked before the content is written, and again at the end, because other requests can add documents.
		if err := t.mayStore(ctx, int64(added.Size)); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, added); err != nil {
			return err
		}
		if err := t.saveContent(ctx, added, content); err != nil {
			return err
		}
		if err := t.addStored(ctx, int64(added.Size)); err != nil {
			return err
		}
		t.wake(added.DatasetID)
		return t.enqueue(ctx, documentJob, []string{added.IndexingID})
	})
}

// partSize bounds how much of a document is in memory while it is stored, in bytes.
const partSize = 1 << 20

// saveContent stores the file of a document, and sets the document's digest.
func (t tenantTx) saveContent(ctx context.Context, of *model.Document, content io.Reader) error {
	digest := sha256.New()
	if err := t.saveParts(ctx, of.ID, io.TeeReader(content, digest)); err != nil {
		return err
	}
	of.Digest = new(hex.EncodeToString(digest.Sum(nil)))
	return exec(ctx, t.db.Update(of).Column("digest").WherePK())
}

func (t tenantTx) saveParts(ctx context.Context, documentID string, content io.Reader) error {
	part := make([]byte, partSize)
	for i := 0; ; i++ {
		n, err := io.ReadFull(content, part)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return fmt.Errorf("read an uploaded file: %w", err)
		}
		if n == 0 {
			return nil
		}
		// pgx sends binary values; bun would write them as text.
		if err := t.db.PGX(ctx, func(tx *pg.OpenTx) error {
			_, err := tx.Exec(ctx, "INSERT INTO document_contents (company_id, document_id, part, content) VALUES ($1, $2, "+
				"$3, $4)",
				t.CompanyID(), documentID, i, part[:n])
			return err
		}); err != nil {
			return err
		}
		if ended {
			return nil
		}
	}
}

// documentContent is a part of a document's uploaded file.
type documentContent struct {
	bun.BaseModel `bun:"table:document_contents,alias:document_content"`
	model.Owned

	DocumentID string `bun:",pk"`
	Part       int32  `bun:",pk"`
	Content    []byte
}

// ContentOfDocument returns the uploaded file of a document. It is empty if the document was deleted.
func (t *Tenant) ContentOfDocument(ctx context.Context, id string) ([]byte, error) {
	parts := []*documentContent{}
	if err := t.db.Select(&parts).Column("content").Where("document_id = ?", id).Order("part").Scan(ctx); err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return parts[0].Content, nil
	}
	var content []byte
	for _, part := range parts {
		content = append(content, part.Content...)
	}
	return content, nil
}

// PartOfDocument returns at most length bytes of a document's uploaded file, from the offset. It returns fewer at the
// end of the file, and none after it. The length must be 1 byte to 1 MiB.
func (t *Tenant) PartOfDocument(ctx context.Context, id string, offset, length int32) ([]byte, error) {
	var faults model.Fields
	if offset < 0 {
		faults.Add("offset", "must not be negative")
	}
	if length < 1 || length > partSize {
		faults.Add("length", "must be 1 to %d", partSize)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	parts := []*documentContent{}
	first, last := offset/partSize, int32((int64(offset)+int64(length)-1)/partSize)
	err := t.db.Select(&parts).Column("content").Where("document_id = ?", id).Where("part BETWEEN ? AND ?", first, last).
		Order("part").Scan(ctx)
	if err != nil {
		return nil, err
	}
	var content []byte
	for _, part := range parts {
		content = append(content, part.Content...)
	}
	from := min(int(offset%partSize), len(content))
	return content[from:min(from+int(length), len(content))], nil
}

// DeleteDocument deletes a document with its chunks. It returns NOT_FOUND when the document is not in the given
// dataset.
func (t *Tenant) DeleteDocument(ctx context.Context, in model.DeleteDocumentInput) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		deleted, err := t.Document(ctx, in.DocumentID)
		if err != nil {
			return err
		}
		if in.DatasetID != nil && *in.DatasetID != deleted.DatasetID {
			return model.Missing(document, in.DocumentID)
		}
		// Every transaction locks datasets before documents.
		if err := t.lockDatasets(ctx, []string{deleted.DatasetID}); err != nil {
			return model.Missing(document, in.DocumentID)
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
		return t.addStored(ctx, -int64(deleted.Size))
	})
}
