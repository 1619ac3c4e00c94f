package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// DeleteAgentTestExecution deletes an execution with its runs. CONFLICT when it is not finished.
func (t *Tenant) DeleteAgentTestExecution(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.deleteExecutions(ctx, []string{id}); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionDeleteAgentTestExecution, id)
	})
}

// deleteExecutions deletes executions with their runs, and with the executions that judged their conversations again. The
// last runs of tests become those before, if there are any. NOT_FOUND when one does not exist, CONFLICT when one of all these is not finished.
func (t tenantTx) deleteExecutions(ctx context.Context, ids []string) error {
	// Tests are locked before executions, as by everybody.
	runs := t.find((*model.AgentTestRun)(nil)).Column("id").Where("execution_id IN (?)", bun.List(ids))
	tests, err := t.lockTests(ctx, forUpdate, where("last_run_id IN (?)", runs))
	if err != nil {
		return err
	}
	executions := []*model.AgentTestExecution{}
	if err := t.find(&executions).Where("id IN (?) OR rejudge_of_id IN (?)", bun.List(ids), bun.List(ids)).Order("id").For(string(forDelete)).Scan(ctx); err != nil {
		return translate(err)
	}
	known := map[string]bool{}
	for _, e := range executions {
		if !e.IsFinished() {
			return model.Errorf(model.Conflict, "agent test execution %q is not finished", e.ID)
		}
		known[e.ID] = true
	}
	for _, id := range ids {
		if !known[id] {
			return model.Missing(agentTestExecution, id)
		}
	}
	testIDs := make([]string, len(tests))
	for i, test := range tests {
		testIDs[i] = test.ID
	}
	before := t.find((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.id, ?TableAlias.status, coalesce(?TableAlias.finished_at, ?TableAlias.created_at)").
		Where("?TableAlias.test_id = agent_test.id").Where(ofRecord).Where("?TableAlias.execution_id NOT IN (?)", bun.List(ids)).
		OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC").Limit(1)
	if _, err := t.change((*model.AgentTestRow)(nil)).Set("(last_run_id, last_run_status, last_run_at) = (?)", before).
		Where("?TableAlias.id IN (?)", bun.List(testIDs)).Where("last_run_id IN (?)", runs).Exec(ctx); err != nil {
		return translate(err)
	}
	if _, err := t.change((*model.AgentTestExecution)(nil)).Set("retry_of_id = NULL").Where("retry_of_id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
		return translate(err)
	}
	for id := range known {
		t.wake(id)
	}
	_, err = t.remove((*model.AgentTestExecution)(nil)).Where("id IN (?)", bun.List(ids)).Exec(ctx)
	return translate(err)
}
