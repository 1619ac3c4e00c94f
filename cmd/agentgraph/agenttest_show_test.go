package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTestsAreListedAndShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test := b.simulation(t, "Fails \x1b[31mred", holds, fails)
	listed := b.test(t, "list", "--agent", b.agent)
	require.Zero(t, listed.code, listed.log)
	require.Contains(t, listed.out, test+"  Simulation  -         Front <desk>  -       Fails [31mred")
	require.Equal(t, 1, b.test(t, "run", "--test", test).code)

	var tests []struct{ LastRunID, LastRunStatus *string }
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
	require.Contains(t, shown.out, "Turns      at most 10")
	require.Contains(t, shown.out, runID+"  Failed")
	var run struct {
		Execution struct{ ID string }
		Messages  []any
	}
	require.NoError(t, json.Unmarshal([]byte(b.test(t, "show", runID, "--json").out), &run))
	require.NotEmpty(t, run.Messages)
	shown = b.test(t, "show", run.Execution.ID)
	require.Contains(t, shown.out, "1 run: 0 passed, 1 failed, 0 error, 0 cancelled")
	require.Contains(t, shown.out, runID+"  Failed")
	var execution struct{ Runs []struct{ Messages []any } }
	require.NoError(t, json.Unmarshal([]byte(b.test(t, "show", run.Execution.ID, "--json").out), &execution))
	require.NotEmpty(t, execution.Runs[0].Messages)

	for what, args := range map[string][]string{
		`agent "nope" does not exist`:       {"--agent", "nope"},
		`test folder "nope" does not exist`: {"--agent", b.agent, "--folder", "nope"},
		`--agent must not be empty`:         {"--agent", "", "--json"},
	} {
		unknown := b.test(t, append([]string{"list"}, args...)...)
		require.Equal(t, 2, unknown.code, unknown.out)
		require.Contains(t, unknown.log, what)
		require.Empty(t, unknown.out)
	}
	b.must(t, `mutation ($id: ID!) { updateSimulationTest(input: {testId: $id, rows: [{name: "Mon\u001bday",
		values: {day: "Monday"}}, {values: {day: "Tuesday"}}]}) { agentTest { id } } }`,
		map[string]any{"id": test}, nil)
	require.Equal(t, 1, b.test(t, "run", "--test", test, "--concurrency", "1").code)
	shown = b.test(t, "show", test)
	require.Contains(t, shown.out, "ROW     VALUES\nMonday  {\"day\":\"Monday\"}\nrow 2   {\"day\":\"Tuesday\"}\n")
	require.Regexp(t, `EXECUTION +ROW\n.*  row 2\n.*  Monday\n`+runID, shown.out)
	missing := b.test(t, "show", b.agent)
	require.Equal(t, 2, missing.code)
	require.Contains(t, missing.log, "no test, execution or run has the name or id")
	for _, id := range []string{"run_01m7z96rn3ec4856emjz9wpnx5", "execution_01m7z96rn3ec4856emjz9wpnx5"} {
		require.Contains(t, b.test(t, "show", id).log, "no test, execution or run has the name or id \""+id+"\"")
	}
	require.NotContains(t, listed.out+shown.out, "\x1b")
}
