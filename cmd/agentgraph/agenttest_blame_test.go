package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlameNamesTheLostSentence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	b.must(t, `mutation ($input: CreateSimulationTestInput!) { createSimulationTest(input: $input) { agentTest { id } } }`,
		map[string]any{"input": map[string]any{"agentId": b.agent, "name": "Says where to *park*",
			"scenario": "says: \"Where can I park the car?\"\nsays: \"Goodbye\"",
			"criteria": []string{`says "behind the building"`}}}, &made)
	test := made.CreateSimulationTest.AgentTest.ID
	b.prompt(t, "# Getting here\n- Cars park free of charge behind the building.\n- Bus 14 stops here.\n")
	require.Zero(t, b.test(t, "run", "--test", test).code)
	notRed := b.test(t, "blame", test)
	require.Equal(t, 2, notRed.code)
	require.Contains(t, notRed.log, "is not red")
	b.prompt(t, "# Getting here\n- Bus 14 stops here every hour.\n\n# Prices\nPrices depend on the visit.\n")

	report := filepath.Join(t.TempDir(), "report.md")
	require.Equal(t, 1, b.test(t, "run", "--test", test, "--markdown", report).code)
	written, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Equal(t, b.head(t, "1 of 1 runs failed", "1 run: 0 passed, 1 failed", written)+
		"### Front &lt;desk&gt;: Says where to \\*park\\*\n\n- not met: says \"behind the building\"\n\n"+
		"From prompt version 2 to 3:\n\n- lost in “Getting here”: “- Cars park free of charge **behind the building**.”\n", string(written))

	asked := b.test(t, "blame", "where to")
	require.Zero(t, asked.code, asked.log)
	for _, part := range []string{
		"Last passed with prompt version 2, failed with version 3: 4 changes\n",
		"[1] lost in \"Getting here\":\n  - - Cars park free of charge behind the building.\n",
		"  looked for: “behind the building”\n", "Passed, run_", "Failed, run_",
		" My instructions say: “Cars park free of charge behind the building.”",
		"A search takes 20 runs if a suspect is the cause, otherwise up to 100. Price: ", " credits, at most ",
		"Search for the cause with --yes\n",
	} {
		require.Contains(t, asked.out, part)
	}

	found := b.test(t, "blame", test, "--repeat", "4", "--yes", "--markdown", report)
	require.Zero(t, found.code, found.log)
	for _, part := range []string{
		"Step 1, restored everything: 4 of 4 passed\n", "Step 2, restored nothing: 0 of 4 passed\n",
		"A search takes 24 runs if", "Step 3, restored everything: 4 of 4 passed\n",
		"Step 4, restored [1]: 4 of 4 passed\n", "Step 6, restored everything except [1]: 0 of 4 passed\n",
		"Found: restoring one change repairs the test; no other change does\n[1] lost",
	} {
		require.Contains(t, found.out, part)
	}
	written, err = os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(written), "Found: restoring one change repairs the test; no other change does.\n")

	again := b.test(t, "blame", test, "--json")
	require.Zero(t, again.code, again.log)
	var read struct {
		Blame struct {
			Search struct{ Verdict, RestoredPrompt string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(again.out), &read))
	require.Equal(t, "Found", read.Blame.Search.Verdict)
	require.Contains(t, read.Blame.Search.RestoredPrompt, "behind the building.\n- Bus 14 stops here every hour.")
	require.Equal(t, 2, b.test(t, "blame", "no such test").code)
	require.Equal(t, 2, b.test(t, "blame", test, "--repeat", "3").code)
}

// Prompts of the maximum length can have thousands of changes. A search cannot examine them all.
func TestBlameOfAPromptThatWasRewritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	b.must(t, `mutation ($input: CreateSimulationTestInput!) { createSimulationTest(input: $input) { agentTest { id } } }`,
		map[string]any{"input": map[string]any{"agentId": b.agent, "name": "Parking",
			"scenario": "says: \"Where can I park the car?\"\nsays: \"Goodbye\"",
			"criteria": []string{`says "behind the building"`}}}, &made)
	var before, after strings.Builder
	before.WriteString("Cars park free of charge behind the building.\n")
	for i := range 1_200 {
		fmt.Fprintf(&before, "Rule %d is about visits on day %d.\n", i, i)
		fmt.Fprintf(&after, "Ask for the number %d of price %d.\n", i, i)
	}
	b.prompt(t, before.String())
	require.Zero(t, b.test(t, "run", "--test", "Parking").code)
	b.prompt(t, after.String())
	require.Equal(t, 1, b.test(t, "run", "--test", "Parking").code)

	asked := b.test(t, "blame", "Parking")
	require.Zero(t, asked.code, asked.log)
	require.Contains(t, asked.out, "Cars park free of charge behind the building.")
	require.Contains(t, asked.out, "A search can examine at most 200 changes.\n")
	require.NotContains(t, asked.out, "Price")
	searched := b.test(t, "blame", "Parking", "--yes")
	require.Equal(t, 2, searched.code)
	require.Contains(t, searched.log, "changes, and a search can examine at most 200")
}

