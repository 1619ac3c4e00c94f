package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// victim is the company that the other company tries to reach by its ids.
type victim struct {
	// ids has an id of each type, by argument name.
	ids map[string]string
	// secrets are texts that no other company may see.
	secrets []string
}

func newVictim(t *testing.T, g *gatewayUnderTest, address string) victim {
	t.Helper()
	ctx := t.Context()
	_, err := g.store.Companies(ctx)
	require.NoError(t, err)
	tenant, key := g.company(t, "Victim")
	agent, err := tenant.CreateAgent(ctx, model.CreateAgentInput{
		Name: "SECRET agent", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt:                "SECRET prompt",
		InboundWelcomeMessage: new("SECRET welcome"),
	})
	require.NoError(t, err)
	tool, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: "SECRET tool", TechnicalName: "secret_tool"})
	require.NoError(t, err)
	_, err = tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	edge, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{
		AgentID: agent.ID, DelegateAgentID: agent.ID, Name: "SECRET edge", TechnicalName: "secret_edge",
	})
	require.NoError(t, err)
	dataset, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: "SECRET dataset"})
	require.NoError(t, err)
	document, err := model.NewDocument(model.AddDocumentInput{DatasetID: dataset.ID, Name: new("SECRET document"),
		Text: new("SECRET text")}, time.Now().UTC().Truncate(time.Microsecond))
	require.NoError(t, err)
	document.ContentType = "text/plain"
	require.NoError(t, tenant.AddDocument(ctx, document, strings.NewReader("SECRET text")))
	chat, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{Name: "SECRET chat",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	_, err = tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID, ChatID: chat.ID})
	require.NoError(t, err)
	keys, err := tenant.APIKeys(ctx)
	require.NoError(t, err)
	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
		map[string]any{"id": agent.ID}, &started)
	simulation := started.StartSimulationChat.SimulationChat.ID
	var versions struct {
		Agent struct {
			PromptVersions struct{ Nodes []struct{ ID string } }
		}
	}
	g.must(t, key, `query ($id: ID!) { agent(id: $id) { promptVersions { nodes { id } } } }`,
		map[string]any{"id": agent.ID}, &versions)
	var tested struct {
		Folder struct{ Folder struct{ ID string } }
		Test   struct{ AgentTest struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) {
		folder: createAgentTestFolder(input: {agentId: $id, name: "SECRET folder", color: "#112233"}) { folder { id } }
		test: createSimulationTest(input: {agentId: $id, name: "SECRET test", scenario: "SECRET",
			criteria: ["SECRET"]}) { agentTest { id } }
	}`, map[string]any{"id": agent.ID}, &tested)
	test := tested.Test.AgentTest.ID
	g.must(t, key, `mutation ($input: UpdateSimulationTestInput!) { updateSimulationTest(input: $input) { agentTest { id }
		} }`,
		map[string]any{"input": map[string]any{"testId": test, "folderId": tested.Folder.Folder.ID}}, nil)
	var executed struct {
		StartAgentTestExecution struct {
			Execution struct {
				ID   string
				Runs struct{ Nodes []struct{ ID string } }
			}
		}
	}
	g.must(t, key, `mutation ($id: ID!) {
		startAgentTestExecution(input: {testIds: [$id]}) { execution { id runs { nodes { id } } } }
	}`, map[string]any{"id": test}, &executed)
	hook, _, err := tenant.CreateWebhook(ctx, model.CreateWebhookInput{URL: "https://example.com/SECRET",
		Events: model.AllWebhookEvent})
	require.NoError(t, err)
	message, err := tenant.SendTestWebhook(ctx, hook.ID)
	require.NoError(t, err)
	server, err := tenant.CreateMcpServer(ctx, model.CreateMcpServerInput{Name: "SECRET server",
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://example.com/SECRET",
			TimeoutSeconds: 10}})
	require.NoError(t, err)
	schedule, err := tenant.CreateAgentTestSchedule(ctx, model.CreateAgentTestScheduleInput{
		Name: "SECRET schedule", TestIds: []string{test}, Repeats: 1, Concurrency: 1, Votes: 1, Cron: new("0 3 1 1 *"),
		TimeZone: "UTC", IsEnabled: true,
	})
	require.NoError(t, err)
	search, err := model.NewBlameSearch(model.StartBlameInput{TestID: test, Repeats: 5}, &model.AgentTestBlame{
		GoodVersion: 1, BadVersion: 1, Changes: []*model.PromptChange{{Number: 1, Was: "SECRET"}}}, time.Now())
	require.NoError(t, err)
	require.NoError(t, tenant.StartBlameSearch(ctx, search))
	execution := executed.StartAgentTestExecution.Execution
	company, err := tenant.Company(ctx)
	require.NoError(t, err)
	v := victim{ids: map[string]string{
		"agent": agent.ID, "delegateAgent": agent.ID, "tool": tool.ID, "subAgent": edge.ID, "dataset": dataset.ID,
		"document": document.ID,
		"chat":     chat.ID, "knowledgeBaseChat": chat.ID, "simulationChat": simulation, "apiKey": keys[0].ID,
		"promptVersion": versions.Agent.PromptVersions.Nodes[0].ID, "company": company.ID,
		"folder": tested.Folder.Folder.ID, "agentTestFolder": tested.Folder.Folder.ID, "test": test, "agentTest": test,
		"execution": execution.ID, "agentTestExecution": execution.ID, "base": execution.ID, "moreBase": execution.ID,
		"head":    execution.ID,
		"webhook": hook.ID, "delivery": message.ID, "schedule": schedule.ID, "agentTestSchedule": schedule.ID,
		"baseline": execution.ID, "search": search.ID,
		"mcpServer": server.ID,
		"run":       execution.Runs.Nodes[0].ID, "agentTestRun": execution.Runs.Nodes[0].ID,
	}}
	maps.Copy(v.ids, newVictimCampaign(t, tenant, agent.ID))
	v.secrets = append(slices.Collect(maps.Values(v.ids)), "SECRET", "secret_tool", "secret_edge")
	require.NotEmpty(t, address)
	return v
}

// idFor returns the victim's id for an argument, by the argument's name. If that names no type, it uses the type that
// the field returns.
func (v victim) idFor(argument, returns string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(argument, "Ids"), "Id")
	if id, ok := v.ids[name]; ok {
		return id
	}
	if returns != "" {
		if id, ok := v.ids[strings.ToLower(returns[:1])+returns[1:]]; ok {
			return id
		}
	}
	return v.ids["agent"]
}

func TestNothingOfAnotherCompanyIsSeenOrChanged(t *testing.T) {
	t.Parallel()
	for held, address := range dbtest.SecurityVariants(t) {
		t.Run(held, func(t *testing.T) { nothingOfAnotherCompanyIsSeenOrChanged(t, address) })
	}
}

func nothingOfAnotherCompanyIsSeenOrChanged(t *testing.T, address string) {
	counted := &statements{}
	store := dbtest.Open(t, address, db.Options{Tracer: counted, SecretKey: make([]byte, 32)})
	g := &gatewayUnderTest{url: serveStore(t, store), store: store, statements: counted}
	v := newVictim(t, g, address)
	_, stranger := g.company(t, "Stranger")
	before := dump(t, address, v.ids["company"])

	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	w := walker{schema: schema, victim: v}
	operations := w.operations()
	require.Greater(t, len(operations), 35)
	for name, operation := range operations {
		a := g.query(t, stranger, operation, nil)
		for _, e := range a.Errors {
			require.NotEqual(t, "GRAPHQL_VALIDATION_FAILED", e.Extensions.Code, "%s: %s\n%s", name, e.Message, operation)
			require.NotEqual(t, "INTERNAL", e.Extensions.Code, "%s: %s", name, e.Message)
		}
		for _, secret := range v.secrets {
			require.NotContains(t, string(a.Data), secret, "%s\n%s", name, operation)
		}
		if strings.Contains(operation, v.ids["agent"]) && strings.HasPrefix(name, "Mutation.") &&
			!strings.Contains(name, "createAgent") {
			require.Contains(t, a.codes(), "NOT_FOUND", "%s: %s", name, a.Data)
		}
	}
	for _, route := range foreignRoutes(v) {
		method, rest, _ := strings.Cut(route, " ")
		path, body, _ := strings.Cut(rest, " ")
		response := g.do(t, method, path, stranger, body)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 404, response.StatusCode, "%s: %s", route, text)
		require.NotContains(t, string(text), "SECRET")
	}
	require.Equal(t, before, dump(t, address, v.ids["company"]))
}

func foreignRoutes(v victim) []string {
	agent, chat, dataset, simulation := v.ids["agent"], v.ids["chat"], v.ids["dataset"], v.ids["simulationChat"]
	test, folder, execution, run := v.ids["test"], v.ids["folder"], v.ids["execution"], v.ids["run"]
	return []string{
		"GET /Agent/" + agent,
		"PUT /Agent/" + agent + `/prompt {"prompt":"mine"}`,
		"GET /Agent/" + agent + "/chat",
		"PUT /Agent/" + agent + `/chat {"chatId":"` + chat + `"}`,
		"DELETE /Agent/" + agent + "/chat",
		`POST /SimulationChat/start {"agentId":"` + agent + `"}`,
		`POST /SimulationChat/send-message {"simulationChatId":"` + simulation + `","message":"hello"}`,
		"GET /SimulationChat/" + simulation,
		"PATCH /KnowledgeBaseChat/" + chat + ` {"name":"mine","datasetIds":["` + dataset + `"]}`,
		"POST /AgentTest/simulation " + `{"agentId":"` + agent + `","name":"mine","scenario":"mine","criteria":["mine"]}`,
		"GET /AgentTest/" + test,
		"PATCH /AgentTest/" + test + ` {"name":"mine"}`,
		"DELETE /AgentTest/" + test,
		"GET /AgentTestFolder/" + folder,
		"PATCH /AgentTestFolder/" + folder + ` {"name":"mine"}`,
		"DELETE /AgentTestFolder/" + folder,
		"POST /AgentTestExecution " + `{"testIds":["` + test + `"]}`,
		"GET /AgentTestExecution/" + execution,
		"POST /AgentTestExecution/" + execution + "/cancel",
		"POST /AgentTestExecution/" + execution + "/retry",
		"GET /AgentTestRun/" + run,
	}
}

// dump returns every row of the company as text.
func dump(t *testing.T, address, companyID string) string {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT table_name FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'company_id' AND table_name <> 'api_keys' ORDER BY 1`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 8)
	var all strings.Builder
	for _, table := range tables {
		rows, err := conn.Query(ctx, fmt.Sprintf("SELECT x::text FROM %s x WHERE company_id = $1 ORDER BY 1", table),
			companyID)
		require.NoError(t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		all.WriteString(table + "\n" + strings.Join(texts, "\n") + "\n")
	}
	return all.String()
}

