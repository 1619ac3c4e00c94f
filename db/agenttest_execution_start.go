package db

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// StartAgentTestExecution creates an execution with all its runs, which keep the tests and their agents as
// they are now, and enqueues the first of them; all of it or nothing.
func (t *Tenant) StartAgentTestExecution(ctx context.Context, in model.StartAgentTestExecutionInput) (*model.AgentTestExecution, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	execution := in.NewExecution()
	return execution, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		ids, err := t.testsToRun(ctx, in)
		if err != nil {
			return err
		}
		planned := make([]plannedTest, len(ids))
		for i, id := range ids {
			planned[i] = plannedTest{id, in.Repeats}
		}
		return t.createExecution(ctx, execution, planned)
	})
}

// testsToRun returns the ids of the tests that the input names, in its order, or oldest first.
func (t *Tenant) testsToRun(ctx context.Context, in model.StartAgentTestExecutionInput) ([]string, error) {
	if in.TestIds != nil {
		seen := map[string]bool{}
		return slices.DeleteFunc(slices.Clone(in.TestIds), func(id string) bool {
			again := seen[id]
			seen[id] = true
			return again
		}), nil
	}
	path, of := "folderId", given(nil, "folder_id", in.FolderID)
	err := error(nil)
	if in.FolderID != nil {
		err = t.one(ctx, agentTestFolder, *in.FolderID, &model.AgentTestFolder{})
	} else {
		path, of = "agentId", OfAgent(in.AgentID)
		_, err = t.Agent(ctx, *in.AgentID)
	}
	if err != nil {
		return nil, err
	}
	ids := []string{}
	if err := t.find((*model.AgentTestRow)(nil)).Column("id").Apply(of.apply).Order("created_at", "id").Scan(ctx, &ids); err != nil {
		return nil, translate(err)
	}
	var faults model.Fields
	switch {
	case len(ids) == 0:
		faults.Add(path, "has no tests")
		return nil, faults.Err()
	case len(ids) > model.MaxTests:
		faults.Add(path, "has %d tests, and an execution at most %d: give testIds instead", len(ids), model.MaxTests)
	}
	return ids, faults.As(model.Unprocessable)
}

// RetryAgentTestExecution runs tests of a finished execution again, as a new execution; the old one stays
// as it is. Tests that were deleted meanwhile are left out. CONFLICT when it is not finished; UNPROCESSABLE when
// no run is left to repeat.
func (t *Tenant) RetryAgentTestExecution(ctx context.Context, in model.RetryAgentTestExecutionInput) (*model.AgentTestExecution, error) {
	execution, err := t.retry(ctx, in)
	if isMissing(err) {
		// A test may have been deleted after it was seen. What is missing for another reason still is.
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
		execution.Concurrency, execution.VirtualTime, execution.RetryOfID = old.Concurrency, old.VirtualTime, &old.ID
		execution.Votes, execution.IsDraft, execution.DraftPrompt = old.Votes, old.IsDraft, old.DraftPrompt
		planned, leftOut, err := t.runsToRepeat(ctx, in)
		if err != nil {
			return err
		}
		execution.LeftOutTests = leftOut
		for _, p := range planned {
			execution.Repeats = max(execution.Repeats, p.attempts)
		}
		return t.createExecution(ctx, execution, planned)
	})
}

// runsToRepeat returns the tests to run again, and those that were deleted.
func (t *Tenant) runsToRepeat(ctx context.Context, in model.RetryAgentTestExecutionInput) (
	planned []plannedTest, leftOut []model.LeftOutTest, err error,
) {
	runs, faults := []*model.AgentTestRun{}, model.Fields(nil)
	query := t.find(&runs).Column("test_id", "tested_id", "test_name").Where("execution_id = ?", in.ExecutionID).Order("position")
	switch in.Only {
	case model.AgentTestRetryNotPassed:
		query = query.Where("status <> ?", model.AgentTestRunStatusPassed)
	case model.AgentTestRetryErrors:
		query = query.Where("status = ?", model.AgentTestRunStatusError)
	case model.AgentTestRetryAll:
	default:
		faults.Add("only", "must be one of NotPassed, Errors, All")
		return nil, nil, faults.Err()
	}
	if err := query.Scan(ctx); err != nil {
		return nil, nil, translate(err)
	}
	for _, run := range runs {
		if run.TestID == nil {
			if gone := (model.LeftOutTest{TestID: run.TestedID, TestName: run.TestName}); !slices.Contains(leftOut, gone) {
				leftOut = append(leftOut, gone)
			}
			continue
		}
		at := slices.IndexFunc(planned, func(p plannedTest) bool { return p.id == *run.TestID })
		if at < 0 {
			at = len(planned)
			planned = append(planned, plannedTest{id: *run.TestID})
		}
		planned[at].attempts++
	}
	switch {
	case len(runs) == 0:
		faults.Add("only", "leaves no run of the execution to repeat")
	case len(planned) == 0:
		faults.Add("executionId", "is of an execution whose tests to repeat were all deleted")
	}
	return planned, leftOut, faults.As(model.Unprocessable)
}

