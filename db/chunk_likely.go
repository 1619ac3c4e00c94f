package db

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
)

// WeighedToken is a token and the weight that it adds to a chunk that contains it.
type WeighedToken struct {
	Terms  []string
	Weight int32
	// With lists further terms. If there are any, the chunk must contain at least one of them. The index checks both at
	// once, without reading chunks that match only one.
	With []string
}

// asked returns the search query for the token.
func (t WeighedToken) asked() string {
	if len(t.With) == 0 {
		return query(t.Terms)
	}
	return "(" + query(t.Terms) + ") & (" + query(t.With) + ")"
}

// LikelyChunks is the result of a search: chunks with the tokens that they contain.
type LikelyChunks struct {
	Chunks []LikelyChunk
	// IsCut is set if more chunks contain a token than were read. Some chunks may then contain tokens that are
	// missing here.
	IsCut bool
}

// LikelyChunk is a chunk with the tokens of a search that it contains.
type LikelyChunk struct {
	ID         string
	DocumentID string
	Position   int32
	// Weight is the sum of the weights of its tokens.
	Weight int64
	// Tokens has a bit for each token of the search, the lowest bit for the first token.
	Tokens int64
	IsCut  bool
}

// MaxLikelyTokens bounds the tokens of a search for likely chunks.
const MaxLikelyTokens = 62

// likelyChunks searches the index once for each token, with one plan. Each search is materialized: otherwise Postgres
// could choose a plan for few rows that reads the whole table. The statement is planned for the company, because
// statistics of other companies would make the planner take a large company for a small one. Ids are compared by
// their bytes, which is much faster than by a collation.
const likelyChunks = `WITH hit AS MATERIALIZED (
		SELECT asked.place, asked.weight, found.* FROM unnest(?0::text[], ?1::int[]) WITH ORDINALITY AS asked (query, weight,
			place)
		CROSS JOIN LATERAL (WITH matched AS MATERIALIZED (?2) SELECT * FROM matched LIMIT ?4) AS found),
	known AS MATERIALIZED (
		SELECT min(id COLLATE "C") AS id, document_id, position, sum(weight) AS weight,
			bit_or(1::bigint << (place - 1)::int) AS tokens
		FROM hit GROUP BY document_id, position),
	matched AS MATERIALIZED (?3),
	other AS MATERIALIZED (SELECT * FROM matched WHERE (SELECT count(*) FROM known) < ?5 LIMIT ?5)
	SELECT *, EXISTS (SELECT 1 FROM hit GROUP BY place HAVING count(*) >= ?4) AS is_cut FROM (
		SELECT * FROM known UNION ALL SELECT id, document_id, position, 0, 0 FROM other WHERE id NOT IN (SELECT id
			FROM known)) AS found
	ORDER BY weight DESC, document_id COLLATE "C", position LIMIT ?5`

// LikelyChunks returns at most limit chunks of the datasets whose tokens have the highest total weight, best first,
// then by document and position. Pass at most MaxLikelyTokens tokens. It reads at most visits chunks per token; if
// there are more, the choice is undefined. If it finds fewer than limit, it adds chunks with one of the other terms. It
// reads at most limit of these.
func (t *Tenant) LikelyChunks(ctx context.Context, datasetIDs []string, tokens []WeighedToken, other []string, visits,
	limit int) (LikelyChunks, error) {
	if len(tokens)+len(other) == 0 {
		return LikelyChunks{}, nil
	}
	queries, weights := make([]string, len(tokens)), make([]int32, len(tokens))
	for i, token := range tokens {
		queries[i], weights[i] = token.asked(), token.Weight
	}
	matched := func(by string, args ...any) *bun.SelectQuery {
		return t.db.NewSelect().TableExpr(schema.ChunksView+" AS chunk").
			ColumnExpr("chunk.id, chunk.document_id, chunk.position").
			Where("chunk.company_id = ?", t.CompanyID()).Apply(inDatasets(datasetIDs)).Where("chunk.search @@ "+by+"::tsquery",
			args...)
	}
	others := matched("NULL")
	if len(other) > 0 {
		others = matched("?", query(other))
	}
	found := LikelyChunks{}
	err := t.db.NewRaw(likelyChunks, pgdialect.Array(queries), pgdialect.Array(weights), matched("asked.query"), others,
		visits, limit).Scan(ctx, &found.Chunks)
	found.IsCut = len(found.Chunks) > 0 && found.Chunks[0].IsCut
	return found, err
}

// inDatasets joins instead of using a list: a multi-column index serves one value per column at a time, but no list.
func inDatasets(ids []string) pg.Selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Join("JOIN unnest(?::text[]) AS dataset (id) ON dataset.id = chunk.dataset_id", pgdialect.Array(ids))
	}
}
