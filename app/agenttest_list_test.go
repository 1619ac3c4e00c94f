package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// Lists of tests take the same filter on every parent type.
func TestAllListsOfTestsTakeTheSameFilter(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Folders")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
	})
	require.NoError(t, err)
	folder, err := tenant.CreateAgentTestFolder(t.Context(), model.CreateAgentTestFolderInput{AgentID: agent.ID,
		Name: "Smoke", Color: "#112233"})
	require.NoError(t, err)
	for name, folderID := range map[string]*string{"within": &folder.ID, "root": nil} {
		_, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
			AgentID: agent.ID, FolderID: folderID, Name: name, Scenario: "a", Criteria: []string{"b"}, MaxTurns: 1,
		})
		require.NoError(t, err)
	}
	const query = `query ($agent: ID!, $folder: ID, $root: Boolean! = false) {
		agentTests(agentId: $agent, folderId: $folder, atRoot: $root) { totalCount nodes { name } }
		agent(id: $agent) { tests(folderId: $folder, atRoot: $root) { totalCount nodes { name } } }
	}`
	type list struct {
		TotalCount int
		Nodes      []struct{ Name string }
	}
	for name, c := range map[string]struct {
		with map[string]any
		want []string
	}{
		"all":              {map[string]any{}, []string{"root", "within"}},
		"null for all":     {map[string]any{"folder": nil}, []string{"root", "within"}},
		"one folder":       {map[string]any{"folder": folder.ID}, []string{"within"}},
		"the root":         {map[string]any{"root": true}, []string{"root"}},
		"null at the root": {map[string]any{"folder": nil, "root": true}, []string{"root"}},
	} {
		c.with["agent"] = agent.ID
		var read struct {
			AgentTests list
			Agent      struct{ Tests list }
		}
		g.must(t, key, query, c.with, &read)
		require.Equal(t, read.AgentTests, read.Agent.Tests, name)
		names := []string{}
		for _, test := range read.AgentTests.Nodes {
			names = append(names, test.Name)
		}
		require.ElementsMatch(t, c.want, names, name)
		require.Equal(t, len(c.want), read.AgentTests.TotalCount, name)
	}
	for field, with := range map[string]map[string]any{
		"folderId": {"folder": ""}, "atRoot": {"folder": folder.ID, "root": true},
	} {
		with["agent"] = agent.ID
		refused := g.query(t, key, query, with)
		require.Equal(t, []string{"BAD_INPUT", "BAD_INPUT"}, refused.codes(), field)
		for _, fault := range refused.Errors {
			require.Contains(t, fault.Extensions.Fields, field)
		}
	}
	const runs = `query ($test: ID) { agentTestRuns(testId: $test) { totalCount } agentTestExecutions { nodes {
		runs(testId: $test) { totalCount } } } }`
	id := g.firstID(t, key, `{ list: agentTests { nodes { id } } }`)
	_, err = tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: []string{id},
		Repeats: 1, Concurrency: 1})
	require.NoError(t, err)
	refused := g.query(t, key, runs, map[string]any{"test": ""})
	require.Equal(t, []string{"BAD_INPUT", "BAD_INPUT"}, refused.codes())
	g.must(t, key, runs, map[string]any{"test": id}, nil)
}
