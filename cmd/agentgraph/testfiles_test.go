package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var executionID = regexp.MustCompile(`Execution (execution_\w+): (\d+) runs`)

func TestSuiteOfTwoHundredRowsFitsAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	suite, report := filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "junit.xml")
	var text strings.Builder
	text.WriteString(`agentTests:
  - agent: Front <desk>
    folders:
      - {key: rooms, name: Rooms}
    simulations:
      - name: Says goodbye to a room
        folderId: rooms
        scenario: 'says: "Goodbye from room {room}"'
        criteria: ['says "{word}"']
        checks:
          - expect: {says: {text: "room {room}", role: user}}
            weight: 3
          - expect: {turnsAtMost: 5}
            weight: 1
        passAt: 0.75
        maxTurns: 2
        variables: {word: Welcome}
        toolMocking: {sideEffects: Deny}
        rows:
`)
	for n := 1; n <= 200; n++ {
		fmt.Fprintf(&text, "          - {name: Room %d, values: {room: %d}}\n", n, n)
	}
	text.WriteString(`    classifications:
      - name: Knows moods
        tagExpected: "{tag}"
        conversationContext: {messages: [{role: user, text: "{said}"}]}
        rows: moods.csv
`)
	require.NoError(t, os.WriteFile(suite, []byte(text.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "moods.csv"),
		[]byte("row,said,tag\nangry,My parcel was broken.,Complaint\nhappy,Somebody here is happy.,Praise\n"), 0o600))
	good := func(args ...string) string {
		o := b.test(t, args...)
		require.Zero(t, o.code, "%s\n%s", o.out, o.log)
		return o.out
	}
	runAll := func(code int, args ...string) (id, out string) {
		o := b.test(t, append([]string{"run", "--agent", b.agent, "--concurrency", "50", "--junit", report}, args...)...)
		require.Equal(t, code, o.code, "%s\n%s", o.out, o.log)
		found := executionID.FindStringSubmatch(o.out)
		require.Equal(t, "202", found[2])
		return found[1], o.out
	}

	require.Equal(t, `+ test folder "Rooms" of agent "Front <desk>"
+ simulation test "Says goodbye to a room" in folder "Rooms" of agent "Front <desk>"
+ classification test "Knows moods" of agent "Front <desk>"
3 created, 0 changed, 0 deleted
`, good("import", suite))
	require.Equal(t, "Nothing differs.\n", good("diff", suite))
	exported := filepath.Join(dir, "exported.yaml")
	good("export", "-o", exported)
	require.Equal(t, "Nothing differs.\n", good("import", exported))
	first, out := runAll(0)
	require.Contains(t, out, "Passed     Says goodbye to a room (Room 200) [1]")
	names := map[string]bool{}
	for _, suite := range readJUnit(t, report).Suites {
		for _, c := range suite.Cases {
			require.False(t, names[c.Name], c.Name)
			names[c.Name] = true
		}
	}
	require.Len(t, names, 202)

	edit(t, suite, "{name: Room 7, values: {room: 7}}", "{name: Room 7, values: {room: 7, word: Never}}")
	edit(t, filepath.Join(dir, "moods.csv"), "My parcel was broken.", "My parcel was lost.")
	o := b.test(t, "diff", suite)
	require.Equal(t, 6, o.code, o.log)
	require.Contains(t, o.out, "~ change simulation test \"Says goodbye to a room\"")
	require.Contains(t, o.out, "+    word: Never")
	require.Contains(t, o.out, "+    said: My parcel was lost.")
	require.Less(t, strings.Count(o.out, "\n"), 40, "only differences are shown:\n%s", o.out)
	require.Contains(t, good("import", suite), "0 created, 2 changed, 0 deleted")
	second, out := runAll(1, "--repeat", "1", "--baseline", first)
	require.Contains(t, out, "Says goodbye to a room (Room 7): newly failing")
	require.Contains(t, out, "1 newly failing, 0 newly passing")
	require.Contains(t, out, `says "Never"`, "expectations are shown with the values of the row")
	reported, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(reported), "says &#34;Never&#34;")
	require.NotContains(t, string(reported), "{word}")
	o = b.test(t, "show", second)
	require.Contains(t, o.out, "Failed  ")
	require.Contains(t, o.out, "Says goodbye to a room (Room 7) [1]")
}

func TestTestsAreImportedFromOtherTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	from := func(tool, file string, more ...string) outcome {
		return b.test(t, append([]string{"import", "--from", tool, "apply/testdata/foreign/" + file}, more...)...)
	}
	o := from("retell", "retell/main.json", "--agent", b.agent, "--folder", "Retell", "--strict")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "--strict: 4 parts approximated, 7 parts left out: nothing was written")
	require.Contains(t, o.out, "Left out:\n  main.json:80  Books on Monday: a mock: delay: agentgraph has no equivalent\n")
	require.NotContains(t, b.test(t, "list").out, "Books on Monday")
	o = from("retell", "retell/main.json", "--agent", b.agent, "--folder", "Retell")
	require.Zero(t, o.code, o.log)
	require.Contains(t, o.out, "  main.json:3  Books on Monday: the mock of find_slots: the server has no tool with "+
		"this technical name\n")
	require.True(t, strings.HasSuffix(o.out, "2 tests carried over, 4 parts approximated, 7 parts left out.\n"), o.out)
	require.Contains(t, o.out, `+ simulation test "Books on Monday (2)" in folder "Retell" of agent "Front <desk>"`)
	o = from("retell", "retell/main.json", "--agent", "Front <desk>", "--folder", "Retell")
	require.Contains(t, o.out, "Nothing differs.\n")
	for sample, file := range map[string]string{
		"promptfoo": "main.yaml", "promptfoo.conversation": "main.yaml", "promptfoo.files": "main.yaml",
		"promptfoo.simulated": "main.yaml",
		"promptfoo.variables": "main.yaml", "tau2-bench": "main.json", "tau2-bench.recorded": "main.json",
		"elevenlabs": "main.json",
	} {
		tool, _, _ := strings.Cut(sample, ".")
		o := from(tool, sample+"/"+file, "--agent", b.agent, "--folder", sample)
		require.Zero(t, o.code, "%s\n%s", o.out, o.log)
		require.Contains(t, o.out, "Carried over:\n")
	}
	file := filepath.Join(t.TempDir(), "tests.yaml")
	require.Zero(t, b.test(t, "export", "--output", file).code)
	exported, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(exported), "toolCalls:\n              - technicalName: cancel\n")
	require.Equal(t, "Nothing differs.\n", b.test(t, "diff", file).out)
	require.Zero(t, from("elevenlabs", "elevenlabs/main.json", "--agent", "Front <desk>", "--folder", "elevenlabs",
		"--output", file).code)
	require.Equal(t, "Nothing differs.\n", b.test(t, "diff", file).out)

	for fault, args := range map[string][]string{
		"--from needs --agent":                {"import", "--from", "retell", "apply/testdata/foreign/retell/main.json"},
		"--agent, --folder and --strict need": {"import", file, "--agent", "x"},
		"--output needs --from":               {"import", file, "--output", file},
		"must be one of":                      {"import", "--from", "other", file},
		`no agent has the key or name "nobody"`: {"import", "--from", "retell", "apply/testdata/foreign/retell/main.json",
			"--agent", "nobody"},
		"contains no tests":                      {"import", "--from", "tau2-bench", write(t, "[]"), "--agent", b.agent},
		"is not a list of tests. Use agentgraph": {"import", write(t, "tools: []\n")},
		`agent "nobody" does not exist`:          {"export", "--agent", "nobody"},
		"none.csv does not exist": {"import", write(t, "agentTests: [{agent: Front <desk>, simulations: "+
			"[{name: A, scenario: B, criteria: [C], rows: none.csv}]}]")},
		"rows[1].name: is also the name of row 0": {"import", write(t, "agentTests: [{agent: Front <desk>, simulations: "+
			"[{name: A, scenario: B, criteria: [C], rows: [{name: a, values: {b: 1}}, {name: a, values: {b: 2}}]}]}]")},
	} {
		o := b.test(t, args...)
		require.NotZero(t, o.code, fault)
		require.Contains(t, o.log+o.out, fault)
	}
}

// A mock of a deleted tool or sub-agent makes every run an error. Files keep it, so that it is seen and can be removed.
func TestMocksOfDeletedTargetsAreExported(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Dangling")
	_, production := newCompany(t, c.store, "Production")
	const agents = `tools: [{name: Gone, technicalName: gone}, {name: Stays, technicalName: stays}]
agents:
  - {name: Expert, channel: Web, direction: Inbound, language: en, prompt: Help.}
  - name: Desk
    channel: Web
    direction: Inbound
    language: en
    prompt: Help.
    toolIds: [gone, stays]
    subAgents: [{name: Ask, technicalName: ask, delegateAgentId: Expert}]
`
	c.good(t, key, "apply", write(t, agents+`agentTests:
  - agent: Desk
    simulations:
      - name: Books
        scenario: Book a table.
        criteria: [is kind]
        toolMocking:
          mockedTools: [{toolId: gone, resultTemplate: g}, {toolId: stays, resultTemplate: s}]
          mockedSubAgents: [{subAgentId: ask, resultTemplate: a}]
`))
	export := func(key string) (file string, notes string) {
		file = filepath.Join(t.TempDir(), "tests.yaml")
		o := c.run(t, key, "test", "export", "--no-ids", "-o", file)
		require.Zero(t, o.code, o.log)
		return file, o.log
	}
	_, notes := export(key)
	require.Empty(t, notes)
	c.good(t, key, "apply", "--prune", "--yes", write(t, `tools: [{technicalName: stays, name: Stays}]
agents: [{name: Desk, toolIds: [stays], subAgents: []}]
`))

	file, notes := export(key)
	const gone = `(?s)^Note: simulation test "Books" of agent "Desk": it mocks the tool "tool_\w+", which was deleted; ` +
		"remove the mock\nNote: .+: it mocks the sub-agent \"\\w+\", which was deleted; remove the mock\n$"
	require.Regexp(t, gone, notes)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `toolId: tool_\w+\n +resultTemplate: g\n`, string(text))
	require.Regexp(t, `subAgentId: \w+\n +resultTemplate: a\n`, string(text))
	pulled := c.run(t, key, "pull", "--no-ids", t.TempDir())
	require.Regexp(t, gone, pulled.log)
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "test", "import", file))

	c.good(t, production, "apply", write(t, agents))
	o := c.run(t, production, "test", "import", file)
	require.Equal(t, 1, o.code, o.out)
	require.Regexp(t, `mockedTools\[0\].toolId: no tool has the key or name "tool_\w+"`, o.log)
	edit(t, file, "resultTemplate: s", "resultTemplate: t")
	o = c.run(t, key, "test", "import", file)
	require.Equal(t, 1, o.code, o.out)
	require.Regexp(t, `mockedTools\[0\].toolId: the tool "tool_\w+" was deleted: remove its mock`, o.log)

	empty := write(t, "agentTests: [{agent: Desk, simulations: [{name: Books, toolMocking: null}]}]\n")
	require.Contains(t, c.good(t, key, "test", "import", empty), "0 created, 1 changed, 0 deleted\n")
	_, notes = export(key)
	require.Empty(t, notes)
}
