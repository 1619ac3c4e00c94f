package db

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// CreateAgentTests creates all of the tests or none. Faults name a test by its index.
func (t *Tenant) CreateAgentTests(ctx context.Context, in model.CreateAgentTestsInput) ([]model.AgentTest, error) {
	tests, err := in.NewTests(now())
	if err != nil {
		return nil, err
	}
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return t.createTests(ctx, tests, in.Path) })
	return toAgentTests(tests), err
}

// createTests checks tests against their agents, checks that their names are unique, and inserts them. path(i) is the
// prefix of the field paths of faults in test i. The number of statements does not depend on the number of tests.
func (t tenantTx) createTests(ctx context.Context, tests []*model.AgentTestRow, path func(i int) string) error {
	if err := t.lockAndCheckTests(ctx, tests, path); err != nil {
		return err
	}
	if err := t.checkNames(ctx, tests, func(i int) string { return path(i) + "name" }); err != nil {
		return err
	}
	return pg.Insert(ctx, t.db, tests...)
}

// lockAndCheckTests locks the agents and the folders of tests, and checks the tests' expectations and mocks against the
// agents.
func (t tenantTx) lockAndCheckTests(ctx context.Context, tests []*model.AgentTestRow, path func(i int) string) error {
	var agentIDs []string
	for _, test := range tests {
		agentIDs = append(agentIDs, test.AgentID)
	}
	agents, err := t.lockAgents(ctx, agentIDs, forUpdate)
	if err != nil {
		return err
	}
	foreign, err := t.lockFolders(ctx, tests)
	if err != nil {
		return err
	}
	var faults model.Fields
	for _, i := range foreign {
		faults.Add(path(i)+"folderId", "is a folder of another agent")
	}
	check, err := t.checkerOf(ctx, model.Unique(agentIDs))
	if err != nil {
		return err
	}
	for i, test := range tests {
		err := check(test, agents[i])
		var known *model.Error
		switch {
		case err == nil:
		case len(tests) == 1 && path(i) == "" || !errors.As(err, &known):
			return err
		default:
			faults.AddAll(path(i), known.Fields)
		}
	}
	return faults.As(model.Unprocessable)
}

// lockFolders locks the target folders of tests. It returns the indexes of tests whose folder belongs to another
// agent. An empty id stands for the root.
func (t tenantTx) lockFolders(ctx context.Context, tests []*model.AgentTestRow) (foreign []int, err error) {
	var ids []string
	for _, test := range tests {
		if test.FolderID != nil && *test.FolderID == "" {
			test.FolderID = nil
		}
		if test.FolderID != nil {
			ids = append(ids, *test.FolderID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	folders := []*model.AgentTestFolder{}
	if err := t.db.Select(&folders).Where("id IN (?)", bun.List(model.Unique(ids))).Order("id").For(string(forShare)).
		Scan(ctx); err != nil {
		return nil, err
	}
	for i, test := range tests {
		if test.FolderID == nil {
			continue
		}
		folder := slices.IndexFunc(folders, func(f *model.AgentTestFolder) bool { return f.ID == *test.FolderID })
		if folder < 0 {
			return nil, model.Missing(agentTestFolder, *test.FolderID)
		}
		if folders[folder].AgentID != test.AgentID {
			foreign = append(foreign, i)
		}
	}
	return foreign, nil
}

// checkerOf returns a function that returns UNPROCESSABLE when an agent lacks a tag that one of its tests expects, or a
// tool or sub-agent that the test mocks. The agents must be locked.
func (t *Tenant) checkerOf(ctx context.Context, agentIDs []string) (func(*model.AgentTestRow, *model.Agent) error,
	error) {
	tools, err := t.ToolsOfAgents(ctx, agentIDs, "technical_name")
	if err != nil {
		return nil, err
	}
	subAgents, err := t.SubAgentsOfAgents(ctx, agentIDs, "technical_name")
	if err != nil {
		return nil, err
	}
	return func(test *model.AgentTestRow, agent *model.Agent) error {
		if test.Kind == model.AgentTestKindClassification {
			return checkTags(test, agent)
		}
		return test.ToolMocking.Check(filterByParent(tools, agent.ID), filterByParent(subAgents, agent.ID))
	}, nil
}

func filterByParent[R interface{ Parent() string }](rows []R, id string) []R {
	return slices.DeleteFunc(slices.Clone(rows), func(row R) bool { return row.Parent() != id })
}

// MoveAgentTests moves the tests to a folder of their agent, or to the root. It moves all of them or none.
func (t *Tenant) MoveAgentTests(ctx context.Context, in model.MoveAgentTestsInput) ([]model.AgentTest, error) {
	var moved []*model.AgentTestRow
	ids, err := model.CheckTestIDs(in.TestIds)
	if err != nil {
		return nil, err
	}
	path := func(i int) string { return fmt.Sprintf("testIds.%d", i) }
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if moved, err = t.lockAgentsAndTests(ctx, ids); err != nil {
			return err
		}
		folder := ""
		if in.FolderID != nil {
			folder = *in.FolderID
		}
		var changed []*model.AgentTestRow
		at := now()
		for _, test := range moved {
			if locationOf(test).folderID != folder {
				changed = append(changed, test)
			}
			test.FolderID = new(folder)
		}
		foreign, err := t.lockFolders(ctx, moved)
		if err != nil {
			return err
		}
		var faults model.Fields
		for _, i := range foreign {
			faults.Add(path(i), "belongs to a different agent than the folder")
		}
		if len(faults) > 0 {
			return faults.As(model.Unprocessable)
		}
		if len(changed) == 0 {
			return nil
		}
		testPath := func(i int) string { return path(slices.Index(moved, changed[i])) }
		if err := t.checkNames(ctx, changed, testPath); err != nil {
			return err
		}
		for _, test := range changed {
			test.UpdatedAt = model.NextUpdatedAt(test.UpdatedAt, at)
		}
		return exec(ctx, t.db.Update(&changed).Column("folder_id", "updated_at").Bulk())
	})
	return toAgentTests(moved), err
}

// CopyAgentTests copies all of the tests, or none, without their runs: to a folder, to another agent, or next to the
// originals.
func (t *Tenant) CopyAgentTests(ctx context.Context, in model.CopyAgentTestsInput) ([]model.AgentTest, error) {
	ids, err := model.CheckTestIDs(in.TestIds)
	if err != nil {
		return nil, err
	}
	var copies []*model.AgentTestRow
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		found := []*model.AgentTestRow{}
		if err := t.db.Select(&found).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
			return err
		}
		originals, err := inOrder(agentTest, ids, found)
		if err != nil {
			return err
		}
		mocked := []*model.SubAgent{}
		if err := t.db.Select(&mocked).Where("id IN (?)", bun.List(mockedSubAgents(originals))).Scan(ctx); err != nil {
			return err
		}
		var own []*model.SubAgent
		if in.AgentID != nil {
			if own, err = t.SubAgentsOfAgents(ctx, []string{*in.AgentID}, "technical_name"); err != nil {
				return err
			}
		}
		for _, original := range originals {
			copies = append(copies, original.Copy(in, mocked, own, now()))
		}
		if err := t.lockAndCheckTests(ctx, copies, func(i int) string { return fmt.Sprintf("testIds.%d.", i) }); err != nil {
			return err
		}
		if err := t.makeNamesUnique(ctx, copies); err != nil {
			return err
		}
		return pg.Insert(ctx, t.db, copies...)
	})
	return toAgentTests(copies), err
}

