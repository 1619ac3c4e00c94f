package db

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const agentTest = "agent test"

// Lists of a company's tests: by their ids, in pages, by their agents, and by their folders.
var (
	AgentTestRows  = pg.Rows{Type: agentTest, Model: (*model.AgentTestRow)(nil), Key: pg.ByID}
	AgentTestList  = pg.List{Model: (*model.AgentTestRow)(nil), Order: pg.NewestFirst}
	TestsOfAgents  = pg.List{Model: (*model.AgentTestRow)(nil), Of: "?TableAlias.agent_id = ?1", Order: pg.NewestFirst}
	TestsOfFolders = pg.List{Model: (*model.AgentTestRow)(nil), Of: "?TableAlias.folder_id = ?1", Order: pg.NewestFirst}
)

// AgentTests returns a page of the tests that pass the filter, newest first. If agentID is set, it returns only tests
// of that agent. It returns NOT_FOUND if the agent or the folder does not exist.
func (t *Tenant) AgentTests(
	ctx context.Context, args model.PageArgs, agentID *string, wanted model.AgentTestFilter, columns ...string,
) (*model.Page[model.AgentTest], error) {
	if err := t.db.Exists(ctx, "agent", agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	if wanted.FolderID != "" {
		if err := t.db.Exists(ctx, agentTestFolder, &wanted.FolderID, (*model.AgentTestFolder)(nil)); err != nil {
			return nil, err
		}
	}
	return pg.Page[model.AgentTest](ctx, t.db, AgentTestList, args, columns,
		append(WhereAgent(agentID), TestsMatching(wanted)...))
}

// isFlaky is the condition of FlakyTests, for one test. ?1 is the company. All runs of an execution have the same time
// of creation. So the index on that time finds them.
const isFlaky = `SELECT count(*) > 0 FROM (SELECT 1 FROM agent_test_runs AS run
	WHERE run.company_id = ?1 AND run.test_id = ?TableAlias.id AND (run.execution_id,
		run.created_at) = (
		SELECT newest.execution_id, newest.created_at FROM agent_test_runs AS newest
		JOIN agent_test_executions AS execution ON execution.company_id = newest.company_id
			AND execution.id = newest.execution_id
		WHERE newest.company_id = ?1 AND newest.test_id = ?TableAlias.id
		AND execution.finished_at IS NOT NULL AND execution.deleted_at IS NULL AND newest.is_draft IS NULL
			AND newest.rejudge_of_id IS NULL
		ORDER BY newest.created_at DESC, newest.id DESC LIMIT 1)
	GROUP BY run.row_key HAVING bool_or(run.status = 'Passed') AND bool_or(run.status = 'Failed')) AS mixed`

// TestsMatching returns the filter of a list of tests.
func TestsMatching(wanted model.AgentTestFilter) (f pg.Filter) {
	if wanted.FolderID != "" {
		f = f.And("?TableAlias.folder_id = ?", wanted.FolderID)
	}
	if wanted.IsAtRoot {
		f = f.And("?TableAlias.folder_id IS NULL", nil)
	}
	if wanted.Kind != "" {
		f = f.And("?TableAlias.kind = ?", wanted.Kind)
	}
	f = f.NameContains(wanted.NameContains)
	if wanted.IsFlaky != nil {
		f = f.And("("+isFlaky+") = ?", *wanted.IsFlaky)
	}
	return pg.OneOf(f, "last_run_status", wanted.LastRunStatuses)
}

// lockTests locks the selected tests until the end of the transaction, and returns them without their definitions. It
// locks them in one order, so that two requests never deadlock.
func (t tenantTx) lockTests(ctx context.Context, strength rowLock, which pg.Selection) ([]*model.AgentTestRow, error) {
	return t.lockTestDefinitions(ctx, strength, func(q *bun.SelectQuery) *bun.SelectQuery {
		return which(q).Column("company_id", "id", "agent_id", "folder_id", "kind", "name", "created_at", "updated_at")
	})
}

// lockTestDefinitions is like lockTests, but also returns the definitions, at most a megabyte per test.
func (t tenantTx) lockTestDefinitions(ctx context.Context, strength rowLock,
	which pg.Selection) ([]*model.AgentTestRow, error) {
	rows := []*model.AgentTestRow{}
	err := t.db.Select(&rows).Apply(which).Order("id").For(string(strength)).Scan(ctx)
	return rows, err
}

// CreateSimulationTest creates a simulation test.
func (t *Tenant) CreateSimulationTest(ctx context.Context,
	in model.CreateSimulationTestInput) (*model.SimulationTest, error) {
	test, err := model.NewSimulationTest(in, now())
	if err != nil {
		return nil, err
	}
	return test, t.createTest(ctx, test.Row())
}

// CreateClassificationTest creates a classification test.
func (t *Tenant) CreateClassificationTest(ctx context.Context,
	in model.CreateClassificationTestInput) (*model.ClassificationTest, error) {
	test, err := model.NewClassificationTest(in, now())
	if err != nil {
		return nil, err
	}
	return test, t.createTest(ctx, test.Row())
}

func (t *Tenant) createTest(ctx context.Context, test *model.AgentTestRow) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		return t.createTests(ctx, []*model.AgentTestRow{test}, func(int) string { return "" })
	})
}

