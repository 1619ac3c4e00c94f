package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// Tests that were created over REST may have the same name. Files distinguish them by id.
func TestTestsWithTheSameNameKeepTheirIDs(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	tenant, key := newCompany(t, c.store, "Repeats")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: "Web",
		Direction: "Inbound", Language: "en", Prompt: "Help."})
	require.NoError(t, err)
	var ids []string
	for range 2 {
		test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
			AgentID: agent.ID, Name: "Same", Scenario: "S", Criteria: []string{"C"}, MaxTurns: 1, MayRepeatName: true,
		})
		require.NoError(t, err)
		ids = append(ids, test.ID)
	}
	dir, exported := t.TempDir(), filepath.Join(t.TempDir(), "tests.yaml")
	const said = `Note: simulation test "Same" of agent "Desk": the server has 2 objects with this name, so the files include their ids: `
	for _, args := range [][]string{{"pull", dir}, {"test", "export", "-o", exported}} {
		o := c.run(t, key, args...)
		require.Zero(t, o.code, o.log)
		require.Contains(t, o.log, said+ids[0]+", "+ids[1])
	}
	require.Contains(t, c.good(t, key, "diff", "-f", dir), "Nothing differs.")
	require.Contains(t, c.good(t, key, "test", "diff", exported), "Nothing differs.")
	file := filepath.Join(dir, "agent_desk.yaml")
	edit(t, file, "id: "+ids[1]+"\n        folderId: null\n        name: Same", "id: "+ids[1]+
		"\n        folderId: null\n        name: Other")
	c.good(t, key, "apply", "-f", dir)
	require.Equal(t, []string{"updateSimulationTest"}, c.mutations)
}

// A dataset may have different documents with the same name. Pull writes the second one to another file, and its name
// next to that file.
func TestDocumentsWithTheSameNameArePulled(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	tenant, key := newCompany(t, c.store, "Pairs")
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "House"})
	require.NoError(t, err)
	base := knowledge.New(knowledge.Options{})
	for _, text := range []string{"# Open\n", "# Closed\n", "# Open\n"} {
		_, err := base.AddDocument(t.Context(), tenant, model.AddDocumentInput{DatasetID: dataset.ID, Name: new("hours.md"),
			Text: &text})
		require.NoError(t, err)
	}
	dir := t.TempDir()
	o := c.run(t, key, "pull", dir)
	require.Zero(t, o.code, o.log)
	second := filepath.Join("knowledge", "house", "2_hours.md")
	require.Contains(t, o.log, `another document with the name "hours.md" has different content, so it is written to `+second)
	pulled := filesIn(t, dir)
	require.ElementsMatch(t, []string{"# Open\n", "# Closed\n"},
		[]string{pulled["knowledge/house/hours.md"], pulled["knowledge/house/2_hours.md"]})
	c.good(t, key, "apply", "-f", dir)
	require.Empty(t, c.mutations, "an equal copy stays")
	require.Contains(t, c.good(t, key, "diff", "-f", dir), "Nothing differs.")

	require.NoError(t, os.WriteFile(filepath.Join(dir, second), []byte(pulled["knowledge/house/hours.md"]), 0o600))
	require.Contains(t, c.run(t, key, "diff", "-f", dir).log,
		`is a second document with the name "hours.md" and the same content`)
}

func TestAmbiguousNamesNeedIDs(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	tenant, key := newCompany(t, c.store, "Doubles")
	var ids []string
	for range 2 {
		dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Same"})
		require.NoError(t, err)
		ids = append(ids, dataset.ID)
	}
	o := c.run(t, key, "diff", "-f", write(t, "datasets: [{name: Same}]"))
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "the server has 2 objects with the name \"Same\", with the ids "+ids[0]+", "+ids[1]+
		": add the right id to the file")
	dir := t.TempDir()
	c.good(t, key, "pull", "--no-ids", dir)
	require.Contains(t, filesIn(t, dir)["knowledge.yaml"], "id: "+ids[0])
	edit(t, filepath.Join(dir, "knowledge.yaml"), "id: "+ids[1]+"\n    name: Same", "id: "+ids[1]+"\n    name: Other")
	c.good(t, key, "apply", "-f", dir)
	require.Equal(t, []string{"updateDataset"}, c.mutations, "it is renamed")
	c.good(t, key, "pull", t.TempDir())
}

