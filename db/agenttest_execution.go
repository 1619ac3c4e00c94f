package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

const agentTestExecution = "agent test execution"

// AgentTestExecution returns one execution, or NOT_FOUND.
func (t *Tenant) AgentTestExecution(ctx context.Context, id string) (*model.AgentTestExecution, error) {
	execution := &model.AgentTestExecution{}
	return execution, t.db.One(ctx, agentTestExecution, id, execution)
}

func (t tenantTx) lockAgentTestExecution(ctx context.Context, id string,
	strength rowLock) (*model.AgentTestExecution, error) {
	execution := &model.AgentTestExecution{}
	return execution, t.lock(ctx, agentTestExecution, id, execution, strength)
}

// Lists of a company's executions: by their ids, in pages, and by the agents whose tests they run.
var (
	AgentTestExecutionRows = pg.Rows{Type: agentTestExecution, Model: (*model.AgentTestExecution)(nil), Key: pg.ByID}
	AgentTestExecutionList = pg.List{Model: (*model.AgentTestExecution)(nil), Order: pg.NewestFirst}
	ExecutionsOfAgents     = pg.List{Model: (*model.AgentTestExecution)(nil), Of: "?TableAlias.agent_id = ?1",
		Order: pg.NewestFirst}
)

// AgentTestExecutionsByID returns the executions with the ids, in any order. Ids that do not exist are left out.
func (t *Tenant) AgentTestExecutionsByID(ctx context.Context, ids []string,
	columns ...string) ([]*model.AgentTestExecution, error) {
	return pg.Find[*model.AgentTestExecution](ctx, t.db, AgentTestExecutionRows, ids, columns...)
}

// statusOfExecution and verdictOfExecution compute model.AgentTestExecution.Status and model.AgentTestRunCounts.Verdict
// in SQL. They read the stored counts, which every finished execution has.
const (
	statusOfExecution = `CASE WHEN ?TableAlias.status = 'Cancelled' AND ?TableAlias.finished_at IS NULL THEN 'Cancelling'
		ELSE ?TableAlias.status END`
	verdictOfExecution = `CASE WHEN ?TableAlias.finished_at IS NULL THEN NULL WHEN ?TableAlias.failed_runs > 0 THEN 'Failed'
		WHEN ?TableAlias.error_runs > 0 THEN 'Error'
		WHEN ?TableAlias.passed_runs > 0 AND ?TableAlias.cancelled_runs = 0 THEN 'Passed'
		ELSE 'Inconclusive' END`
)

// ExecutionsMatching returns the filter of a list of executions. wanted is valid or nil.
func ExecutionsMatching(wanted *model.AgentTestExecutionFilter) (f pg.Filter) {
	if wanted == nil {
		return nil
	}
	if wanted.Statuses != nil {
		f = f.And(statusOfExecution+" = ANY (?::text[])", wanted.Statuses)
	}
	if wanted.Verdicts != nil {
		f = f.And(verdictOfExecution+" = ANY (?::text[])", wanted.Verdicts)
	}
	if wanted.IsDraft != nil {
		f = f.And("(?TableAlias.is_draft IS NOT NULL) = ?::boolean", *wanted.IsDraft)
	}
	return f
}

