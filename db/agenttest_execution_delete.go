package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// DeleteAgentTestExecution deletes an execution with its runs, and the executions that judged it again. It returns
// CONFLICT when one of them is not finished.
func (t *Tenant) DeleteAgentTestExecution(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.deleteExecutions(ctx, []string{id}); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionDeleteAgentTestExecution, id)
	})
}

// deleteExecutions deletes executions, their runs, and the executions that judged their conversations again. It only
// marks them, because they can have many runs. If a test has an earlier run, that becomes its last run. It returns
// NOT_FOUND when an execution does not exist, and CONFLICT when one of them is not finished.
func (t tenantTx) deleteExecutions(ctx context.Context, ids []string) error {
	// The lock allows one deletion at a time. Otherwise, the earlier run could belong to an execution that another request
	// is deleting.
	if _, err := t.db.NewRaw("SELECT 1 FROM companies WHERE id = ? FOR NO KEY UPDATE", t.CompanyID()).
		Exec(ctx); err != nil {
		return err
	}
	// All transactions lock tests before executions, so that they cannot deadlock.
	runs := t.db.Select((*model.AgentTestRun)(nil)).Column("id").Where("execution_id IN (?)", bun.List(ids))
	if err := t.replaceLastRuns(ctx, runs, ids...); err != nil {
		return err
	}
	executions := []*model.AgentTestExecution{}
	if err := t.db.Select(&executions).Where("id IN (?) OR rejudge_of_id IN (?)", bun.List(ids), bun.List(ids)).
		Order("id").For(string(forDelete)).Scan(ctx); err != nil {
		return err
	}
	for _, e := range executions {
		if !e.IsFinished() {
			return model.Errorf(model.Conflict, "agent test execution %q is not finished", e.ID)
		}
		t.wake(e.ID)
	}
	if _, err := inOrder(agentTestExecution, ids, executions); err != nil {
		return err
	}
	marked := idsOf(executions)
	if _, err := t.db.Update((*model.AgentTestExecution)(nil)).Set("retry_of_id = NULL").
		Where("retry_of_id IN (?)", bun.List(marked)).Exec(ctx); err != nil {
		return err
	}
	return exec(ctx, t.db.Update((*model.AgentTestExecution)(nil)).Set("deleted_at = ?", now()).Set("retry_of_id = NULL").
		Where("id IN (?)", bun.List(marked)))
}

// replaceLastRuns updates the tests whose last run is in runs, a list of ids or a query for them. Their last run
// becomes the newest earlier run that does not belong to the executions.
func (t tenantTx) replaceLastRuns(ctx context.Context, runs any, executionIDs ...string) error {
	tests, err := t.lockTests(ctx, forUpdate, pg.Where("last_run_id IN (?)", runs))
	if err != nil || len(tests) == 0 {
		return err
	}
	testIDs := idsOf(tests)
	before := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.id, ?TableAlias.status, "+
		"coalesce(?TableAlias.finished_at, ?TableAlias.created_at)").
		Where("?TableAlias.test_id = agent_test.id").Where(countsInHistory).Where("?TableAlias.execution_id NOT IN (?)",
		bun.List(executionIDs)).
		OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC").Limit(1)
	_, err = t.db.Update((*model.AgentTestRow)(nil)).Set("(last_run_id, last_run_status, last_run_at) = (?)", before).
		Where("?TableAlias.id IN (?)", bun.List(testIDs)).Where("last_run_id IN (?)", runs).Exec(ctx)
	return err
}