const twins = `datasets:
  - {key: a, name: Cards, description: First}
  - {key: b, name: Cards, description: Second}
agents:
  - {key: one, name: Twin, channel: Web, direction: Inbound, language: en, prompt: You are the first.}
  - {key: two, name: Twin, channel: Web, direction: Inbound, language: en, prompt: You are the second., subAgents: [{name: One, technicalName: one, delegateAgentId: one}]}
agentTests:
  - agent: two
    folders: [{name: Folder}]
    simulations:
      - {id: test_a, name: CI test, scenario: First, criteria: [is kind]}
      - {id: test_b, name: CI test, scenario: Second, criteria: [is kind]}
      - {id: test_c, name: CI test, folderId: Folder, scenario: Third, criteria: [is kind]}
    classifications:
      - {id: test_d, name: CI test, tagExpected: Good, conversationContext: {messages: [{role: user, text: Hello}]}}
campaigns:
  - {id: campaign_a, name: Calls, agentId: one}
  - {id: campaign_b, name: Calls, agentId: two}
`

// The ids in the files belong to another company.
func TestSameNamedObjectsMoveToAnotherCompany(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, staging := newCompany(t, c.store, "Staging")
	_, production := newCompany(t, c.store, "Production")
	file := write(t, strings.Replace(twins, "language: en, prompt: You are the second.",
		"language: en, classificationTags: [{name: Good}], prompt: You are the second.", 1))
	require.Contains(t, c.good(t, staging, "apply", file), "11 created, 0 changed, 0 deleted\n")
	for range 2 {
		require.Contains(t, c.good(t, staging, "apply", file), "Nothing differs.\n")
	}
	dir := c.pulledWith(t, staging, nil)
	writes := 0
	c.before = func(string) int {
		if writes++; writes == 9 {
			return http.StatusTeapot // the server fails between tests with the same name
		}
		return 0
	}
	o := c.run(t, production, "apply", dir)
	require.Equal(t, 1, o.code, o.out)
	require.Contains(t, o.out, "run the command again for the rest")
	c.before = nil
	c.good(t, production, "apply", dir)
	again := c.good(t, production, "apply", dir)
	require.Contains(t, again, "Nothing differs.\n")
	require.Contains(t, again, "Note: 8 objects have the same name as others, so they were matched with the server's "+
		"objects by position\n")
	require.Contains(t, c.good(t, production, "diff", dir, "--prune"), "Nothing differs.\n")
	moved := c.pulledWith(t, production, []string{"--no-ids"})
	require.Contains(t, filesIn(t, moved)["agent_twin_2.yaml"], "prompt: You are the second.")
	edit(t, filepath.Join(dir, "agent_twin_2.yaml"), "prompt: You are the second.", "prompt: You are the other one.")
	require.Contains(t, c.good(t, production, "apply", dir), "0 created, 1 changed, 0 deleted\n")
	require.Equal(t, []string{"updateAgent"}, c.mutations)
}

