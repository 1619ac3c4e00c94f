package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestBulkChangesOfTestsAreAtomic(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newTaggedAgent(t, tenant, "New"), newTaggedAgent(t, tenant)
	folder, foreign := newFolder(t, tenant, agent.ID, "Smoke"), newFolder(t, tenant, other.ID, "Foreign")
	simulation := func(agentID, name string) *model.CreateAgentTestInput {
		in := simulationInput(agentID)
		in.Name = name
		return &model.CreateAgentTestInput{Simulation: &in}
	}
	tagged := &model.CreateAgentTestInput{Classification: &model.CreateClassificationTestInput{
		AgentID: agent.ID, Name: "Tags", TagExpected: "New", ConversationContext: conversation("Hello"), FolderID: &folder.ID,
	}}
	create := func(tests ...*model.CreateAgentTestInput) ([]model.AgentTest, error) {
		return tenant.CreateAgentTests(t.Context(), model.CreateAgentTestsInput{Tests: tests})
	}
	count := func() int {
		page, err := tenant.AgentTests(t.Context(), model.PageArgs{First: 100}, nil, model.AgentTestFilter{})
		require.NoError(t, err)
		return len(page.Nodes)
	}
	wrong := *tagged.Classification
	wrong.AgentID, wrong.FolderID = other.ID, nil
	for path, tests := range map[string][]*model.CreateAgentTestInput{
		"tests.1.simulation.name":            {simulation(agent.ID, "A"), simulation(agent.ID, "A")},
		"tests.0.simulation.name":            {simulation(agent.ID, "")},
		"tests.1.classification.tagExpected": {simulation(agent.ID, "A"), {Classification: &wrong}},
		"tests.0":                            {{}},
		"tests":                              {},
	} {
		_, err := create(tests...)
		var known *model.Error
		require.ErrorAs(t, err, &known, path)
		require.Contains(t, known.Fields, path)
		require.Zero(t, count())
	}
	made, err := create(simulation(agent.ID, "A"), tagged, simulation(other.ID, "A"))
	require.NoError(t, err)
	require.Equal(t, 3, count())
	require.Equal(t, &folder.ID, made[1].Row().FolderID)
	ids := make([]string, len(made))
	for i, test := range made {
		ids[i] = test.Row().ID
	}

	move := func(folderID *string, ids ...string) error {
		_, err := tenant.MoveAgentTests(t.Context(), model.MoveAgentTestsInput{TestIds: ids, FolderID: folderID})
		return err
	}
	faults(t, move(&folder.ID, ids...), model.Unprocessable, "testIds.2", "belongs to a different agent than the folder")
	require.Nil(t, testByID(t, tenant, ids[0]).Row().FolderID, "all of them, or none")
	fails(t, move(nil, ids[0], "test_none"), model.NotFound)
	require.NoError(t, move(&folder.ID, ids[0], ids[1]))
	require.Equal(t, &folder.ID, testByID(t, tenant, ids[0]).Row().FolderID)
	_, err = create(simulation(agent.ID, "A"))
	require.NoError(t, err)
	faults(t, move(nil, ids[0]), model.Unprocessable, "testIds.0", "another test in the same folder")

	copyTo := func(agentID, folderID *string, ids ...string) ([]model.AgentTest, error) {
		return tenant.CopyAgentTests(t.Context(), model.CopyAgentTestsInput{TestIds: ids, AgentID: agentID,
			FolderID: folderID})
	}
	copies, err := copyTo(nil, nil, ids[0], ids[1])
	require.NoError(t, err)
	require.Equal(t, "A (2)", copies[0].Row().Name)
	require.Equal(t, &folder.ID, copies[0].Row().FolderID)
	copied := testByID(t, tenant, copies[0].Row().ID).Row()
	require.Equal(t, "You want an appointment.", copied.Scenario)
	require.Nil(t, copied.LastRunID)
	_, err = copyTo(&other.ID, nil, ids...)
	faults(t, err, model.Unprocessable, "testIds.1.tagExpected", "the agent has no classification tags")
	copies, err = copyTo(&other.ID, &foreign.ID, ids[0])
	require.NoError(t, err)
	require.Equal(t, other.ID, copies[0].Row().AgentID)

	execution := start(t, tenant, ids[0])
	fails(t, tenant.DeleteAgentTests(t.Context(), append(ids, "test_none")), model.NotFound)
	before := count()
	require.NoError(t, tenant.DeleteAgentTests(t.Context(), ids))
	require.Equal(t, before-3, count())
	require.Nil(t, runsOf(t, tenant, execution.ID)[0].TestID)
}

func TestCopiedTestMocksSubAgentsOfItsNewAgent(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other, third := newAgent(t, tenant), newAgent(t, tenant), newAgent(t, tenant)
	add := func(agentID string) *model.SubAgent {
		s, _, err := tenant.AddSubAgent(t.Context(), model.AddSubAgentInput{AgentID: agentID, DelegateAgentID: third.ID,
			Name: "Billing", TechnicalName: "billing"})
		require.NoError(t, err)
		return s
	}
	own, theirs := add(agent.ID), add(other.ID)
	test := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.ToolMocking = &model.ToolMocking{MockedSubAgents: []model.MockedSubAgent{{SubAgentID: own.ID}}}
	})
	copies, err := tenant.CopyAgentTests(t.Context(), model.CopyAgentTestsInput{TestIds: []string{test.ID},
		AgentID: &other.ID})
	require.NoError(t, err)
	require.Equal(t, theirs.ID, copies[0].Row().ToolMocking.MockedSubAgents[0].SubAgentID)
	require.Equal(t, own.ID, testByID(t, tenant, test.ID).Row().ToolMocking.MockedSubAgents[0].SubAgentID)
	_, err = tenant.CopyAgentTests(t.Context(), model.CopyAgentTestsInput{TestIds: []string{test.ID}, AgentID: &third.ID})
	faults(t, err, model.Unprocessable, "testIds.0.toolMocking.mockedSubAgents.0.subAgentId", "is not connected")
}
