package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func simulationInput(agentID string) model.CreateSimulationTestInput {
	return model.CreateSimulationTestInput{
		AgentID: agentID, Name: "Books", Scenario: "You want an appointment.", Criteria: []string{"an appointment is made"},
		MaxTurns: 10,
	}
}

var madeTests atomic.Int64

// newSimulationTest returns a test with a unique name.
func newSimulationTest(t *testing.T, tenant *db.Tenant, agentID string,
	with ...func(*model.CreateSimulationTestInput)) *model.SimulationTest {
	t.Helper()
	in := simulationInput(agentID)
	in.Name = fmt.Sprintf("Books %d", madeTests.Add(1))
	for _, change := range with {
		change(&in)
	}
	test, err := tenant.CreateSimulationTest(t.Context(), in)
	require.NoError(t, err)
	return test
}

// newClassificationTest returns a test that expects the tag New.
func newClassificationTest(t *testing.T, tenant *db.Tenant, agentID, name string) *model.ClassificationTest {
	t.Helper()
	test, err := tenant.CreateClassificationTest(t.Context(), model.CreateClassificationTestInput{
		AgentID: agentID, Name: name, TagExpected: "New", ConversationContext: conversation("Hello"),
	})
	require.NoError(t, err)
	return test
}

func conversation(texts ...string) *model.ConversationContext {
	c := &model.ConversationContext{DataBag: model.JSONObject(`{"b":"1","a":"2"}`)}
	for _, text := range texts {
		c.Messages = append(c.Messages, model.TestMessage{Role: model.MessageRoleUser, Text: text})
	}
	return c
}

func newTaggedAgent(t *testing.T, tenant *db.Tenant, tags ...string) *model.Agent {
	t.Helper()
	in := agentInput()
	for _, tag := range tags {
		in.ClassificationTags = append(in.ClassificationTags, &model.ClassificationTag{Name: tag})
	}
	agent, err := tenant.CreateAgent(t.Context(), in)
	require.NoError(t, err)
	return agent
}

func testByID(t *testing.T, tenant *db.Tenant, id string, columns ...string) model.AgentTest {
	t.Helper()
	tests, err := dbtest.Find[model.AgentTest](t.Context(), tenant, db.AgentTestRows, []string{id}, columns...)
	require.NoError(t, err)
	require.Len(t, tests, 1)
	return tests[0]
}

func TestTestsAreStoredUnchanged(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newTaggedAgent(t, tenant, "New", "Old")
	tool := newTool(t, tenant, "find")
	_, err := tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	folder := newFolder(t, tenant, agent.ID, "Smoke")

	result := "it's \\u0000 'found'"
	simulation := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.FolderID = &folder.ID
		in.ConversationContext = []*model.TestMessage{{Role: model.MessageRoleUser, Text: "Hi \\u0000 it's"}}
		in.Variables = model.JSONObject(`{"b": "1", "a": true}`)
		in.ToolMocking = &model.ToolMocking{
			MockedTools: []model.MockedTool{{ToolID: tool.ID, Mock: model.Mock{ResultTemplate: &result}}}}
	})
	same(t, simulation.AgentTestRow, batchless(testByID(t, tenant, simulation.ID).Row()))
	classification := newClassificationTest(t, tenant, agent.ID, "Tags")
	same(t, classification.AgentTestRow, batchless(testByID(t, tenant, classification.ID).Row()))

	plain := newSimulationTest(t, tenant, agent.ID)
	stored := testByID(t, tenant, plain.ID)
	require.IsType(t, &model.SimulationTest{}, stored)
	require.NotNil(t, stored.Row().ConversationMessages)
	require.Empty(t, stored.Row().ConversationMessages)
	require.JSONEq(t, "{}", string(stored.Row().Variables))
	require.Nil(t, stored.Row().FolderID)
	require.Nil(t, stored.Row().LastRunID)
	// The kind is read with any choice of columns.
	require.IsType(t, &model.ClassificationTest{}, testByID(t, tenant, classification.ID, "name"))

	types, err := tenant.Types(t.Context(), []string{plain.ID, folder.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]string{plain.ID: "agent test", folder.ID: "agent test folder"}, types)
}

