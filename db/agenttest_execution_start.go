package db

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// StartAgentTestExecution creates an execution with all its runs and enqueues the first of them, in one transaction.
// Snapshots of the current tests and agents are stored with it.
func (t *Tenant) StartAgentTestExecution(ctx context.Context,
	in model.StartAgentTestExecutionInput) (*model.AgentTestExecution, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	execution := in.NewExecution()
	return execution, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		return t.startExecution(ctx, execution, in)
	})
}

// startExecution creates the execution of the tests that the input names.
func (t tenantTx) startExecution(ctx context.Context, execution *model.AgentTestExecution,
	in model.StartAgentTestExecutionInput) error {
	ids, err := t.idsToRun(ctx, in)
	if err != nil {
		return err
	}
	planned := plan(ids, in.Repeats, execution.Tried)
	for i := range planned {
		planned[i].isListed = in.TestIds == nil || execution.ScheduleID != nil
	}
	return t.createExecution(ctx, execution, planned)
}

// TestsToRun returns the tests that the input names, in their order, with their agents, kinds and names. It returns
// NOT_FOUND when one does not exist.
func (t *Tenant) TestsToRun(ctx context.Context, in model.StartAgentTestExecutionInput) ([]*model.AgentTestRow, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	ids, err := t.idsToRun(ctx, in)
	if err != nil {
		return nil, err
	}
	rows := []*model.AgentTestRow{}
	if err := t.db.Select(&rows).Column("id", "agent_id", "kind", "name").Where("id IN (?)", bun.List(ids)).
		Scan(ctx); err != nil {
		return nil, err
	}
	return inOrder(agentTest, ids, rows)
}

// idsToRun returns the ids of the tests that the input names, in the order of the input's ids. The tests of a folder or
// an agent are ordered oldest first.
func (t *Tenant) idsToRun(ctx context.Context, in model.StartAgentTestExecutionInput) ([]string, error) {
	if in.TestIds != nil {
		return model.Unique(in.TestIds), nil
	}
	path, condition := "folderId", pg.Equal(nil, "folder_id", in.FolderID)
	err := error(nil)
	if in.FolderID != nil {
		err = t.db.One(ctx, agentTestFolder, *in.FolderID, &model.AgentTestFolder{})
	} else {
		path, condition = "agentId", WhereAgent(in.AgentID)
		_, err = t.Agent(ctx, *in.AgentID)
	}
	if err != nil {
		return nil, err
	}
	ids := []string{}
	if err := t.db.Select((*model.AgentTestRow)(nil)).Column("id").Apply(condition.Apply(t.CompanyID())).
		Order("created_at", "id").
		Scan(ctx, &ids); err != nil {
		return nil, err
	}
	var faults model.Fields
	switch {
	case len(ids) == 0:
		faults.Add(path, "has no tests")
		return nil, faults.Err()
	case len(ids) > model.MaxRuns:
		faults.Add(path, "has %d tests, but an execution has at most %d runs: give testIds instead", len(ids), model.MaxRuns)
	}
	return ids, faults.As(model.Unprocessable)
}

// plannedTest is a test and how often to run it.
type plannedTest struct {
	id string
	// rowKey names the only row to run. It is empty to run all rows of the test.
	rowKey   string
	attempts int32
	// variant is how the agent is changed for these runs, or nil to test it unchanged.
	variant *model.TestVariant
	// testName and rowName are for the model.LeftOutTest of a deleted test or row.
	testName string
	rowName  *string
	// isListed is set if the input has no test ids, or if a schedule starts the test. A listed test that was deleted since
	// is skipped. Any other deleted test is an error.
	isListed bool
}

// runRow is a test, or a row of one, and how often to run it.
type runRow struct {
	snapshot *model.RunSnapshot
	row      *model.TestRow
	number   int32
	attempts int32
	variant  *string
}

