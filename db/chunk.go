package db

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// chunksPerBatch bounds what is sent at once.
	chunksPerBatch = 500

	insertChunk = `INSERT INTO chunks (company_id, id, dataset_id, document_id, position, content, tokens, search, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, array_to_tsvector($8::text[]), $9)`

	insertVector = `INSERT INTO chunk_vectors (company_id, dataset_id, document_id, position, chunk_id, embedding)
		VALUES ($1, $2, $3, $4, $5, $6::real[])`

	termsOfDocument = `SELECT term.lexeme, count(*) FROM chunks CROSS JOIN LATERAL unnest(chunks.search) AS term
		WHERE chunks.company_id = $1 AND chunks.document_id = $2 GROUP BY term.lexeme`

	// addTerms locks rows in the order of their terms, so that documents that end together wait for each other
	// one way only.
	addTerms = `INSERT INTO dataset_terms AS known (company_id, dataset_id, term, chunks)
		SELECT $1, $2, added.term, added.chunks FROM unnest($3::text[], $4::int[]) WITH ORDINALITY AS added (term, chunks, place)
		ORDER BY added.place
		ON CONFLICT (company_id, dataset_id, term) DO UPDATE SET chunks = known.chunks + excluded.chunks`

	dropTerms = `DELETE FROM dataset_terms WHERE company_id = $1 AND dataset_id = $2 AND term = ANY ($3) AND chunks <= 0`
)

// replaceChunks writes the chunks of a document, which is held, in place of those that it has, and counts
// their terms. It should be the last thing that the transaction does: whoever ends a document of the same
// dataset waits for it.
func (t *Tenant) replaceChunks(ctx context.Context, d *model.Document, chunks []*model.Chunk) error {
	return translate(t.store.tx.pgx(func(tx pgx.Tx) error {
		terms, err := t.countTerms(ctx, tx, d.ID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM chunks WHERE company_id = $1 AND document_id = $2", t.companyID, d.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM chunk_vectors WHERE company_id = $1 AND dataset_id = $2 AND document_id = $3", t.companyID, d.DatasetID, d.ID); err != nil {
			return err
		}
		for _, c := range chunks {
			for _, term := range c.Terms {
				terms[term]++
			}
		}
		for some := range slices.Chunk(chunks, chunksPerBatch) {
			if err := t.insertChunks(ctx, tx, some); err != nil {
				return err
			}
		}
		return t.addTerms(ctx, tx, d.DatasetID, terms)
	}))
}

// countTerms returns in how many chunks of a document each term is, negated: as many are to be taken away.
func (t *Tenant) countTerms(ctx context.Context, tx pgx.Tx, documentID string) (map[string]int32, error) {
	rows, err := tx.Query(ctx, termsOfDocument, t.companyID, documentID)
	if err != nil {
		return nil, err
	}
	terms := map[string]int32{}
	var term string
	var count int32
	_, err = pgx.ForEachRow(rows, []any{&term, &count}, func() error {
		terms[term] = -count
		return nil
	})
	return terms, err
}

func (t *Tenant) addTerms(ctx context.Context, tx pgx.Tx, datasetID string, terms map[string]int32) error {
	maps.DeleteFunc(terms, func(_ string, count int32) bool { return count == 0 })
	if len(terms) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(terms))
	counts := make([]int32, len(names))
	var fewer []string
	for i, term := range names {
		if counts[i] = terms[term]; counts[i] < 0 {
			fewer = append(fewer, term)
		}
	}
	if _, err := tx.Exec(ctx, addTerms, t.companyID, datasetID, names, counts); err != nil || len(fewer) == 0 {
		return err
	}
	_, err := tx.Exec(ctx, dropTerms, t.companyID, datasetID, fewer)
	return err
}

func (t *Tenant) insertChunks(ctx context.Context, tx pgx.Tx, chunks []*model.Chunk) error {
	batch := &pgx.Batch{}
	for _, c := range chunks {
		batch.Queue(insertChunk, t.companyID, c.ID, c.DatasetID, c.DocumentID, c.Position, c.Content, c.Tokens,
			append([]string{}, c.Terms...), c.CreatedAt)
		if len(c.Embedding) > 0 {
			batch.Queue(insertVector, t.companyID, c.DatasetID, c.DocumentID, c.Position, c.ID, c.Embedding)
		}
	}
	return tx.SendBatch(ctx, batch).Close()
}
