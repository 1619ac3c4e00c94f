package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inFolder creates a folder of the bench's agent, and a test in it.
func (b *bench) inFolder(t *testing.T, folder, test string, criteria ...string) (folderID, testID string) {
	t.Helper()
	var made struct {
		CreateAgentTestFolder struct{ Folder struct{ ID string } }
	}
	b.must(t, `mutation ($agent: ID!, $name: String!) { createAgentTestFolder(input: {agentId: $agent,
		name: $name}) { folder { id } } }`,
		map[string]any{"agent": b.agent, "name": folder}, &made)
	folderID, testID = made.CreateAgentTestFolder.Folder.ID, b.simulation(t, test, criteria...)
	b.must(t, `mutation ($test: ID!, $folder: ID!) { updateSimulationTest(input: {testId: $test,
		folderId: $folder}) { agentTest { id } } }`,
		map[string]any{"test": testID, "folder": folderID}, nil)
	return folderID, testID
}

func TestFolderAndAgentFlagsAreCombined(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.inFolder(t, "A", "Fails in A", fails)
	folderB, _ := b.inFolder(t, "B", "Passes in B", holds)
	b.inFolder(t, "C", "Passes in C", holds)
	b.must(t, `mutation ($agent: ID!) { createAgentTestFolder(input: {agentId: $agent,
		name: "Empty"}) { folder { id } } }`, map[string]any{"agent": b.agent}, nil)
	for _, args := range [][]string{{"--folder", "A", "--folder", "B"}, {"--folder", "a," + folderB},
		{"--folder", folderB, "--folder", "A"}} {
		o := b.test(t, append([]string{"run"}, args...)...)
		require.Equal(t, 1, o.code, o.out+o.log)
		require.Contains(t, o.out, "Failed: 1 of 2 runs failed")
	}
	require.Contains(t, b.test(t, "run", "--folder", "B").out, "Passed: the run passed")
	require.Contains(t, b.test(t, "run", "--test", "passes in c").out, "Passed: the run passed")
	require.Contains(t, b.test(t, "run", "--agent", "front <DESK>").out, "Failed: 1 of 3 runs failed")
	listed := b.test(t, "list", "--folder", "A", "--folder", "C", "--agent", "Front <desk>").out
	require.Equal(t, 3, strings.Count(listed, "\n"), listed)
	require.NotContains(t, listed, "Passes in B")
	b.must(t, `mutation { createAgent(input: {name: "Bare", channel: Web, direction: Inbound, language: "en",
		prompt: "Help."}) { agent { id } } }`, nil, nil)
	for says, args := range map[string][]string{
		`agent "Bare" has no tests`:        {"--agent", "Bare"},
		`test folder "Empty" has no tests`: {"--folder", "Empty"},
		`test "passes in C" belongs to agent "Front <desk>", which --agent does not name`: {"--agent", "Bare", "--test",
			"passes in C"},
		`"Empty" has no tests`:                             {"--folder", "B", "--folder", "Empty"},
		`test folder "D" does not exist`:                   {"--folder", "D", "--folder", "B"},
		`test "asses in" does not exist; did you mean "Pa`: {"--test", "asses in"},
	} {
		o := b.test(t, append([]string{"run"}, args...)...)
		require.Equal(t, 2, o.code, o.out+o.log)
		require.Contains(t, o.log, says)
	}
	b.inFolder(t, "Late, early", "Waits", holds)
	require.Contains(t, b.test(t, "run", "--folder", "Late, early").log,
		`test folder "Late" does not exist; did you mean "Late, early"? In a list, write \, for a comma in a name`)
	require.Contains(t, b.test(t, "run", "--folder", `Late\, early`).out, "Passed: the run passed")
}

