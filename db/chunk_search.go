package db

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
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
	// Version changes whenever the dataset's chunks change. It differs between companies.
	Version string
	// Languages are the languages of its documents, without duplicates.
	Languages []string `bun:",array"`
	// EmbeddingModels are the embedding models of its documents, without duplicates.
	EmbeddingModels []string `bun:",array"`
}

// searchedDatasets first groups documents with equal columns, so that it aggregates few rows.
var searchedDatasets = pg.NewQuery(func(*pg.Tables) (string, []string) {
	return `SELECT dataset_id AS id, sum(chunks)::int AS chunks, $1 || ' ' || coalesce(sum(version), 0)::text AS version,
		string_to_array(string_agg(DISTINCT languages, ','), ',') AS languages,
		array_remove(array_agg(DISTINCT embedding_model), NULL) AS embedding_models
	FROM (
		SELECT searched.dataset_id, coalesce(sum(document.chunk_count), 0) AS chunks, sum(` + documentVersion + `) AS version,
			array_to_string(coalesce(document.languages, $3::text[]), ',') AS languages, document.embedding_model
		FROM knowledge_base_chat_datasets AS searched
		LEFT JOIN documents AS document ON document.company_id = searched.company_id
			AND document.dataset_id = searched.dataset_id
		WHERE searched.company_id = $1 AND searched.chat_id = $2
		GROUP BY searched.dataset_id, document.languages, document.embedding_model) AS alike
	GROUP BY dataset_id ORDER BY dataset_id`, []string{"id", "chunks", "version", "languages", "embedding_models"}
})

// SearchedDatasets returns the datasets of a chat.
func (t *Tenant) SearchedDatasets(ctx context.Context, chatID string) ([]SearchedDataset, error) {
	rows := []*SearchedDataset{}
	err := t.db.Query(ctx, pg.Bind(searchedDatasets, &rows, chatID, model.UnknownLanguages))
	datasets := pg.Values(rows)
	for i := range datasets {
		datasets[i].Languages = model.Unique(datasets[i].Languages)
	}
	return datasets, err
}

// Token is a word of a search.
type Token struct {
	Word string
	// Terms are Postgres's terms of the word. A chunk contains the word if it contains any of them.
	Terms []string `bun:",array"`
	// IsStopWord is set if the word is a stop word in one of the languages.
	IsStopWord bool
	// Chunks is the number of chunks with the most frequent of the terms.
	Chunks int
}

// tokens looks up terms one by one. A join would read all terms of a company that Postgres has no statistics of yet;
// OFFSET 0 prevents that.
const tokens = `SELECT asked.word, asked.terms, asked.is_stop_word, coalesce(held.chunks, 0) AS chunks
	FROM (
		SELECT asked.word, asked.place, tsvector_to_array(%s) AS terms, %s AS is_stop_word
		FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS asked (word, written, place) OFFSET 0) AS asked
	CROSS JOIN LATERAL (
		SELECT max(each_term.chunks) AS chunks FROM (
			SELECT sum(known.chunks) AS chunks FROM unnest(asked.terms) AS wanted (term) CROSS
				JOIN unnest($2::text[]) AS dataset (id)
			CROSS JOIN LATERAL (
				SELECT known.chunks FROM dataset_terms AS known
				WHERE known.company_id = $1 AND known.dataset_id = dataset.id AND known.term = wanted.term OFFSET 0) AS known
			GROUP BY wanted.term) AS each_term) AS held
	WHERE asked.terms <> '{}' ORDER BY asked.place`

// Tokens returns the words with their terms in the languages, and the number of chunks of the datasets that contain
// them, in order. Words without a term are left out.
func (t *Tenant) Tokens(ctx context.Context, datasetIDs, languages []string, words []model.Word) ([]Token, error) {
	folded, written := make([]string, len(words)), make([]string, len(words))
	for i, word := range words {
		folded[i], written[i] = word.Folded, word.Written
	}
	rows := []*Token{}
	err := t.db.Query(ctx, pg.Bind(tokensIn(strings.Join(languages, " ")), &rows, datasetIDs, folded, written))
	return pg.Values(rows), err
}