// UpdateSimulationTest changes the fields that the input sets.
func (t *Tenant) UpdateSimulationTest(ctx context.Context,
	in model.UpdateSimulationTestInput) (*model.SimulationTest, error) {
	var test *model.SimulationTest
	check := in.ToolMocking != nil
	err := t.updateTest(ctx, in.TestID, model.AgentTestKindSimulation, in.FolderID, check,
		func(row *model.AgentTestRow) error {
			test = &model.SimulationTest{AgentTestRow: row}
			test.MayRepeatName = in.MayRepeatName
			if err := model.Unchanged("test", row.ID, in.ExpectedUpdatedAt, row.UpdatedAt); err != nil {
				return err
			}
			return test.Update(in, now())
		})
	return test, err
}

// UpdateClassificationTest changes the fields that the input sets.
func (t *Tenant) UpdateClassificationTest(ctx context.Context,
	in model.UpdateClassificationTestInput) (*model.ClassificationTest, error) {
	var test *model.ClassificationTest
	check := in.TagExpected != nil || in.Rows != nil
	err := t.updateTest(ctx, in.TestID, model.AgentTestKindClassification, in.FolderID, check,
		func(row *model.AgentTestRow) error {
			test = &model.ClassificationTest{AgentTestRow: row}
			test.MayRepeatName = in.MayRepeatName
			if err := model.Unchanged("test", row.ID, in.ExpectedUpdatedAt, row.UpdatedAt); err != nil {
				return err
			}
			return test.Update(in, now())
		})
	return test, err
}

// UpdateAgentTest changes the fields that the input sets. The test can be of either kind.
func (t *Tenant) UpdateAgentTest(ctx context.Context, in model.UpdateAgentTestInput) (model.AgentTest, error) {
	test := &model.AgentTestRow{}
	if err := t.db.One(ctx, agentTest, in.TestID, test); err != nil {
		return nil, err
	}
	if test.Kind == model.AgentTestKindSimulation {
		update, err := in.OfSimulation()
		if err != nil {
			return nil, err
		}
		return t.UpdateSimulationTest(ctx, update)
	}
	update, err := in.OfClassification()
	if err != nil {
		return nil, err
	}
	return t.UpdateClassificationTest(ctx, update)
}

