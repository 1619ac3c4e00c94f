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

// Vectors are stored by pgvector or as arrays. Statements are the same for both, because Postgres converts arrays to
// the column's type, and back.

// ComparesVectors reports whether the database compares vectors itself, by pgvector.
func (s *Store) ComparesVectors() bool { return s.vectors == schema.Pgvector }

// NearestChunks returns the ids of the chunks of the datasets whose vectors have the largest inner product with the
// given one. It returns at most limit, largest first, then by document and position. It reads every vector of the
// datasets, and leaves out vectors of another length. ok is false when the database cannot compare vectors.
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

// EmbeddedDocuments returns the ids and indexing times of the datasets' documents whose chunks have vectors.
func (t *Tenant) EmbeddedDocuments(ctx context.Context, datasetIDs []string) ([]*model.Document, error) {
	rows := []*model.Document{}
	err := t.db.SelectColumns(&rows, []string{"indexed_at"}).Where("dataset_id IN (?)", bun.List(datasetIDs)).
		Where("embedding_model IS NOT NULL").Scan(ctx)
	return pg.JoinBatch(rows), err
}

// VectorsOfDocuments yields each chunk of the documents that has a vector, with the vector. It yields at most one
// error.
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

// VectorsOfChunks returns each of the chunks that has a vector, with the vector.
func (t *Tenant) VectorsOfChunks(ctx context.Context, ids []string) (chunks []*model.Chunk, err error) {
	err = t.db.ReadRows(ctx, func(rows pgx.Rows) (err error) {
		chunks, err = pgx.CollectRows(rows, embedded)
		return err
	}, `SELECT chunk_id, document_id, position, embedding::real[]
		FROM (SELECT company_id, dataset_id, document_id, position FROM chunks WHERE company_id = $1
			AND id = ANY ($2)) AS chunk
		JOIN chunk_vectors USING (company_id, dataset_id, document_id, position) WHERE company_id = $1`, t.CompanyID(), ids)
	return chunks, err
}

func embedded(row pgx.CollectableRow) (*model.Chunk, error) {
	c := &model.Chunk{}
	return c, row.Scan(&c.ID, &c.DocumentID, &c.Position, &c.Embedding)
}
