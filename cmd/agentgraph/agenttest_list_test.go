package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// A list of tests is narrowed in the same way wherever it hangs.
func TestListsOfTestsAreNarrowedAlike(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Folders")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
	})
	require.NoError(t, err)
	folder, err := tenant.CreateAgentTestFolder(t.Context(), model.CreateAgentTestFolderInput{AgentID: agent.ID, Name: "Smoke", Color: "#112233"})
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
	const runs = `query ($test: ID) { agentTestRuns(testId: $test) { totalCount } agentTestExecutions { nodes { runs(testId: $test) { totalCount } } } }`
	id := g.firstID(t, key, `{ list: agentTests { nodes { id } } }`)
	_, err = tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: []string{id}, Repeats: 1, Concurrency: 1})
	require.NoError(t, err)
	refused := g.query(t, key, runs, map[string]any{"test": ""})
	require.Equal(t, []string{"BAD_INPUT", "BAD_INPUT"}, refused.codes())
	g.must(t, key, runs, map[string]any{"test": id}, nil)
}

func TestListAndShowTests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test := b.simulation(t, "Fails \x1b[31mred", holds, fails)
	listed := b.test(t, "list", "--agent", b.agent)
	require.Zero(t, listed.code, listed.log)
	require.Contains(t, listed.out, test+"  Simulation  -         Front <desk>  -       Fails [31mred")
	require.Equal(t, 2, b.test(t, "run", "--test", test).code)

	var tests []listedTest
	require.NoError(t, json.Unmarshal([]byte(b.test(t, "list", "--json").out), &tests))
	require.Len(t, tests, 1)
	require.Equal(t, "Failed", *tests[0].LastRunStatus)
	runID := *tests[0].LastRunID

	shown := b.test(t, "show", runID)
	require.Zero(t, shown.code, shown.log)
	require.Contains(t, shown.out, "[0] agent: Welcome.\n[1] contact: Goodbye")
	require.Contains(t, shown.out, "✓ "+holds+"\n")
	require.Contains(t, shown.out, "✗ "+fails+"\n")
	require.Contains(t, shown.out, "message 0: “Welcome”")

	shown = b.test(t, "show", test)
	require.Contains(t, shown.out, "Turns      10 at most")
	require.Contains(t, shown.out, runID+"  Failed")
	var run struct {
		Execution named
		Messages  []messageShown
	}
	require.NoError(t, json.Unmarshal([]byte(b.test(t, "show", runID, "--json").out), &run))
	require.NotEmpty(t, run.Messages)
	shown = b.test(t, "show", run.Execution.ID)
	require.Contains(t, shown.out, "1 run: 0 passed, 1 failed, 0 error, 0 cancelled")
	require.Contains(t, shown.out, runID+"  Failed")
	var execution struct{ Runs []runShown }
	require.NoError(t, json.Unmarshal([]byte(b.test(t, "show", run.Execution.ID, "--json").out), &execution))
	require.NotEmpty(t, execution.Runs[0].Messages)

	for what, args := range map[string][]string{
		`agent "nope" does not exist`:             {"--agent", "nope"},
		`agent test folder "nope" does not exist`: {"--agent", b.agent, "--folder", "nope"},
		`agent "" does not exist`:                 {"--agent", "", "--json"},
	} {
		unknown := b.test(t, append([]string{"list"}, args...)...)
		require.Equal(t, 1, unknown.code, unknown.out)
		require.Contains(t, unknown.log, what)
		require.Empty(t, unknown.out)
	}
	missing := b.test(t, "show", b.agent)
	require.Equal(t, 1, missing.code)
	require.Contains(t, missing.log, "there is no test, execution or run")
	require.NotContains(t, listed.out+shown.out, "\x1b")
}
