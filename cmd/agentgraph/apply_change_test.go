package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// small is a company with one object of each kind. Its two agents delegate to each other.
const small = `
datasets:
  - key: opening
    name: Opening hours
    description: When we are open.
    parserConfig: {chunkTokenNum: 256, delimiter: '\n\n'}
    documents: [hours.md, {name: "a/b.txt", file: other.txt}]
knowledgeBaseChats:
  - key: hours
    name: Hours
    datasetIds: [opening]
    llmSettings: {temperature: 0}
tools:
  - name: Book
    technicalName: book
    description: Books.
    parameters: {type: object, properties: {zeta: {type: string}, alpha: {type: number, minimum: 0.5}}}
    endpoint:
      url: https://api.example.com/book
      headers: {Authorization: "${TEST_BOOK_TOKEN}"}
  - {name: Look, technicalName: look}
agents:
  - key: front
    name: Front desk
    channel: Phone
    direction: Outbound
    language: en
    prompt: |
      Be kind.
      Be brief.
    inboundWelcomeMessage: Hello.
    tags: [b, a, b]
    fields: [{name: firstName, isMandatory: true}]
    classificationTags: [{name: Done, definition: It is done.}]
    knowledgeBaseChatId: hours
    toolIds: [look, book]
    subAgents:
      - {delegateAgentId: back, name: Back, technicalName: ask_back, description: Knows more.}
  - key: back
    name: Back office
    channel: Web
    direction: Inbound
    language: en
    prompt: Help.
    subAgents:
      - {delegateAgentId: front, name: Front, technicalName: ask_front}
agentTests:
  - agent: front
    variables: {firstName: Ida, gone: null}
    toolMocking:
      mockedTools: [{toolId: book, resultTemplate: ok}]
      mockedSubAgents: [{subAgentId: ask_back, rules: [{when: [{argument: text, present: true}], failure: {kind: Timeout}}]}]
    folders: [{key: safe, name: Safety}]
    simulations:
      - {name: Kind, folderId: safe, scenario: Says hello., criteria: [is kind]}
      - {name: Kind, scenario: Says hello at the root., criteria: [is kind], variables: {firstName: Leo}}
    classifications:
      - name: Is done
        tagExpected: Done
        conversationContext: {messages: [{role: user, text: Done?, timestamp: "2026-03-01T10:00:00+01:00"}]}
campaigns:
  - {agentId: front, name: Spring, defaultRegion: GB, fields: [{name: branch, description: Where., isMandatory: true}]}
`

