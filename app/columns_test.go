package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
)

// Reads select only the columns that a query needs. Every field must therefore have the same value whether it is
// selected alone or with all others, on every path to its type.
func TestEachFieldAloneEqualsTheWholeObject(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.QueryCost, settings.ResponseWork = 0, 0 // the demo is small, and lists within lists are read in full
	settings.QueryTokens *= 2
	settings.ResponseBytes *= 8

	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	resolved := &gatewayUnderTest{url: servePlanned(t, store, settings, false), store: store}
	key, _ := g.demo(t)
	shortenPrompts(t, address)
	g.addDocumentOfDemo(t, key)
	g.must(t, key, `mutation { createAgent(input: {name: "New", channel: Web, direction: Inbound, language: "en",
		prompt: "Help."}) { agent { id } } }`, nil, nil)
	g.must(t, key, `mutation ($agent: ID!, $baseline: ID!) {
		createAgentTestSchedule(input: {name: "Nightly", agentId: $agent, cron: "0 3 * * *",
			baselineId: $baseline}) { schedule { id } }
	}`, map[string]any{"agent": g.firstID(t, key, `{ list: agents { nodes { id } }
		}`), "baseline": g.firstID(t, key, `{ list: agentTestExecutions { nodes { id } } }`)}, nil)
	g.must(t, key, `mutation { createWebhook(input: {url: "https://example.com",
		events: [BudgetWarned]}) { webhook { id } } }`, nil, nil)
	g.must(t, key, `mutation { createMcpServer(input: {name: "Shop", endpoint: {url: "https://mcp.invalid"}}) {
		mcpServer { id } } }`, nil, nil)
	var hooks struct{ Webhooks []struct{ ID string } }
	g.must(t, key, `{ webhooks { id } }`, nil, &hooks)
	g.must(t, key, `mutation ($hook: ID!) { sendTestWebhook(input: {webhookId: $hook}) { delivery { id } } }`,
		map[string]any{"hook": hooks.Webhooks[0].ID}, nil)
	g.must(t, key, `mutation ($newest: ID!) { startSimulationChat(input: {agentId: $newest}) { simulationChat { id } } }`,
		map[string]any{"newest": g.firstID(t, key, `{ list: agents { nodes { id } } }`)}, nil)
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	ways := waysToTypes(g.firstID(t, key, `{ list: agentTestExecutions { nodes { id } } }`))
	for _, definition := range schema.PossibleTypes["Node"] {
		if definition.Kind == ast.Object && definition.Name != "Company" { // companies are always read whole
			require.NotEmpty(t, ways[definition.Name], "add a query for %s to waysToTypes", definition.Name)
		}
	}
	asked := []*gatewayUnderTest{g, resolved}
	if raceDetector {
		asked = asked[:1] // resolvers then answer only the selection of all fields
	}
	for typeName, queries := range ways {
		t.Run(typeName, func(t *testing.T) {
			selections, all := selectionsOf(schema, typeName)
			for _, query := range queries {
				var among any
				g.must(t, key, fmt.Sprintf(query, all), nil, &among)
				var amongResolved any
				resolved.must(t, key, fmt.Sprintf(query, all), nil, &amongResolved)
				require.Equal(t, asJSON(t, amongResolved), asJSON(t, among), query)
				for name, selection := range selections {
					want := asJSON(t, only(name, among))
					require.Contains(t, want, `"`+name+`"`, "%s leads to no %s", query, typeName)
					for _, way := range asked {
						var alone any
						way.must(t, key, fmt.Sprintf(query, selection), nil, &alone)
						require.Equal(t, want, asJSON(t, alone), "%s.%s: %s", typeName, name, query)
					}
				}
			}
		})
	}
}

// selectionsOf returns one selection per field of a type, by name, and a selection of all fields, whose aliases begin
// with amongAll.
func selectionsOf(schema *ast.Schema, typeName string) (selections map[string]string, all string) {
	w := walker{schema: schema}
	selections = map[string]string{}
	for _, field := range schema.Types[typeName].Fields {
		if field.Name == "retrieve" { // retrieve requires an argument
			continue
		}
		selections[field.Name] = field.Name + w.selection(field.Type, 2)
		all += amongAll + field.Name + ": " + selections[field.Name] + " "
	}
	return selections, all
}

const amongAll = "all_"