// tokensIn is the query for tokens in the languages, which are separated by spaces.
type tokensIn string

func (t tokensIn) SQL(*pg.Tables) (string, []string) {
	languages := strings.Fields(string(t))
	return fmt.Sprintf(tokens, searchTerms(languages, "asked.word", "asked.written"),
			isStopWord(languages, "asked.word", "asked.written")),
		[]string{"word", "terms", "is_stop_word", "chunks"}
}

// vocabularyVersion changes whenever the terms of a dataset do: they are replaced when one of its documents is
// indexed, and deleted with it. It differs between companies, even for datasets with the same id.
const (
	vocabularyVersion = `?0 || ' ' || coalesce(sum(` + documentVersion + `), 0)::text`
	documentVersion   = "hashtextextended(document.id, (date_part('epoch', document.indexed_at) * 1e6)::bigint)"
)

// Vocabulary is the set of terms in the chunks of a dataset.
type Vocabulary struct {
	DatasetID string
	// Version is the SearchedDataset.Version that the terms belong to.
	Version string
	// Terms are separated by newlines, which no term contains.
	Terms string
}

// BytesPerTerm is the overhead of a term in a vocabulary, in bytes.
const BytesPerTerm = 24

// vocabularies reads terms and version from one snapshot.
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

// Vocabularies returns the terms of the datasets that exist. If they exceed the given number of bytes, it returns the
// terms that most chunks contain.
func (t *Tenant) Vocabularies(ctx context.Context, datasetIDs []string, bytes int) ([]Vocabulary, error) {
	rows := []Vocabulary{}
	err := t.db.NewRaw(vocabularies, t.CompanyID(), bun.List(datasetIDs), BytesPerTerm, bytes).Scan(ctx, &rows)
	return rows, err
}

// ChunkMatch is a chunk with the tokens that it contains.
type ChunkMatch struct {
	ID         string
	DocumentID string
	Position   int32
	// Tokens has a bit for each token of the search, 62 in each number, the lowest bit for the first token.
	Tokens []int64 `bun:",array"`
}

// Add records that the chunk contains the i-th token.
func (m ChunkMatch) Add(i int) { m.Tokens[i/tokensPerNumber] |= 1 << (i % tokensPerNumber) }

// Has reports whether the chunk contains the i-th token.
func (m ChunkMatch) Has(i int) bool { return m.Tokens[i/tokensPerNumber]>>(i%tokensPerNumber)&1 == 1 }

// Match returns a match of the chunk without tokens, for a search with the given number of tokens.
func (c LikelyChunk) Match(tokens int) ChunkMatch {
	return ChunkMatch{ID: c.ID, DocumentID: c.DocumentID, Position: c.Position,
		Tokens: make([]int64, tokens/tokensPerNumber+1)}
}

// Each token is passed as its terms. A chunk contains it if it contains any of them.

// MatchChunks returns every chunk of the datasets that contains any of the tokens, at most MaxSearchTokens.
func (t *Tenant) MatchChunks(ctx context.Context, datasetIDs []string, tokens [][]string) ([]ChunkMatch, error) {
	return t.matches(ctx, "dataset_id = asked.id AND search @@ $3::tsquery", datasetIDs, tokens,
		query(slices.Concat(tokens...)))
}

// MatchAllChunks returns every chunk of the datasets, with or without tokens.
func (t *Tenant) MatchAllChunks(ctx context.Context, datasetIDs []string, tokens [][]string) ([]ChunkMatch, error) {
	return t.matches(ctx, "dataset_id = asked.id", datasetIDs, tokens)
}

// MatchChunksByID returns which of the tokens, at most MaxSearchTokens, each chunk contains.
func (t *Tenant) MatchChunksByID(ctx context.Context, ids []string, tokens [][]string) ([]ChunkMatch, error) {
	return t.matches(ctx, "id = asked.id", ids, tokens)
}