// batchless returns a copy of the row that belongs to no batch and no parent, like a newly created one.
func batchless(row *model.AgentTestRow) *model.AgentTestRow {
	row.JoinBatch(&model.Batch{}, nil)
	alone := *row
	alone.Owned = model.Owned{CompanyID: row.CompanyID}
	return &alone
}

func TestTestsAreFiltered(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newTaggedAgent(t, tenant, "New"), newTaggedAgent(t, tenant, "New")
	folder := newFolder(t, tenant, agent.ID, "Smoke")
	inFolder := newSimulationTest(t, tenant, agent.ID,
		func(in *model.CreateSimulationTestInput) { in.FolderID = &folder.ID })
	tagged := newClassificationTest(t, tenant, agent.ID, "Tags")
	foreign := newSimulationTest(t, tenant, other.ID)
	kind := model.AgentTestKindClassification
	for _, c := range []struct {
		agentID *string
		wanted  model.AgentTestFilter
		want    []string
	}{
		{nil, model.AgentTestFilter{}, []string{foreign.ID, tagged.ID, inFolder.ID}},
		{nil, model.AgentTestFilter{IsAtRoot: true}, []string{foreign.ID, tagged.ID}},
		{&agent.ID, model.AgentTestFilter{}, []string{tagged.ID, inFolder.ID}},
		{&agent.ID, model.AgentTestFilter{FolderID: folder.ID}, []string{inFolder.ID}},
		{&agent.ID, model.AgentTestFilter{IsAtRoot: true}, []string{tagged.ID}},
		{&agent.ID, model.AgentTestFilter{IsAtRoot: true, Kind: model.AgentTestKindSimulation}, []string{}},
		{nil, model.AgentTestFilter{Kind: kind}, []string{tagged.ID}},
		{&other.ID, model.AgentTestFilter{Kind: kind}, []string{}},
	} {
		page, err := tenant.AgentTests(t.Context(), model.PageArgs{First: 100}, c.agentID, c.wanted, "name")
		require.NoError(t, err)
		require.Equal(t, c.want, idsOf(page.Nodes))
		total, err := page.TotalCount(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, len(c.want), total)
		for _, test := range page.Nodes {
			require.Len(t, test.Batch().Rows, len(page.Nodes))
			require.Implements(t, (*model.AgentTest)(nil), test.Batch().Rows[0])
		}
		if c.agentID != nil {
			wanted := db.TestsMatching(c.wanted)
			rows, err := dbtest.Pages[model.AgentTest](t.Context(), tenant, db.TestsOfAgents, wanted, []string{*c.agentID},
				model.PageArgs{First: 10}, "name")
			require.NoError(t, err)
			require.Equal(t, c.want, idsOf(rows))
			for _, row := range rows {
				require.Equal(t, *c.agentID, row.Parent())
			}
			counts, err := dbtest.Counts(t.Context(), tenant, db.TestsOfAgents, wanted, []string{*c.agentID, "agent_none"})
			require.NoError(t, err)
			require.Equal(t, []int32{int32(len(c.want)), 0}, counts)
		}
	}
	rows, err := dbtest.Pages[model.AgentTest](t.Context(), tenant, db.TestsOfFolders, nil, []string{folder.ID},
		model.PageArgs{First: 10})
	require.NoError(t, err)
	require.Equal(t, []string{inFolder.ID}, idsOf(rows))
	_, err = tenant.AgentTests(t.Context(), model.PageArgs{}, nil, model.AgentTestFilter{})
	fails(t, err, model.BadInput)
}