// rowsToRun returns the rows of the current tests to run, and the planned rows that no longer exist.
func rowsToRun(planned []plannedTest, snapshots []model.RunSnapshot) (rows []runRow, leftOut []model.LeftOutTest) {
	bare := map[string]*model.AgentTestRow{}
	for i, p := range planned {
		all := snapshots[i].Test.Rows
		if bare[p.id] == nil {
			test := *snapshots[i].Test
			test.Rows = nil
			bare[p.id] = &test
		}
		run := runRow{snapshot: &model.RunSnapshot{Test: bare[p.id], Agent: snapshots[i].Agent}, attempts: p.attempts}
		if p.variant != nil {
			run.variant = &p.variant.Label
		}
		found := false
		for n := range all {
			if p.rowKey == "" || p.rowKey == all[n].Key {
				run.row, run.number, found = &all[n], int32(n+1), true
				rows = append(rows, run)
			}
		}
		switch {
		case p.rowKey != "" && !found:
			leftOut = append(leftOut, model.LeftOutTest{TestID: p.id, TestName: p.testName, RowName: p.rowName})
		case !found:
			rows = append(rows, run)
		}
	}
	return rows, leftOut
}

func (t tenantTx) createExecution(ctx context.Context, execution *model.AgentTestExecution,
	planned []plannedTest) error {
	planned, snapshots, err := t.snapshots(ctx, planned)
	if err == nil && execution.DraftPrompt != nil {
		err = try(execution.DraftPrompt, snapshots)
	}
	if err == nil {
		err = t.applyVariants(ctx, execution.Tried, planned, snapshots)
	}
	if err != nil {
		return err
	}
	execution.AgentID = &snapshots[0].Agent.ID
	if slices.ContainsFunc(snapshots, func(s model.RunSnapshot) bool { return s.Agent.ID != *execution.AgentID }) {
		execution.AgentID = nil
	}
	rows, gone := rowsToRun(planned, snapshots)
	execution.LeftOutTests = append(execution.LeftOutTests, gone...)
	runs, err := runsOf(execution, rows)
	if err != nil {
		return err
	}
	return t.insertExecution(ctx, execution, runs)
}

// insertExecution inserts a new execution with its runs, in order, and enqueues the first of them. It returns
// BUDGET_EXCEEDED when the company's budget is used up, and UNPROCESSABLE when the company has too many recent runs.
func (t tenantTx) insertExecution(ctx context.Context, execution *model.AgentTestExecution,
	runs []*model.AgentTestRun) error {
	if err := t.checkBudget(ctx); err != nil {
		return err
	}
	if err := t.checkRecentRuns(ctx, len(runs)); err != nil {
		return err
	}
	execution.ID, execution.CreatedAt, execution.APIKeyID = model.NewID("execution"), now(), t.keyID
	execution.State, execution.Version = model.AgentTestExecutionStatusQueued, 1
	for i, run := range runs {
		run.ID, run.ExecutionID, run.Position, run.Status = model.NewID("run"), execution.ID, int32(i),
			model.AgentTestRunStatusQueued
		run.Version, run.CreatedAt = execution.Version, execution.CreatedAt
	}
	execution.Unfinished = int32(len(runs))
	execution.RunCount = new(execution.Unfinished)
	execution.NextPosition = min(execution.Concurrency, execution.Unfinished)
	if err := pg.Insert(ctx, t.db, execution); err != nil {
		return err
	}
	if err := t.insertRuns(ctx, runs); err != nil {
		return err
	}
	if execution.IsOfRecord() {
		if err := t.setLastRuns(ctx, execution, runs); err != nil {
			return err
		}
	}
	first := model.Map(runs[:execution.NextPosition], func(run *model.AgentTestRun) string { return run.ID })
	_, err := t.enqueueRuns(ctx, first, queue.Change{})
	return err
}

