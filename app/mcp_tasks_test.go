package app_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// maxCalls bounds the calls of an assistant for one task.
const maxCalls = 15

// worker solves a task by calling tools. It knows nothing but their answers.
type worker struct {
	*testing.T
	session *sdk.ClientSession
	tools   map[string]*sdk.Tool
	calls   int
}

// members is a JSON object of an answer.
type members map[string]any

// use calls a tool, which must not fail.
func (w *worker) use(tool string, arguments members) members {
	w.Helper()
	w.calls++
	require.LessOrEqual(w, w.calls, maxCalls)
	result, err := w.session.CallTool(w.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(w, err)
	text := result.Content[0].(*sdk.TextContent).Text
	require.False(w, result.IsError, "%s: %s", tool, text)
	require.LessOrEqual(w, len(text), 100_000)
	w.checkOutput(tool, result)
	var answer members
	require.NoError(w, json.Unmarshal([]byte(text), &answer))
	return answer
}

// checkOutput compares a result with the tool's output schema, because many clients refuse a result that differs.
func (w *worker) checkOutput(tool string, result *sdk.CallToolResult) {
	w.Helper()
	if w.tools == nil {
		w.tools = listTools(w, w.session)
	}
	text, err := json.Marshal(w.tools[tool].OutputSchema)
	require.NoError(w, err)
	var schema *jsonschema.Schema
	require.NoError(w, json.Unmarshal(text, &schema))
	if schema == nil {
		return
	}
	resolved, err := schema.Resolve(nil)
	require.NoError(w, err)
	require.NoError(w, resolved.Validate(result.StructuredContent), tool)
}

// at returns the value at a path of members, such as "tests.0.id".
func (o members) at(path string) any {
	var value any = map[string]any(o)
	for _, name := range strings.Split(path, ".") {
		switch container := value.(type) {
		case map[string]any:
			value = container[name]
		case []any:
			value = container[name[0]-'0']
		default:
			return nil
		}
	}
	return value
}

func (o members) text(path string) string { text, _ := o.at(path).(string); return text }

func (o members) list(path string) []members {
	var all []members
	values, _ := o.at(path).([]any)
	for _, value := range values {
		all = append(all, value.(map[string]any))
	}
	return all
}

// namedLike returns the first object with a text in its name.
func namedLike(all []members, part string) members {
	for _, one := range all {
		if strings.Contains(one.text("name"), part) {
			return one
		}
	}
	return nil
}

func (w *worker) clinic() string {
	w.Helper()
	return w.use("find_agents", members{"nameContains": "Clinic"}).text("agents.0.id")
}

// dataFor returns a value for each field that an agent needs.
func dataFor(agent members) members {
	data := members{}
	for _, field := range agent.list("fields") {
		if field["isMandatory"] == true && field["isSystem"] == false {
			data[field.text("name")] = "Harbour"
		}
	}
	return data
}

// tasks are what people ask of an assistant. They run in order on the demo company.
var tasks = []struct {
	name  string
	solve func(w *worker)
}{
	{"find the change that broke the parking answer", func(w *worker) {
		test := w.use("find_tests", members{"lastRunStatuses": []string{"Failed"}, "nameContains": "park"})
		id := test.text("tests.0.id")
		why := w.use("explain_red_test", members{"testId": id})
		require.Greater(w, len(why.list("blame.changes")), 3)
		require.Len(w, why.list("blame.suspects"), 1)
		require.Contains(w, why.text("blame.suspects.0.before"), "behind the building")
		found := w.use("search_cause", members{"testId": id, "repeats": 4})
		for found.text("blame.search.status") == "Running" {
			<-time.After(time.Second)
			found = w.use("explain_red_test", members{"testId": id})
		}
		require.Equal(w, "Found", found.text("blame.search.verdict"))
		require.Contains(w, found.text("blame.search.cause.0.before"), "behind the building")
		require.NotContains(w, found.at("blame.search"), "restoredPrompt", "it is as long as the prompt")
	}},
	{"repair the parking answer", func(w *worker) {
		id := w.use("find_tests", members{"lastRunStatuses": []string{"Failed"}, "nameContains": "park"}).text("tests.0.id")
		why := w.use("explain_red_test", members{"testId": id, "withRestoredPrompt": true})
		prompt := why.text("blame.search.restoredPrompt")
		draft := w.use("run_tests", members{"testIds": []string{id}, "prompt": prompt, "repeats": 5})
		require.Equal(w, "Passed", draft.text("verdict"))
		// The cause was a removed sentence. The edit restores it with its heading, after the text that preceded them.
		require.Nil(w, why.at("blame.search.cause.0.after"))
		sentence := "# Getting here\n" + why.text("blame.search.cause.0.before")
		at := strings.Index(prompt, sentence)
		w.use("edit_prompt", members{"agentId": why.text("agent.id"),
			"edits": []members{{"before": prompt[at-80 : at-1], "after": prompt[at-80 : at+len(sentence)+1]}},
			"note":  "Say where to park again", "expectedVersion": why.at("blame.badVersion")})
		agent := members{"agentId": why.text("agent.id")}
		require.Equal(w, prompt, w.use("get_agent", agent).text("prompt"))
		agent["withPrompt"] = false
		require.NotContains(w, w.use("get_agent", agent), "prompt")
		require.Equal(w, "Passed", w.use("run_tests", members{"testIds": []string{id}}).text("verdict"))
	}},
	{"notice that a repaired prompt lacks another repair", func(w *worker) {
		id := w.use("find_tests", members{"lastRunStatuses": []string{"Failed"}, "nameContains": "bus"}).text("tests.0.id")
		found := w.use("search_cause", members{"testId": id, "repeats": 4})
		for found.text("blame.search.status") == "Running" {
			<-time.After(time.Second)
			found = w.use("explain_red_test", members{"testId": id})
		}
		restored := w.use("explain_red_test", members{"testId": id, "withRestoredPrompt": true}).
			text("blame.search.restoredPrompt")
		require.NotContains(w, restored, "behind the building")
		require.Greater(w, found.at("agent.promptVersion"), found.at("blame.search.badVersion"))
		result, err := w.session.CallTool(w.Context(), &sdk.CallToolParams{Name: "explain_red_test",
			Arguments: members{"testId": id}})
		require.NoError(w, err)
		require.Contains(w, result.Content[1].(*sdk.TextContent).Text, "would undo the later changes")
		result, err = w.session.CallTool(w.Context(), &sdk.CallToolParams{Name: "change_prompt", Arguments: members{
			"agentId": found.text("agent.id"), "prompt": restored,
			"expectedVersion": found.at("blame.search.badVersion")}})
		require.NoError(w, err)
		require.Contains(w, result.Content[0].(*sdk.TextContent).Text, "CONFLICT")
	}},
	{"roll the prompt back", func(w *worker) {
		agent := w.clinic()
		versions := w.use("list_prompt_versions", members{"agentId": agent}).list("versions")
		require.Equal(w, "Say where to park again", versions[0].text("note"))
		restored := w.use("restore_prompt", members{"agentId": agent, "version": versions[1]["version"],
			"expectedVersion": versions[0]["version"]})
		require.Greater(w, restored["promptVersion"], versions[0]["version"])
		require.Equal(w, w.use("get_prompt_version", members{"promptVersionId": versions[1].text("id")}).text("prompt"),
			w.use("get_agent", members{"agentId": agent}).text("prompt"))
	}},
	{"gate a change", func(w *worker) {
		agent := w.clinic()
		red := w.use("find_tests", members{"agentId": agent, "nameContains": "park"}).text("tests.0.id")
		earlier := w.use("list_prompt_versions", members{"agentId": agent, "first": 2}).list("versions")
		prompt := w.use("get_prompt_version", members{"promptVersionId": earlier[1].text("id")}).text("prompt")
		base := w.use("run_tests", members{"testIds": []string{red}, "repeats": 10, "prompt": prompt})
		head := w.use("run_tests", members{"testIds": []string{red}, "repeats": 10})
		gate := w.use("compare_results", members{"baseId": base.text("executionId"), "headId": head.text("executionId")})
		require.Equal(w, "Regressed", gate.text("conclusion"))
	}},
	{"add a tool with a mock", func(w *worker) {
		agent := w.clinic()
		tool := w.use("create_tool", members{"name": "Send directions", "technicalName": "send_directions",
			"description": "Sends the way to the clinic by text message.",
			"parameters":  members{"type": "object", "properties": members{"phone": members{"type": "string"}}},
		}).text("id")
		connected := w.use("connect_tool", members{"agentId": agent, "toolId": tool}).list("tools")
		require.NotNil(w, namedLike(connected, "directions"))
		test := w.use("create_test", members{"agentId": agent, "name": "Sends directions",
			"scenario": "You want to know the way to the clinic.", "variables": dataFor(w.use("get_agent",
				members{"agentId": agent})), "checks": []members{{"expect": members{"turnsAtMost": 30}}},
			"toolMocking": members{"mockedTools": []members{{"toolId": tool, "resultTemplate": "sent"}}, "sideEffects": "Deny"}})
		require.Empty(w, test.at("obstacles"))
		require.Equal(w, "Completed", w.use("run_tests", members{"testIds": []string{test.text("id")}}).text("status"))
		require.Equal(w, "sent", w.use("get_test", members{"testId": test.text("id")}).
			text("toolMocking.mockedTools.0.resultTemplate"))
	}},
	{"explain yesterday's spend", func(w *worker) {
		yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
		usage := w.use("get_usage", members{"from": yesterday, "to": yesterday})
		require.NotNil(w, usage.at("totalCredits"))
		require.Len(w, usage.list("byDay"), 1)
		require.Len(w, usage.list("byChannel"), 4)
		named := 0
		month := time.Now().UTC().AddDate(0, 0, -30).Format(time.DateOnly)
		for _, agent := range w.use("get_usage", members{"from": month, "to": yesterday}).list("byAgent") {
			for _, campaign := range agent.list("campaigns") {
				if campaign.text("campaign.name") != "" {
					named++
				}
			}
		}
		require.Positive(w, named, "campaigns have names")
	}},
	{"ask the knowledge base", func(w *worker) {
		var base members
		for base == nil || !strings.Contains(base.text("datasets.0.documents.nodes.0.status"), "Ready") {
			base = namedLike(w.use("find_knowledge", nil).list("knowledgeBaseChats"), "Merrowby Home")
			<-time.After(time.Second)
		}
		answer := w.use("ask_knowledge", members{"knowledgeBaseChatId": base.text("id"), "question": "How long is the warranty?"})
		require.NotEmpty(w, answer.list("chunks"))
		require.NotEmpty(w, answer.text("chunks.0.document.name"))
	}},
	{"talk to an agent, and keep the chat as a test", func(w *worker) {
		agent := w.use("get_agent", members{"agentId": w.clinic()})
		chat := w.use("start_chat", members{"agentId": agent.text("id"), "dataBag": dataFor(agent)}).text("id")
		reply := w.use("send_message", members{"chatId": chat, "text": "When are you open?"}).list("newMessages")
		require.Equal(w, "assistant", reply[len(reply)-1].text("role"))
		require.Greater(w, len(w.use("get_chat", members{"chatId": chat}).list("messages")), 2)
		test := w.use("create_test_from_chat", members{"chatId": chat, "scenario": "You say thank you and goodbye.",
			"checks": []members{{"expect": members{"turnsAtMost": 10}}}}).text("agentTest.id")
		require.Equal(w, "Completed", w.use("run_tests", members{"testIds": []string{test}}).text("status"))
	}},
	{"write a wrong test, understand it and correct it", func(w *worker) {
		agent := w.use("get_agent", members{"agentId": w.clinic()})
		test := w.use("create_test", members{"agentId": agent.text("id"), "name": "Says hello in Latin",
			"scenario": "You ask when the clinic is open.", "variables": dataFor(agent),
			"checks": []members{{"expect": members{"says": members{"text": "salve"}}}}}).text("id")
		results := w.use("run_tests", members{"testIds": []string{test}})
		require.Equal(w, "Failed", results.text("verdict"))
		run := w.use("get_run", members{"runId": results.text("red.nodes.0.runId")})
		require.Contains(w, run.text("checkResults.0.expected"), "salve")
		require.NotEmpty(w, run.list("messages"))
		w.use("update_test", members{"testId": test, "checks": []members{{"expect": members{"neverSays": members{"text": "salve"}}}}})
		require.Equal(w, "Passed", w.use("run_tests", members{"testIds": []string{test}}).text("verdict"))
		require.Equal(w, test, w.use("delete_test", members{"testId": test}).text("deletedId"))
	}},
	{"create an agent", func(w *worker) {
		agent := w.use("create_agent", members{"name": "Night desk", "channel": "Web", "direction": "Inbound", "language": "en",
			"prompt": "You answer at night for {hotel}. Breakfast is from 7 to 10.", "fields": []members{{"name": "hotel",
				"isMandatory": true}}})
		chat := w.use("start_chat", members{"agentId": agent.text("id"), "dataBag": members{"hotel": "The Harbour"}})
		require.Empty(w, chat.at("warnings"))
		require.Len(w, w.use("send_message", members{"chatId": chat.text("id"), "text": "When is breakfast?"}).
			list("newMessages"), 2)
	}},
	{"take a tool away", func(w *worker) {
		tool := w.use("find_tools", members{"nameContains": "directions"}).list("tools")[0]
		agent := tool.text("agents.nodes.0.id")
		require.Nil(w, namedLike(w.use("disconnect_tool", members{"agentId": agent, "toolId": tool.text("id")}).list("tools"),
			"directions"))
	}},
	{"answer what no tool answers", func(w *worker) {
		found := w.use("search_schema", members{"words": "campaigns"}).list("matches")
		require.True(w, strings.HasPrefix(found[0].text("path"), "Query.campaigns("), found[0])
		const document = "{ campaigns(first: 5) { totalCount nodes { id name status } } }"
		require.Equal(w, true, w.use("validate", members{"document": document})["isValid"])
		require.Positive(w, w.use("query", members{"document": document}).at("campaigns.totalCount"))
	}},
}

func TestMCPSolvesTasks(t *testing.T) {
	t.Parallel()
	g := startWorking(t, gateway.DefaultSettings())
	shown, _ := g.demo(t)
	session := assistant(t, g.url, shown, nil)
	for _, task := range tasks {
		t.Run(task.name, func(t *testing.T) {
			w := &worker{T: t, session: session}
			task.solve(w)
			t.Logf("%d calls", w.calls)
		})
	}
	require.GreaterOrEqual(t, len(tasks), 12)
}