// only returns a response without the fields whose aliases begin with amongAll. It keeps the named one, without its
// alias.
func only(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range v {
			switch among, isAmong := strings.CutPrefix(key, amongAll); {
			case !isAmong:
				kept[key] = only(name, inner)
			case among == name:
				kept[name] = inner
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, inner := range v {
			kept[i] = only(name, inner)
		}
		return kept
	}
	return value
}

// waysToTypes returns the queries that lead to each type. The query that compares executions compares the given one
// with itself.
func waysToTypes(execution string) map[string][]string {
	usage := fmt.Sprintf(`{ consumptionBreakdown(from: "%s", to: "%s") { `, time.Now().AddDate(0, -6, 0).
		Format(time.DateOnly), time.Now().Format(time.DateOnly)) + `%s } }`
	test := func(kind string, first int) []string { // first is the number of tests in each list, which may be long
		fields := "... on " + kind + " { %s }"
		page := fmt.Sprintf("(first: %d)", first)
		return []string{
			`{ agentTests` + page + ` { nodes { ` + fields + ` } } }`,
			`{ agents { nodes { tests` + page + ` { edges { node { ` + fields + ` } } } } } }`,
			`{ agentTestFolders { nodes { tests` + page + ` { nodes { ` + fields + ` } } } } }`,
			`{ agentTestRuns` + page + ` { nodes { test { ` + fields + ` } } } }`,
			`{ compareAgentTestExecutions(baseId: "` + execution + `", headId: "` + execution + `") { tests { test { ` + fields +
				` } } } }`,
		}
	}
	return map[string][]string{
		"Agent": {
			`{ agents { nodes { %s } } }`, `{ agents { edges { node { ... on Agent { %s } } } } }`,
			`{ agents { nodes { subAgents { agent { %s } } } } }`,
			`{ tools(first: 20) { nodes { agents(first: 20) { nodes { %s } } } } }`,
			`{ agentTests { nodes { agent { %s } } } }`, `{ agentTestFolders { nodes { agent { %s } } } }`,
			`{ agentTestExecutions { nodes { agent { %s } } } }`, `{ campaigns { nodes { agent { %s } } } }`,
			`{ simulationChats { nodes { agent { %s } } } }`, fmt.Sprintf(usage, `byAgent { agent { %s } }`),
		},
		"Tool":              {`{ tools { nodes { %s } } }`, `{ agents { nodes { tools { ... on Node { id } %s } } } }`},
		"SubAgent":          {`{ agents { nodes { subAgents { %s } } } }`},
		"PromptVersion":     {`{ agents { nodes { promptVersions { ... on PromptVersionConnection { nodes { %s } } } } } }`},
		"KnowledgeBaseChat": {`{ knowledgeBaseChats { nodes { %s } } }`, `{ agents { nodes { knowledgeBaseChat { %s } } } }`},
		"Dataset":           {`{ datasets { nodes { %s } } }`, `{ knowledgeBaseChats { nodes { datasets { %s } } } }`},
		"Document": {
			`{ documents { nodes { %s } } }`, `{ datasets(first: 20) { nodes { documents { nodes { %s } } } } }`,
			`{ documents(first: 20) { nodes { chunks(first: 20) { nodes { document { %s } } } } } }`,
		},
		"Chunk": {`{ documents { nodes { chunks { nodes { %s } } } } }`},
		"SimulationChat": {`{ simulationChats { nodes { %s } } }`,
			`{ agents { nodes { simulationChats { nodes { %s } } } } }`},
		"SimulationTest":     test("SimulationTest", 3),
		"ClassificationTest": test("ClassificationTest", 50),
		"AgentTestFolder": {
			`{ agentTestFolders { nodes { %s } } }`, `{ agents { nodes { testFolders { %s } } } }`,
			`{ agentTests { nodes { folder { %s } } } }`,
		},
		"AgentTestExecution": {
			`{ agentTestExecutions(first: 10) { nodes { %s } } }`, `{ agents { nodes { testExecutions(first: 2) { edges { node { %s } } } } } }`,
			`{ agentTestRuns(first: 5) { nodes { execution { %s } } } }`, `{ agentTestExecution(id: "` + execution + `") { %s } }`,
		},
		"AgentTestRun": {
			`{ agentTestRuns(first: 20) { nodes { %s } } }`, `{ agentTestExecutions(first: 10) { nodes { runs(first: 2) { nodes { %s } } } } }`,
			`{ agentTests(first: 20) { nodes { lastRun { %s } } } }`,
			`{ agentTests(first: 20) { nodes { runs(first: 2) { edges { node { %s } } } } } }`,
		},
		"Campaign": {
			`{ campaigns { nodes { %s } } }`, `{ agents { nodes { campaigns { nodes { %s } } } } }`,
			`{ campaigns { nodes { items(first: 5) { nodes { campaign { %s } } } } } }`,
			fmt.Sprintf(usage, `byAgent { campaigns { campaign { %s } } }`),
		},
		"CampaignItem":         {`{ campaigns { nodes { items(first: 20) { nodes { %s } } } } }`},
		"AgentTestSchedule":    {`{ agentTestSchedules { nodes { %s } } }`},
		"McpServer":            {`{ mcpServers { %s } }`},
		"Webhook":              {`{ webhooks { %s } }`},
		"WebhookDelivery":      {`{ webhooks { deliveries { nodes { %s } } } }`},
		"ConsumptionBreakdown": {usage},
		"AgentConsumption":     {fmt.Sprintf(usage, `byAgent { %s }`)},
		"CampaignConsumption":  {fmt.Sprintf(usage, `byAgent { campaigns { %s } }`)},
	}
}

// shortenPrompts cuts the prompts of the demo to 200 characters. With their examples they have up to 50,000, and every
// run that is read has one.
func shortenPrompts(t testing.TB, address string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, statement := range []string{
		`UPDATE agents SET prompt = left(prompt, 200)`,
		`UPDATE prompt_versions SET prompt = left(prompt, 200)`,
		`UPDATE agent_test_snapshots SET definition = jsonb_set(definition::jsonb, '{prompt}',
			to_jsonb(left(definition->>'prompt', 200)))::json WHERE agent_id IS NULL`,
	} {
		_, err = conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

// firstID returns the id of the first node of a list.
func (g *gatewayUnderTest) firstID(t *testing.T, key, query string) string {
	t.Helper()
	var read struct {
		List struct{ Nodes []struct{ ID string } }
	}
	g.must(t, key, query, nil, &read)
	require.NotEmpty(t, read.List.Nodes)
	return read.List.Nodes[0].ID
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
