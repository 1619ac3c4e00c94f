package db

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// Vectors are kept by pgvector or as arrays. Whoever writes or reads them need not know: Postgres converts arrays to
// what the column is, and back.

// ComparesVectors reports whether the database compares vectors itself, by pgvector.
func (s *Store) ComparesVectors() bool { return s.vectors == schema.Pgvector }

// NearestChunks returns the ids of the chunks of the datasets whose vectors have the largest inner product with the
// one that is given, largest first, then by document and position, at most limit. Vectors of another length are left
// out. It looks at every vector of the datasets. ok is false when the database cannot compare vectors.
func (t *Tenant) NearestChunks(ctx context.Context, datasetIDs []string, vector []float32,
	limit int) (ids []string, ok bool, err error) {
	if !t.store.ComparesVectors() {
		return nil, false, nil
	}
	err = t.db.ReadRows(ctx, func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}, `SELECT chunk_id FROM chunk_vectors
		WHERE company_id = $1 AND dataset_id = ANY ($2) AND vector_dims(embedding::vector) = $3
		ORDER BY embedding::vector <#> $4::real[]::vector, document_id COLLATE "C", position LIMIT $5`,
		t.CompanyID(), datasetIDs, len(vector), vector, limit)
	return ids, true, err
}

// EmbeddedDocuments returns id and indexing of the documents of the datasets whose chunks have vectors.
func (t *Tenant) EmbeddedDocuments(ctx context.Context, datasetIDs []string) ([]*model.Document, error) {
	rows := []*model.Document{}
	err := t.db.SelectColumns(&rows, []string{"indexed_at"}).Where("dataset_id IN (?)", bun.List(datasetIDs)).
		Where("embedding_model IS NOT NULL").Scan(ctx)
	return pg.Together(rows), err
}

// VectorsOfDocuments yields the chunks of documents of the datasets that have a vector, with it, or one error.
func (t *Tenant) VectorsOfDocuments(ctx context.Context, datasetIDs,
	documentIDs []string) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		isWanted := true
		err := t.db.ReadRows(ctx, func(rows pgx.Rows) error {
			for isWanted && rows.Next() {
				chunk, err := embedded(rows)
				if err != nil {
					return err
				}
				isWanted = yield(chunk, nil)
			}
			return rows.Err()
		}, `SELECT chunk_id, document_id, position, embedding::real[] FROM chunk_vectors
			WHERE company_id = $1 AND dataset_id = ANY ($2) AND document_id = ANY ($3)`, t.CompanyID(), datasetIDs, documentIDs)
		if err != nil && isWanted {
			yield(nil, err)
		}
	}
}

// VectorsOfChunks returns those of the chunks that have a vector, with it.
func (t *Tenant) VectorsOfChunks(ctx context.Context, ids []string) (chunks []*model.Chunk, err error) {
	err = t.db.ReadRows(ctx, func(rows pgx.Rows) (err error) {
		chunks, err = pgx.CollectRows(rows, embedded)
		return err
	}, `SELECT chunk_id, document_id, position, embedding::real[]
		FROM (SELECT company_id, dataset_id, document_id, position FROM chunks WHERE company_id = $1
			AND id = ANY ($2)) AS chunk
		JOIN chunk_vectors USING (company_id, dataset_id, document_id, position)`, t.CompanyID(), ids)
	return chunks, err
}

func embedded(row pgx.CollectableRow) (*model.Chunk, error) {
	c := &model.Chunk{}
	return c, row.Scan(&c.ID, &c.DocumentID, &c.Position, &c.Embedding)
}
