package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const renamable = `datasets:
  - {name: Opening hours, description: When we are open and when we are not.}
tools:
  - {name: Book, technicalName: book, description: Books a table in the restaurant.}
agents:
  - {key: front, name: Front desk, channel: Web, direction: Inbound, language: en, prompt: "You answer the phone of a small hotel by the sea."}
agentTests:
  - agent: front
    folders: [{name: Safety, body: What must never be said to a guest.}]
    simulations: [{name: Kind, scenario: "The guest is angry and wants the money back.", criteria: [is kind]}]
`

// pulledWith pulls into a new directory, and replaces texts in all files. oldAndNow alternates between old and new
// texts.
func (c *applyServer) pulledWith(t *testing.T, key string, flags []string, oldAndNow ...string) string {
	t.Helper()
	dir := t.TempDir()
	c.good(t, key, append([]string{"pull", dir}, flags...)...)
	for name, text := range filesIn(t, dir) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.NewReplacer(oldAndNow...).Replace(text)),
			0o600))
	}
	return dir
}

var newNames = []string{
	"name: Opening hours", "name: Hours", "name: Book\n", "name: Book a table\n", "name: Front desk", "name: Reception",
	"name: Safety", "name: Security",
	"name: Kind\n", "name: Stays kind\n",
}

func TestRenamedObjectsKeepTheirIDs(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Renamed")
	c.good(t, key, "apply", write(t, renamable))
	dir := c.pulledWith(t, key, nil, newNames...)
	o := c.run(t, key, "diff", dir, "--prune")
	require.Equal(t, 6, o.code, o.log)
	require.Contains(t, o.out, "0 to create, 5 to change, 0 to delete\n")
	require.Contains(t, o.out, "name: Front desk → Reception")
	c.good(t, key, "apply", dir, "--prune", "--yes")
	require.Equal(t, []string{"updateDataset", "updateTool", "updateAgent", "updateAgentTestFolder",
		"updateSimulationTest"}, c.mutations)
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", dir))
}

func TestForeignIDsAreMatchedByName(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, staging := newCompany(t, c.store, "Staging")
	_, production := newCompany(t, c.store, "Production")
	c.good(t, staging, "apply", write(t, renamable))
	dir := c.pulledWith(t, staging, nil)
	require.Contains(t, c.good(t, production, "apply", dir),
		"5 created, 0 changed, 0 deleted\nNote: this server does not know 5 ids in the files: it has 0 of these objects by "+
			"name, and 5 are new\n")
	require.Equal(t, "Nothing differs.\nNote: this server does not know 5 ids in the files: it has 5 of these objects by "+
		"name, and 0 are new\n",
		c.good(t, production, "apply", dir, "--prune"))
	edit(t, filepath.Join(dir, "tools.yaml"), "id: tool_", "id: dataset_")
	edit(t, filepath.Join(dir, "knowledge.yaml"), "id: dataset_", "id: tool_")
	require.Zero(t, c.run(t, staging, "diff", dir).code, "there are no such ids")
	other := c.pulledWith(t, staging, nil)
	tools, err := os.ReadFile(filepath.Join(other, "tools.yaml"))
	require.NoError(t, err)
	id := regexp.MustCompile(`tool_\w+`).FindString(string(tools))
	o := c.run(t, staging, "diff", write(t, "datasets: [{name: A, id: "+id+"}]"))
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "datasets[0].id: is the id of a tool")
}