// These names must be unique on the server. Without the check, apply would stop halfway.
func TestTakenNamesAreRefusedBeforeWriting(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Once")
	const tests = "agentTests:\n  - agent: A\n"
	c.good(t, key, "apply", write(t, anAgent+tests+"    simulations: [{name: Old, scenario: x, criteria: [y]}, {name: "+
		"Other, scenario: x, criteria: [y]}]\n"))
	dir := c.pulledWith(t, key, nil, "name: Other", "name: Old")
	for text, says := range map[string]string{
		tests + "    folders: [{key: a, name: F}, {key: b, name: f}]\n":                                             "folders[1]: has the same name as the test folder at ",
		tests + "    simulations: [{name: S, scenario: x, criteria: [y]}, {name: S, scenario: z, criteria: [y]}]\n": "simulations[1]: has the same name as the simulation test at ",
		tests + "    classifications: [{name: Old, tagExpected: x, conversationContext: {messages: [{role: user, text: " +
			"y}]}}]\n": "classifications[0]: has the same name as the simulation test with the id test_",
		"campaigns: [{name: C, agentId: A}, {name: C, agentId: A}]\n": `campaigns[1]: has the key "C", which the campaign at `,
	} {
		o := c.run(t, key, "apply", write(t, text))
		require.Equal(t, 1, o.code, o.out)
		require.Contains(t, o.log, says)
		require.Empty(t, c.mutations)
	}
	o := c.run(t, key, "apply", dir)
	require.Equal(t, 1, o.code, o.out)
	require.Contains(t, o.log, "has the same name as the simulation test at ")
	require.Empty(t, c.mutations)
	c.good(t, key, "apply", "--prune", "--yes", write(t, strings.Replace(anAgent, "prompt", "classificationTags: "+
		"[{name: x}], prompt", 1)+
		tests+"    simulations: []\n    classifications: [{name: Old, tagExpected: x, conversationContext: {messages: "+
		"[{role: user, text: y}]}}]\n"))
	require.Contains(t, c.mutations, "deleteAgentTest", "it replaces the deleted object")
}

// If a change releases a name, only later changes of the same change set can use it.
func TestSwappedNamesAreRefused(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Handed on")
	c.good(t, key, "apply", write(t, anAgent+"agentTests:\n  - agent: A\n    simulations: ["+
		"{name: First, scenario: x, criteria: [y]}, {name: Second, scenario: x, criteria: [y]}]\n"))
	swapped := c.pulledWith(t, key, nil, "name: First", "name: Second", "name: Second", "name: First")
	o := c.run(t, key, "apply", swapped)
	require.Equal(t, 1, o.code, o.out)
	require.Regexp(t, "simulations\\[[01]\\]: has a name that still belongs to the simulation test with the id test_\\w+ "+
		"on the server: first apply the files that rename that simulation test", o.log)
	require.Empty(t, c.mutations)
	file := filepath.Join(c.pulledWith(t, key, nil, "name: First", "name: Third"), "agent_a.yaml")
	added, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(added, "  - agent: a\n    simulations: [{name: First, scenario: z, "+
		"criteria: [y]}]\n"...), 0o600))
	require.Contains(t, c.good(t, key, "apply", file), "1 created, 1 changed, 0 deleted\n")
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", file))
}

// Names and paths with other forms of the same characters are the same, such as the decomposed accents of macOS.
func TestNamesInOtherFormsAreFound(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Forms")
	const file = `datasets: [{name: Größen, documents: [maße/Größe.md]}]
agents:
  - {key: größe, name: Größe, channel: Web, direction: Inbound, language: de, prompt: Hilf.}
  - {name: हिन्दी सहायक, channel: Web, direction: Inbound, language: hi, prompt: Hilf.}
agentTests: [{agent: größe, folders: [{name: Übergrößen}]}]
`
	dir := t.TempDir()
	decomposed := filepath.Join(dir, norm.NFD.String("knowledge/maße"))
	require.NoError(t, os.MkdirAll(decomposed, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(decomposed, norm.NFD.String("Größe.md")), []byte("# XL\n"), 0o600))
	path := filepath.Join(dir, "company.yaml")
	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	c.good(t, key, "apply", path)
	pulled := t.TempDir()
	c.good(t, key, "pull", "--no-ids", pulled)
	require.Contains(t, filesIn(t, pulled), "agent_हिन्दी_सहायक.yaml")

	other := strings.NewReplacer("agent: größe", norm.NFD.String("agent: größe"), "name: Größe,",
		norm.NFD.String("name: Größe,"), "Übergrößen", norm.NFD.String("Übergrößen")).Replace(file)
	require.NoError(t, os.WriteFile(path, []byte(other), 0o600))
	require.Contains(t, c.good(t, key, "diff", "-f", path), "Nothing differs.")
	o := c.run(t, key, "test", "run", "--agent", norm.NFD.String("größe"))
	require.NotContains(t, o.log, "does not exist")
}
