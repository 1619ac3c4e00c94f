package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/apply"
)

const anAgent = "agents:\n  - {name: A, channel: Web, direction: Inbound, language: en, prompt: Help.}\n"

func TestInvalidFilesAreRefusedBeforeWriting(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Wrong")
	for name, w := range map[string]struct {
		text string
		says []string
	}{
		"syntax": {"agents:\n  - name: [A\n", []string{"company.yaml:2: "}},
		"merge conflict": {"tools: []\n<<<<<<< HEAD\nagents: []\n=======\n>>>>>>> topic\n", []string{
			"company.yaml:2: the file has the markers of a merge conflict: resolve it first",
		}},
		"same key twice": {"agents: []\nagents: []\n", []string{"company.yaml:2: ", "already defined"}},
		"no mapping":     {"- a\n", []string{"company.yaml:1: must be a mapping"}},
		"two documents":  {"agents: []\n---\ntools: []\n", []string{"company.yaml:3: must hold a single document"}},
		"unknown list":   {"agent: []\n", []string{"company.yaml:1: agent: is not a known key; did you mean agents?"}},
		"unknown tests":  {"tests: []\n", []string{"company.yaml:1: tests: is not a known key; did you mean agentTests?"}},
		"unknown key": {"agents:\n  - name: A\n    pormpt: x\n",
			[]string{"company.yaml:3: agents[0].pormpt: is not a known key; did you mean prompt?"}},
		"unknown key below": {"agents:\n  - name: A\n    fields:\n      - {name: a, mandatory: true}\n",
			[]string{"company.yaml:4: agents[0].fields[0].mandatory: is not a known key; did you mean isMandatory?"}},
		"unknown key without a similar one": {"tools:\n  - technicalName: a\n    zzzzzzzz: x\n",
			[]string{"tools[0].zzzzzzzz: is not a known key; known keys are approval, description, endpoint, id"}},
		"wrong type": {"agents:\n  - name: A\n    prompt: 5\n",
			[]string{"company.yaml:3: agents[0].prompt: got number, want string"}},
		"wrong value": {"agents:\n  - name: A\n    channel: Fax\n",
			[]string{"company.yaml:3: agents[0].channel: value must be one of 'Phone', 'SMS', 'Web', 'WhatsApp'"}},
		"no name":   {"agents:\n  - channel: Web\n", []string{"company.yaml:2: agents[0]: must have name"}},
		"null name": {"agents:\n  - name: null\n", []string{"agents[0].name: got null, want string"}},
		"several": {"agents:\n  - name: A\n    channel: Fax\n    prompt: 5\n",
			[]string{":3: agents[0].channel", ":4: agents[0].prompt"}},
		"new and unfinished": {"agents:\n  - name: A\n    channel: Web\n", []string{
			"agents[0].direction: must be Inbound or Outbound", "agents[0].language: must be", "agents[0].prompt: must",
		}},
		"no such tool": {anAgent[:len(anAgent)-2] + ", toolIds: [book]}\n",
			[]string{`company.yaml:2: agents[0].toolIds[0]: no tool has the key or name "book" in the files or on the server`}},
		"no such agent": {"campaigns: [{name: C, agentId: nobody}]\n",
			[]string{`campaigns[0].agentId: no agent has the key or name "nobody"`}},
		"no agent of tests": {"agentTests: [{agent: nobody}]\n",
			[]string{`agentTests[0].agent: no agent has the key or name "nobody"`}},
		"no such folder": {anAgent + "agentTests:\n  - agent: A\n    simulations: [{name: S, folderId: f, scenario: x, " +
			"criteria: [y]}]\n", []string{`simulations[0].folderId: no test folder has the key or name "f"`}},
		"no such sub-agent": {anAgent + "agentTests:\n  - agent: A\n    simulations: [{name: S, scenario: x, criteria: " +
			"[y], toolMocking: {mockedSubAgents: [{subAgentId: s}]}}]\n",
			[]string{`company.yaml:5: agentTests[0].simulations[0].toolMocking.mockedSubAgents[0].subAgentId: agent "A" has no sub-agent with the technical name "s"`}},
		"reserved sub-agent": {"agents:\n  - {name: E, channel: Web, direction: Inbound, language: en}\n" +
			"  - name: A\n    channel: Web\n    direction: Inbound\n    language: en\n    subAgents:\n" +
			"      - {name: Ask, technicalName: knowledge_base, delegateAgentId: E}\n",
			[]string{"company.yaml:8: agents[1].subAgents[0].technicalName: must not be knowledge_base"}},
		"shared mocks": {anAgent + "agentTests:\n  - agent: A\n    toolMocking:\n      mockedTools: [{toolId: t}]\n" +
			"      mockedSubAgents: [{subAgentId: s}]\n    simulations:\n" +
			"      - {name: S, scenario: x, criteria: [y]}\n      - {name: T, scenario: x, criteria: [y]}\n" +
			"      - {name: U, scenario: x, criteria: [y], toolMocking: {mockedTools: [{toolId: t}]}}\n",
			[]string{`company.yaml:6: agentTests[0].toolMocking.mockedTools[0].toolId: no tool has the key or name "t"`,
				`company.yaml:7: agentTests[0].toolMocking.mockedSubAgents[0].subAgentId: agent "A" has no sub-agent`,
				`company.yaml:11: agentTests[0].simulations[2].toolMocking.mockedTools[0].toolId: no tool`}},
		"no such tag": {anAgent + "agentTests:\n  - agent: A\n    simulations: [{name: S, scenario: x, criteria: [y]}]\n" +
			"    classifications:\n      - name: C\n        tagExpected: Nope\n" +
			"        conversationContext: {messages: [{role: user, text: z}]}\n",
			[]string{`company.yaml:8: agentTests[0].classifications[0].tagExpected: agent "A" has no classification tag "Nope"`}},
		"no such tag of a row": {anAgent[:len(anAgent)-2] + ", classificationTags: [{name: Good}]}\nagentTests:\n" +
			"  - agent: A\n    classifications:\n      - name: C\n        tagExpected: '{tag}'\n" +
			"        conversationContext: {messages: [{role: user, text: z}]}\n        rows:\n" +
			"          - {name: First, values: {tag: Good}}\n          - {name: Second, values: {tag: Nope}}\n" +
			"          - {values: {tag: None}}\n", []string{
			`company.yaml:11: agentTests[0].classifications[0].rows[1]: agent "A" has no classification tag "Nope", ` +
				`which the row "Second" expects`,
			`company.yaml:12: agentTests[0].classifications[0].rows[2]: agent "A" has no classification tag "None", ` +
				`which the row "3" expects`,
		}},
		"mock of another agent's tool": {"tools: [{name: B, technicalName: b}]\n" + anAgent + "agentTests:\n  - agent: A\n" +
			"    simulations:\n      - name: S\n        scenario: x\n        criteria: [y]\n        toolMocking:\n" +
			"          mockedTools:\n            - {toolId: b}\n",
			[]string{`company.yaml:12: agentTests[0].simulations[0].toolMocking.mockedTools[0].toolId: agent "A" does not ` +
				`have the tool "b": add it to toolIds`}},
		"two mocks of a tool": {"tools: [{name: B, technicalName: b}]\n" + anAgent[:len(anAgent)-2] + ", toolIds: [b]}\n" +
			"agentTests:\n  - agent: A\n    simulations: [{name: S, scenario: x, criteria: [y], toolMocking: {mockedTools: " +
			"[{toolId: b}, {toolId: b}]}}]\n", []string{".mockedTools[1].toolId: is mocked twice"}},
		"infinite number": {anAgent + "agentTests:\n  - agent: A\n    variables:\n      x: .inf\n      y: .nan\n", []string{
			"company.yaml:6: agentTests[0].variables.x: must be a finite number, or a text in quotes", ":7: agentTests[0]"}},
		"same key": {"datasets: [{key: k, name: A}, {key: k, name: B}]\n",
			[]string{`datasets[1]: has the key "k", which the dataset at `, "datasets[0]"}},
		"no such file": {"datasets: [{name: A, documents: [x.md]}]\n",
			[]string{"datasets[0].documents[0]: the file ", "does not exist"}},
		"file outside the directory": {"datasets: [{name: A, documents: [../x.md]}]\n",
			[]string{"datasets[0].documents[0]: must be a path inside the directory knowledge"}},
		"bad schema": {"tools:\n  - {name: A, technicalName: a, parameters: {type: strin}}\n",
			[]string{"company.yaml:2: tools[0].parameters: "}},
		"secret in a file": {"tools:\n  - {name: A, technicalName: a, endpoint: {url: 'https://a.example', headers: {X: " +
			"hunter2}}}\n", []string{`tools[0].endpoint.headers.X: must match ^\$\{`}},
	} {
		o := c.run(t, key, "apply", "-f", write(t, w.text))
		require.Equal(t, 1, o.code, "%s: %s%s", name, o.out, o.log)
		for _, says := range w.says {
			require.Equal(t, 1, strings.Count(o.log, says), "%s: %s", name, o.log)
		}
		require.NotContains(t, o.log, "hunter2", name)
		require.Empty(t, o.out, name)
		require.Empty(t, c.mutations, name)
	}
	for says, args := range map[string][]string{
		"name a YAML file, or a directory with such files: agentgraph diff company/": {"diff"},
		"has no .yaml file": {"diff", "-f", t.TempDir()}, "no such file": {"diff", "-f", "/nowhere"},
	} {
		o := c.run(t, key, args...)
		require.Equal(t, 2, o.code, says)
		require.Contains(t, o.log, says)
	}
	for _, text := range []string{"", "# nothing\n", "{}\n"} {
		empty := write(t, text)
		for _, args := range [][]string{{"apply"}, {"diff"}, {"test", "import"}, {"test", "diff"}} {
			require.Equal(t, outcome{2, "", "agentgraph: " + empty + " is empty\n"}, c.run(t, key, append(args, empty)...))
		}
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(empty), "tools.yaml"), []byte("tools: []\n"), 0o600))
		require.Equal(t, "Nothing differs.\n", c.good(t, key, "apply", filepath.Dir(empty)))
	}
	other := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(other, []byte("agents: []\n"), 0o600))
	o := c.run(t, key, "pull", filepath.Dir(other))
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "apply would read "+other+" in addition to the pulled files")
	c.good(t, key, "pull", "--prune", filepath.Dir(other))
	require.NoFileExists(t, other)
	require.Equal(t, string(apply.Schema), c.good(t, key, "apply", "--schema"))
	require.True(t, strings.HasPrefix(string(apply.Schema), "{"))
}