func TestRenamedObjectWithoutIDIsNotDeleted(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Unsaid")
	c.good(t, key, "apply", write(t, renamable))
	dir := c.pulledWith(t, key, []string{"--no-ids"}, "name: Front desk", "name: Reception")
	o := c.run(t, key, "diff", dir)
	require.Equal(t, 6, o.code, o.log)
	require.Contains(t, o.out, `+ create agent "Reception"`)
	require.Regexp(t, `\nNote: agent "Reception" is new, but looks like a renamed agent "Front desk"\. If it is that object, add "id: agent_\w+" in the files\n$`, o.out)
	for _, command := range []string{"diff", "apply"} {
		o = c.run(t, key, command, dir, "--prune")
		require.Equal(t, 1, o.code, o.out)
		require.Regexp(t, `agents\[0\]: looks like a renamed agent "Front desk"\. To keep its history, add "id: agent_\w+" here`, o.log)
		require.Empty(t, c.mutations)
	}
	c.good(t, key, "apply", dir)
	c.good(t, key, "apply", dir, "--prune", "--yes")
	require.Contains(t, c.mutations, "deleteAgent", "--prune deletes the agent")

	swapped := c.pulledWith(t, key, nil, "name: Reception", "name: Desk")
	require.NoError(t, os.WriteFile(filepath.Join(swapped, "new.yaml"),
		[]byte(`agents: [{key: new, name: Reception, channel: Web, direction: Inbound, language: en, prompt: Says something else.}]`), 0o600))
	o = c.run(t, key, "diff", swapped, "--prune")
	require.Contains(t, o.out, "1 to create, 1 to change, 0 to delete", o.log)
	require.Contains(t, o.out, "name: Reception → Desk")
}

func TestSimilarTestsAreNotRenamedOnes(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Alike")
	suite := func(prefix, question string) string {
		text := "agentTests:\n  - agent: A\n    simulations:\n"
		for n := range 10 {
			text += fmt.Sprintf("      - {name: %s%d, scenario: Wants %s., criteria: [stays kind to an angry guest]}\n",
				prefix, n, fmt.Sprintf(question, n))
		}
		return write(t, text)
	}
	c.good(t, key, "apply", write(t, anAgent))
	c.good(t, key, "test", "import", suite("t", "room %d"))
	require.NotContains(t, c.good(t, key, "test", "import", suite("i", "table %d")), "looks like a renamed")
	o := c.run(t, key, "test", "diff", suite("s", "room %d"))
	require.Equal(t, 3, strings.Count(o.out, "looks like a renamed"), o.out)
	require.Contains(t, o.out, `simulation test "s2" of agent "A" is new, but looks like a renamed simulation test "t2" of`)
}

func TestDiffAndApplyPrintJSON(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "JSON")
	file := write(t, renamable)
	var report struct {
		Created, Changed, Deleted int
		Notes                     []string
		Changes                   []struct {
			Verb, Kind, Name string
			ID, Agent, File  *string
			Fields           []struct {
				Field    string
				Old, New any
			}
			Done bool
		}
	}
	read := func(code int, args ...string) {
		o := c.run(t, key, append(args, "--json")...)
		require.Equal(t, code, o.code, o.log)
		report.Changes = nil
		require.NoError(t, json.Unmarshal([]byte(o.out), &report), o.out)
	}
	read(6, "diff", file)
	require.Equal(t, 5, report.Created)
	require.Nil(t, report.Changes[0].ID)
	require.Contains(t, *report.Changes[0].File, "company.yaml:2: datasets[0]")
	read(0, "apply", file)
	require.True(t, report.Changes[4].Done)
	require.Equal(t, "SimulationTest", report.Changes[4].Kind)
	require.Equal(t, "Front desk", *report.Changes[4].Agent)
	require.Contains(t, *report.Changes[4].ID, "test_")
	read(0, "diff", file)
	require.Empty(t, report.Changes)
	edit(t, file, "Books a table in the restaurant.", "Books a table.")
	read(6, "apply", file, "--dry-run")
	require.Equal(t, 1, report.Changed)
	require.Equal(t, "description", report.Changes[0].Fields[0].Field)
	require.Equal(t, "Books a table.", report.Changes[0].Fields[0].New)
	require.False(t, report.Changes[0].Done)
}