// startSmall applies the small company. It returns the server, a key, the file and the tenant.
func startSmall(t *testing.T) (c *applyServer, key, file string, tenant *db.Tenant) {
	t.Helper()
	t.Setenv("TEST_BOOK_TOKEN", "Bearer hunter2")
	c = newApplyServer(t)
	tenant, key = newCompany(t, c.store, "Small")
	file = write(t, small)
	knowledge := filepath.Join(filepath.Dir(file), "knowledge")
	require.NoError(t, os.Mkdir(knowledge, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(knowledge, "hours.md"), []byte("# Hours\n\n9 to 5\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(knowledge, "other.txt"), []byte("other"), 0o600))
	shown := c.run(t, key, "apply", "-f", file, "--dry-run")
	require.Equal(t, 6, shown.code, shown.log)
	require.Contains(t, shown.out, "11 to create, 0 to change, 0 to delete")
	require.NotContains(t, shown.out, "hunter2")
	require.Empty(t, c.mutations)
	require.Contains(t, c.good(t, key, "apply", "-f", file), "11 created, 0 changed, 0 deleted")
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "apply", "-f", file))
	require.Empty(t, c.mutations)
	return c, key, file, tenant
}

func TestEachChangeIsShownAndAppliedOnce(t *testing.T) {
	c, key, file, _ := startSmall(t)
	for _, change := range []struct {
		old, now  string
		shown     []string
		mutations string
	}{
		{"description: When we are open.", "description: null", []string{`~ change dataset "Opening hours"`,
			"description: When we are open. → null"}, "updateDataset"},
		{"chunkTokenNum: 256", "chunkTokenNum: null", []string{"parserConfig.chunkTokenNum: 256 → 512"}, "updateDataset"},
		{"datasetIds: [opening]", "datasetIds: null", []string{`~ change knowledge base chat "Hours"`,
			"datasetIds: [opening] → []"}, "updateKnowledgeBaseChat"},
		{"llmSettings: {temperature: 0}", "llmSettings: null", []string{"llmSettings.temperature: 0 → 0.1"},
			"updateKnowledgeBaseChat"},
		{"{zeta: {type: string}, alpha: {type: number, minimum: 0.5}}",
			"{alpha: {type: number, minimum: 0.5}, zeta: {type: string}}", []string{`~ change tool "Book"`, "parameters:"},
			"updateTool"},
		{"api.example.com/book", "api.example.com/book/2", []string{"endpoint:", "api.example.com/book/2"}, "updateTool"},
		{"description: Books.", "description: null", []string{"description: Books. → null"}, "updateTool"},
		{"{name: Look, technicalName: look}", "{name: Look up, technicalName: look}", []string{"name: Look → Look up"},
			"updateTool"},
		{"      Be brief.", "      Be very brief.", []string{`~ change agent "Front desk"`, "-Be brief.", "+Be very brief."},
			"updateAgent"},
		{"inboundWelcomeMessage: Hello.", "inboundWelcomeMessage: null", []string{"inboundWelcomeMessage: Hello. → null"},
			"updateAgent"},
		{"fields: [{name: firstName, isMandatory: true}]", "fields: null",
			[]string{"fields: [{name: firstName, isMandatory: true}] → []"}, "updateAgent"},
		{"knowledgeBaseChatId: hours", "knowledgeBaseChatId: null", []string{"knowledgeBaseChatId: hours → null"},
			"disconnectKnowledgeBaseChat"},
		{"knowledgeBaseChatId: null", "knowledgeBaseChatId: hours", []string{"knowledgeBaseChatId: null → hours"},
			"connectKnowledgeBaseChat"},
		{"toolIds: [look, book]", "toolIds: [book]", []string{"toolIds: [book, look] → [book]"}, "disconnectTool"},
		{"toolIds: [book]", "toolIds: [book, look]", []string{"toolIds: [book] → [book, look]"}, "connectTool"},
		{"description: Knows more.", "description: Knows best.", []string{"+  description: Knows best."}, "updateSubAgent"},
		{"technicalName: ask_front}", "technicalName: ask_desk}", []string{"+  technicalName: ask_desk"},
			"removeSubAgent addSubAgent"},
		{"name: Safety", "name: Safety, color: '#112233'", []string{`~ change test folder "Safety" of agent "Front desk"`,
			"color: \"#6B7280\" → \"#112233\""}, "updateAgentTestFolder"},
		{"variables: {firstName: Leo}", "variables: {firstName: Max}",
			[]string{`~ change simulation test "Kind" of agent "Front desk"`, "variables: {firstName: Leo} → {firstName: Max}"},
			"updateSimulationTest"},
		{"{firstName: Max}}", "{firstName: Max}, persona: {mood: Angry, patience: 2}, judgeSees: [Prompt, Date], " +
			"contactSays: [Hello, null]}", []string{`~ change simulation test "Kind"`, "Angry"}, "updateSimulationTest"},
		{"persona: {mood: Angry, patience: 2}, judgeSees: [Prompt, Date], contactSays: [Hello, null]",
			"persona: {patience: 2}, judgeSees: [Prompt], contactSays: null", []string{"Angry"}, "updateSimulationTest"},
		{"persona: {patience: 2}, judgeSees: [Prompt]", "persona: null, judgeSees: null", []string{"patience"},
			"updateSimulationTest"},
		{"resultTemplate: ok", "resultTemplate: fine", []string{"+  resultTemplate: fine"},
			"updateSimulationTest updateSimulationTest"},
		{"text: Done?", "text: Ready?", []string{`~ change classification test "Is done"`, "+  text: Ready?"},
			"updateClassificationTest"},
		{"defaultRegion: GB", "defaultRegion: null", []string{`~ change campaign "Spring"`, "defaultRegion: GB → null"},
			"updateCampaign"},
		{"description: Where., isMandatory: true}", "description: Where., isMandatory: true}, {name: street}",
			[]string{"+- name: street"}, "addCampaignField"},
		{"      url: https://api.example.com/book/2\n      headers: {Authorization: \"${TEST_BOOK_TOKEN}\"}\n", "",
			[]string{"endpoint:"}, ""},
	} {
		edit(t, file, change.old, change.now)
		if change.mutations == "" {
			edit(t, file, "    endpoint:\n", "    endpoint: null\n")
			change.mutations = "updateTool"
		}
		o := c.run(t, key, "diff", "-f", file)
		require.Equal(t, 6, o.code, "%s: %s%s", change.now, o.out, o.log)
		for _, line := range change.shown {
			require.Contains(t, o.out, line)
		}
		done := c.good(t, key, "apply", "-f", file)
		require.Contains(t, done, "0 created")
		require.Equal(t, change.mutations, strings.Join(c.mutations, " "), "%s\n%s\n%s", change.now, o.out, done)
		require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", file), change.now)
	}
}

func TestDocumentsAreSentOnlyWhenTheyChange(t *testing.T) {
	c, key, file, tenant := startSmall(t)
	hours := filepath.Join(filepath.Dir(file), "knowledge", "hours.md")
	require.NoError(t, os.WriteFile(hours, []byte("# Hours\n\n8 to 4\n"), 0o600))
	require.Contains(t, c.run(t, key, "diff", "-f", file).out, "documents: + hours.md, 16 bytes\n    documents: - "+
		"hours.md, 16 bytes\n")
	require.Equal(t, "~ dataset \"Opening hours\"\n    documents: + hours.md, 16 bytes\n    documents: - hours.md, "+
		"16 bytes\n0 created, 1 changed, 0 deleted\n", c.good(t, key, "apply", "-f", file))
	require.Equal(t, []string{"addDocument", "deleteDocument"}, c.mutations,
		"the new document is added before the old one is deleted")

	edit(t, file, `, {name: "a/b.txt", file: other.txt}`, "")
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", file), "absent members are unchanged")
	require.Contains(t, c.run(t, key, "diff", "-f", file, "--prune").out, "documents: - a/b.txt, 5 bytes")
	c.good(t, key, "apply", "-f", file, "--prune", "--yes")
	require.Equal(t, []string{"deleteDocument"}, c.mutations)

	dir := t.TempDir()
	c.good(t, key, "pull", dir)
	require.Equal(t, "# Hours\n\n8 to 4\n", filesIn(t, dir)["knowledge/opening_hours/hours.md"])

	datasets, err := tenant.Datasets(t.Context(), model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	_, err = knowledge.New(knowledge.Options{}).AddDocument(t.Context(), tenant, model.AddDocumentInput{
		DatasetID: datasets.Nodes[0].ID, Name: new("hours.md"), Text: new("# Hours\n\n8 to 4\n")})
	require.NoError(t, err)
	for _, place := range []string{dir, file} {
		require.Equal(t, "Nothing differs.\n", c.good(t, key, "apply", place), "a second equal document stays")
		require.Empty(t, c.mutations)
	}
	c.good(t, key, "pull", dir)
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "--prune", dir))
}