// walker writes operations for each root field. They contain the victim's ids wherever an id is expected, and select
// everything down to three levels.
type walker struct {
	schema *ast.Schema
	victim victim
}

func (w walker) operations() map[string]string {
	all := map[string]string{}
	for _, root := range []*ast.Definition{w.schema.Query, w.schema.Mutation} {
		for _, field := range root.Fields {
			// recordUsage stores ids without looking them up.
			if strings.HasPrefix(field.Name, "__") || field.Name == "recordUsage" {
				continue
			}
			for _, arguments := range w.arguments(field) {
				operation := strings.ToLower(root.Name) + " { " + field.Name + arguments + w.selection(field.Type, 3) + " }"
				all[root.Name+"."+field.Name+arguments] = operation
			}
		}
	}
	return all
}

// arguments returns the field's arguments, once for each optional id of an input, because optional ids often exclude
// each other.
func (w walker) arguments(field *ast.FieldDefinition) []string {
	choices := []string{""}
	for _, a := range field.Arguments {
		if input := w.schema.Types[a.Type.Name()]; input.Kind == ast.InputObject && a.Name == "input" {
			for _, f := range input.Fields {
				if f.Type.Name() == "ID" && !f.Type.NonNull {
					choices = append(choices, f.Name)
				}
			}
		}
	}
	if len(choices) > 1 {
		choices = choices[1:]
	}
	var all []string
	for _, choice := range choices {
		var written []string
		for _, a := range field.Arguments {
			if a.DefaultValue == nil && a.Name != "after" && a.Name != "offset" && a.Name != "filter" {
				written = append(written, a.Name+": "+w.value(a.Name, a.Type, field.Type.Name(), choice))
			}
		}
		if len(written) == 0 {
			all = append(all, "")
		} else {
			all = append(all, "("+strings.Join(written, ", ")+")")
		}
	}
	return all
}