func TestAmbiguousNamesAreRefusedWithTheCandidates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.agent
	b.inFolder(t, "Smoke", "Greets", holds)
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	b.must(t, `mutation { createAgent(input: {name: "Front <desk>", channel: Web, direction: Inbound, language: "en",
		prompt: "Help."}) { agent { id } } }`, nil, &made)
	b.agent = made.CreateAgent.Agent.ID
	folder, test := b.inFolder(t, "smoke", "Greets", fails)
	for _, c := range []struct{ flag, name, candidate string }{
		{"--agent", "Front <desk>", `"Front <desk>" (` + first + `)`},
		{"--folder", "SMOKE", `"smoke" of agent "Front <desk>" (` + folder + `)`},
		{"--test", "Greets", `"Greets" of agent "Front <desk>" (` + test + `)`},
	} {
		o := b.test(t, "run", c.flag, c.name)
		require.Equal(t, 2, o.code, o.out)
		require.Contains(t, o.log, " matches several objects: ")
		require.Contains(t, o.log, c.candidate)
		require.Contains(t, o.log, ". Pass an id instead")
	}
	for _, c := range []struct {
		agent, said string
		code        int
	}{{first, "Passed: the run passed", 0}, {b.agent, "Failed: 1 of 1 runs failed", 1}} {
		for _, what := range [][]string{{"--folder", "Smoke"}, {"--test", "Greets"}} {
			o := b.test(t, append([]string{"run", "--agent", c.agent}, what...)...)
			require.Equal(t, c.code, o.code, o.out+o.log)
			require.Contains(t, o.out, c.said)
		}
		require.Equal(t, 2, strings.Count(b.test(t, "list", "--agent", c.agent, "--folder", "smoke").out, "\n"))
		require.Equal(t, 1, strings.Count(b.test(t, "export", "--agent", c.agent).out, "name: Greets"))
	}
	foreign := b.test(t, "run", "--agent", first, "--folder", folder)
	require.Equal(t, 2, foreign.code)
	require.Contains(t, foreign.log, `belongs to agent "Front <desk>", which --agent does not name`)
	env := append(b.environment(t), "AGENTGRAPH_TEST_AGENT="+b.agent+","+first)
	require.Equal(t, 1, process(t, "", env, "test", "run", "--folder", folder).code, "the variable filters, too")
	listed := process(t, "", env, "test", "executions")
	require.Zero(t, listed.code, listed.log)
	require.Equal(t, 6, strings.Count(listed.out, "\n"), listed.out)
	excluded := process(t, "", append(env, "AGENTGRAPH_TEST_FOLDER=smoke"), "test", "run", "--test", test)
	require.Contains(t, excluded.log, "--folder (from AGENTGRAPH_TEST_FOLDER) and --test cannot be combined")
	exported := b.test(t, "export", "--agent", "Front <desk>")
	require.Equal(t, 2, exported.code)
	require.Contains(t, exported.log, " matches several objects: ")
	require.Equal(t, 2, b.test(t, "show", "Greets").code)
	require.Contains(t, b.test(t, "show", test).out, "Greets")
	require.Equal(t, 1, b.test(t, "run", "--folder", "smoke").code, "a single name is completed")
	b.must(t, `mutation ($id: ID!) { deleteAgent(input: {agentId: $id}) { deletedId } }`, map[string]any{"id": b.agent},
		nil)
	require.Contains(t, b.test(t, "show", "greets").out, "Greets")
}

func TestTestRunLinksToTheConsole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.simulation(t, "Greets", holds)
	report := filepath.Join(t.TempDir(), "report.json")
	o := b.test(t, "run", "--agent", b.agent, "--json", report)
	require.Contains(t, o.out, "\nConsole: "+b.url+"/console/tests?agent="+b.agent+"&execution="+readReport(t, report).
		Execution.ID+"\n")
	require.NotContains(t, o.out, "\x1b")
	off := newBench(t, "--console", "off")
	off.simulation(t, "Greets", holds)
	require.NotContains(t, off.test(t, "run", "--agent", off.agent).out, "Console: ")
}

func TestListsOnATerminalWrapAtWords(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	name := "Says when the shop is open, and asks whether there is anything else to be done"
	_, id := b.inFolder(t, "Regression", name, holds)
	list := onTerminal(t, append(b.environment(t), "NO_COLOR=1"), "test", "list")
	require.Zero(t, list.code())
	text := strings.ReplaceAll(list.seen.String(), "\r\n", "\n")
	require.True(t, strings.HasPrefix(text, "Front <desk> / Regression\n-          Says when the "), text)
	require.Contains(t, text, id+"\n")
	require.Contains(t, strings.Join(strings.Fields(strings.Replace(text, id, "", 1)), " "), name)
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(strings.TrimSpace(line)), 60, line)
	}
}

func TestExecutionsAreListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.inFolder(t, "Good", "Greets", holds)
	b.inFolder(t, "Bad", "Fails", fails)
	require.Zero(t, b.test(t, "run", "--folder", "Good").code)
	require.Equal(t, 1, b.test(t, "run", "--folder", "Bad").code)
	all := b.test(t, "executions").out
	require.Regexp(t, `^ID +STATUS +VERDICT +PASSED +CREATED +AGENT\nexecution_\w+  Completed  Failed   0/1 +2\S+ \S+ +Front <desk>\nexecution_\w+  Completed  Passed   1/1 `, all)
	var executions []struct{ ID, Status, Verdict string }
	for _, c := range []struct {
		args  []string
		count int
	}{
		{nil, 2}, {[]string{"--agent", "front <desk>"}, 2}, {[]string{"--status", "Completed"}, 2},
		{[]string{"--status", "Running,Queued"}, 0},
		{[]string{"--verdict", "Failed"}, 1}, {[]string{"--limit", "1"}, 1},
	} {
		o := b.test(t, append([]string{"executions", "--json"}, c.args...)...)
		require.Zero(t, o.code, o.log)
		require.NoError(t, json.Unmarshal([]byte(o.out), &executions))
		require.Len(t, executions, c.count, c.args)
	}
	require.Equal(t, 2, b.test(t, "executions", "--status", "Passed").code)
	require.Equal(t, 2, b.test(t, "executions", "--agent", "nobody").code)
}