func TestDocumentsThatAreTooLargeAreRefusedBeforeWriting(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Large")
	file := write(t, "datasets: [{name: Scans, documents: [scan.md]}, {name: Others, documents: [scan.md]}]\n")
	scan := filepath.Join(filepath.Dir(file), "knowledge", "scan.md")
	require.NoError(t, os.Mkdir(filepath.Dir(scan), 0o700))
	require.NoError(t, os.WriteFile(scan, make([]byte, model.MaxDocumentBytes+1), 0o600))
	for _, command := range []string{"diff", "apply"} {
		o := c.run(t, key, command, file)
		require.Equal(t, 1, o.code, o.out)
		require.Contains(t, o.log, "datasets[0].documents[0]: the file "+scan+" has 26214401 bytes, but a document has at "+
			"most 26214400\n")
		require.Contains(t, o.log, "datasets[1].documents[0]: ")
		require.Empty(t, c.mutations)
	}
}

func TestQuestionsMoveToTheNewDocument(t *testing.T) {
	c, key, file, _ := startSmall(t)
	c.key = key
	type labelled struct{ Question, DocumentName, Passage string }
	var read struct {
		Datasets struct {
			Nodes []struct {
				ID                string
				LabelledQuestions []labelled
			}
		}
	}
	const query = "{ datasets { nodes { id labelledQuestions { question documentName passage } } } }"
	c.must(t, query, nil, &read)
	c.must(t, `mutation ($id: ID!) { addLabelledQuestions(input: {datasetId: $id, questions: [
		{question: "When?", documentName: "hours.md", passage: "8"}, {question: "Who?", documentName: "a/b.txt"}]}) {
		labelledQuestions { id } } }`, map[string]any{"id": read.Datasets.Nodes[0].ID}, nil)
	hours := filepath.Join(filepath.Dir(file), "knowledge", "hours.md")
	require.NoError(t, os.WriteFile(hours, []byte("# Hours\n\n8 to 4\n"), 0o600))
	c.good(t, key, "apply", "-f", file)
	require.Equal(t, []string{"addDocument", "addLabelledQuestions", "deleteDocument"}, c.mutations)
	c.must(t, query, nil, &read)
	require.ElementsMatch(t, []labelled{{"When?", "hours.md", "8"}, {"Who?", "a/b.txt", ""}},
		read.Datasets.Nodes[0].LabelledQuestions)
}

