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

// query returns the search query for the token.
func (t WeighedToken) query() string {
	if len(t.With) == 0 {
		return anyOfTerms(t.Terms)
	}
	return "(" + anyOfTerms(t.Terms) + ") & (" + anyOfTerms(t.With) + ")"
}

// likelyChunks searches the index once for each token, with one plan. Each search is materialized: otherwise Postgres
// could choose a plan for few rows that reads the whole table. The statement is planned for the company. With the
// statistics of other companies, the planner would underestimate a large company. Ids are compared as bytes, which is
// much faster than by a collation.
const likelyChunks = `WITH hit AS MATERIALIZED (
		SELECT asked.weight, found.* FROM unnest(?0::text[], ?1::int[]) AS asked (query, weight)
		CROSS JOIN LATERAL (WITH matched AS MATERIALIZED (?2) SELECT * FROM matched LIMIT ?4) AS found),
	known AS MATERIALIZED (
		SELECT min(id COLLATE "C") AS id, document_id, position, sum(weight) AS weight FROM hit
		GROUP BY document_id, position),
	matched AS MATERIALIZED (?3),
	other AS MATERIALIZED (SELECT * FROM matched WHERE (SELECT count(*) FROM known) < ?5 LIMIT ?5)
	SELECT id FROM (
		SELECT * FROM known UNION ALL SELECT id, document_id, position, 0 FROM other WHERE id NOT IN (SELECT id
			FROM known)) AS found
	ORDER BY weight DESC, document_id COLLATE "C", position LIMIT ?5`

// LikelyChunks returns the ids of at most limit chunks of the datasets whose tokens have the highest total weight, best
// first, then by document and position. For each token, it reads at most visits chunks, in no defined order. If it
// finds fewer than limit, it adds chunks with one of the terms in other, or any chunks if other is nil.
func (t *Tenant) LikelyChunks(ctx context.Context, datasetIDs []string, tokens []WeighedToken, other []string, visits,
	limit int) (ids []string, err error) {
	queries, weights := make([]string, len(tokens)), make([]int32, len(tokens))
	for i, token := range tokens {
		queries[i], weights[i] = token.query(), token.Weight
	}
	chunks := func() *bun.SelectQuery {
		return t.db.NewSelect().TableExpr(schema.ChunksView+" AS chunk").
			ColumnExpr("chunk.id, chunk.document_id, chunk.position").
			Where("chunk.company_id = ?", t.CompanyID()).Apply(inDatasets(datasetIDs))
	}
	others := chunks()
	if other != nil {
		others = others.Where("chunk.search @@ ?::tsquery", anyOfTerms(other))
	}
	err = t.db.NewRaw(likelyChunks, pgdialect.Array(queries), pgdialect.Array(weights),
		chunks().Where("chunk.search @@ asked.query::tsquery"), others, visits, limit).Scan(ctx, &ids)
	return ids, err
}

// inDatasets joins instead of using a list: a multi-column index serves one value per column at a time, but not a list.
func inDatasets(ids []string) pg.Selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Join("JOIN unnest(?::text[]) AS dataset (id) ON dataset.id = chunk.dataset_id", pgdialect.Array(ids))
	}
}