// bashCompletes is a bash script that completes the words and prints the candidates that bash would insert.
const bashCompletes = `. /usr/share/bash-completion/bash_completion
. <(agentgraph completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
compopt() { :; }
__start_agentgraph
printf '%s\n' "${COMPREPLY[@]}"`

func TestBashCompletesNamesWithSpaces(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil {
		t.Skip("there is no bash-completion")
	}
	b := newBench(t, "--workers", "0")
	b.simulation(t, "Smoke is a safety incident", holds)
	b.simulation(t, "Smoke means unplug, at $5", holds)
	program, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(program, filepath.Join(dir, "agentgraph")))
	for started, completed := range map[string]string{
		"Smo":         `Smoke\ is\ a\ safety\ incident|Smoke\ means\ unplug\,\ at\ \$5`,
		"smo":         `Smoke\ is\ a\ safety\ incident|Smoke\ means\ unplug\,\ at\ \$5`,
		`smoke\ i`:    `Smoke\ is\ a\ safety\ incident`,
		`"Smo`:        `Smoke is a safety incident|Smoke means unplug, at \$5`,
		`"smoke m`:    `Smoke means unplug, at \$5`,
		`'Smo`:        "Smoke is a safety incident|Smoke means unplug, at $5",
		`"Smoke is"`:  "Smoke is a safety incident",
		"Nothing":     "",
		`"Nothing is`: "",
	} {
		shell := exec.CommandContext(t.Context(), "bash", "-c", bashCompletes, "bash", "agentgraph", "test", "show", started)
		shell.Env = append(b.environment(t), "PATH="+dir+":"+os.Getenv("PATH"), asCommand+"=1")
		out, err := shell.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, completed, strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), "|"), started)
	}
}

func TestNamesAreCompleted(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	b.inFolder(t, "Regression, slow", "Greets everybody", holds)
	for line, completed := range map[string]string{
		"chat|fr": "Front <desk>", "test|run|--agent|Fr": "Front <desk>",
		"test|list|--agent|Front <desk>,f": "Front <desk>,Front <desk>",
		"test|run|--folder|reg":            `Regression\, slow`, "test|show|gr": "Greets everybody",
		"test|run|--test|": "Greets everybody",
	} {
		o := process(t, "", b.environment(t), append([]string{"__complete"}, strings.Split(line, "|")...)...)
		require.Zero(t, o.code, o.log)
		require.Equal(t, completed+"\n:4\n", o.out, line)
	}
	nobody := process(t, "", []string{"AGENTGRAPH_URL=http://127.0.0.1:1", "AGENTGRAPH_API_KEY=k"}, "__complete", "test",
		"run", "--agent", "f")
	require.Equal(t, outcome{0, ":4\n", "Completion ended with directive: ShellCompDirectiveNoFileComp\n"}, nobody)
}

func TestDraftsAreMarkedAndRefusedAsBaselines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.simulation(t, "Greets", holds)
	var made struct {
		StartAgentTestExecution struct{ Execution struct{ ID string } }
	}
	b.must(t, `mutation ($agent: ID!) {
		startAgentTestExecution(input: {agentId: $agent, repeats: 1, prompt: "Be brief."}) { execution { id } }
	}`, map[string]any{"agent": b.agent}, &made)
	draft := made.StartAgentTestExecution.Execution.ID
	require.Eventually(t, func() bool {
		return strings.Contains(b.test(t, "show", draft).out, "Completed (draft)")
	}, time.Minute, 10*time.Millisecond)
	require.Contains(t, b.test(t, "executions").out, "Completed (draft)")
	require.Contains(t, b.test(t, "show", draft, "--json").out, `"isDraft": true`)
	refused := b.test(t, "run", "--agent", b.agent, "--baseline", draft)
	require.Equal(t, 2, refused.code, refused.out)
	require.Contains(t, refused.log, "used an unsaved draft")
	schedule := process(t, "", b.environment(t), "query", `mutation { createAgentTestSchedule(input: {
		name: "Nightly", cron: "0 3 * * *", agentId: "`+b.agent+`", baselineId: "`+draft+`"
	}) { schedule { id } } }`)
	require.NotZero(t, schedule.code, schedule.out)
	require.Contains(t, schedule.out+schedule.log, "baselineId names an execution that used an unsaved draft")
}