func TestPruneDeletesUnnamedObjects(t *testing.T) {
	c, key, file, _ := startSmall(t)
	edit(t, file, "  - {name: Look, technicalName: look}\n", "")
	edit(t, file, "toolIds: [look, book]", "toolIds: [book]")
	edit(t, file, "      - {name: Kind, folderId: safe, scenario: Says hello., criteria: [is kind]}\n", "")
	edit(t, file, "campaigns:\n  - {agentId: front, name: Spring, defaultRegion: GB, fields: [{name: branch, "+
		"description: Where., isMandatory: true}]}\n", "campaigns: []\n")
	c.good(t, key, "apply", "-f", file)
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", file), "absent members are unchanged")
	o := c.run(t, key, "apply", "-f", file, "--prune")
	require.Equal(t, 2, o.code)
	require.Contains(t, o.log, "without a terminal, --prune needs --yes")
	require.Empty(t, c.mutations)
	o = c.run(t, key, "diff", "-f", file, "--prune")
	require.Contains(t, o.out, `- delete simulation test "Kind" in folder "Safety" of agent "Front desk"`)
	require.Contains(t, o.out, `- delete tool "Look"`)
	require.Contains(t, o.out, "0 to create, 0 to change, 2 to delete")
	c.good(t, key, "apply", "-f", file, "--prune", "--yes")
	require.Equal(t, []string{"deleteAgentTest", "deleteTool"}, c.mutations)
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "apply", "-f", file, "--prune"))

	c.good(t, key, "apply", "-f", file)
	for _, group := range []string{"{agent: Front desk}", "{agent: Front desk, variables: {}}"} {
		require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "--prune", "-f", write(t, "agentTests: ["+group+"]\n")))
	}
	o = c.run(t, key, "diff", "--prune", "-f", write(t, "agentTests: [{agent: Front desk, classifications: []}]\n"))
	require.Contains(t, o.out, `- delete classification test "Is done"`)
	require.Contains(t, o.out, "0 to create, 0 to change, 1 to delete")
	o = c.run(t, key, "test", "diff", "--prune", write(t, "agentTests: [{agent: Front desk, classifications: []}]\n"))
	require.Contains(t, o.out, "0 to create, 0 to change, 3 to delete", "test import prunes all tests and folders")

	only := write(t, "tools: []\n")
	c.good(t, key, "apply", "-f", only, "--prune", "--yes")
	require.Equal(t, []string{"deleteTool"}, c.mutations, "lists that are not in the files are unchanged")
}