// matches returns which tokens each chunk contains. The condition found selects chunks by the keys; its values start at
// $3. Keys are looked up one by one: with a list, the planner would read all chunks of the company if other companies
// have few.
func (t *Tenant) matches(ctx context.Context, found string, keys []string, tokens [][]string,
	given ...any) ([]ChunkMatch, error) {
	// The number of tokens is rounded up, with the last token repeated, so that few statements serve all searches.
	places := (len(tokens) + tokensPerStatement - 1) / tokensPerStatement * tokensPerStatement
	queries := slices.Clone(given)
	for i := range places {
		queries = append(queries, query(tokens[min(i, len(tokens)-1)]))
	}
	rows := []*ChunkMatch{}
	err := t.db.Query(ctx, pg.Bind(matchesOf{places, len(given), found}, &rows, append([]any{keys}, queries...)...))
	return pg.Values(rows), err
}

// matchesOf is the query for the chunks that satisfy a condition, and the tokens that they contain. It is keyed by
// the numbers of values and tokens.
type matchesOf struct {
	places, given int
	found         string
}

func (m matchesOf) SQL(*pg.Tables) (string, []string) {
	held := heldTokens(m.places, func(i int) string { return "$" + strconv.Itoa(i+3+m.given) })
	return "SELECT chunk.id, chunk.document_id, chunk.position, " + held +
			" AS tokens FROM unnest($2::text[]) AS asked (id) CROSS JOIN LATERAL (" +
			"SELECT id, document_id, position, search FROM " + schema.ChunksView + " WHERE company_id = $1 AND " + m.found +
			" OFFSET 0) AS chunk " + strippedSearch,
		[]string{"id", "document_id", "position", "tokens"}
}

// tokensPerStatement is the step by which the number of tokens in a statement grows.
const tokensPerStatement = 8

// strippedSearch is joined so that the vector is not read again for each token, which OFFSET 0 ensures.
const strippedSearch = "CROSS JOIN LATERAL (SELECT strip(chunk.search) AS terms OFFSET 0) AS held"

// heldTokens returns an expression for the bits of the tokens that a chunk contains.
func heldTokens(tokens int, query func(i int) string) string {
	var held strings.Builder
	for i := range tokens {
		if i > 0 && i%tokensPerNumber == 0 {
			held.WriteString(", 0")
		}
		fmt.Fprintf(&held, " | ((held.terms @@ %s::tsquery)::int::bigint << %d)", query(i), i%tokensPerNumber)
	}
	return "ARRAY[0" + held.String() + "]::bigint[]"
}

// ChunkFrequencies is a chunk with the frequency of each token in it.
type ChunkFrequencies struct {
	ID string
	// Length is the number of its terms.
	Length int32
	// Said is 1 for one occurrence, 1.25 for two, and grows by less for each further one, below 1.65. It is 0 for a
	// token that the chunk does not contain.
	Said []float64 `bun:",array"`
}

// saidOnce is the ts_rank of a single occurrence of a term.
const saidOnce = 6 / (math.Pi * math.Pi)

// Frequencies returns how often each chunk contains each of the tokens. For chunks that an earlier version indexed,
// every term counts once.
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
	// setweight only copies the vector, so that it is not read again for each token.
	err := t.db.NewSelect().TableExpr(schema.ChunksView+" AS chunk").Where("chunk.company_id = ?", t.CompanyID()).
		Where("chunk.id IN (?)", bun.List(ids)).
		ColumnExpr("chunk.id, length(held.terms) AS length").ColumnExpr("ARRAY["+strings.Join(said, ", ")+
		"]::float8[] AS said", args...).
		Join("CROSS JOIN LATERAL (SELECT setweight(chunk.search, 'D') AS terms OFFSET 0) AS held").Scan(ctx, &rows)
	for _, row := range rows {
		for i := range row.Said {
			row.Said[i] /= saidOnce
		}
	}
	return rows, err
}

var quoteTerm = strings.NewReplacer(`\`, `\\`, `'`, `''`)

func query(terms []string) string {
	quoted := make([]string, len(terms))
	for i, term := range terms {
		quoted[i] = "'" + quoteTerm.Replace(term) + "'"
	}
	return strings.Join(quoted, " | ")
}
