package db

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// rowsPerMask is how many rows are changed at once. Their texts are in memory.
const rowsPerMask = 20

// maskedTable is a table in whose rows nines replace the number.
type maskedTable struct {
	name string
	// parent is a nil pointer to the struct of the rows whose ids parentID has.
	parent   any
	parentID string
	// id is the expression of a row's id.
	id string
	// columns have texts or JSON. Each has its type.
	columns []string
	// condition selects rows that are complete and that people cannot edit.
	condition string
	// counted counts the rows.
	counted *int64
}

// maskedTables returns the tables in an order that keeps the criteria of labels equal to the criteria of their runs.
func maskedTables(erased *model.Erasure) []maskedTable {
	const finished = "finished_at IS NOT NULL"
	return []maskedTable{
		{"agent_test_runs", (*model.AgentTestRun)(nil), "id", "id", []string{"messages::json",
			"tool_calls::json", "snapshot::json", "criteria_results::json", "check_results::json",
			"classification_result::json", "error::json", "held::json", "row_values::json", "extracted::json",
			"row_key::text", "row_name::text", "extraction_error::text", "test_name::text"}, finished, &erased.Runs},
		{"agent_test_executions", (*model.AgentTestExecution)(nil), "id", "id", []string{
			"left_out_tests::jsonb", "variants::jsonb", "draft_prompt::text"}, finished, &erased.Executions},
		{"criterion_labels", (*model.CriterionLabel)(nil), "id", "id", []string{"criterion::text", "note::text"}, "true",
			&erased.Labels},
		{"prompt_versions", (*model.PromptVersion)(nil), "id", "id", []string{"prompt::text", "note::text"}, `EXISTS (SELECT 1
			FROM prompt_versions AS newer WHERE newer.company_id = prompt_versions.company_id
			AND newer.agent_id = prompt_versions.agent_id AND newer.version > prompt_versions.version)`,
			&erased.PromptVersions},
		{"agent_test_snapshots", (*model.AgentTestExecution)(nil), "execution_id", "execution_id || ' ' || id",
			[]string{"definition::json"}, `EXISTS (SELECT 1 FROM agent_test_executions AS execution
			WHERE execution.company_id = agent_test_snapshots.company_id AND execution.id = execution_id
			AND execution.finished_at IS NOT NULL)`, &erased.Snapshots},
	}
}

// texts is an expression of all texts of a row.
func (m maskedTable) texts() string { return "concat_ws(' ', " + strings.Join(m.columns, ", ") + ")" }

// rows selects the rows of the parents with the ids.
func (m maskedTable) rows(t *Tenant, parents []string) *bun.SelectQuery {
	return t.db.NewSelect().TableExpr("?", bun.Ident(m.name)).Where("company_id = ?", t.CompanyID()).
		Where("? IN (?)", bun.Ident(m.parentID), bun.List(parents)).Where(m.condition)
}

// eraseFrom replaces the number in the rows of the parents with the ids, and returns the ids of the changed rows.
func (e erasure) eraseFrom(ctx context.Context, t *Tenant, m maskedTable, parents []string) (masked []string,
	err error) {
	found, err := e.search(ctx, t, m.rows(t, parents).ColumnExpr("?, ?", bun.Safe(m.id), bun.Safe(m.texts())).
		Where("?", e.mayBeIn(m.texts())).OrderExpr("1"), e.Contains)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		for ids := range slices.Chunk(found, rowsPerMask) {
			changed, err := e.mask(ctx, t, m, parents, ids)
			if err != nil {
				return err
			}
			masked = append(masked, changed...)
		}
		return nil
	})
	return masked, err
}

// mask replaces the number in the rows with the ids, and returns the ids of the changed rows. It reads the rows again
// and locks them, because they may have changed.
func (e erasure) mask(ctx context.Context, t tenantTx, m maskedTable, parents, ids []string) (masked []string,
	err error) {
	rows := []struct {
		ID    string    `bun:"id"`
		Texts []*string `bun:"texts,type:json"`
	}{}
	err = m.rows(t.Tenant, parents).ColumnExpr("? AS id", bun.Safe(m.id)).
		ColumnExpr("to_json(ARRAY[?::text]) AS texts", bun.Safe(strings.Join(m.columns, "::text, "))).
		Where("? IN (?)", bun.Safe(m.id), bun.List(ids)).OrderExpr("1").For("NO KEY UPDATE").Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	for i, column := range m.columns {
		var changed, texts []string
		for _, row := range rows {
			if row.Texts[i] == nil {
				continue
			}
			if text := e.Mask(*row.Texts[i]); text != *row.Texts[i] {
				changed, texts = append(changed, row.ID), append(texts, text)
			}
		}
		if len(changed) == 0 {
			continue
		}
		name, kind, _ := strings.Cut(column, "::")
		err := exec(ctx, t.db.NewUpdate().TableExpr("?", bun.Ident(m.name)).
			TableExpr("unnest(?::text[], ?::text[]) AS masked (row, text)", pgdialect.Array(changed), pgdialect.Array(texts)).
			Set("? = masked.text::?", bun.Ident(name), bun.Safe(kind)).Where("company_id = ?", t.CompanyID()).
			Where("? IN (?)", bun.Ident(m.parentID), bun.List(parents)).Where("? = masked.row", bun.Safe(m.id)))
		if err != nil {
			return nil, err
		}
		masked = append(masked, changed...)
	}
	slices.Sort(masked)
	return slices.Compact(masked), nil
}
