package db

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Rejudgments of executions and of runs.
var (
	RejudgementsOfExecutions = pg.Rows{Model: (*model.AgentTestExecution)(nil), Key: "?TableAlias.rejudge_of_id",
		Order: "?TableAlias.created_at DESC, ?TableAlias.id DESC"}
	RejudgementsOfRuns = pg.Rows{Model: (*model.AgentTestRun)(nil), Key: "?TableAlias.rejudge_of_id",
		Order: "?TableAlias.created_at DESC, ?TableAlias.id DESC"}
)

// RejudgeAgentTestExecution judges the conversations of a finished execution again, as a new execution. It returns
// CONFLICT when the execution is not finished. It returns UNPROCESSABLE when the execution has no finished
// conversation, only judged the conversations of another, or was judged again too often. UNPROCESSABLE is also returned
// when the input names a test without a conversation, or asks for the present criteria of tests that were all deleted.
func (t *Tenant) RejudgeAgentTestExecution(ctx context.Context,
	in model.RejudgeAgentTestExecutionInput) (*model.AgentTestExecution, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var execution *model.AgentTestExecution
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		original, err := t.AgentTestExecution(ctx, in.ExecutionID)
		if err != nil {
			return err
		}
		if !original.IsFinished() {
			return model.Errorf(model.Conflict, "agent test execution %q is not finished", original.ID)
		}
		if err := t.holdAgent(ctx, original); err != nil {
			return err
		}
		runs, err := t.finishedConversations(ctx, original)
		if err != nil {
			return err
		}
		present, err := t.testsOf(ctx, runs)
		if err != nil {
			return err
		}
		if err := t.checkRejudgeLimit(ctx, original.ID); err != nil {
			return err
		}
		execution = in.NewExecution(original)
		rejudged, err := t.rejudged(ctx, in, execution, runs, present)
		if err != nil {
			return err
		}
		return t.insertExecution(ctx, execution, rejudged)
	})
	return execution, err
}

// holdAgent locks the agent of an execution, if it still exists, before any row that a deletion of the agent changes.
func (t tenantTx) holdAgent(ctx context.Context, execution *model.AgentTestExecution) error {
	if execution.AgentID == nil {
		return nil
	}
	_, err := t.lockAgent(ctx, *execution.AgentID, forShare)
	if pg.IsMissing(err) {
		execution.AgentID = nil
		return nil
	}
	return err
}

// finishedConversations returns the runs of an execution whose conversations were completed, without their messages.
func (t *Tenant) finishedConversations(
	ctx context.Context, held *model.AgentTestExecution,
) ([]*model.AgentTestRun, error) {
	var faults model.Fields
	if held.RejudgeOfID != nil {
		faults.Add("executionId", "names an execution that only judged conversations again: name the original execution %q",
			*held.RejudgeOfID)
		return nil, faults.As(model.Unprocessable)
	}
	runs := []*model.AgentTestRun{}
	if err := t.db.Select(&runs).Apply(t.withExistingTest).Column("id", "tested_id", "test_name", "row_key",
		"row_number", "row_name", "row_values", "attempt", "prompt_version", "is_draft", "variant").
		Where("execution_id = ?", held.ID).Where("end_reason IS NOT NULL").Order("position").Scan(ctx); err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		faults.Add("executionId", "names an execution without a finished conversation")
	}
	return runs, faults.As(model.Unprocessable)
}

// testsOf locks the tests of runs until the end of the transaction, and returns those that still exist, by id.
func (t tenantTx) testsOf(ctx context.Context, runs []*model.AgentTestRun) (map[string]*model.AgentTestRow, error) {
	ids := []string{}
	for _, run := range runs {
		if run.TestID != nil {
			ids = append(ids, *run.TestID)
		}
	}
	tests, err := t.lockTestDefinitions(ctx, forShare, pg.Where("id IN (?)", bun.List(model.Unique(ids))))
	byID := rowsByID(tests)
	return byID, err
}

// checkRejudgeLimit locks an execution. It returns UNPROCESSABLE when the execution was judged again too often.
func (t tenantTx) checkRejudgeLimit(ctx context.Context, id string) error {
	if _, err := t.lockAgentTestExecution(ctx, id, forUpdate); err != nil {
		return err
	}
	n, err := t.db.Select((*model.AgentTestExecution)(nil)).Where("rejudge_of_id = ?", id).Count(ctx)
	if err != nil {
		return err
	}
	var faults model.Fields
	if n >= model.MaxRejudgements {
		faults.Add("executionId", "names an execution that was judged again %d times, the maximum: delete one of the "+
			"executions that judged it again", n)
	}
	return faults.As(model.Unprocessable)
}

