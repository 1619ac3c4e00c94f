package db

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
)

// WeighedToken is a token and what holding it adds to a chunk's weight.
type WeighedToken struct {
	Terms  []string
	Weight int32
	// With are terms of which the chunk has to hold one as well, if there are any. The index finds both without a look at
	// chunks that hold one.
	With []string
}

// asked is what chunks that hold the token are searched by.
func (t WeighedToken) asked() string {
	if len(t.With) == 0 {
		return query(t.Terms)
	}
	return "(" + query(t.Terms) + ") & (" + query(t.With) + ")"
}

// LikelyChunks are chunks and which tokens of a search they hold.
type LikelyChunks struct {
	Chunks []LikelyChunk
	// IsCut says that more chunks may hold a token than were looked at, so that some may hold tokens that they do not have
	// here.
	IsCut bool
}

// LikelyChunk is a chunk and which tokens of a search it holds.
type LikelyChunk struct {
	ID         string
	DocumentID string
	Position   int32
	// Weight is that of its tokens together.
	Weight int64
	// Tokens has a bit for each token of the search, the lowest for the first.
	Tokens int64
	IsCut  bool
}

// MaxLikelyTokens bounds the tokens of a search for likely chunks.
const MaxLikelyTokens = 62

// likelyChunks searches the index once for each token, and one plan does for all. A search is materialized because one
// that was planned for a few rows would read the whole table until these have come. The statement is planned for the
// company: what is known of others would have the planner take a large one for a small one, and read all its chunks.
// Ids compare much faster by their bytes than as a language would have it.
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

// LikelyChunks returns the chunks of the datasets whose tokens, at most MaxLikelyTokens, weigh most together, best
// first, then by document and position, at most limit. Of each token at most visits chunks are looked at; which of more
// is open. If these are fewer than limit, up to limit chunks are looked at that hold one of the other terms, and
// follow.
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

// inDatasets is a join because an index on several columns serves one value of each at a time, but no list.
func inDatasets(ids []string) pg.Selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Join("JOIN unnest(?::text[]) AS dataset (id) ON dataset.id = chunk.dataset_id", pgdialect.Array(ids))
	}
}