func TestTestsMustFitTheirAgent(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newTaggedAgent(t, tenant, "New", "Old"), newAgent(t, tenant)
	tool := newTool(t, tenant, "find")
	folder := newFolder(t, tenant, other.ID, "Theirs")
	create := func(change func(*model.CreateSimulationTestInput)) error {
		in := simulationInput(agent.ID)
		change(&in)
		_, err := tenant.CreateSimulationTest(t.Context(), in)
		return err
	}
	none := "folder_none"
	fails(t, create(func(in *model.CreateSimulationTestInput) { in.AgentID = "agent_none" }), model.NotFound)
	fails(t, create(func(in *model.CreateSimulationTestInput) { in.FolderID = &none }), model.NotFound)
	fails(t, create(func(in *model.CreateSimulationTestInput) { in.Criteria = nil }), model.BadInput)
	faults(t, create(func(in *model.CreateSimulationTestInput) { in.FolderID = &folder.ID }), model.Unprocessable,
		"folderId", "of another agent")
	mocked := func(in *model.CreateSimulationTestInput) {
		in.ToolMocking = &model.ToolMocking{MockedTools: []model.MockedTool{{ToolID: tool.ID}, {ToolID: tool.ID}}}
	}
	faults(t, create(mocked), model.Unprocessable, "toolMocking.mockedTools.0.toolId", "is not connected")
	_, err := tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	faults(t, create(mocked), model.Unprocessable, "toolMocking.mockedTools.1.toolId", "is mocked twice")
	faults(t, create(func(in *model.CreateSimulationTestInput) {
		in.ToolMocking = &model.ToolMocking{MockedSubAgents: []model.MockedSubAgent{{SubAgentID: tool.ID}}}
	}), model.Unprocessable, "toolMocking.mockedSubAgents.0.subAgentId", "is not connected")

	classify := func(agentID, tag string) error {
		_, err := tenant.CreateClassificationTest(t.Context(), model.CreateClassificationTestInput{
			AgentID: agentID, Name: "Tags", TagExpected: tag, ConversationContext: conversation("Hello"),
		})
		return err
	}
	faults(t, classify(agent.ID, "new"), model.Unprocessable, "tagExpected", `"New", "Old"`)
	faults(t, classify(other.ID, "New"), model.Unprocessable, "tagExpected", "has no classification tags")
	_, err = tenant.CreateClassificationTest(t.Context(), model.CreateClassificationTestInput{AgentID: agent.ID,
		Name: "Tags", TagExpected: "New"})
	faults(t, err, model.BadInput, "conversationContext.messages", "at least one message")
	page, err := tenant.AgentTests(t.Context(), model.PageArgs{First: 1}, nil, model.AgentTestFilter{})
	require.NoError(t, err)
	require.Empty(t, page.Nodes)
}

func TestUpdatesOfTestsAreValidatedAndStored(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newTaggedAgent(t, tenant, "New", "Old"), newAgent(t, tenant)
	folder, foreign := newFolder(t, tenant, agent.ID, "Smoke"), newFolder(t, tenant, other.ID, "Theirs")
	simulation, tagged := newSimulationTest(t, tenant, agent.ID), newClassificationTest(t, tenant, agent.ID, "Tags")

	name, root, old, none := "Renamed", "", "Old", "Nothing"
	updated, err := tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: simulation.ID,
		Name: &name, FolderID: &folder.ID})
	require.NoError(t, err)
	require.Equal(t, &folder.ID, updated.FolderID)
	same(t, updated.AgentTestRow, batchless(testByID(t, tenant, simulation.ID).Row()))
	updated, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: simulation.ID,
		Criteria: []string{"a", "b"}})
	require.NoError(t, err)
	require.Equal(t, &folder.ID, updated.FolderID, "omitted fields stay")
	require.Equal(t, []string{"a", "b"}, updated.Criteria)
	updated, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: simulation.ID,
		FolderID: &root})
	require.NoError(t, err)
	require.Nil(t, updated.FolderID)
	require.Equal(t, name, updated.Name)

	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: simulation.ID,
		FolderID: &foreign.ID})
	faults(t, err, model.Unprocessable, "folderId", "of another agent")
	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: tagged.ID, Name: &name})
	faults(t, err, model.Unprocessable, "testId", "classification test")
	_, err = tenant.UpdateClassificationTest(t.Context(), model.UpdateClassificationTestInput{TestID: simulation.ID,
		Name: &name})
	faults(t, err, model.Unprocessable, "testId", "simulation test")
	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: "test_none"})
	fails(t, err, model.NotFound)
	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: simulation.ID,
		Criteria: []string{}})
	faults(t, err, model.BadInput, "criteria", "at least one")

	_, err = tenant.UpdateClassificationTest(t.Context(), model.UpdateClassificationTestInput{TestID: tagged.ID,
		TagExpected: &none})
	faults(t, err, model.Unprocessable, "tagExpected", "must be one of the agent's")
	retagged, err := tenant.UpdateClassificationTest(t.Context(), model.UpdateClassificationTestInput{TestID: tagged.ID,
		TagExpected: &old})
	require.NoError(t, err)
	same(t, retagged.AgentTestRow, batchless(testByID(t, tenant, tagged.ID).Row()))
	retold, err := tenant.UpdateClassificationTest(t.Context(), model.UpdateClassificationTestInput{
		TestID: tagged.ID, ConversationContext: &model.ConversationContext{Messages: conversation("Hi").Messages},
	})
	require.NoError(t, err)
	require.Equal(t, model.JSONObject("{}"), retold.ConversationContext.DataBag, "there is always a data bag")

	_, err = tenant.UpdateAgentTest(t.Context(), model.UpdateAgentTestInput{TestID: simulation.ID,
		ConversationMessages: []*model.TestMessage{{Role: "user"}}})
	faults(t, err, model.BadInput, "conversationMessages.0.text", "must not be empty")
	_, err = tenant.UpdateAgentTest(t.Context(), model.UpdateAgentTestInput{TestID: simulation.ID,
		Criteria: []string{"a", " "}})
	faults(t, err, model.BadInput, "criteria.1", "must not be blank")

	// If the agent has lost the tag, its test can still be renamed.
	_, err = tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: agent.ID,
		ClassificationTags: []*model.ClassificationTag{}})
	require.NoError(t, err)
	_, err = tenant.UpdateClassificationTest(t.Context(), model.UpdateClassificationTestInput{TestID: tagged.ID,
		Name: new("Tagged")})
	require.NoError(t, err)
}

