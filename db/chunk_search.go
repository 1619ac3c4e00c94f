package db

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// MaxSearchTokens bounds the tokens of one search.
	MaxSearchTokens = 248
	// tokensPerNumber is how many tokens have bits in one number.
	tokensPerNumber = 62
)

// SearchedDataset is a dataset of a chat, as retrieval sees it.
type SearchedDataset struct {
	ID     string
	Chunks int
	// Version is another one as soon as its chunks are others, and in another company.
	Version string
	// Languages are those of its documents, without repetition.
	Languages []string `bun:",array"`
	// EmbeddingModels are those of its documents, without repetition.
	EmbeddingModels []string `bun:",array"`
}

// SearchedDatasets returns the datasets of a chat.
func (t *Tenant) SearchedDatasets(ctx context.Context, chatID string) ([]SearchedDataset, error) {
	datasets := []SearchedDataset{}
	err := t.find((*chatDataset)(nil)).
		ColumnExpr("?TableAlias.dataset_id AS id, coalesce(sum(document.chunk_count), 0) AS chunks").
		ColumnExpr(vocabularyVersion+" AS version", t.companyID).
		ColumnExpr("string_to_array(coalesce(string_agg(DISTINCT array_to_string(coalesce(document.languages, ?), ','), ','), ''), ',') AS languages",
			pgdialect.Array(model.UnknownLanguages)).
		ColumnExpr("array_remove(array_agg(DISTINCT document.embedding_model), NULL) AS embedding_models").
		Join("LEFT JOIN documents AS document ON document.company_id = ?TableAlias.company_id AND document.dataset_id = ?TableAlias.dataset_id").
		Where("?TableAlias.chat_id = ?", chatID).GroupExpr("?TableAlias.dataset_id").OrderExpr("?TableAlias.dataset_id").Scan(ctx, &datasets)
	for i := range datasets {
		datasets[i].Languages = model.Unique(datasets[i].Languages)
	}
	return datasets, translate(err)
}

// Token is a word that chunks are looked for by.
type Token struct {
	Word string
	// Terms are what Postgres makes of the word: a chunk holds it when it holds any of them.
	Terms []string `bun:",array"`
	// IsStopWord says that one of the languages has it as one.
	IsStopWord bool
	// Chunks is how many hold the term that most of them hold.
	Chunks int
}

// tokens looks for terms one by one. As a join, Postgres would read all terms of a company that it knows no statistics of yet;
// OFFSET 0 keeps it from that.
const tokens = `SELECT asked.word, asked.terms, asked.is_stop_word, coalesce(held.chunks, 0) AS chunks
	FROM (
		SELECT asked.word, asked.place, tsvector_to_array(%s) AS terms, %s AS is_stop_word
		FROM unnest(?::text[], ?::text[]) WITH ORDINALITY AS asked (word, written, place) OFFSET 0) AS asked
	CROSS JOIN LATERAL (
		SELECT max(each_term.chunks) AS chunks FROM (
			SELECT sum(known.chunks) AS chunks FROM unnest(asked.terms) AS wanted (term) CROSS JOIN unnest(?::text[]) AS dataset (id)
			CROSS JOIN LATERAL (
				SELECT known.chunks FROM dataset_terms AS known
				WHERE known.company_id = ? AND known.dataset_id = dataset.id AND known.term = wanted.term OFFSET 0) AS known
			GROUP BY wanted.term) AS each_term) AS held
	WHERE asked.terms <> '{}' ORDER BY asked.place`

// Tokens returns the words with their terms in the languages, and how many chunks of the datasets hold them, in order. Words
// that Postgres makes no term of are left out.
func (t *Tenant) Tokens(ctx context.Context, datasetIDs, languages []string, words []model.Word) ([]Token, error) {
	folded, written := make([]string, len(words)), make([]string, len(words))
	for i, word := range words {
		folded[i], written[i] = word.Folded, word.Written
	}
	statement := fmt.Sprintf(tokens, searchTerms(languages, "asked.word", "asked.written"), isStopWord(languages, "asked.word", "asked.written"))
	rows := []Token{}
	err := t.db.NewRaw(statement, pgdialect.Array(folded), pgdialect.Array(written), pgdialect.Array(datasetIDs), t.companyID).Scan(ctx, &rows)
	return rows, translate(err)
}

// vocabularyVersion changes whenever the terms of a dataset do: these are replaced when one of its documents is indexed,
// and go with it. That of another company is another one, even if a dataset there has the same id.
const vocabularyVersion = `?0 || ' ' || coalesce(sum(hashtextextended(document.id, (date_part('epoch', document.indexed_at) * 1e6)::bigint)), 0)::text`

