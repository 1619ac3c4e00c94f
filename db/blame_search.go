package db

import (
	"context"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const blameSearch = "blame search"

// BlameSearch returns one search, or NOT_FOUND.
func (t *Tenant) BlameSearch(ctx context.Context, id string) (*model.BlameSearch, error) {
	search := &model.BlameSearch{}
	return search, t.db.One(ctx, blameSearch, id, search)
}

// StartBlameSearch stores a new search, and starts its first step. It replaces the last search of the test. It returns
// CONFLICT while the last search is running, and BUDGET_EXCEEDED when the company's budget is used up.
func (t *Tenant) StartBlameSearch(ctx context.Context, search *model.BlameSearch) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		test, err := t.lockBlamedTest(ctx, search.TestID)
		if err != nil {
			return err
		}
		last, err := t.BlameSearchesOfTests(ctx, []string{search.TestID})
		if err != nil {
			return err
		}
		if last := last[search.TestID]; last != nil {
			if !last.IsFinished() {
				return model.Errorf(model.Conflict, "the search %q of the test is running: cancel it first", last.ID)
			}
			if _, err := t.db.Delete(last).WherePK().Exec(ctx); err != nil {
				return err
			}
			t.wake(last.ID)
		}
		search.APIKeyID = t.keyID
		bad, err := t.badPrompt(ctx, search, test)
		if err != nil {
			return err
		}
		restored, _ := search.Next(bad)
		if err := t.startStep(ctx, search, test, bad, restored); err != nil {
			return err
		}
		return pg.Insert(ctx, t.db, search)
	})
}

// lockBlamedTest locks a test and its agent. Every transaction that starts or continues a search locks both before the
// search.
func (t tenantTx) lockBlamedTest(ctx context.Context, id string) (*model.AgentTestRow, error) {
	test := &model.AgentTestRow{}
	if err := t.db.One(ctx, "agent test", id, test); err != nil {
		return nil, err
	}
	if _, err := t.lockAgent(ctx, test.AgentID, forShare); err != nil {
		return nil, err
	}
	locked, err := t.lockTests(ctx, forUpdate, pg.Where("id = ?", id))
	if err == nil && len(locked) == 0 {
		err = model.Missing("agent test", id)
	}
	return test, err
}

// startStep starts the execution of the next step. bad is the failing prompt.
func (t tenantTx) startStep(ctx context.Context, search *model.BlameSearch, test *model.AgentTestRow, bad string,
	restored []int32) error {
	in := search.Execution(model.RestorePrompt(bad, search.Changes, restored))
	if err := in.Validate(); err != nil {
		return err
	}
	execution := in.NewExecution()
	execution.BlameSearchID = &search.ID
	planned := []plannedTest{{id: test.ID, rowKey: search.RowKey, attempts: in.Repeats, testName: test.Name}}
	if err := t.createExecution(ctx, execution, planned); err != nil {
		return err
	}
	search.ExecutionID = execution.ID
	search.Steps = append(search.Steps, &model.BlameStep{Restored: restored, ExecutionID: execution.ID})
	return nil
}

// badPrompt returns the failing prompt of a search.
func (t *Tenant) badPrompt(ctx context.Context, search *model.BlameSearch, test *model.AgentTestRow) (string, error) {
	found, err := t.PromptsOf(ctx, []AgentVersion{{test.AgentID, search.BadVersion}})
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0].Prompt, nil
	}
	return "", model.Errorf(model.NotFound, "agent %q has no prompt version %d", test.AgentID, search.BadVersion)
}

// ContinueBlameSearch records the result of the search step that the execution belongs to. It then starts the next
// step, or ends the search. It does nothing if this was already done, or if the search was deleted. A step that cannot
// start ends the search.
func (t *Tenant) ContinueBlameSearch(ctx context.Context, executionID string) error {
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return t.continueSearch(ctx, executionID, nil) })
	var reason *model.Error
	if errors.As(err, &reason) && slices.Contains(permanentCodes, reason.Code) {
		return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			return t.continueSearch(ctx, executionID, reason)
		})
	}
	return err
}