func TestApplyDoesNotOverwriteForeignChanges(t *testing.T) {
	c, key, file, tenant := startSmall(t)
	edit(t, file, "Be brief.", "Be very brief.")
	edit(t, file, "prompt: Help.", "prompt: Help more.")
	var read struct {
		Agents struct{ Nodes []struct{ ID string } }
	}
	c.key = key
	c.must(t, `{ agents(filter: {nameContains: "Front"}) { nodes { id } } }`, nil, &read)
	theirs := "Theirs."
	c.before = func(string) int {
		_, err := tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: read.Agents.Nodes[0].ID, Prompt: &theirs})
		require.NoError(t, err)
		return 0
	}
	o := c.run(t, key, "apply", "-f", file)
	require.Equal(t, 1, o.code, o.log)
	require.Contains(t, o.log,
		`agent "Front desk": somebody else changed it after apply read it, and that change was kept`)
	c.before = nil
	o = c.run(t, key, "diff", "-f", file)
	require.Contains(t, o.out, "-Theirs.")
}

func TestNextApplyCompletesAFailedOne(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Fails")
	file := write(t, "tools: [{name: A, technicalName: a}, {name: B, technicalName: b}, {name: C, technicalName: c}]")
	calls := 0
	c.before = func(string) int {
		if calls++; calls == 2 {
			return http.StatusForbidden
		}
		return 0
	}
	o := c.run(t, key, "apply", "-f", file)
	require.Equal(t, 1, o.code, o.log)
	require.Equal(t, "+ tool \"A\"\n1 of 3 steps were done; run the command again for the rest\n", o.out)
	require.Contains(t, o.log, `tool "B": the server answered 403 Forbidden`)
	calls = 0
	c.before = func(string) int {
		if calls++; calls == 1 {
			return lost
		}
		return 0
	}
	require.Contains(t, c.good(t, key, "apply", "-f", file), "2 created, 0 changed, 0 deleted")
	require.Equal(t, []string{"createTool", "createTool", "createTool"}, c.mutations,
		"the request with the lost answer is repeated")
	c.before = nil
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "apply", "-f", file), "and made once")
	_, key = newCompany(t, c.store, "Lost")
	calls = 0
	c.before = func(string) int {
		if calls++; calls == 1 {
			return lost
		}
		return 0
	}
	documents := write(t, "datasets: [{name: D, documents: [d.md]}]")
	require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(documents), "knowledge"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(documents), "knowledge", "d.md"), []byte("# D\n"), 0o600))
	c.good(t, key, "apply", "-f", documents)
	calls = 0
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(documents), "knowledge", "d.md"), []byte("# E\n"), 0o600))
	c.good(t, key, "apply", "-f", documents)
	require.Equal(t, []string{"addDocument", "addDocument", "deleteDocument"}, c.mutations)
	c.key = key
	var read struct{ Documents struct{ TotalCount int } }
	c.must(t, "{ documents { totalCount } }", nil, &read)
	require.Equal(t, 1, read.Documents.TotalCount)
}

