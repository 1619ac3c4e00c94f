package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// UsageOfRuns sums up what the agents' answers took in each run, in one statement. Runs without measured answers are
// left out.
func (t *Tenant) UsageOfRuns(ctx context.Context, ids []string) (map[string]*model.UsageSummary, error) {
	return t.usage(ctx, "id", ids)
}

// UsageOfExecutions is like UsageOfRuns, for all runs of each execution.
func (t *Tenant) UsageOfExecutions(ctx context.Context, ids []string) (map[string]*model.UsageSummary, error) {
	return t.usage(ctx, "execution_id", ids)
}

func (t *Tenant) usage(ctx context.Context, key string, ids []string) (map[string]*model.UsageSummary, error) {
	var rows []struct {
		Key              string
		Summary          model.UsageSummary `bun:"embed:"`
		FirstToken, Took []float64          `bun:"type:jsonb"`
	}
	const ranks = "to_jsonb(percentile_disc(ARRAY[0.5, 0.9, 0.99, 1]) WITHIN GROUP (ORDER BY (usage->>?)::float8)) AS ?"
	q := t.db.Select((*model.AgentTestRun)(nil)).
		Join("CROSS JOIN LATERAL json_array_elements(?TableAlias.messages) AS message(value)").
		Join("CROSS JOIN LATERAL (SELECT (message.value->'usage')::jsonb AS usage) AS measured").
		ColumnExpr("?TableAlias.? AS key, count(*) AS answers", bun.Ident(key)).
		ColumnExpr("count(*) FILTER (WHERE usage->'isFallback' = 'true') AS fallbacks").
		ColumnExpr("coalesce(jsonb_agg(DISTINCT usage->'model') FILTER (WHERE usage ? 'model'), '[]') AS models",
			bun.Safe("?")).
		ColumnExpr(ranks, "firstTokenMs", bun.Ident("first_token")).ColumnExpr(ranks, "tookMs", bun.Ident("took"))
	for column, member := range map[string]string{"input_tokens": "inputTokens", "cached_tokens": "cachedTokens",
		"output_tokens": "outputTokens"} {
		q = q.ColumnExpr("sum((usage->>?)::float8) AS ?", member, bun.Ident(column))
	}
	q = q.ColumnExpr("(sum((usage->>'credits')::numeric) * ?)::bigint AS credits", int64(model.Credit))
	err := q.Where("?TableAlias.? IN (?)", bun.Ident(key), bun.List(ids)).Where("usage IS NOT NULL").
		GroupExpr("?TableAlias.?", bun.Ident(key)).Scan(ctx, &rows)
	summaries := make(map[string]*model.UsageSummary, len(rows))
	for i := range rows {
		summary := &rows[i].Summary
		summary.FirstTokenMs, summary.TookMs = model.NewPercentiles(rows[i].FirstToken), model.NewPercentiles(rows[i].Took)
		summaries[rows[i].Key] = summary
	}
	return summaries, err
}
