package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// reindex enqueues documents of a locked dataset again. If a worker is indexing one of them, its result is refused. The
// previous chunks stay until there are new ones.
func (t tenantTx) reindex(ctx context.Context, datasetID string, which pg.Selection) error {
	documents := []*model.Document{}
	if err := t.db.Select(&documents).Column("id").Where("dataset_id = ?", datasetID).Apply(which).
		Order("id").For(string(forUpdate)).Scan(ctx); err != nil {
		return err
	}
	if len(documents) == 0 {
		return nil
	}
	ids, indexings := make([]string, len(documents)), make([]string, len(documents))
	for i, d := range documents {
		ids[i], indexings[i] = d.ID, model.NewID("indexing")
	}
	_, err := t.db.Update((*model.Document)(nil)).
		TableExpr("unnest(?::text[], ?::text[]) AS next (id, indexing_id)", pgdialect.Array(ids), pgdialect.Array(indexings)).
		Set("indexing_id = next.indexing_id").Set("status = ?", model.DocumentStatusPending).Set("claim = 0").
		Set("error = NULL").
		Set("warning = CASE WHEN waits = 0 THEN warning END").Set("waits = 0").
		Where("?TableAlias.id = next.id").Exec(ctx)
	if err != nil {
		return err
	}
	t.wake(datasetID)
	return t.enqueue(ctx, documentJob, indexings)
}

// ReindexDocument enqueues the indexing of a document, and returns the document.
func (t *Tenant) ReindexDocument(ctx context.Context, id string) (*model.Document, error) {
	var again *model.Document
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		found, err := t.Document(ctx, id)
		if err != nil {
			return err
		}
		if err := t.lockDatasetOf(ctx, found); err != nil {
			return err
		}
		if err := t.reindex(ctx, found.DatasetID, pg.Where("id = ?", id)); err != nil {
			return err
		}
		again, err = t.Document(ctx, id)
		return err
	})
	return again, err
}

// ReindexForModel enqueues the indexing of every document whose chunks lack vectors of the embedding model.
// Documents that are being indexed are left out.
func (t *Tenant) ReindexForModel(ctx context.Context, embeddingModel string) error {
	others := func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("embedding_model IS DISTINCT FROM ?", embeddingModel).Where("chunk_count > 0").
			Where("status IN (?, ?)", model.DocumentStatusReady, model.DocumentStatusFailed)
	}
	datasets := []string{}
	if err := t.db.Select((*model.Document)(nil)).ColumnExpr("DISTINCT dataset_id").Apply(others).Order("dataset_id").
		Scan(ctx, &datasets); err != nil {
		return err
	}
	for _, id := range datasets {
		if err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			if err := t.lock(ctx, dataset, id, &model.Dataset{}, forUpdate); err != nil {
				return err
			}
			return t.reindex(ctx, id, others)
		}); err != nil && !pg.IsMissing(err) {
			return err
		}
	}
	return nil
}

// ClaimDocument assigns a document to the caller for indexing and returns it. It returns nil when there is nothing to
// do: the document was deleted, is indexed already, or waits for a newer indexing. The attempt counts how often the
// queue has delivered the indexing, from 1. Of two callers with the same attempt, only one gets the document. A
// delivery whose worker did not claim the document counts as a wait. The document fails after model.MaxIndexAttempts
// attempts that neither ended nor waited: their workers crashed.
func (t *Tenant) ClaimDocument(ctx context.Context, indexingID string, attempt int32) (*model.Document, error) {
	claim := t.db.Update((*model.Document)(nil)).Set("claim = ?", attempt).
		Where("indexing_id = ?", indexingID).Where("claim < ?", attempt).
		Where("status IN (?, ?)", model.DocumentStatusPending, model.DocumentStatusIndexing)
	const isLost = "CASE WHEN claim - waits >= ? THEN ? END"
	claim = claim.Set("waits = waits + ? - claim - 1", attempt).
		Set("status = coalesce("+isLost+", ?)", model.MaxIndexAttempts, model.DocumentStatusFailed,
			model.DocumentStatusIndexing).
		Set("error = "+isLost, model.MaxIndexAttempts, fmt.Sprintf("indexing the document was started %d times and "+
			"never finished",
			model.MaxIndexAttempts))
	claimed := []*model.Document{}
	if err := claim.Returning("*").Scan(ctx, &claimed); err != nil || len(claimed) == 0 {
		return nil, err
	}
	t.wake(claimed[0].DatasetID)
	if claimed[0].Status == model.DocumentStatusFailed {
		return nil, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			return t.enqueueDocumentEvent(ctx, claimed[0])
		})
	}
	return claimed[0], nil
}

