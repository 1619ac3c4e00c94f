package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// checkRecentRuns returns UNPROCESSABLE if more runs would exceed model.MaxRecentRuns. Executions that start at the
// same time can together exceed it.
func (t *Tenant) checkRecentRuns(ctx context.Context, more int) error {
	var recent int
	if err := t.db.Select((*model.AgentTestExecution)(nil)).ColumnExpr("coalesce(sum(run_count), 0)").
		WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("unfinished > 0").WhereOr("created_at > ?", now().Add(-time.Hour))
		}).Scan(ctx, &recent); err != nil {
		return err
	}
	if recent+more > model.MaxRecentRuns {
		return model.Errorf(model.Unprocessable, "the company's executions that are unfinished or were started within the "+
			"last hour have %d runs: %d more would exceed %d. Try again later", recent, more,
			model.MaxRecentRuns)
	}
	return nil
}

// insertRuns inserts new queued runs of one execution, with their snapshots. COPY would be no faster, and Postgres
// refuses it for tables with row-level security.
func (t tenantTx) insertRuns(ctx context.Context, runs []*model.AgentTestRun) error {
	batch := &pgx.Batch{}
	if err := t.saveSnapshots(batch, runs); err != nil {
		return err
	}
	var ids, tested, names []string
	var existing, rejudged, variants []*string
	var rowKeys []string
	var rowNames, rowValues []*string
	var rowNumbers []*int32
	var positions, attempts, versions []int32
	for _, r := range runs {
		existing, rejudged, variants = append(existing, r.TestID), append(rejudged, r.RejudgeOfID),
			append(variants, r.Variant)
		ids, tested, names = append(ids, r.ID), append(tested, r.TestedID), append(names, r.TestName)
		positions, attempts, versions = append(positions, r.Position), append(attempts, r.Attempt),
			append(versions, r.PromptVersion)
		rowKeys, rowNumbers, rowNames = append(rowKeys, r.RowKey), append(rowNumbers, r.RowNumber),
			append(rowNames, r.RowName)
		rowValues = append(rowValues, nil)
		if r.RowValues != nil {
			rowValues[len(rowValues)-1] = new(string(*r.RowValues))
		}
	}
	var isDraft *bool
	if runs[0].IsDraft {
		isDraft = &runs[0].IsDraft
	}
	batch.Queue(`INSERT INTO agent_test_runs (company_id, id, execution_id, test_id, tested_id, test_name, position,
		attempt, status,
			prompt_version, claim, lost, messages, tool_calls, turn_count, criteria_results, version, created_at, is_draft,
				rejudge_of_id,
			row_key, row_number, row_name, row_values, variant)
		SELECT $1, run.id, $2, run.test_id, run.tested_id, run.test_name, run.position, run.attempt, $3,
			run.prompt_version, 0, 0, '[]', '[]', 0, '[]', $4, $5, $12, run.rejudge_of_id,
			run.row_key, run.row_number, run.row_name, run.row_values::json, run.variant
		FROM unnest($6::text[], $7::text[], $8::text[], $9::int[], $10::int[], $11::int[], $13::text[], $14::text[],
				$15::text[], $16::int[], $17::text[], $18::text[],
				$19::text[])
			AS run (id, tested_id, test_name, position, attempt, prompt_version, test_id, rejudge_of_id, row_key, row_number,
				row_name, row_values, variant)`,
		t.CompanyID(), runs[0].ExecutionID, string(model.AgentTestRunStatusQueued), runs[0].Version, runs[0].CreatedAt,
		ids, tested, names, positions, attempts, versions, isDraft, existing, rejudged,
		rowKeys, rowNumbers, rowNames, rowValues, variants)
	return t.db.Send(ctx, batch)
}