// prompt writes the agent's prompt.
func (b *bench) prompt(t *testing.T, prompt string) {
	t.Helper()
	b.must(t, `mutation ($id: ID!, $prompt: String!) {
		updateAgentPrompt(input: {agentId: $id, prompt: $prompt}) { agent { id } } }`,
		map[string]any{"id": b.agent, "prompt": prompt}, nil)
}

func TestMarkdownNamesFailedRows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	suite := write(t, `agentTests:
  - agent: Front <desk>
    simulations:
      - name: Greets
        scenario: 'says: "Hello"'
        criteria: ['says "{word}"']
        maxTurns: 1
        rows:
          - {name: first, values: {word: Welcome}}
          - {name: second_row, values: {word: Never}}
          - {values: {word: Nowhere}}
      - {name: Never passes, scenario: 'says: "Hello"', criteria: [says "Never"], maxTurns: 1}
`)
	o := b.test(t, "import", suite)
	require.Zero(t, o.code, o.log)
	report := filepath.Join(t.TempDir(), "report.md")
	require.Equal(t, 1, b.test(t, "run", "--agent", b.agent, "--markdown", report).code)
	written, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Equal(t, b.head(t, "3 of 4 runs failed", "4 runs: 1 passed, 3 failed", written)+
		"### Front &lt;desk&gt;: Greets\n\n“second\\_row” never passed before.\n\n- not met: says \"Never\"\n\n"+
		"“row 3” never passed before.\n\n- not met: says \"Nowhere\"\n\n"+
		"### Front &lt;desk&gt;: Never passes\n\nThe test never passed before.\n\n- not met: says \"Never\"\n", string(written))
}

// head returns the beginning of a Markdown report. It copies the id of the execution from the report.
func (b *bench) head(t *testing.T, reason, counts string, report []byte) string {
	t.Helper()
	return "**Failed**: " + reason + "\n\n" + counts + ", 0 error, 0 cancelled\n\n[Console](<" + b.url +
		"/console/tests?agent=" + b.agent + "&execution=" + regexp.MustCompile(`execution_\w+`).FindString(string(report)) +
		">)\n\n"
}

func TestMarkdownNamesErrorsFlakyTestsAndTheBaseline(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	b := newBench(t, "--judge-model", "strict", "--judge-api-key", "strict-key", "--judge-base-url",
		judgeWho(t, func() bool { return asked.Add(1) != 2 }))
	_, flaky := b.inFolder(t, "Nightly | @all", "Flaky", undecided)
	report := filepath.Join(t.TempDir(), "report.md")
	ran := b.test(t, "run", "--test", flaky, "--repeat", "2", "--concurrency", "1", "--markdown", report)
	require.Equal(t, 1, ran.code, ran.log)
	written, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Equal(t, b.head(t, "1 of 2 runs failed", "2 runs: 1 passed, 1 failed", written)+
		"### Front &lt;desk&gt; / Nightly \\| &#64;all: Flaky\n\nThe test failed in some runs and passed in others.\n\n"+
		"- not met: is never rude\n", string(written))

	// Most tests have long names, and their criteria fail.
	many := newBench(t)
	base := many.test(t, "run", "--test", many.simulation(t, "Passing", holds))
	require.Zero(t, base.code, base.log)
	baseline := regexp.MustCompile(`execution_\w+`).FindString(base.out)
	many.simulation(t, "Erring", undecided)
	var long []string
	for i := range 20 {
		long = append(long, fmt.Sprintf(`says "%02d%s"`, i, strings.Repeat("@", 400)))
	}
	for i := range 20 {
		many.simulation(t, fmt.Sprintf("%02d%s", i, strings.Repeat("@", 200)), long...)
	}
	o := many.test(t, "run", "--agent", many.agent, "--baseline", baseline, "--repeat", "1", "--markdown", report)
	require.Equal(t, 1, o.code, o.out+o.log)
	written, err = os.ReadFile(report)
	require.NoError(t, err)
	require.LessOrEqual(t, len(written), 65_536)
	require.Contains(t, string(written), "\nAgainst "+strings.ReplaceAll(baseline, "_", `\_`)+": ")
	require.Contains(t, string(written), "- 15 more\n")
	require.Regexp(t, `\n\d+ tests more failed\.\n`, string(written))
	require.Regexp(t, `\n\n### Not judged\n\n- Front &lt;desk&gt;: Erring \\\[1\\\]: Judge: .+\n$`, string(written))
}

func TestBlameNamesTheTestIfThePromptDidNotChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test := b.simulation(t, "Changed", holds)
	require.Zero(t, b.test(t, "run", "--test", test).code)
	b.must(t, `mutation ($id: ID!, $criterion: String!) {
		updateSimulationTest(input: {testId: $id, criteria: [$criterion]}) { agentTest { id } }
	}`, map[string]any{"id": test, "criterion": fails}, nil)
	require.Equal(t, 1, b.test(t, "run", "--test", test).code)
	require.Contains(t, b.test(t, "blame", test).out,
		"The words of the prompt did not change. Check sub-agents, models, tools, documents and the test, changed "+
			"since.\n")
	searched := b.test(t, "blame", test, "--yes")
	require.Equal(t, 1, searched.code)
}