// AgentTestExecutions returns a page of the executions that pass the filter, newest first. If agentID is set, it
// returns only executions of this agent's tests, or NOT_FOUND if there is no such agent.
func (t *Tenant) AgentTestExecutions(
	ctx context.Context, args model.PageArgs, agentID *string, wanted *model.AgentTestExecutionFilter, columns ...string,
) (*model.Page[*model.AgentTestExecution], error) {
	if err := wanted.Validate(); err != nil {
		return nil, err
	}
	if err := t.db.Exists(ctx, "agent", agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	return pg.Page[*model.AgentTestExecution](ctx, t.db, AgentTestExecutionList, args, columns,
		append(WhereAgent(agentID), ExecutionsMatching(wanted)...))
}

// CountsOfExecutions returns the number of runs in each state, for each execution by its id.
func (t *Tenant) CountsOfExecutions(ctx context.Context, ids []string) (map[string]*model.AgentTestRunCounts, error) {
	rows := []struct {
		ExecutionID string
		Counts      model.AgentTestRunCounts `bun:"embed:"`
	}{}
	one := counted(t.db.Select((*model.AgentTestRun)(nil)).Where("?TableAlias.execution_id = agent_test_execution.id").
		Where("agent_test_execution.passed_runs IS NULL"))
	err := t.db.Select((*model.AgentTestExecution)(nil)).ColumnExpr("?TableAlias.id AS execution_id").
		ColumnExpr(`counted.queued, counted.running, coalesce(passed_runs, counted.passed) AS passed, coalesce(failed_runs, counted.failed) AS failed,
			coalesce(error_runs, counted.error) AS error, coalesce(cancelled_runs, counted.cancelled) AS cancelled,
			coalesce(skipped_runs, counted.skipped) AS skipped,
			coalesce(passed_runs + failed_runs + error_runs + cancelled_runs + skipped_runs, counted.total) AS total`).
		Join("CROSS JOIN LATERAL (?) AS counted", one).Where("?TableAlias.id IN (?)", bun.List(ids)).Scan(ctx, &rows)
	counts := make(map[string]*model.AgentTestRunCounts, len(rows))
	for i := range rows {
		counts[rows[i].ExecutionID] = &rows[i].Counts
	}
	return counts, err
}

// SimulatorErrorsOfExecutions returns the number of runs that ended with an error of the simulated contact, for each
// execution by its id.
func (t *Tenant) SimulatorErrorsOfExecutions(ctx context.Context, ids []string) (map[string]int32, error) {
	rows := []struct {
		ExecutionID string
		Errors      int32
	}{}
	err := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.execution_id, count(*) AS errors").
		Where("?TableAlias.execution_id IN (?)", bun.List(ids)).Where("?TableAlias.status = 'Error'").
		Where("?TableAlias.error->>'cause' = ?", model.RunErrorCauseSimulator).Group("execution_id").Scan(ctx, &rows)
	errors := make(map[string]int32, len(rows))
	for _, row := range rows {
		errors[row.ExecutionID] = row.Errors
	}
	return errors, err
}

// updateProgress returns a statement that saves the progress of a locked execution. If the execution is finished, the
// statement also counts the runs by their final status, so execute it after writing the runs.
func (t *Tenant) updateProgress(execution *model.AgentTestExecution) *bun.UpdateQuery {
	q := t.db.Update(execution).Column("status", "unfinished", "next_position", "version", "started_at", "finished_at").
		WherePK()
	if execution.IsFinished() {
		q = q.Set(schema.EndsOfRuns("?"), t.CompanyID())
	}
	return q
}

// TalliesOfExecutions returns the tallies of each execution, by its id. A tally is the number of runs in each state,
// for one test in one variant. A test with rows has a tally for each row. Tallies are in the order of the execution's
// runs, and include tests that were deleted since.
func (t *Tenant) TalliesOfExecutions(ctx context.Context, ids []string) (map[string][]model.TestTally, error) {
	rows := []struct {
		ExecutionID string
		Tally       model.TestTally `bun:"embed:"`
	}{}
	err := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.execution_id, ?TableAlias.tested_id, "+
		"?TableAlias.row_key, ?TableAlias.variant").
		ColumnExpr("max(test.id) AS test_id, min(?TableAlias.test_name) AS test_name").Apply(withTests).Apply(counted).
		Where("?TableAlias.execution_id IN (?)", bun.List(ids)).
		GroupExpr("?TableAlias.execution_id, ?TableAlias.tested_id, ?TableAlias.row_key, ?TableAlias.variant").
		OrderExpr("?TableAlias.execution_id, min(?TableAlias.position)").
		Scan(ctx, &rows)
	tallies := make(map[string][]model.TestTally, len(ids))
	for _, row := range rows {
		tallies[row.ExecutionID] = append(tallies[row.ExecutionID], row.Tally)
	}
	return tallies, err
}

// TestsOfExecutions returns the tests of each execution with their runs, by the execution's id. A test with rows is
// returned once for each row. Tests are in the order of the execution's runs, and include those that were deleted
// since.
func (t *Tenant) TestsOfExecutions(ctx context.Context,
	ids []string) (map[string][]*model.AgentTestExecutionTest, error) {
	rows := []*struct {
		Run      model.AgentTestRun `bun:"embed:"`
		FolderID *string
	}{}
	err := t.db.SelectColumns((*model.AgentTestRun)(nil), append([]string{"tested_id", "test_name", "row_key"},
		runSummary...)).
		ColumnExpr("test.id AS test_id, test.folder_id").Apply(withTests).
		Where("?TableAlias.execution_id IN (?)", bun.List(ids)).OrderExpr("?TableAlias.execution_id, ?TableAlias.position").
		Scan(ctx, &rows)
	tests := make(map[string][]*model.AgentTestExecutionTest, len(ids))
	type key struct{ execution, test, row string }
	known, all := map[key]*model.AgentTestExecutionTest{}, []*model.AgentTestExecutionTest{}
	for _, row := range rows {
		run := &row.Run
		test := known[key{run.ExecutionID, run.TestedID, run.RowKey}]
		if test == nil {
			test = &model.AgentTestExecutionTest{
				TestID: run.TestedID, ExistingID: run.TestID, TestName: run.TestName, FolderID: row.FolderID,
				RowKey: run.RowKey, RowNumber: run.RowNumber, RowName: run.RowName,
			}
			known[key{run.ExecutionID, run.TestedID, run.RowKey}] = test
			tests[run.ExecutionID] = append(tests[run.ExecutionID], test)
			all = append(all, test)
		}
		test.Runs = append(test.Runs, run)
	}
	pg.JoinBatch(all)
	return tests, err
}

