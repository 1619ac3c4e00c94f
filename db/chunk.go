package db

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// chunksPerBatch bounds the chunks in one batch.
	chunksPerBatch = 500

	insertVector = `INSERT INTO chunk_vectors (company_id, dataset_id, document_id, position, chunk_id, embedding)
		VALUES ($1, $2, $3, $4, $5, $6::real[])`

	// termsOfChunks counts the chunks that contain each term.
	termsOfChunks = `SELECT term, count(*) FROM chunks CROSS JOIN LATERAL unnest(tsvector_to_array(chunks.search)) AS term
		WHERE chunks.company_id = $1 AND chunks.document_id = $2 GROUP BY term`
	dropChunks = "DELETE FROM chunks WHERE company_id = $1 AND document_id = $2"

	// countTerms adds the terms of a document's chunks, and subtracts its previous terms. It locks rows in the order
	// of their terms, so that documents that finish together cannot deadlock.
	countTerms = `INSERT INTO dataset_terms AS known (company_id, dataset_id, term, chunks)
		SELECT $1, $2, counted.term, sum(counted.chunks) FROM (
			SELECT term, 1 AS chunks FROM chunks CROSS JOIN LATERAL unnest(tsvector_to_array(chunks.search)) AS term
			WHERE chunks.company_id = $1 AND chunks.document_id = $3
			UNION ALL SELECT dropped.term, -dropped.chunks FROM unnest($4::text[], $5::int[]) AS dropped (term,
				chunks)) AS counted
		GROUP BY counted.term HAVING sum(counted.chunks) <> 0 ORDER BY counted.term
		ON CONFLICT (company_id, dataset_id, term) DO UPDATE SET chunks = known.chunks + excluded.chunks`

	dropTerms = `DELETE FROM dataset_terms WHERE company_id = $1 AND dataset_id = $2 AND term = ANY ($3) AND chunks <= 0`
)

const insertChunk = `INSERT INTO chunks (company_id, id, dataset_id, document_id, position, content, tokens, search,
	created_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, %s, $10)`

// replaceChunks replaces the chunks of a locked document, and counts their terms. Call it last in the transaction:
// other documents of the dataset that finish wait for it.
func (t tenantTx) replaceChunks(ctx context.Context, d *model.Document, chunks []*model.Chunk) error {
	return t.db.PGX(ctx, func(tx *pg.OpenTx) error {
		terms, counts, err := t.dropChunks(ctx, tx, d.ID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM chunk_vectors WHERE company_id = $1 AND dataset_id = $2 AND document_id = $3",
			t.CompanyID(), d.DatasetID, d.ID); err != nil {
			return err
		}
		languages := d.Languages
		if languages == nil {
			languages = model.UnknownLanguages
		}
		for some := range slices.Chunk(chunks, chunksPerBatch) {
			if err := t.insertChunks(ctx, tx, languages, some); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, countTerms, t.CompanyID(), d.DatasetID, d.ID, terms, counts); err != nil ||
			len(terms) == 0 {
			return err
		}
		_, err = tx.Exec(ctx, dropTerms, t.CompanyID(), d.DatasetID, terms)
		return err
	})
}

// dropChunks deletes the chunks of a document, and returns their terms with the number of chunks that contained each.
func (t *Tenant) dropChunks(ctx context.Context, tx pgx.Tx,
	documentID string) (terms []string, counts []int32, err error) {
	batch := &pgx.Batch{}
	batch.Queue(termsOfChunks, t.CompanyID(), documentID).Query(func(rows pgx.Rows) error {
		var term string
		var count int32
		_, err := pgx.ForEachRow(rows, []any{&term, &count}, func() error {
			terms, counts = append(terms, term), append(counts, count)
			return nil
		})
		return err
	})
	batch.Queue(dropChunks, t.CompanyID(), documentID)
	return terms, counts, tx.SendBatch(ctx, batch).Close()
}

func (t *Tenant) insertChunks(ctx context.Context, tx pgx.Tx, languages []string, chunks []*model.Chunk) error {
	statement := fmt.Sprintf(insertChunk, searchTerms(languages, "$8::text", "$9::text"))
	if !t.store.db.IsPooled() {
		// Planning for each chunk would take a large part of the time that Postgres needs to make the chunk's terms.
		prepared, err := tx.Prepare(ctx, "insert_chunk "+strings.Join(languages, " "), statement)
		if err != nil {
			return err
		}
		statement = prepared.Name
	}
	batch := &pgx.Batch{}
	for _, c := range chunks {
		folded, written := joined(c.Words)
		batch.Queue(statement, t.CompanyID(), c.ID, c.DatasetID, c.DocumentID, c.Position, c.Content, c.Tokens,
			folded, written, c.CreatedAt)
		if len(c.Embedding) > 0 {
			batch.Queue(insertVector, t.CompanyID(), c.DatasetID, c.DocumentID, c.Position, c.ID, c.Embedding)
		}
	}
	return tx.SendBatch(ctx, batch).Close()
}

// joined returns the folded words and the words as written, each joined by spaces.
func joined(words []model.Word) (folded, written string) {
	var f, w strings.Builder
	for _, word := range words {
		f.WriteString(word.Folded + " ")
		if word.Written != "" {
			w.WriteString(word.Written + " ")
		}
	}
	return f.String(), w.String()
}