// Vocabulary is what the chunks of a dataset hold.
type Vocabulary struct {
	DatasetID string
	// Version is the one that SearchedDatasets told when the terms were these.
	Version string
	// Terms are parted by line ends, which none of them has.
	Terms string
}

// BytesPerTerm is the size of a term in a vocabulary beside its text, in bytes.
const BytesPerTerm = 24

// vocabularies has terms and version from one snapshot.
const vocabularies = `WITH held AS (
		SELECT dataset_id, string_agg(term, chr(10)) AS terms FROM (
			SELECT dataset_id, term, sum(octet_length(term) + ?2) OVER (ORDER BY chunks DESC, dataset_id, term) AS size
			FROM dataset_terms WHERE company_id = ?0 AND dataset_id IN (?1)) AS known
		WHERE size <= ?3 GROUP BY dataset_id)
	SELECT dataset.id AS dataset_id,
		(SELECT ` + vocabularyVersion + ` FROM documents AS document
			WHERE document.company_id = ?0 AND document.dataset_id = dataset.id) AS version,
		coalesce((SELECT terms FROM held WHERE held.dataset_id = dataset.id), '') AS terms
	FROM datasets AS dataset WHERE dataset.company_id = ?0 AND dataset.id IN (?1)`

// Vocabularies returns the terms of those of the datasets that exist: all of them, or those that most chunks hold, as many as
// the bytes have room for.
func (t *Tenant) Vocabularies(ctx context.Context, datasetIDs []string, bytes int) ([]Vocabulary, error) {
	rows := []Vocabulary{}
	err := t.db.NewRaw(vocabularies, t.companyID, bun.List(datasetIDs), BytesPerTerm, bytes).Scan(ctx, &rows)
	return rows, translate(err)
}

// ChunkMatch is a chunk and which tokens it holds.
type ChunkMatch struct {
	ID         string
	DocumentID string
	Position   int32
	// Length is how many terms it has.
	Length int32
	// Tokens has a bit for each token of the search, the lowest for the first, 62 in each number.
	Tokens []int64 `bun:",array"`
}

// Has reports whether the chunk holds the i-th token.
func (m ChunkMatch) Has(i int) bool { return m.Tokens[i/tokensPerNumber]>>(i%tokensPerNumber)&1 == 1 }

// A token is given by its terms: a chunk holds it when it holds any of them.

// MatchChunks returns every chunk of the datasets that holds any of the tokens, at most MaxSearchTokens.
func (t *Tenant) MatchChunks(ctx context.Context, datasetIDs []string, tokens [][]string) ([]ChunkMatch, error) {
	return t.matches(ctx, tokens, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Apply(inDatasets(datasetIDs)).Where("chunk.search @@ ?::tsquery", query(slices.Concat(tokens...)))
	})
}

// MatchAllChunks returns every chunk of the datasets, whether or not it holds any of the tokens.
func (t *Tenant) MatchAllChunks(ctx context.Context, datasetIDs []string, tokens [][]string) ([]ChunkMatch, error) {
	return t.matches(ctx, tokens, inDatasets(datasetIDs))
}

// MatchChunksByID returns which of the tokens, at most MaxSearchTokens, each chunk holds.
func (t *Tenant) MatchChunksByID(ctx context.Context, ids []string, tokens [][]string) ([]ChunkMatch, error) {
	return t.matches(ctx, tokens, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("chunk.id IN (?)", bun.List(ids)) })
}

func (t *Tenant) matches(ctx context.Context, tokens [][]string, which selection) ([]ChunkMatch, error) {
	var held strings.Builder
	var args []any
	for i, terms := range tokens {
		if i > 0 && i%tokensPerNumber == 0 {
			held.WriteString(", 0")
		}
		fmt.Fprintf(&held, " | ((held.terms @@ ?::tsquery)::int::bigint << %d)", i%tokensPerNumber)
		args = append(args, query(terms))
	}
	rows := []ChunkMatch{}
	// Without OFFSET 0 the vector would be read again for each token.
	err := t.db.NewSelect().TableExpr(chunksView+" AS chunk").Where("chunk.company_id = ?", t.companyID).Apply(which).
		ColumnExpr("chunk.id, chunk.document_id, chunk.position, length(held.terms) AS length").
		ColumnExpr("ARRAY[0"+held.String()+"]::bigint[] AS tokens", args...).
		Join("CROSS JOIN LATERAL (SELECT strip(chunk.search) AS terms OFFSET 0) AS held").Scan(ctx, &rows)
	return rows, translate(err)
}