// try replaces the prompt in the snapshots with the draft. It returns UNPROCESSABLE when the snapshots belong to
// several agents.
func try(draft *string, snapshots []model.RunSnapshot) error {
	tried := snapshots[0].Agent.Trying(draft)
	for i := range snapshots {
		if snapshots[i].Agent.ID != tried.ID {
			var faults model.Fields
			faults.Add("prompt", "can be given only if all tests belong to one agent")
			return faults.As(model.Unprocessable)
		}
		snapshots[i].Agent = tried
	}
	return nil
}

// snapshots reads the tests of a plan and their agents, and locks them until the end of the transaction. It returns the
// plan without listed tests that no longer exist, and a snapshot for each element of that plan.
func (t tenantTx) snapshots(ctx context.Context, planned []plannedTest) ([]plannedTest, []model.RunSnapshot, error) {
	ids := model.Map(planned, func(p plannedTest) string { return p.id })
	each := model.Unique(ids)
	agents := []*model.Agent{}
	agentIDs := t.db.Select((*model.AgentTestRow)(nil)).Column("agent_id").Where("id IN (?)", bun.List(each))
	if err := t.db.Select(&agents).ColumnExpr("?TableColumns").ColumnExpr(delegateVersions, t.CompanyID()).
		Where("id IN (?)", agentIDs).Order("id").For(string(forShare)).Scan(ctx); err != nil {
		return nil, nil, err
	}
	tests, err := t.lockTestDefinitions(model.WithMemoryLimit(ctx, pg.TimesRead*model.MaxTestsBytes), forUpdate,
		pg.Where("id IN (?)", bun.List(each)))
	if errors.Is(err, model.ErrOverLimit) {
		return nil, nil, model.Errorf(model.Unprocessable, "the tests of an execution have at most about %d bytes together: "+
			"start fewer or smaller tests", model.MaxTestsBytes)
	}
	if err != nil {
		return nil, nil, err
	}
	testByID, agentByID := rowsByID(tests), rowsByID(agents)
	left := slices.DeleteFunc(planned, func(p plannedTest) bool { return p.isListed && testByID[p.id] == nil })
	if len(left) == 0 {
		return nil, nil, model.Errorf(model.Conflict, "all tests were deleted at the same time")
	}
	snapshots := make([]model.RunSnapshot, len(left))
	for i, p := range left {
		test := testByID[p.id]
		if test == nil {
			return nil, nil, model.Missing(agentTest, p.id)
		}
		if snapshots[i] = (model.RunSnapshot{Test: test, Agent: agentByID[test.AgentID]}); snapshots[i].Agent == nil {
			return nil, nil, model.Missing("agent", test.AgentID)
		}
	}
	return left, snapshots, nil
}

// setLastRuns makes the newest runs of the execution the last runs of their tests.
func (t *Tenant) setLastRuns(ctx context.Context, execution *model.AgentTestExecution,
	runs []*model.AgentTestRun) error {
	newest := model.MapOf(runs, func(run *model.AgentTestRun) (string, string) { return run.TestedID, run.ID })
	testIDs := slices.Sorted(maps.Keys(newest))
	runIDs := model.Map(testIDs, func(id string) string { return newest[id] })
	return exec(ctx, t.db.Update((*model.AgentTestRow)(nil)).
		TableExpr("unnest(?::text[], ?::text[]) AS newest (test_id, run_id)", pgdialect.Array(testIDs),
			pgdialect.Array(runIDs)).
		Set("last_run_id = newest.run_id").Set("last_run_status = ?", model.AgentTestRunStatusQueued).
		Set("last_run_at = ?", execution.CreatedAt).Where("?TableAlias.id = newest.test_id"))
}

// enqueueRuns puts runs into the queue, in the transaction.
func (t tenantTx) enqueueRuns(ctx context.Context, runIDs []string,
	change queue.Change) (next []*queue.Delivery, err error) {
	if t.store.enqueueRuns != nil {
		return nil, t.store.enqueueRuns(ctx, t.db.Bun(), t.CompanyID(), runIDs)
	}
	change.Enqueue = t.jobs(runJob, runIDs)
	return t.changeQueue(ctx, change)
}