func TestToolSecretsAreNeverShown(t *testing.T) {
	c, key, file, _ := startSmall(t)
	t.Setenv("TEST_BOOK_TOKEN", "Bearer swordfish")
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", file), "the server does not return values")
	o := c.run(t, key, "diff", "-f", file, "--send-headers")
	require.Contains(t, o.out,
		"    ${TEST_BOOK_TOKEN} is sent to https://api.example.com as the header Authorization\n")
	require.NotContains(t, o.out+o.log, "swordfish")
	require.Contains(t, c.run(t, key, "diff", "-f", file, "--send-headers", "--json").out,
		`"variable": "TEST_BOOK_TOKEN"`)
	require.Contains(t, c.good(t, key, "apply", "-f", file, "--send-headers"), "${TEST_BOOK_TOKEN} is sent to https://")
	require.Equal(t, []string{"updateTool"}, c.mutations)
	dir := t.TempDir()
	c.good(t, key, "pull", dir)
	require.Contains(t, filesIn(t, dir)["tools.yaml"], "Authorization: ${TOOL_BOOK_AUTHORIZATION}")
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", dir), "unchanged headers need no value")
	_, fresh := newCompany(t, c.store, "Fresh")
	o = c.run(t, fresh, "diff", "-f", dir)
	require.Equal(t, 6, o.code, "nothing is sent")
	require.Contains(t, o.out, "    endpoint:\n      url: https://api.example.com/book\n")
	o = c.run(t, fresh, "apply", "-f", dir)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "endpoint.headers.Authorization: needs the environment variable "+
		"TOOL_BOOK_AUTHORIZATION, which is not set")
	require.Empty(t, c.mutations)

	edit(t, file, `{Authorization: "${TEST_BOOK_TOKEN}"}`, "{}")
	c.good(t, key, "apply", "-f", file)
	require.Equal(t, []string{"updateTool"}, c.mutations)
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", file))
}

// A tool's author chooses its names and address, and could have a pipeline that pulls and applies send its own secrets.
func TestVariablesOfTheProgramAreNeverHeaders(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	tenant, key := newCompany(t, c.store, "Theft")
	in := model.CreateToolInput{Name: "Theft", TechnicalName: "agentgraph", Endpoint: &model.ToolEndpointInput{
		Method: "POST", TimeoutSeconds: 10, URL: "https://api.example.com/steal", Headers: model.JSONObject(`{"Api-Key": "v"}`)}}
	_, err := tenant.CreateTool(t.Context(), in)
	require.NoError(t, err)
	dir := t.TempDir()
	c.good(t, key, "pull", dir)
	require.Contains(t, filesIn(t, dir)["tools.yaml"], "Api-Key: ${TOOL_AGENTGRAPH_API_KEY}")
	file := write(t, `
tools:
  - name: Theft
    technicalName: theft
    endpoint:
      url: https://api.example.com/steal
      headers:
        A: ${AGENTGRAPH_API_KEY}
        B: ${database_url_file}
        C: ${AWS_SECRET_ACCESS_KEY}
        D: ${OPENAI_API_KEY}
`)
	for _, command := range []string{"diff", "apply"} {
		o := c.run(t, key, command, "-f", file)
		require.Equal(t, 1, o.code, o.log)
		for _, fault := range []string{"A: AGENTGRAPH_API_KEY", "B: database_url_file", "C: AWS_SECRET_ACCESS_KEY",
			"D: OPENAI_API_KEY"} {
			require.Contains(t, o.log, "endpoint.headers."+fault+
				" is a variable of agentgraph itself, so its value is not sent: use another name\n")
		}
	}
	require.Empty(t, c.mutations)
}

func TestApplyNeedsTheScopesOfItsChanges(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	tenant, _ := newCompany(t, c.store, "Scopes")
	file := write(t, "tools: [{name: A, technicalName: a}]")
	o := c.run(t, newKey(t, tenant, model.APIKeyScopeRead), "apply", "-f", file)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "the scope write")
	c.good(t, newKey(t, tenant, model.APIKeyScopeWrite), "apply", "-f",
		write(t, "agents: [{name: A, channel: Web, direction: Inbound, language: en, prompt: Help.}]"))
	o = c.run(t, newKey(t, tenant, model.APIKeyScopeBrowse), "diff", "-f", file)
	require.Equal(t, 3, o.code, o.log)
	require.Contains(t, o.log, "the scope prompts")
}