// ChunkFrequencies is a chunk and how often it says each token.
type ChunkFrequencies struct {
	ID string
	// Said is 1 for once, 1.25 for twice, and less for each further time, below 1.65; 0 for a token that it does not hold.
	Said []float64 `bun:",array"`
}

// saidOnce is what ts_rank has for a single place of a term.
const saidOnce = 6 / (math.Pi * math.Pi)

// Frequencies returns how often each chunk says each of the tokens. Chunks that were indexed by an earlier version tell of no
// term that it is there more than once.
func (t *Tenant) Frequencies(ctx context.Context, ids []string, tokens [][]string) ([]ChunkFrequencies, error) {
	said := make([]string, len(tokens))
	var args []any
	for i, terms := range tokens {
		each := make([]string, len(terms))
		for j, term := range terms {
			each[j] = "ts_rank('{1, 1, 1, 1}', held.terms, ?::tsquery)"
			args = append(args, query([]string{term}))
		}
		said[i] = "greatest(" + strings.Join(each, ", ") + ")"
	}
	rows := []ChunkFrequencies{}
	// setweight only makes a copy, for the vector not to be read again for each token.
	err := t.db.NewSelect().TableExpr(chunksView+" AS chunk").Where("chunk.company_id = ?", t.companyID).Where("chunk.id IN (?)", bun.List(ids)).
		Column("chunk.id").ColumnExpr("ARRAY["+strings.Join(said, ", ")+"]::float8[] AS said", args...).
		Join("CROSS JOIN LATERAL (SELECT setweight(chunk.search, 'D') AS terms OFFSET 0) AS held").Scan(ctx, &rows)
	for _, row := range rows {
		for i := range row.Said {
			row.Said[i] /= saidOnce
		}
	}
	return rows, translate(err)
}

// WeighedToken is a token and what holding it adds to a chunk's weight.
type WeighedToken struct {
	Terms  []string
	Weight int32
	// With are terms of which the chunk has to hold one as well, if there are any. The index finds both without a look at chunks that
	// hold one.
	With []string
	// Limit is how many chunks are looked at, at most. Which of more is open.
	Limit int
}

// WeighedChunk is a chunk and what its tokens weigh together.
type WeighedChunk struct {
	ID     string
	Weight int64
}

// LikelyChunks returns the chunks of the datasets whose tokens weigh most together, best first, then by document and position, at most
// limit. Ids compare much faster by their bytes than as a language would have it.
func (t *Tenant) LikelyChunks(ctx context.Context, datasetIDs []string, tokens []WeighedToken, limit int) ([]WeighedChunk, error) {
	if len(tokens) == 0 {
		return nil, nil
	}
	parts := make([]string, len(tokens))
	args := make([]any, len(tokens))
	for i, token := range tokens {
		// Planned for a few rows, it would read the whole table until these have come.
		parts[i] = fmt.Sprintf("(WITH matched AS MATERIALIZED (?) SELECT * FROM matched LIMIT %d)", token.Limit)
		asked := query(token.Terms)
		if len(token.With) > 0 {
			asked = "(" + asked + ") & (" + query(token.With) + ")"
		}
		args[i] = t.db.NewSelect().TableExpr(chunksView+" AS chunk").ColumnExpr("chunk.id, chunk.document_id, chunk.position, ?::int AS weight", token.Weight).
			Where("chunk.company_id = ?", t.companyID).Apply(inDatasets(datasetIDs)).Where("chunk.search @@ ?::tsquery", asked)
	}
	chunks := []WeighedChunk{}
	err := t.db.NewSelect().TableExpr("("+strings.Join(parts, " UNION ALL ")+") AS hit", args...).ColumnExpr(`min(hit.id COLLATE "C") AS id, sum(hit.weight) AS weight`).
		GroupExpr("hit.document_id, hit.position").OrderExpr(`sum(hit.weight) DESC, hit.document_id COLLATE "C", hit.position`).Limit(int64(limit)).Scan(ctx, &chunks)
	return chunks, translate(err)
}

// inDatasets is a join because an index on several columns serves one value of each at a time, but no list.
func inDatasets(ids []string) selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Join("JOIN unnest(?::text[]) AS dataset (id) ON dataset.id = chunk.dataset_id", pgdialect.Array(ids))
	}
}

var quoteTerm = strings.NewReplacer(`\`, `\\`, `'`, `''`)

// query finds what holds any of the terms.
func query(terms []string) string {
	quoted := make([]string, len(terms))
	for i, term := range terms {
		quoted[i] = "'" + quoteTerm.Replace(term) + "'"
	}
	return strings.Join(quoted, " | ")
}
