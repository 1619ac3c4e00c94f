package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/model"
)

// runsOf returns the runs of an execution: all first attempts, then all second attempts, and so on. It returns
// UNPROCESSABLE if there are no runs, or too many, or if their rows and starting conversations are too large together.
func runsOf(execution *model.AgentTestExecution, rows []runRow) ([]*model.AgentTestRun, error) {
	var faults model.Fields
	count, size := 0, 0
	starts := map[*model.AgentTestRow]int{} // the bytes of the conversations that runs continue and store again
	for _, r := range rows {
		count += int(r.attempts)
		test := r.snapshot.Test
		if _, isKnown := starts[test]; !isKnown && len(test.ConversationMessages) > 0 {
			text, err := json.Marshal(test.ConversationMessages)
			if err != nil {
				return nil, err
			}
			starts[test] = len(text)
		}
		size += int(r.attempts) * starts[test]
		if r.row != nil {
			size += int(r.attempts) * len(r.row.Values)
		}
	}
	switch {
	case count == 0:
		faults.Add("executionId", "names an execution whose tests were all deleted")
	case count > model.MaxRuns:
		faults.Add("repeats", "make %d runs of all tests, rows and variants, but an execution has at most %d", count,
			model.MaxRuns)
	case size > model.MaxRunsValues:
		faults.Add("repeats", "make runs with %d bytes of row values and starting conversations in total, but an "+
			"execution has at most %d", size, model.MaxRunsValues)
	}
	runs := []*model.AgentTestRun{}
	for attempt := int32(1); attempt <= execution.Repeats && len(faults) == 0; attempt++ {
		for _, r := range rows {
			if attempt > r.attempts {
				continue
			}
			test := r.snapshot.Test
			run := &model.AgentTestRun{
				TestID: &test.ID, TestedID: test.ID, TestName: test.Name, Attempt: attempt,
				Snapshot: *r.snapshot, PromptVersion: r.snapshot.Agent.PromptVersion, IsDraft: execution.IsDraft,
				Variant: r.variant,
			}
			if r.row != nil {
				run.RowKey, run.RowNumber, run.RowName, run.RowValues = r.row.Key, new(r.number), r.row.Name, &r.row.Values
			}
			runs = append(runs, run)
		}
	}
	return runs, faults.As(model.Unprocessable)
}

// checkRecentRuns returns UNPROCESSABLE if more runs would exceed model.MaxRecentRuns. Executions that start at the
// same time can together exceed it.
func (t *Tenant) checkRecentRuns(ctx context.Context, more int) error {
	var recent int
	// Deleted executions count until their runs are removed.
	if err := t.db.NewRaw(`SELECT coalesce(sum(run_count), 0) FROM agent_test_executions WHERE company_id = ?
		AND (unfinished > 0 OR created_at > ?)`, t.CompanyID(), now().Add(-time.Hour)).Scan(ctx, &recent); err != nil {
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