func TestRunsOutliveTheirTest(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	test, kept := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID)
	execution := start(t, tenant, test.ID, kept.ID)
	require.NoError(t, tenant.DeleteAgentTest(t.Context(), test.ID))
	fails(t, tenant.DeleteAgentTest(t.Context(), test.ID), model.NotFound)

	runs := runsOf(t, tenant, execution.ID)
	require.Len(t, runs, 2)
	require.Nil(t, runs[0].TestID)
	require.Equal(t, test.ID, runs[0].TestedID)
	require.Equal(t, &kept.ID, runs[1].TestID)
	// If its test was deleted, a run uses its own copy.
	for _, run := range runs {
		require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusFailed))
	}
	tallies, err := tenant.TalliesOfExecutions(t.Context(), []string{execution.ID})
	require.NoError(t, err)
	require.Equal(t, []model.TestTally{
		{TestedID: test.ID, TestName: test.Name, AgentTestRunCounts: model.AgentTestRunCounts{Total: 1, Failed: 1}},
		{TestedID: kept.ID, TestID: &kept.ID, TestName: kept.Name, AgentTestRunCounts: model.AgentTestRunCounts{Total: 1,
			Failed: 1}},
	}, tallies[execution.ID])
}

func TestRunsOutliveTheirAgent(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	folder := newFolder(t, tenant, agent.ID, "Smoke")
	test := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) { in.FolderID = &folder.ID })
	theirs := newSimulationTest(t, tenant, other.ID)
	alone, mixed := start(t, tenant, test.ID), start(t, tenant, test.ID, theirs.ID)
	require.Equal(t, &agent.ID, alone.AgentID)
	require.Nil(t, mixed.AgentID)

	require.NoError(t, tenant.DeleteAgent(t.Context(), agent.ID))
	after, err := tenant.AgentTestExecution(t.Context(), alone.ID)
	require.NoError(t, err)
	require.Nil(t, after.AgentID)
	require.Nil(t, runsOf(t, tenant, alone.ID)[0].TestID)
	runs := runsOf(t, tenant, mixed.ID)
	require.Nil(t, runs[0].TestID)
	require.Equal(t, &theirs.ID, runs[1].TestID)
	page, err := tenant.AgentTests(t.Context(), model.PageArgs{First: 10}, nil, model.AgentTestFilter{})
	require.NoError(t, err)
	require.Equal(t, []string{theirs.ID}, idsOf(page.Nodes))
	var folders int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM agent_test_folders").Scan(&folders))
	require.Zero(t, folders)

	// Deleting the company deletes everything.
	_, err = conn.Exec(t.Context(), "DELETE FROM companies")
	require.NoError(t, err)
	require.Empty(t, rowsOf(t, conn))
}