// plannedTest is a test and how often it is run.
type plannedTest struct {
	id       string
	attempts int32
}

func (t tenantTx) createExecution(ctx context.Context, execution *model.AgentTestExecution, planned []plannedTest) error {
	if err := t.checkBudget(ctx); err != nil {
		return err
	}
	snapshots, err := t.snapshots(ctx, planned)
	if err == nil && execution.IsDraft {
		err = try(execution.DraftPrompt, snapshots)
	}
	if err != nil {
		return err
	}
	execution.ID, execution.CreatedAt = model.NewID("execution"), now()
	execution.State, execution.Version = model.AgentTestExecutionStatusQueued, 1
	runs := []*model.AgentTestRun{}
	newest := make([]string, len(planned))
	for attempt := int32(1); attempt <= execution.Repeats; attempt++ {
		for i, p := range planned {
			if attempt > p.attempts {
				continue
			}
			run := &model.AgentTestRun{
				ID: model.NewID("run"), ExecutionID: execution.ID, TestID: &p.id, TestedID: p.id, TestName: snapshots[i].Test.Name,
				Position: int32(len(runs)), Attempt: attempt, Status: model.AgentTestRunStatusQueued,
				Snapshot: snapshots[i], PromptVersion: snapshots[i].Agent.PromptVersion, IsDraft: execution.IsDraft,
				Messages: []model.TestMessage{}, ToolCalls: []*model.ToolCall{}, CheckResults: []model.CheckResult{}, CriteriaResults: []model.CriterionResult{},
				Version: execution.Version, CreatedAt: execution.CreatedAt,
			}
			run.Snapshot.VirtualTime, run.Snapshot.Votes = execution.VirtualTime, execution.Votes
			newest[i] = run.ID
			runs = append(runs, run)
		}
	}
	execution.Unfinished = int32(len(runs))
	execution.RunCount = new(execution.Unfinished)
	execution.NextPosition = min(execution.Concurrency, execution.Unfinished)
	execution.AgentID = &snapshots[0].Agent.ID
	if slices.ContainsFunc(snapshots, func(s model.RunSnapshot) bool { return s.Agent.ID != *execution.AgentID }) {
		execution.AgentID = nil
	}
	if err := insert(ctx, t.Tenant, execution); err != nil {
		return err
	}
	if err := t.insertRuns(ctx, runs); err != nil {
		return err
	}
	// A draft says nothing of the agent as it is, so it is no test's last run.
	if !execution.IsDraft {
		if err := t.setLastRuns(ctx, execution, planned, newest); err != nil {
			return err
		}
	}
	first := []string{}
	for _, run := range runs[:execution.NextPosition] {
		first = append(first, run.ID)
	}
	_, err = t.enqueueRuns(ctx, first, queue.Change{})
	return err
}

// try gives the agent of the snapshots another prompt. UNPROCESSABLE when they are of several agents.
func try(draft *string, snapshots []model.RunSnapshot) error {
	tried := snapshots[0].Agent.Trying(draft)
	for i := range snapshots {
		if snapshots[i].Agent.ID != tried.ID {
			var faults model.Fields
			faults.Add("prompt", "can be tried with tests of one agent only")
			return faults.As(model.Unprocessable)
		}
		snapshots[i].Agent = tried
	}
	return nil
}

