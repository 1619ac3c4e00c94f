package db

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// MaxSearchTokens bounds the tokens of one search.
const MaxSearchTokens = 500

// SearchedDataset describes a dataset of a chat for retrieval.
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
	datasets := model.Values(rows)
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

// tokens looks up terms one by one. OFFSET 0 prevents a join, which would read all terms of a company for which
// Postgres has no statistics yet.
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

// Tokens returns a token for each word that has terms in the languages, in the order of the words. Token.Chunks counts
// only chunks of the datasets.
func (t *Tenant) Tokens(ctx context.Context, datasetIDs, languages []string, words []model.Word) ([]Token, error) {
	folded, written := make([]string, len(words)), make([]string, len(words))
	for i, word := range words {
		folded[i], written[i] = word.Folded, word.Written
	}
	rows := []*Token{}
	err := t.db.Query(ctx, pg.Bind(tokensIn(strings.Join(languages, " ")), &rows, datasetIDs, folded, written))
	return model.Values(rows), err
}

// tokensIn is the query for tokens in the languages, which are separated by spaces.
type tokensIn string

func (t tokensIn) SQL(*pg.Tables) (string, []string) {
	languages := strings.Fields(string(t))
	return fmt.Sprintf(tokens, searchTerms(languages, "asked.word", "asked.written"),
			isStopWord(languages, "asked.word", "asked.written")),
		[]string{"word", "terms", "is_stop_word", "chunks"}
}

// vocabularyVersion changes whenever the terms of a dataset change. Indexing a document replaces its terms, and
// deleting the document deletes them. The version differs between companies, even for datasets with the same id.
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

// Vocabularies returns the terms of the datasets that exist. If they exceed the given number of bytes, it returns as
// many of the most frequent terms as fit.
func (t *Tenant) Vocabularies(ctx context.Context, datasetIDs []string, bytes int) ([]Vocabulary, error) {
	rows := []Vocabulary{}
	err := t.db.NewRaw(vocabularies, t.CompanyID(), bun.List(datasetIDs), BytesPerTerm, bytes).Scan(ctx, &rows)
	return rows, err
}

// ChunkTerms is a chunk with the requested terms that it contains.
type ChunkTerms struct {
	ID         string
	DocumentID string
	Position   int32
	// Length is the number of its tokens.
	Length int32
	Held   []HeldTerm
}

// HeldTerm is a term of a chunk. Place is its index in the requested terms.
type HeldTerm struct {
	Place int
	// Positions has the places of the term in the chunk, ascending. It is empty for terms whose places are not stored.
	Positions []uint16
}

// termsOfFound looks up chunks one by one: with a list, the planner would read all chunks of the company if other
// companies have few.
const termsOfFound = `SELECT chunk.* FROM unnest($2::text[]) AS asked (id) CROSS JOIN LATERAL (
	SELECT id, document_id, position, tokens, tsvectorsend(search) FROM chunks
	WHERE company_id = $1 AND id = asked.id OFFSET 0) AS chunk`

// TermsOfChunks returns the chunks with the ids, and which of the terms they contain. Postgres sends all terms of the
// chunks: a condition for each requested term would take longer.
func (t *Tenant) TermsOfChunks(ctx context.Context, ids, terms []string) (chunks []ChunkTerms, err error) {
	places := make(map[string]int, len(terms))
	for i, term := range terms {
		places[term] = i
	}
	var search []byte
	err = t.db.ReadRows(ctx, func(rows pgx.Rows) error {
		var c ChunkTerms
		_, err := pgx.ForEachRow(rows, []any{&c.ID, &c.DocumentID, &c.Position, &c.Length, &search}, func() error {
			c.Held = heldTerms(search, places)
			chunks = append(chunks, c)
			return nil
		})
		return err
	}, termsOfFound, t.CompanyID(), ids)
	return chunks, err
}

// positionBits are the bits of a position in a vector of Postgres. The others are its weight.
const positionBits = 1<<14 - 1

// heldTerms reads a vector in the binary format of Postgres: the number of terms and, for each, its text, a zero, the
// number of its positions, and the positions.
func heldTerms(search []byte, places map[string]int) (held []HeldTerm) {
	count := binary.BigEndian.Uint32(search)
	search = search[4:]
	for range count {
		end := bytes.IndexByte(search, 0)
		place, isAsked := places[string(search[:end])]
		positions := search[end+3:]
		search = positions[2*binary.BigEndian.Uint16(search[end+1:]):]
		if !isAsked {
			continue
		}
		term := HeldTerm{Place: place}
		for at := 0; at < len(positions)-len(search); at += 2 {
			term.Positions = append(term.Positions, binary.BigEndian.Uint16(positions[at:])&positionBits)
		}
		held = append(held, term)
	}
	return held
}

var quoteTerm = strings.NewReplacer(`\`, `\\`, `'`, `''`)

func anyOfTerms(terms []string) string {
	quoted := model.Map(terms, func(term string) string { return "'" + quoteTerm.Replace(term) + "'" })
	return strings.Join(quoted, " | ")
}