// withTests joins the tests of runs, where they still exist.
func withTests(q *bun.SelectQuery) *bun.SelectQuery {
	return q.Join("LEFT JOIN agent_tests AS test ON test.company_id = ?TableAlias.company_id AND test.id = " +
		"?TableAlias.test_id AND test.deleted_at IS NULL")
}

// PromptVersionsOfExecutions returns the prompt versions that the runs of each execution used, lowest first, by the
// execution's id.
func (t *Tenant) PromptVersionsOfExecutions(ctx context.Context, ids []string) (map[string][]int32, error) {
	rows := []struct {
		ExecutionID   string
		PromptVersion int32
	}{}
	err := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("DISTINCT ?TableAlias.execution_id, "+
		"?TableAlias.prompt_version").
		Where("?TableAlias.execution_id IN (?)", bun.List(ids)).OrderExpr("?TableAlias.execution_id, "+
		"?TableAlias.prompt_version").Scan(ctx, &rows)
	versions := make(map[string][]int32, len(ids))
	for _, row := range rows {
		versions[row.ExecutionID] = append(versions[row.ExecutionID], row.PromptVersion)
	}
	return versions, err
}

// counted adds columns with the number of runs in each state.
func counted(q *bun.SelectQuery) *bun.SelectQuery {
	q = q.ColumnExpr("count(*) AS total")
	for column, status := range map[string]model.AgentTestRunStatus{
		"queued": model.AgentTestRunStatusQueued, "running": model.AgentTestRunStatusRunning,
		"passed": model.AgentTestRunStatusPassed, "failed": model.AgentTestRunStatusFailed,
		"error": model.AgentTestRunStatusError, "cancelled": model.AgentTestRunStatusCancelled,
		"skipped": model.AgentTestRunStatusSkipped,
	} {
		q = q.ColumnExpr("count(*) FILTER (WHERE ?TableAlias.status = ?) AS ?", status, bun.Ident(column))
	}
	return q
}

// CancelAgentTestExecution cancels an execution and returns it. Queued runs are cancelled immediately. The workers of
// other runs are signaled to stop, and the execution is finished when the last run has ended. Cancelling it again
// changes nothing. It returns CONFLICT when the execution is finished.
func (t *Tenant) CancelAgentTestExecution(ctx context.Context,
	in model.CancelAgentTestExecutionInput) (*model.AgentTestExecution, error) {
	var execution *model.AgentTestExecution
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		runs := t.db.Select((*model.AgentTestRun)(nil)).Column("id").Where("execution_id = ?", in.ExecutionID)
		if _, err := t.lockTests(ctx, forUpdate, pg.Where("last_run_id IN (?)", runs)); err != nil {
			return err
		}
		if execution, err = t.lockAgentTestExecution(ctx, in.ExecutionID, forUpdate); err != nil {
			return err
		}
		switch {
		case execution.IsFinished():
			return model.Errorf(model.Conflict, "agent test execution %q is already finished", execution.ID)
		case execution.State == model.AgentTestExecutionStatusCancelled:
			return nil
		}
		inProgress := []*model.AgentTestRun{}
		if err := t.db.Select(&inProgress).Column("id").Where("execution_id = ?", execution.ID).
			Where("status = ?", model.AgentTestRunStatusRunning).Scan(ctx); err != nil {
			return err
		}
		for _, run := range inProgress {
			t.wake(run.ID)
		}
		t.wake(execution.ID)
		if err := t.cancelQueued(ctx, execution); err != nil {
			return err
		}
		return t.enqueueExecutionEvents(ctx, []*model.AgentTestExecution{execution})
	})
	return execution, err
}

// cancelQueued cancels a locked execution and its queued runs.
func (t *Tenant) cancelQueued(ctx context.Context, execution *model.AgentTestExecution) error {
	at := now()
	cancelled := []*model.AgentTestRun{}
	err := t.db.Update((*model.AgentTestRun)(nil)).Set("status = ?", model.AgentTestRunStatusCancelled).
		Set("finished_at = ?", at).Set("version = ?", execution.Version+1).
		Where("execution_id = ?", execution.ID).Where("status = ?", model.AgentTestRunStatusQueued).
		Returning("id").Scan(ctx, &cancelled)
	if err != nil {
		return err
	}
	ids := idsOf(cancelled)
	if _, err := t.db.Update((*model.AgentTestRow)(nil)).Set("last_run_status = ?", model.AgentTestRunStatusCancelled).
		Set("last_run_at = ?", at).Where("last_run_id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
		return err
	}
	execution.State = model.AgentTestExecutionStatusCancelled
	execution.EndQueued(int32(len(cancelled)), at)
	return exec(ctx, t.updateProgress(execution))
}

// WhereExecution narrows a list to the rows of the execution. A nil id adds no condition.
func WhereExecution(id *string) pg.Filter { return pg.Equal(nil, "execution_id", id) }