// continueSearch continues a search. If reason is not nil, it ends the search with that error instead.
func (t tenantTx) continueSearch(ctx context.Context, executionID string, reason *model.Error) error {
	search, err := t.searchAt(ctx, executionID, pg.All)
	if err != nil || search == nil {
		return err
	}
	test, err := t.lockBlamedTest(ctx, search.TestID)
	if pg.IsMissing(err) {
		return nil // the test was deleted, and the search with it
	}
	if err != nil {
		return err
	}
	locked := func(q *bun.SelectQuery) *bun.SelectQuery { return q.For(string(forUpdate)) }
	search, err = t.searchAt(ctx, executionID, locked)
	if err != nil || search == nil {
		return err
	}
	isCancelled, err := t.recordStep(ctx, search)
	if err != nil {
		return err
	}
	switch {
	case isCancelled || search.IsFinished():
	case reason != nil:
		search.Fail(reason.Message, now())
	default:
		if err := t.withAPIKey(search.APIKeyID).continueSteps(ctx, search, test); err != nil {
			return err
		}
	}
	search.Version++
	t.wake(search.ID)
	return exec(ctx, t.db.Update(search).Column("status", "steps", "execution_id", "verdict", "cause", "is_only_cause",
		"restored_prompt", "error", "version", "finished_at").WherePK())
}

// searchAt returns the running search whose last step is the execution, or nil.
func (t *Tenant) searchAt(ctx context.Context, executionID string, with pg.Selection) (*model.BlameSearch, error) {
	searches := []*model.BlameSearch{}
	err := t.db.Select(&searches).Where("execution_id = ?", executionID).Where("status = ?", model.BlameStatusRunning).
		Apply(with).Scan(ctx)
	if err != nil || len(searches) == 0 {
		return nil, err
	}
	return searches[0], nil
}

// recordStep adds the result of the last step to a search. A deleted execution counts as one without judged runs.
func (t tenantTx) recordStep(ctx context.Context, search *model.BlameSearch) (isCancelled bool, err error) {
	ids := []string{search.ExecutionID}
	executions, err := t.AgentTestExecutionsByID(ctx, ids, "status")
	if err != nil {
		return false, err
	}
	counts, err := t.CountsOfExecutions(ctx, ids)
	if err != nil {
		return false, err
	}
	isCancelled = len(executions) > 0 && executions[0].State == model.AgentTestExecutionStatusCancelled
	counted := counts[search.ExecutionID]
	if counted == nil {
		counted = &model.AgentTestRunCounts{}
	}
	if search.Record(counted, isCancelled, now()); search.Error == nil {
		return isCancelled, nil
	}
	runs := []*model.AgentTestRun{}
	err = t.db.Select(&runs).Column("error").Where("execution_id = ?", search.ExecutionID).Where("error IS NOT NULL").
		Limit(1).Scan(ctx)
	if len(runs) > 0 && runs[0].Error != nil {
		search.Error = new(*search.Error + ": " + runs[0].Error.Message)
	}
	return isCancelled, err
}

// continueSteps starts the next step of a search, or ends the search with a verdict.
func (t tenantTx) continueSteps(ctx context.Context, search *model.BlameSearch, test *model.AgentTestRow) error {
	bad, err := t.badPrompt(ctx, search, test)
	if err != nil {
		return err
	}
	restored, verdict := search.Next(bad)
	if verdict == nil {
		return t.startStep(ctx, search, test, bad, restored)
	}
	search.Conclude(*verdict, bad, now())
	return nil
}

// withAPIKey returns a Tenant whose writes record the API key, or the same Tenant if keyID is nil.
func (t tenantTx) withAPIKey(keyID *string) tenantTx {
	if keyID == nil {
		return t
	}
	return tenantTx{t.WithAPIKey(*keyID)}
}

// CancelBlameSearch cancels a search and the execution of its last step. It returns CONFLICT when the search is
// finished.
func (t *Tenant) CancelBlameSearch(ctx context.Context, id string) (*model.BlameSearch, error) {
	search := &model.BlameSearch{}
	return search, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, blameSearch, id, search, forUpdate); err != nil {
			return err
		}
		if search.IsFinished() {
			return model.Errorf(model.Conflict, "the search %q is finished", id)
		}
		search.End(model.BlameStatusCancelled, now())
		search.Version++
		if _, err := t.db.Update(search).Column("status", "version", "finished_at").WherePK().Exec(ctx); err != nil {
			return err
		}
		t.wake(search.ID)
		_, err := t.CancelAgentTestExecution(ctx, model.CancelAgentTestExecutionInput{ExecutionID: search.ExecutionID})
		var known *model.Error
		if errors.As(err, &known) && (known.Code == model.Conflict || known.Code == model.NotFound) {
			return nil // the step has ended
		}
		return err
	})
}

// enqueueBlameSteps continues the searches whose steps ended with the executions.
func (t tenantTx) enqueueBlameSteps(ctx context.Context, finished []*model.AgentTestExecution) error {
	steps := []string{}
	for _, execution := range finished {
		if execution.BlameSearchID != nil {
			steps = append(steps, execution.ID)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return t.enqueue(ctx, blameJob, steps)
}
