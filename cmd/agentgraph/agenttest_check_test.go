package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunReportsChecks runs a test that has checks and no criteria.
func TestRunReportsChecks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
		CreateTool           struct{ Tool struct{ ID string } }
	}
	b.must(t, `mutation ($agent: ID!) {
		createSimulationTest(input: {agentId: $agent, name: "Checked", scenario: "says: \"Goodbye\"", criteria: [],
			passAt: 0.5, checks: [
			{expect: {says: {text: "welcome", turn: 0}}}
			{expect: {neverCalled: {kind: CallTransfer}}}
			{expect: {turnsAtMost: 1}, weight: 2}
			{expect: {endedBy: Limit}, weight: 2}
			{expect: {tag: "Praise"}}
		]}) { agentTest { id } }
		createTool(input: {name: "Look up", technicalName: "look_up", endpoint: {url: "https://api.example.com/orders"}}) {
			tool { id } }
	}`, map[string]any{"agent": b.agent}, &made)
	test := made.CreateSimulationTest.AgentTest.ID

	report := filepath.Join(t.TempDir(), "junit.xml")
	ran := b.test(t, "run", "--test", test, "--require-mocked", "--junit", report)
	require.Equal(t, 1, ran.code, ran.log)
	require.Contains(t, ran.out, "✗ gets the tag \"Praise\"\n             Observed: no tag")
	require.Contains(t, ran.out, "✗ nobody ends the conversation (weight 2)")
	require.NotContains(t, ran.out, "says \"welcome\"")
	require.Equal(t, `not met: nobody ends the conversation (weight 2); gets the tag "Praise"`, readJUnit(t, report).
		Suites[0].Cases[0].Failure.Message)

	b.must(t, `mutation ($test: ID!) { updateSimulationTest(input: {testId: $test, checks: [
		{expect: {says: {text: "welcome", turn: 0}}}, {expect: {turnsAtMost: 1}, weight: 2}, {expect: {endedBy: Limit},
			weight: 2}
	]}) { agentTest { id } } }`, map[string]any{"test": test}, nil)
	ran = b.test(t, "run", "--test", test)
	require.Equal(t, 0, ran.code, ran.log)
	var runs struct {
		AgentTestRuns struct {
			Nodes []struct {
				ID           string
				Score        float64
				CheckResults []struct {
					Passed   bool
					Observed string
					Evidence []struct{ Quote string }
				}
			}
		}
	}
	b.must(t, `{ agentTestRuns(first: 1) { nodes { id score checkResults { passed observed evidence { quote } } } } }`,
		nil, &runs)
	run := runs.AgentTestRuns.Nodes[0]
	require.InDelta(t, 0.5, run.Score, 0)
	require.Equal(t, "said in message 0", run.CheckResults[0].Observed)
	require.Equal(t, "Welcome", run.CheckResults[0].Evidence[0].Quote)
	require.Contains(t, b.test(t, "show", run.ID).out, "✓ says \"welcome\" in the welcome message\n  Observed: said in "+
		"message 0\n  message 0: “Welcome”\n")
	require.Contains(t, b.test(t, "show", run.ID, "--json").out, `"kind": "Said"`)
	require.Contains(t, b.test(t, "show", test).out, "  - turns: at most 1 (weight 2)\n")

	b.must(t, `mutation ($agent: ID!, $tool: ID!) { connectTool(input: {agentId: $agent,
		toolId: $tool}) { agent { id } } }`,
		map[string]any{"agent": b.agent, "tool": made.CreateTool.Tool.ID}, nil)
	for _, args := range [][]string{{"--agent", b.agent}, {"--test", test}} {
		refused := b.test(t, append([]string{"run", "--require-mocked"}, args...)...)
		require.Equal(t, 4, refused.code)
		require.Contains(t, refused.log,
			"refuses real calls. Mock these first:\nlook_up\n  in 1 test: \"Checked\" ("+test+")\n")
	}
	for i := range 12 {
		var made struct {
			CreateTool struct{ Tool struct{ ID string } }
		}
		name := fmt.Sprintf("tool_%02d", i)
		b.must(t, `mutation ($name: String!) {
			createTool(input: {name: $name, technicalName: $name, endpoint: {url: "https://api.example.com/"}}) { tool { id } }
		}`, map[string]any{"name": name}, &made)
		b.must(t, `mutation ($agent: ID!, $tool: ID!) { connectTool(input: {agentId: $agent,
			toolId: $tool}) { agent { id } } }`,
			map[string]any{"agent": b.agent, "tool": made.CreateTool.Tool.ID}, nil)
	}
	refused := b.test(t, "run", "--require-mocked", "--agent", b.agent)
	require.Equal(t, 4, refused.code)
	require.Equal(t, 1, strings.Count(refused.log, "Checked"), "tools with the same tests are grouped: %s", refused.log)
	require.Contains(t, refused.log, "\nand 3 more tools\n  in 1 test: ")
	require.Equal(t, 13, strings.Count(refused.log, "\n"), refused.log)
	b.must(t, `mutation ($test: ID!) { updateSimulationTest(input: {testId: $test,
		toolMocking: {mockAllTools: true}}) { agentTest { id } } }`, map[string]any{"test": test}, nil)
	require.Equal(t, 0, b.test(t, "run", "--agent", b.agent, "--require-mocked").code)
}