// insertRuns inserts new runs, which are queued and have nothing yet. Each carries its test and agent, of which there are few:
// they are sent once. COPY would be no faster, and Postgres has none for tables with row-level security.
func (t tenantTx) insertRuns(ctx context.Context, runs []*model.AgentTestRun) error {
	var ids, tested, names, snapshots []string
	var positions, attempts, places, versions []int32
	placeOf := map[string]int32{}
	for _, r := range runs {
		if placeOf[r.TestedID] == 0 {
			text, err := json.Marshal(r.Snapshot)
			if err != nil {
				return err
			}
			snapshots = append(snapshots, string(text))
			placeOf[r.TestedID] = int32(len(snapshots))
		}
		ids, tested, names = append(ids, r.ID), append(tested, r.TestedID), append(names, r.TestName)
		positions, attempts = append(positions, r.Position), append(attempts, r.Attempt)
		places, versions = append(places, placeOf[r.TestedID]), append(versions, r.PromptVersion)
	}
	var isDraft *bool
	if runs[0].IsDraft {
		isDraft = &runs[0].IsDraft
	}
	return translate(t.pgx(ctx, func(tx queue.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO agent_test_runs (company_id, id, execution_id, test_id, tested_id, test_name, position, attempt, status,
				snapshot, prompt_version, claim, lost, messages, tool_calls, turn_count, criteria_results, version, created_at, is_draft)
			SELECT $1, run.id, $2, run.tested_id, run.tested_id, run.test_name, run.position, run.attempt, $3,
				kept.snapshot::json, run.prompt_version, 0, 0, '[]', '[]', 0, '[]', $4, $5, $14
			FROM unnest($6::text[], $7::text[], $8::text[], $9::int[], $10::int[], $11::int[], $13::int[])
				AS run (id, tested_id, test_name, position, attempt, place, prompt_version)
			JOIN unnest($12::text[]) WITH ORDINALITY AS kept (snapshot, place) USING (place)`,
			t.companyID, runs[0].ExecutionID, string(model.AgentTestRunStatusQueued), runs[0].Version, runs[0].CreatedAt,
			ids, tested, names, positions, attempts, places, snapshots, versions, isDraft)
		return err
	}))
}

// snapshots returns the tests with their agents, in the order of the plan, all held until the end of the
// transaction.
func (t tenantTx) snapshots(ctx context.Context, planned []plannedTest) ([]model.RunSnapshot, error) {
	ids := make([]string, len(planned))
	for i, p := range planned {
		ids[i] = p.id
	}
	agents := []*model.Agent{}
	of := t.find((*model.AgentTestRow)(nil)).Column("agent_id").Where("id IN (?)", bun.List(ids))
	if err := t.find(&agents).Where("id IN (?)", of).Order("id").For(string(forShare)).Scan(ctx); err != nil {
		return nil, translate(err)
	}
	tests, err := t.lockTests(ctx, forUpdate, where("id IN (?)", bun.List(ids)))
	if err != nil {
		return nil, err
	}
	snapshots := make([]model.RunSnapshot, len(ids))
	for i, id := range ids {
		at := slices.IndexFunc(tests, func(row *model.AgentTestRow) bool { return row.ID == id })
		if at < 0 {
			return nil, model.Missing(agentTest, id)
		}
		snapshots[i].Test = tests[at]
		of := slices.IndexFunc(agents, func(a *model.Agent) bool { return a.ID == tests[at].AgentID })
		if of < 0 {
			return nil, model.Missing("agent", tests[at].AgentID)
		}
		snapshots[i].Agent = agents[of]
	}
	return snapshots, nil
}

func (t *Tenant) setLastRuns(ctx context.Context, execution *model.AgentTestExecution, planned []plannedTest, runIDs []string) error {
	testIDs := make([]string, len(planned))
	for i, p := range planned {
		testIDs[i] = p.id
	}
	_, err := t.change((*model.AgentTestRow)(nil)).
		TableExpr("unnest(?::text[], ?::text[]) AS newest (test_id, run_id)", pgdialect.Array(testIDs), pgdialect.Array(runIDs)).
		Set("last_run_id = newest.run_id").Set("last_run_status = ?", model.AgentTestRunStatusQueued).
		Set("last_run_at = ?", execution.CreatedAt).Where("?TableAlias.id = newest.test_id").Exec(ctx)
	return translate(err)
}

// enqueueRuns puts runs into the queue with the change.
func (t tenantTx) enqueueRuns(ctx context.Context, runIDs []string, change queue.Change) (next []*queue.Delivery, err error) {
	if t.store.enqueueRuns != nil {
		return nil, t.store.enqueueRuns(ctx, t.tx.bun, t.companyID, runIDs)
	}
	change.Enqueue = t.jobs(runJob, runIDs)
	return t.changeQueue(ctx, change)
}