// updateTest changes a test, and moves it when a folder is given. It returns UNPROCESSABLE if the test is not of the
// kind. Set check only if the change can make a valid test invalid. The agent may have changed since the test was
// saved, and that must not block other changes.
func (t *Tenant) updateTest(
	ctx context.Context, id string, kind model.AgentTestKind, folderID *string, check bool,
	update func(*model.AgentTestRow) error,
) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Before the agent is locked, only the agent's id and the kind of the test are certain not to change.
		found := &model.AgentTestRow{}
		if err := t.db.One(ctx, agentTest, id, found); err != nil {
			return err
		}
		if found.Kind != kind {
			var faults model.Fields
			faults.Add("testId", "is the id of a %s test, not of a %s test", strings.ToLower(string(found.Kind)),
				strings.ToLower(string(kind)))
			return faults.As(model.Unprocessable)
		}
		// Other requests that give a test a name wait for this lock.
		agent, err := t.lockAgent(ctx, found.AgentID, forUpdate)
		if err != nil {
			return err
		}
		folder, err := t.lockTargetFolder(ctx, agent.ID, folderID)
		if err != nil {
			return err
		}
		test := &model.AgentTestRow{}
		if err := t.lock(ctx, agentTest, id, test, forUpdate); err != nil {
			return err
		}
		before := *test
		if err := update(test); err != nil {
			return err
		}
		if folderID != nil && !reflect.DeepEqual(test.FolderID, folder) {
			test.FolderID, test.UpdatedAt = folder, model.NextUpdatedAt(test.UpdatedAt, now())
		}
		if check {
			checkTest, err := t.checkerOf(ctx, []string{agent.ID})
			if err == nil {
				err = checkTest(test, agent)
			}
			if err != nil {
				return err
			}
		}
		if test.Name != before.Name || !reflect.DeepEqual(test.FolderID, before.FolderID) {
			if err := t.checkNames(ctx, []*model.AgentTestRow{test}, func(int) string { return "name" }); err != nil {
				return err
			}
		}
		// The columns of the last run are left out: runs and their deletion write them.
		return exec(ctx, t.db.Update(test).ExcludeColumn("last_run_id", "last_run_status", "last_run_at").WherePK())
	})
}

func checkTags(test *model.AgentTestRow, agent *model.Agent) error {
	tags := test.TagsExpected()
	unknown := slices.IndexFunc(tags, func(tag string) bool { return !agent.KnowsTag(tag) })
	if unknown < 0 {
		return nil
	}
	expected := tags[unknown]
	names := make([]string, len(agent.ClassificationTags))
	for i, tag := range agent.ClassificationTags {
		names[i] = fmt.Sprintf("%q", tag.Name)
	}
	var faults model.Fields
	if len(names) == 0 {
		faults.Add("tagExpected", "is %q, but the agent has no classification tags", expected)
	} else {
		faults.Add("tagExpected", "is %q, but must be one of the agent's classification tags: %s", expected,
			strings.Join(names, ", "))
	}
	return faults.As(model.Unprocessable)
}

// DeleteAgentTest deletes a test. Its runs stay, but no longer refer to a test.
func (t *Tenant) DeleteAgentTest(ctx context.Context, id string) error {
	return t.DeleteAgentTests(ctx, []string{id})
}

// deleteTestsOfAgent deletes the tests and folders of an agent, before the agent itself is deleted. Executions stay. It
// detaches the newest of them from the agent, at most executionsPerRequest. The sweep detaches the others later. Until
// then, they refer to an agent that does not exist.
func (t tenantTx) deleteTestsOfAgent(ctx context.Context, agentID string) error {
	tests, err := t.lockTests(ctx, forDelete, pg.Where("agent_id = ?", agentID))
	if err != nil {
		return err
	}
	ids := idsOf(tests)
	if err := t.markTestsDeleted(ctx, ids); err != nil {
		return err
	}
	if _, err := t.db.Delete((*model.AgentTestFolder)(nil)).Where("agent_id = ?", agentID).Exec(ctx); err != nil {
		return err
	}
	_, err = t.detachExecutions(ctx, agentID, executionsPerRequest)
	return err
}

// executionsPerRequest is how many executions a request detaches from an agent that it deletes. Most agents have fewer.
const executionsPerRequest = 2_000

// detachExecutions removes the agent from at most the given number of executions, and returns how many it changed.
func (t tenantTx) detachExecutions(ctx context.Context, agentID string, limit int) (int, error) {
	ids, err := t.childIDs(ctx, "agent_test_executions", "part.agent_id = ?", agentID, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	executions := []*model.AgentTestExecution{}
	if err := t.db.Select(&executions).Column("id").Where("id IN (?)", bun.List(ids)).Order("id").For(string(forUpdate)).
		Scan(ctx); err != nil {
		return 0, err
	}
	return len(ids), exec(ctx, t.db.UpdateAll((*model.AgentTestExecution)(nil)).Set("agent_id = NULL").
		Where("id IN (?)", bun.List(ids)))
}