// pull never writes a file that is too large for apply, so an agent's tests may take several files.
func TestAgentTestsSpanSeveralFiles(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Large")
	var text strings.Builder
	text.WriteString(renamable)
	for n := range 300 {
		fmt.Fprintf(&text, "      - {name: Test %d, scenario: %q, criteria: [is kind]}\n", n,
			strings.Repeat("Asks again. ", 800))
	}
	file := strings.Replace(text.String(), "simulations: [{name: Kind", "simulations:\n      - {name: Kind", 1)
	file = strings.Replace(file, "criteria: [is kind]}]\n", "criteria: [is kind]}\n", 1)
	c.good(t, key, "apply", write(t, file))
	dir := c.pulledWith(t, key, nil)
	require.Contains(t, filesIn(t, dir), "tests_front_desk_2.yaml")
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", dir, "--prune"))
}

// An object counts as renamed if its key or all other content is unchanged, even if its lines are short.
func TestRenamedObjectWithShortLinesIsNotDeleted(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Short")
	const anAgent = "agents: [{key: %s, name: %s, channel: Web, direction: Inbound, language: en, prompt: %q}]\n"
	const bullets = "- Be kind\n- Be brief\n- Ask for the day\n- Say goodbye\n- Never swear"
	documents := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(documents, "knowledge"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(documents, "knowledge", "hours.md"), []byte("Open from 8 to 17."),
		0o600))
	for name, agents := range map[string]struct{ old, now string }{
		"short lines": {fmt.Sprintf(anAgent, "a", "Shop", bullets), fmt.Sprintf(anAgent, "a", "Store", bullets)},
		"some of them new": {fmt.Sprintf(anAgent, "a", "Shop", bullets),
			fmt.Sprintf(anAgent, "a", "Store", bullets+"\n- Never lie")},
		"a short line": {fmt.Sprintf(anAgent, "a", "Shop", `Say "hello".`),
			fmt.Sprintf(anAgent, "a", "Store", `Say "hello".`)},
		"the key": {fmt.Sprintf(anAgent, "shop", "Shop", bullets),
			fmt.Sprintf(anAgent, "shop", "Store", "Something else, all of it.")},
		"what it refers to": {"datasets: [{name: D}]\nknowledgeBaseChats: [{name: Shop, datasetIds: [D]}]",
			"knowledgeBaseChats: [{name: Store, datasetIds: [D]}]"},
		"only the documents": {"datasets: [{name: Shop, documents: [hours.md]}]",
			"datasets: [{name: Store, documents: [hours.md]}]"},
		"a short scenario": {
			fmt.Sprintf(anAgent, "a", "Desk", "Help.") + "agentTests: [{agent: a, simulations: [{name: Shop, scenario: Asks, " +
				"criteria: [is kind]}]}]",
			"agentTests: [{agent: Desk, simulations: [{name: Store, scenario: Asks, criteria: [is kind]}]}]",
		},
	} {
		file := filepath.Join(documents, "company.yaml")
		require.NoError(t, os.WriteFile(file, []byte(agents.old), 0o600))
		c.good(t, key, "apply", file)
		require.NoError(t, os.WriteFile(file, []byte(agents.now), 0o600))
		o := c.run(t, key, "diff", file)
		require.Contains(t, o.out, `"Shop"`, name)
		require.Contains(t, o.out, "If it is that object, add \"id: ", name)
		o = c.run(t, key, "apply", "--prune", "--yes", file)
		require.Equal(t, 1, o.code, "%s: %s", name, o.out)
		require.Contains(t, o.log, `"Shop"`, name)
		require.Empty(t, c.mutations, name)
		c.good(t, key, "apply", "--prune", "--yes", write(t, "agents: []\nknowledgeBaseChats: []\ndatasets: []\n"))
	}
	c.good(t, key, "apply", write(t, fmt.Sprintf(anAgent, "a", "Shop", bullets)))
	o := c.run(t, key, "diff", "--prune",
		write(t, fmt.Sprintf(anAgent, "a", "Clinic", "- You answer patients\n- Be kind")))
	require.Contains(t, o.out, "1 to create, 0 to change, 1 to delete", o.log)
}
