package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// RetryAgentTestExecution runs tests of a finished execution again, as a new execution. The old one does not change.
// Tests that were deleted since then are left out. It returns CONFLICT when the execution is not finished. It returns
// UNPROCESSABLE when no run is left to repeat, or when the execution only judged the conversations of another.
func (t *Tenant) RetryAgentTestExecution(ctx context.Context,
	in model.RetryAgentTestExecutionInput) (*model.AgentTestExecution, error) {
	execution, err := t.retry(ctx, in)
	if pg.IsMissing(err) {
		// A test may have been deleted after it was read. If something else is missing, the second try fails as well.
		execution, err = t.retry(ctx, in)
	}
	return execution, err
}

func (t *Tenant) retry(ctx context.Context, in model.RetryAgentTestExecutionInput) (*model.AgentTestExecution, error) {
	execution := &model.AgentTestExecution{}
	return execution, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		old, err := t.AgentTestExecution(ctx, in.ExecutionID)
		if err != nil {
			return err
		}
		if !old.IsFinished() {
			return model.Errorf(model.Conflict, "agent test execution %q is not finished", old.ID)
		}
		if old.RejudgeOfID != nil {
			var faults model.Fields
			faults.Add("executionId", "names an execution that only judged conversations again: name the original execution %q",
				*old.RejudgeOfID)
			return faults.As(model.Unprocessable)
		}
		execution.Concurrency, execution.VirtualTime, execution.RetryOfID = old.Concurrency, old.VirtualTime, &old.ID
		execution.Votes, execution.IsDraft, execution.DraftPrompt, execution.StopRepeating = old.Votes, old.IsDraft,
			old.DraftPrompt, old.StopRepeating
		execution.Tried = old.Tried
		planned, err := t.runsToRepeat(ctx, in, execution)
		if err != nil {
			return err
		}
		for _, p := range planned {
			execution.Repeats = max(execution.Repeats, p.attempts)
		}
		return t.createExecution(ctx, execution, planned)
	})
}

type plannedRow struct {
	testID, rowKey string
	variant        *model.TestVariant
}

// runsToRepeat returns the tests to run again, and records deleted tests in the new execution.
func (t *Tenant) runsToRepeat(ctx context.Context, in model.RetryAgentTestExecutionInput,
	execution *model.AgentTestExecution) (planned []plannedTest, err error) {
	runs, faults := []*model.AgentTestRun{}, model.Fields(nil)
	query := t.db.Select(&runs).Apply(t.withExistingTest).Column("tested_id", "test_name", "row_key", "row_number",
		"row_name", "variant").Where("execution_id = ?", in.ExecutionID).Order("position")
	switch in.Only {
	case model.AgentTestRetryNotPassed:
		query = query.Where("status NOT IN (?)",
			bun.List([]model.AgentTestRunStatus{model.AgentTestRunStatusPassed, model.AgentTestRunStatusSkipped}))
	case model.AgentTestRetryErrors:
		query = query.Where("status = ?", model.AgentTestRunStatusError)
	case model.AgentTestRetryAll:
	default:
		faults.Add("only", "must be one of NotPassed, Errors, All")
		return nil, faults.Err()
	}
	if err := query.Scan(ctx); err != nil {
		return nil, err
	}
	places := map[plannedRow]int{}
	for _, run := range runs {
		if run.TestID == nil {
			execution.LeaveOut(run)
			continue
		}
		key := plannedRow{*run.TestID, run.RowKey, variantOf(execution, run.Variant)}
		at, known := places[key]
		if !known {
			at, places[key] = len(planned), len(planned)
			planned = append(planned, plannedTest{id: *run.TestID, rowKey: run.RowKey, variant: key.variant,
				testName: run.TestName, rowName: model.RowLabel(run.RowName, run.RowNumber)})
		}
		planned[at].attempts++
	}
	switch {
	case len(runs) == 0:
		faults.Add("only", "selects no run of the execution: there is nothing to repeat")
	case len(planned) == 0:
		faults.Add("executionId", "names an execution whose tests were all deleted")
	}
	return planned, faults.As(model.Unprocessable)
}
