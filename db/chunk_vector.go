package db

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// Vectors are kept by pgvector or as arrays. Whoever writes or reads them need not know: Postgres converts arrays to
// what the column is, and back.

// ComparesVectors reports whether the database compares vectors itself, by pgvector.
func (s *Store) ComparesVectors() bool { return s.vectors == pgvector }

// NearestChunks returns the ids of the chunks of the datasets whose vectors have the largest inner product with the
// one that is given, largest first, then by document and position, at most limit. Vectors of another length are left
// out. It looks at every vector of the datasets. ok is false when the database cannot compare vectors.
func (t *Tenant) NearestChunks(ctx context.Context, datasetIDs []string, vector []float32, limit int) (ids []string, ok bool, err error) {
	if !t.store.ComparesVectors() {
		return nil, false, nil
	}
	if err := t.store.writers.Enter(ctx, t.companyID); err != nil {
		return nil, true, err
	}
	defer t.store.writers.Leave(t.companyID)
	rows, err := t.store.pool.Query(withCompany(ctx, t.companyID), `SELECT chunk_id FROM chunk_vectors
		WHERE company_id = $1 AND dataset_id = ANY ($2) AND vector_dims(embedding::vector) = $3
		ORDER BY embedding::vector <#> $4::real[]::vector, document_id COLLATE "C", position LIMIT $5`,
		pgx.QueryExecModeCacheDescribe, t.companyID, datasetIDs, len(vector), vector, limit)
	if err != nil {
		return nil, true, translate(err)
	}
	ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, true, translate(err)
}

// EmbeddedDocuments returns id and indexing of the documents of the datasets whose chunks have vectors.
func (t *Tenant) EmbeddedDocuments(ctx context.Context, datasetIDs []string) ([]*model.Document, error) {
	rows := []*model.Document{}
	err := t.find(&rows).Apply(only([]string{"indexed_at"})).Where("dataset_id IN (?)", bun.List(datasetIDs)).
		Where("embedding_model IS NOT NULL").Scan(ctx)
	return together(rows), translate(err)
}

// VectorsOfDocuments yields the chunks of documents of the datasets that have a vector, with it, or one error.
func (t *Tenant) VectorsOfDocuments(ctx context.Context, datasetIDs, documentIDs []string) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		if err := t.store.writers.Enter(ctx, t.companyID); err != nil {
			yield(nil, err)
			return
		}
		defer t.store.writers.Leave(t.companyID)
		// pgx takes vectors as they are, where bun would read them as text.
		rows, err := t.store.pool.Query(withCompany(ctx, t.companyID), `SELECT chunk_id, document_id, position, embedding::real[] FROM chunk_vectors
			WHERE company_id = $1 AND dataset_id = ANY ($2) AND document_id = ANY ($3)`,
			pgx.QueryExecModeCacheDescribe, t.companyID, datasetIDs, documentIDs)
		if err != nil {
			yield(nil, translate(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			chunk, err := embedded(rows)
			if err != nil {
				yield(nil, translate(err))
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, translate(err))
		}
	}
}

// VectorsOfChunks returns those of the chunks that have a vector, with it.
func (t *Tenant) VectorsOfChunks(ctx context.Context, ids []string) ([]*model.Chunk, error) {
	if err := t.store.writers.Enter(ctx, t.companyID); err != nil {
		return nil, err
	}
	defer t.store.writers.Leave(t.companyID)
	rows, err := t.store.pool.Query(withCompany(ctx, t.companyID), `SELECT chunk_id, document_id, position, embedding::real[]
		FROM (SELECT company_id, dataset_id, document_id, position FROM chunks WHERE company_id = $1 AND id = ANY ($2)) AS chunk
		JOIN chunk_vectors USING (company_id, dataset_id, document_id, position)`, pgx.QueryExecModeCacheDescribe, t.companyID, ids)
	if err != nil {
		return nil, translate(err)
	}
	chunks, err := pgx.CollectRows(rows, embedded)
	return chunks, translate(err)
}

func embedded(row pgx.CollectableRow) (*model.Chunk, error) {
	c := &model.Chunk{}
	return c, row.Scan(&c.ID, &c.DocumentID, &c.Position, &c.Embedding)
}