// firstChunks reads few rows of a large dataset: it looks up the first chunk of each document separately.
const firstChunks = `SELECT chunk.content FROM (
		SELECT id FROM documents WHERE company_id = $1 AND dataset_id = $2 AND chunk_count > 0
		ORDER BY created_at DESC, id DESC LIMIT $3) AS document
	CROSS JOIN LATERAL (SELECT left(content, 1000) AS content FROM chunks
		WHERE company_id = $1 AND document_id = document.id AND position = 0 OFFSET 0) AS chunk`

// FirstChunks returns the beginnings of the first chunks of the newest documents of a dataset.
func (t *Tenant) FirstChunks(ctx context.Context, datasetID string, documents int) (chunks []*model.Chunk, err error) {
	err = t.db.ReadRows(ctx, func(rows pgx.Rows) (err error) {
		chunks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*model.Chunk, error) {
			c := &model.Chunk{}
			return c, row.Scan(&c.Content)
		})
		return err
	}, firstChunks, t.CompanyID(), datasetID, documents)
	return chunks, err
}

// FailDocument stores why a claimed document cannot be indexed. Its previous chunks stay. When the
// claim was lost, it stores nothing and returns CONFLICT.
func (t *Tenant) FailDocument(ctx context.Context, d *model.Document) error {
	d.Status = model.DocumentStatusFailed
	if d.Waits > 0 {
		d.Warning = nil // the warning said what it was waiting for
	}
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.saveIndexResult(ctx, d, "status", "error", "warning"); err != nil {
			return err
		}
		return t.enqueueDocumentEvent(ctx, d)
	})
}

// PostponeDocument stores a warning that says what the indexing of a claimed document is waiting for, and counts the
// wait. When the claim was lost, it stores nothing and returns CONFLICT.
func (t *Tenant) PostponeDocument(ctx context.Context, d *model.Document) error {
	return t.recordWait(ctx, d, "warning")
}

// ReleaseDocument gives up the attempt at a claimed document, so that another attempt can follow. The attempt counts as
// a wait, because no worker crashed. When the claim was lost, it changes nothing and returns CONFLICT.
func (t *Tenant) ReleaseDocument(ctx context.Context, d *model.Document) error {
	return t.recordWait(ctx, d)
}

func (t *Tenant) recordWait(ctx context.Context, d *model.Document, columns ...string) error {
	d.Waits++
	err := t.saveIndexResult(ctx, d, append(columns, "waits")...)
	if err != nil {
		d.Waits-- // the caller may try again
	}
	return err
}

// FinishDocument replaces the chunks of a claimed document, and makes it Ready with its warning and its embedding
// model. The chunks are in order. Each has content, tokens, words and, with an embedding model, a vector. When the
// claim was lost, it stores nothing and returns CONFLICT.
func (t *Tenant) FinishDocument(ctx context.Context, d *model.Document, chunks []*model.Chunk) error {
	at := now()
	d.Status, d.Error, d.IndexedAt, d.ChunkCount = model.DocumentStatusReady, nil, &at, int32(len(chunks))
	for i, c := range chunks {
		c.ID, c.DatasetID, c.DocumentID, c.Position, c.CreatedAt = model.NewID("chunk"), d.DatasetID, d.ID, int32(i), at
	}
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Every transaction locks datasets before documents.
		if err := t.lockDatasets(ctx, []string{d.DatasetID}); pg.IsMissing(err) {
			return claimLost(d)
		} else if err != nil {
			return err
		}
		// This update locks the document. Another worker that finishes the same document must wait.
		if err := t.saveIndexResult(ctx, d, "status", "error", "warning", "indexed_at", "chunk_count", "languages",
			"embedding_model"); err != nil {
			return err
		}
		if err := t.replaceChunks(ctx, d, chunks); err != nil {
			return err
		}
		return t.enqueueDocumentEvent(ctx, d)
	})
}

// saveIndexResult writes the result of an indexing, if the claim is still valid.
func (t *Tenant) saveIndexResult(ctx context.Context, d *model.Document, columns ...string) error {
	isSaved, err := pg.Affects(t.db.Update(d).Column(columns...).WherePK().Where("indexing_id = ?", d.IndexingID).
		Where("claim = ?", d.Claim).Where("status = ?", model.DocumentStatusIndexing).Exec(ctx))
	if err != nil {
		return err
	}
	if !isSaved {
		return claimLost(d)
	}
	t.wake(d.DatasetID)
	return nil
}

func claimLost(d *model.Document) error {
	return model.Errorf(model.Conflict, "document %q was deleted, or another worker is indexing it", d.ID)
}