// rejudged returns the runs of a new execution that judges the conversations of earlier runs again. If the input asks
// for the tests' present criteria, it leaves out deleted tests, and records them in the execution.
func (t *Tenant) rejudged(
	ctx context.Context, in model.RejudgeAgentTestExecutionInput, execution *model.AgentTestExecution,
	originals []*model.AgentTestRun, present map[string]*model.AgentTestRow,
) ([]*model.AgentTestRun, error) {
	snapshots, err := t.snapshotsOf(ctx, *execution.RejudgeOfID)
	if err != nil {
		return nil, err
	}
	tested := map[string]bool{}
	for key, snapshot := range snapshots {
		if in.Criteria == model.RejudgedCriteriaPresent {
			if present[key.testedID] == nil {
				delete(snapshots, key)
				continue
			}
			snapshot.Test = snapshot.Test.JudgedAs(present[key.testedID])
		}
		tested[key.testedID] = true
		if snapshot.Test, err = in.Judged(snapshot.Test); err != nil {
			return nil, err
		}
		snapshot.Votes = execution.Votes
		snapshot.Test.MaxTurns = 0 // so that a process of an older version does not hold the conversation again
		if execution.JudgeModel != nil {
			snapshot.JudgeModel = *execution.JudgeModel
		}
	}
	var faults model.Fields
	for i, test := range in.Tests {
		if !tested[test.TestID] {
			faults.Add(fmt.Sprintf("tests.%d.testId", i), "names a test that has no conversation in the execution")
		}
	}
	if err := faults.As(model.Unprocessable); err != nil {
		return nil, err
	}
	runs := []*model.AgentTestRun{}
	for _, was := range originals {
		snapshot := snapshots[ranAs(was)]
		if snapshot == nil {
			execution.LeaveOut(was)
			continue
		}
		run := &model.AgentTestRun{
			TestedID: was.TestedID, TestName: was.TestName, Attempt: was.Attempt, RejudgeOfID: &was.ID,
			Snapshot: *snapshot, PromptVersion: was.PromptVersion, IsDraft: was.IsDraft, Variant: was.Variant,
			RowKey: was.RowKey, RowNumber: was.RowNumber, RowName: was.RowName, RowValues: was.RowValues,
		}
		if present[was.TestedID] != nil {
			run.TestID = was.TestID
		}
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		faults.Add("executionId", "names an execution whose tests were all deleted, so they have no current criteria")
	}
	return runs, faults.As(model.Unprocessable)
}

// ranTest identifies the runs with the same snapshot: all runs of a test in a variant.
type ranTest struct{ testedID, variant string }

func ranAs(run *model.AgentTestRun) ranTest {
	if run.Variant == nil {
		return ranTest{testedID: run.TestedID}
	}
	return ranTest{run.TestedID, *run.Variant}
}

// snapshotsOf returns the snapshots of the tests of an execution and their agents.
func (t *Tenant) snapshotsOf(ctx context.Context, executionID string) (map[ranTest]*model.RunSnapshot, error) {
	runs := []*model.AgentTestRun{}
	err := t.db.Select(&runs).DistinctOn("?TableAlias.tested_id, ?TableAlias.variant").Column("tested_id", "variant").
		ColumnExpr(snapshotOfRun, t.CompanyID()).
		Where("execution_id = ?", executionID).Where("end_reason IS NOT NULL").Order("tested_id", "variant",
		"position").Scan(ctx)
	snapshots := make(map[ranTest]*model.RunSnapshot, len(runs))
	for _, run := range runs {
		snapshots[ranAs(run)] = &run.Snapshot
	}
	return snapshots, err
}

// AgreementsOfExecutions returns how often rejudgments reached the same verdicts as the original runs, by the
// execution's id. Executions that are not rejudgments are left out.
func (t *Tenant) AgreementsOfExecutions(ctx context.Context, ids []string) (map[string]*model.JudgeAgreement, error) {
	rows := []struct {
		ExecutionID string
		Agreement   model.JudgeAgreement `bun:"embed:"`
	}{}
	both := bun.List(judgedStatuses)
	err := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.execution_id").
		ColumnExpr("count(*) FILTER (WHERE ?TableAlias.status IN (?) AND held.status IN (?)) AS runs", both, both).
		ColumnExpr("count(*) FILTER (WHERE ?TableAlias.status IN (?) AND held.status = ?TableAlias.status) AS same_runs",
			both).
		ColumnExpr("coalesce(sum(?TableAlias.compared), 0) AS criteria, coalesce(sum(?TableAlias.agreed), 0) AS "+
			"same_criteria").
		Join("JOIN agent_test_runs AS held ON held.company_id = ?TableAlias.company_id AND held.id = "+
			"?TableAlias.rejudge_of_id").
		Where("?TableAlias.execution_id IN (?)", bun.List(ids)).GroupExpr("?TableAlias.execution_id").Scan(ctx, &rows)
	agreements := make(map[string]*model.JudgeAgreement, len(rows))
	for i := range rows {
		agreements[rows[i].ExecutionID] = &rows[i].Agreement
	}
	return agreements, err
}