func mockedSubAgents(tests []*model.AgentTestRow) (ids []string) {
	for _, test := range tests {
		if test.ToolMocking == nil {
			continue
		}
		for _, mock := range test.ToolMocking.MockedSubAgents {
			ids = append(ids, mock.SubAgentID)
		}
	}
	return ids
}

// DeleteAgentTests deletes all of the tests or none. Their runs stay, but no longer refer to a test. It only marks the
// tests, because they can have many runs.
func (t *Tenant) DeleteAgentTests(ctx context.Context, ids []string) error {
	ids, err := model.CheckTestIDs(ids)
	if err != nil {
		return err
	}
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Every transaction locks schedules before their tests.
		schedules, err := t.lockEnabledSchedules(ctx, pg.Where("EXISTS (SELECT 1 FROM jsonb_array_elements_text(test_ids) "+
			"AS scheduled (id) WHERE scheduled.id IN (?))", bun.List(ids)))
		if err != nil {
			return err
		}
		locked, err := t.lockTests(ctx, forDelete, pg.Where("id IN (?)", bun.List(ids)))
		if err != nil {
			return err
		}
		if _, err := inOrder(agentTest, ids, locked); err != nil {
			return err
		}
		if err := t.markTestsDeleted(ctx, ids); err != nil {
			return err
		}
		for _, s := range schedules {
			_, err := t.testsLeft(ctx, s.TestIds)
			if pg.IsMissing(err) {
				err = t.disableSchedule(ctx, s, err.Error())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// markTestsDeleted marks locked tests as deleted. It clears their references, so that runs and folders can be removed.
func (t tenantTx) markTestsDeleted(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return exec(ctx, t.db.Update((*model.AgentTestRow)(nil)).Set("deleted_at = ?", now()).
		Set("folder_id = NULL").Set("last_run_id = NULL").Set("last_run_status = NULL").Set("last_run_at = NULL").
		Where("id IN (?)", bun.List(ids)))
}

// lockAgentsAndTests first locks the agents of the tests, which blocks other requests that create or rename tests of
// these agents. Then it locks the tests.
func (t tenantTx) lockAgentsAndTests(ctx context.Context, ids []string) ([]*model.AgentTestRow, error) {
	// Before the agents are locked, only the agents' ids are certain not to change.
	known := []*model.AgentTestRow{}
	if err := t.db.Select(&known).Column("agent_id").Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, err
	}
	agentIDs := model.Map(known, func(test *model.AgentTestRow) string { return test.AgentID })
	if _, err := t.lockAgents(ctx, agentIDs, forUpdate); err != nil {
		return nil, err
	}
	locked, err := t.lockTestDefinitions(ctx, forUpdate, pg.Where("id IN (?)", bun.List(ids)))
	if err != nil {
		return nil, err
	}
	return inOrder(agentTest, ids, locked)
}

func toAgentTests(rows []*model.AgentTestRow) []model.AgentTest {
	tests := model.Map(rows, func(row *model.AgentTestRow) model.AgentTest { return row.Test() })
	return pg.JoinBatch(tests)
}
