package db

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// runSummary are the columns of the schema's AgentTestRunSummary, in addition to those that identify and order rows.
var runSummary = []string{"execution_id", "attempt", "status", "prompt_version", "duration_ms", "is_draft",
	"row_number", "row_name", "variant"}

// stepOfSearch finds the execution of a run, if that execution is a step of a search for the cause of a failure.
const stepOfSearch = `SELECT 1 FROM agent_test_executions AS step
	WHERE step.company_id = ?1 AND step.id = ?TableAlias.execution_id
		AND step.blame_search_id IS NOT NULL`

// HistoriesOfTests returns the last runs of each test by the test's id, newest first, at most the given number of each.
// It leaves out runs that judge earlier conversations again and the steps of a search for the cause of a failure.
// isDraft limits it to drafts, or to other runs. It returns BAD_INPUT when the number is not 1 to 100.
func (t *Tenant) HistoriesOfTests(ctx context.Context, ids []string, limit int32,
	isDraft *bool) (map[string][]*model.AgentTestRun, error) {
	wanted := pg.Filter(nil).And("?TableAlias.rejudge_of_id IS NULL", nil).
		And("(?TableAlias.is_draft IS NULL OR NOT EXISTS ("+stepOfSearch+"))", nil)
	if isDraft != nil {
		wanted = wanted.And("(?TableAlias.is_draft IS NOT NULL) = ?", *isDraft)
	}
	rows, err := t.FindPages(ctx, RunsOfTests, wanted, ids, model.PageArgs{First: limit}, runSummary...)
	histories := make(map[string][]*model.AgentTestRun, len(ids))
	for _, row := range rows {
		if testID := row.Parent(); len(histories[testID]) < int(limit) {
			histories[testID] = append(histories[testID], row.(*model.AgentTestRun))
		}
	}
	return histories, err
}

// failureBounds selects, for each test whose newest judged run failed, the last run that passed, if there is one, and
// one failed run after it. It selects the first failed run in the order failedFirst. For a test with rows, it selects
// the first row in the order rowFirst. Runs of drafts do not count.
func (t *Tenant) failureBounds(ids []string, failedFirst, rowFirst string) *bun.SelectQuery {
	judged := func(status model.AgentTestRunStatus) *bun.SelectQuery {
		return t.db.Select((*model.AgentTestRun)(nil)).Column("id", "created_at").
			Where("?TableAlias.test_id = parent.id").Where("?TableAlias.row_key = parent.row_key").
			Where("?TableAlias.status = ?", status).Where(countsInHistory).Limit(1)
	}
	passed := judged(model.AgentTestRunStatusPassed).OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC")
	failed := judged(model.AgentTestRunStatusFailed).OrderExpr(failedFirst).
		Where("(?TableAlias.created_at, ?TableAlias.id) > (coalesce(passed.created_at, '-infinity'), coalesce(passed.id, " +
			"''))")
	rows := t.db.Select((*model.AgentTestRow)(nil)).ColumnExpr("?TableAlias.id, coalesce(row.value ->> 'key', '') AS "+
		"row_key").
		Join("LEFT JOIN LATERAL json_array_elements(?TableAlias.rows) AS row ON true").
		Where("?TableAlias.id = ANY (?)", pgdialect.Array(ids))
	return t.db.NewSelect().TableExpr("(?) AS parent", rows).DistinctOn("parent.id").
		OrderExpr("parent.id, "+rowFirst).ColumnExpr("parent.id, passed.id AS passed_id, failed.id AS failed_id").
		Join("LEFT JOIN LATERAL (?) AS passed ON true", passed).Join("JOIN LATERAL (?) AS failed ON true", failed)
}

// FailuresOfTests returns since when each test has been failing, by the test's id. It contains the tests whose newest
// judged run failed. For a test with rows, it describes the row that has been failing longest. Runs of drafts do not
// count.
func (t *Tenant) FailuresOfTests(ctx context.Context, ids []string) (map[string]*model.AgentTestFailure, error) {
	ends := t.failureBounds(ids, "?TableAlias.created_at, ?TableAlias.id", "failed.created_at, failed.id")
	runs := []*model.AgentTestRun{}
	err := t.db.SelectColumns(&runs, runSummary).ColumnExpr("ends.id AS parent_id").
		Join("JOIN (?) AS ends ON ?TableAlias.id = ANY (ARRAY[ends.passed_id, ends.failed_id])", ends).Scan(ctx)
	failures := make(map[string]*model.AgentTestFailure, len(runs))
	for _, run := range runs {
		if failures[run.ParentID] == nil {
			failures[run.ParentID] = &model.AgentTestFailure{}
		}
		if run.Status == model.AgentTestRunStatusPassed {
			failures[run.ParentID].LastPassed = run
		} else {
			failures[run.ParentID].Run = run
		}
	}
	return failures, err
}