func (w walker) value(name string, valueType *ast.Type, returns, choice string) string {
	if valueType.Elem != nil {
		return "[" + w.value(name, valueType.Elem, returns, choice) + "]"
	}
	definition := w.schema.Types[valueType.Name()]
	switch {
	case definition.Name == "ID":
		text, _ := json.Marshal(w.victim.idFor(name, returns))
		return string(text)
	case definition.Name == "ApiKeyScope":
		return "chat" // only this scope can be narrowed to agents
	case definition.Kind == ast.Enum:
		return definition.EnumValues[0].Name
	case definition.Kind == ast.InputObject:
		if definition.Directives.ForName("oneOf") != nil {
			first := definition.Fields[0]
			return "{" + first.Name + ": " + w.value(first.Name, first.Type, "", choice) + "}"
		}
		var fields []string
		for _, f := range definition.Fields {
			if f.Name == choice || f.Name == "criteria" || f.Type.NonNull && (f.DefaultValue == nil || f.Type.Name() == "ID") {
				fields = append(fields, f.Name+": "+w.value(f.Name, f.Type, "", choice))
			}
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case definition.Name == "Int", definition.Name == "Float":
		return "1"
	case definition.Name == "Boolean":
		return "true"
	case definition.Name == "DateBound":
		return `"2026-03-01"`
	case name == "language":
		return `"en"`
	case name == "color":
		return `"#112233"`
	}
	return `"mine"`
}

func (w walker) selection(fieldType *ast.Type, depth int) string {
	definition := w.schema.Types[fieldType.Name()]
	if definition.IsLeafType() {
		return ""
	}
	if definition.IsAbstractType() {
		var parts []string
		for _, possible := range w.schema.GetPossibleTypes(definition) {
			parts = append(parts, "... on "+possible.Name+w.selection(ast.NamedType(possible.Name, nil), depth-1))
		}
		return " { __typename " + strings.Join(parts, " ") + " }"
	}
	fields := []string{"__typename"}
	for _, f := range definition.Fields {
		leaf := w.schema.Types[f.Type.Name()].IsLeafType()
		if cost := f.Directives.ForName("cost"); cost != nil && cost.Arguments.ForName("weight") != nil &&
			len(cost.Arguments.ForName("weight").Value.Raw) > 4 {
			continue // a page of this field costs at least 10,000 per row and is refused
		}
		if strings.HasPrefix(f.Name, "__") || !leaf && depth <= 1 ||
			slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool {
				return a.Type.NonNull && a.DefaultValue == nil
			}) {
			continue
		}
		// A field of the same name may differ in type between two possible types.
		fields = append(fields, definition.Name+"_"+f.Name+": "+f.Name+w.selection(f.Type, depth-1))
	}
	return " { " + strings.Join(fields, " ") + " }"
}
