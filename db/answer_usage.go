package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// UsageOfRuns sums up the usage of the agents' answers in each run, in one statement. Runs without measured answers are
// left out.
func (t *Tenant) UsageOfRuns(ctx context.Context, ids []string) (map[string]*model.UsageSummary, error) {
	return t.usage(ctx, "id", ids)
}

// UsageOfExecutions is like UsageOfRuns, for all runs of each execution.
func (t *Tenant) UsageOfExecutions(ctx context.Context, ids []string) (map[string]*model.UsageSummary, error) {
	return t.usage(ctx, "execution_id", ids)
}

// UsageOfVariants is like UsageOfExecutions, for each variant, and for each test or row in each variant.
func (t *Tenant) UsageOfVariants(ctx context.Context, ids []string) (map[string][]model.UsageOfVariant, error) {
	var rows []struct {
		usageRow
		Variant          string
		TestedID, RowKey *string
	}
	err := t.usageOf("execution_id", ids).ColumnExpr("?TableAlias.variant, ?TableAlias.tested_id, ?TableAlias.row_key").
		Where("?TableAlias.variant IS NOT NULL").
		GroupExpr("GROUPING SETS ((?TableAlias.execution_id, ?TableAlias.variant), (?TableAlias.execution_id, "+
			"?TableAlias.variant, ?TableAlias.tested_id, ?TableAlias.row_key))").Scan(ctx, &rows)
	usage := map[string][]model.UsageOfVariant{}
	for _, row := range rows {
		usage[row.Key] = append(usage[row.Key], model.UsageOfVariant{Variant: row.Variant, TestedID: row.TestedID,
			RowKey: row.RowKey, UsageSummary: row.summary()})
	}
	return usage, err
}

func (t *Tenant) usage(ctx context.Context, key string, ids []string) (map[string]*model.UsageSummary, error) {
	var rows []usageRow
	err := t.usageOf(key, ids).GroupExpr("?TableAlias.?", bun.Ident(key)).Scan(ctx, &rows)
	return model.MapOf(rows, func(row usageRow) (string, *model.UsageSummary) { return row.Key, row.summary() }), err
}

// usageRow is a row of usageOf.
type usageRow struct {
	Key              string
	Summary          model.UsageSummary `bun:"embed:"`
	FirstToken, Took []float64          `bun:"type:jsonb"`
}

func (r usageRow) summary() *model.UsageSummary {
	r.Summary.FirstTokenMs, r.Summary.TookMs = model.NewPercentiles(r.FirstToken), model.NewPercentiles(r.Took)
	return &r.Summary
}

// usageOf selects the usage of the answers in the runs whose column key has one of the ids. The caller groups the rows.
func (t *Tenant) usageOf(key string, ids []string) *bun.SelectQuery {
	const ranks = "to_jsonb(percentile_disc(ARRAY[?]) WITHIN GROUP (ORDER BY (usage->>?)::float8)) AS ?"
	q := t.db.Select((*model.AgentTestRun)(nil)).
		Join("CROSS JOIN LATERAL json_array_elements(?TableAlias.messages) AS message(value)").
		Join("CROSS JOIN LATERAL (SELECT (message.value->'usage')::jsonb AS usage) AS measured").
		ColumnExpr("?TableAlias.? AS key, count(*) AS answers", bun.Ident(key)).
		ColumnExpr("count(*) FILTER (WHERE usage->'isFallback' = 'true') AS fallbacks").
		ColumnExpr("coalesce(jsonb_agg(DISTINCT usage->'model') FILTER (WHERE usage ? 'model'), '[]') AS models",
			bun.Safe("?")).
		ColumnExpr(ranks, bun.List(model.Ranks), "firstTokenMs", bun.Ident("first_token")).
		ColumnExpr(ranks, bun.List(model.Ranks), "tookMs", bun.Ident("took"))
	for column, member := range map[string]string{"input_tokens": "inputTokens", "cached_tokens": "cachedTokens",
		"output_tokens": "outputTokens"} {
		q = q.ColumnExpr("sum((usage->>?)::float8) AS ?", member, bun.Ident(column))
	}
	return q.ColumnExpr("(sum((usage->>'credits')::numeric) * ?)::bigint AS credits", int64(model.Credit)).
		Where("?TableAlias.? IN (?)", bun.Ident(key), bun.List(ids)).Where("usage IS NOT NULL")
}
