package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// hostileFixture is a company that has stored as much as the limits allow: rows of maximum size, and more than a page
// of them.
type hostileFixture struct {
	key, agent, campaign, execution, knowledge, chat, test string
}

// newHostileFixture writes rows directly to the database where the API would take too long.
func newHostileFixture(t testing.TB, store *db.Store, address string, items, large, tests int) hostileFixture {
	t.Helper()
	ctx := t.Context()
	company, err := store.CreateCompany(ctx, "Hostile")
	require.NoError(t, err)
	tenant := store.Tenant(company.ID)
	_, key, err := tenant.CreateAPIKey(ctx, model.CreateAPIKeyInput{Name: "hostile",
		Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}})
	require.NoError(t, err)
	e := hostileFixture{key: key, agent: manyAgents(t, tenant, 20)}
	campaign, _ := runningCampaign(t, tenant, 25)
	testIDs := dbtest.Tests(t, tenant, tests, 1)
	e.campaign, e.test, e.execution = campaign.ID, testIDs[0], dbtest.Execute(t, tenant, testIDs, 1, 1).ID
	chats := dbtest.Chats(t, tenant, e.agent, 25)
	e.chat = chats[0]
	page, err := tenant.KnowledgeBaseChats(ctx, model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	e.knowledge = page.Nodes[0].ID
	passages(t, tenant, 20*tests)

	conn, err := pgx.Connect(ctx, address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(ctx)) }()
	text := fmt.Sprintf("repeat('a', %d)", large)
	for _, statement := range []string{
		fmt.Sprintf(`INSERT INTO campaign_items SELECT (json_populate_record(one, json_build_object('id',
			'item_' || lpad(n::text, 26, '0'),
			'version', 1000 + n, 'created_at', created_at - n * interval '1 second'))).* FROM campaign_items AS one,
				generate_series(1, %d) AS n
			WHERE id = (SELECT min(id) FROM campaign_items)`, items),
		`UPDATE campaign_items SET data_bag = ('{"firstName": "' || ` + text +
			` || '"}')::json WHERE id NOT LIKE 'item\_00000%'`,
		`UPDATE simulation_chats SET data_bag = ('{"firstName": "' || ` + text + ` || '"}')::json`,
		`UPDATE agent_tests SET conversation_messages = ('[{"role": "user", "text": "' || ` + text +
			` || '"}]')::json WHERE id IN (SELECT id FROM agent_tests ORDER BY created_at DESC LIMIT 25)`,
		`UPDATE agent_test_runs SET messages = ('[{"role": "user", "text": "' || ` + text +
			` || '"}]')::json WHERE id IN (SELECT id FROM agent_test_runs ORDER BY created_at DESC, id DESC LIMIT 25)`,
		`UPDATE agents SET prompt = repeat('𝄞', ` + fmt.Sprint(large/20) + `)`,
		`UPDATE prompt_versions SET prompt = repeat('𝄞', ` + fmt.Sprint(large/20) + `)`,
		`INSERT INTO prompt_versions (company_id, id, agent_id, version, prompt, created_at)
			SELECT company_id, 'promptversion_' || lpad(n::text, 26, '0'), agent_id, version + n, prompt,
				created_at + n * interval '1 second'
			FROM prompt_versions, generate_series(1, 100) AS n WHERE agent_id = '` + e.agent + `'`,
		`ANALYZE`,
	} {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err, statement)
	}
	return e
}

// passages adds a document to one of the datasets, and labeled questions that it answers. The document has the given
// number of passages, each with words of the question.
func passages(t testing.TB, tenant *db.Tenant, count int) {
	t.Helper()
	ctx := t.Context()
	datasets, err := tenant.Datasets(ctx, model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	id := datasets.Nodes[0].ID
	document, err := model.NewDocument(model.AddDocumentInput{DatasetID: id, Name: new("Hours"), Text: new("Hours")},
		time.Now())
	require.NoError(t, err)
	document.ContentType = "text/plain"
	require.NoError(t, tenant.AddDocument(ctx, document, strings.NewReader("Hours")))
	claimed, err := tenant.ClaimDocument(ctx, document.IndexingID, 1)
	require.NoError(t, err)
	words := strings.Fields(strings.ToLower(strings.NewReplacer(",", "", "?", "").Replace(question)))
	chunks := make([]*model.Chunk, count)
	for i := range chunks {
		held := append([]string{fmt.Sprintf("w%d", i)}, words[i%len(words)], words[i/2%len(words)], words[i/3%len(words)])
		chunks[i] = &model.Chunk{Content: strings.Repeat(strings.Join(held, " ")+" ", 40), Tokens: 400}
		for _, word := range model.Unique(held) {
			chunks[i].Words = append(chunks[i].Words, model.Word{Folded: word})
		}
	}
	require.NoError(t, tenant.FinishDocument(ctx, claimed, chunks))
	asked := make([]*model.LabelledQuestionInput, 30)
	for i := range asked {
		asked[i] = &model.LabelledQuestionInput{Question: fmt.Sprintf("%d: %s", i, question), DocumentID: &document.ID}
	}
	_, err = tenant.AddLabelledQuestions(ctx, model.AddLabelledQuestionsInput{DatasetID: id, Questions: asked})
	require.NoError(t, err)
}

// shape is a request that a client with a hostile key can send.
type shape struct {
	name, query string
	variables   values
	// code is the code of the first error, or empty for none.
	code string
	// statements is the maximum number of statements. Values below 12 count as 12.
	statements int
}

// aliases selects a field n times. Each # in the field becomes the number of the alias.
func aliases(n int, field string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, " a%d: %s", i, strings.ReplaceAll(field, "#", fmt.Sprint(i)))
	}
	return "{" + all.String() + " }"
}

// withLists returns a query that selects other and the given number of lists of 100 items. Each item has the field 99
// times.
func withLists(other string, lists int, field string) string {
	return strings.Replace(aliases(lists, `campaignItems(campaignId: "CAMPAIGN", first: 100) { nodes { ...Many } }`), "{",
		"{ "+other, 1) +
		" fragment Many on CampaignItem " + aliases(99, field)
}

func (e hostileFixture) shapes() []shape {
	ids := strings.NewReplacer("AGENT", e.agent, "CAMPAIGN", e.campaign, "EXECUTION", e.execution, "KNOWLEDGE",
		e.knowledge, "CHAT", e.chat, "TEST", e.test)
	all := []shape{
		{name: "data bags", query: aliases(20, `campaignItems(campaignId: "CAMPAIGN", first: 100) { nodes { dataBag } }`),
			code: "LIMIT_EXCEEDED"},
		{name: "data bags by resolvers", statements: 40,
			query: aliases(20, `campaignItems(campaignId: "CAMPAIGN", first: 100,
				filter: {phoneNumberPrefix: "+1202"}) { nodes { dataBag } }`), code: "LIMIT_EXCEEDED"},
		{name: "data bags within the limit", query: `{ campaignItems(campaignId: "CAMPAIGN", first: 6) { nodes { dataBag } } }`},
		{name: "data bags within the limit, by resolvers",
			query: `{ campaignItems(campaignId: "CAMPAIGN", first: 4, filter: {phoneNumberPrefix: "+1202"}) { nodes { dataBag } }
				}`},
		{name: "data bags beside a field that no plan answers",
			query: `{ c: campaignItems(campaignId: "CAMPAIGN", first: 100) { nodes { dataBag } } knowledgeBaseChat(id:
				"KNOWLEDGE") { retrieve(question: "?") { score } } }`, code: "LIMIT_EXCEEDED"},
		{name: "one data bag by aliases", statements: 40,
			query: aliases(20, `campaignItems(campaignId: "CAMPAIGN", first: 1, offset: #) { nodes { a: dataBag b: dataBag c:
				dataBag d: dataBag } }`), code: "LIMIT_EXCEEDED"},
		{name: "items of campaigns", query: aliases(20, `campaigns { nodes { items(first: 100) { nodes { dataBag } } } }`),
			code: "LIMIT_EXCEEDED"},
		{name: "prompts", query: aliases(20, `agents(first: 100) { nodes { prompt } }`), code: "LIMIT_EXCEEDED"},
		{name: "versions of prompts",
			query: aliases(20, `agent(id: "AGENT") { promptVersions(first: 100) { nodes { prompt } } }`),
			code:  "LIMIT_EXCEEDED"},
		{name: "starting messages",
			query: aliases(20, `agentTests(first: 100) { nodes { ... on SimulationTest { conversationMessages { text } } } }`),
			code:  "LIMIT_EXCEEDED"},
		{name: "messages of runs", query: aliases(20, `agentTestRuns(first: 100) { nodes { messages { text } } }`),
			code: "LIMIT_EXCEEDED"},
		{name: "instructions of runs", query: `{ agentTestRuns(first: 100) { nodes { instructions } } }`},
		{name: "instructions of chats", statements: 40,
			query: aliases(9, `simulationChats(first: 100) { nodes { instructions } }`), code: "LIMIT_EXCEEDED"},
		{name: "data bags of chats", query: aliases(20, `simulationChats(first: 100) { nodes { dataBag } }`),
			code: "LIMIT_EXCEEDED"},
		{name: "nodes", statements: 70,
			query: aliases(20, `nodes(ids: ["CHAT", "TEST", "AGENT"]) { ... on SimulationChat { dataBag } ... on SimulationTest { conversationMessages { text } } ... on Agent { prompt } }`), code: "LIMIT_EXCEEDED"},

		{name: "totals of one list", query: aliases(100, `campaignItems(campaignId: "CAMPAIGN") { totalCount }`)},
		{name: "totals by filters", statements: 300,
			query: aliases(100, `campaignItems(campaignId: "CAMPAIGN", filter: {phoneNumberPrefix: "+1202555#"}) { totalCount }`)},
		{name: "counts", query: aliases(100, `campaign(id: "CAMPAIGN") { counts { total pending } }`)},
		{name: "offsets", statements: 80,
			query: aliases(33, `campaignItems(campaignId: "CAMPAIGN", first: 1, offset: 99#) { nodes { id } }`)},
		{name: "offsets beyond the bound", statements: 110,
			query: aliases(33, `campaignItems(campaignId: "CAMPAIGN", first: 1, offset: 10001) { nodes { id } }`),
			code:  "BAD_INPUT"},
		{name: "too many offsets",
			query: aliases(34, `campaignItems(campaignId: "CAMPAIGN", first: 1, offset: 9999) { nodes { id } }`),
			code:  "LIMIT_EXCEEDED"},
		{name: "offsets in lists", query: `{ campaigns(first: 100) { nodes ` +
			aliases(100, `items(first: 1, offset: 10000) { nodes { id } }`) + ` } }`, code: "LIMIT_EXCEEDED"},
		{name: "retrieval", statements: 120, query: `{ knowledgeBaseChat(id: "KNOWLEDGE") ` +
			aliases(9, `retrieve(question: "# `+question+`") { score }`) + ` }`},
		{name: "an evaluation of retrieval", statements: 200,
			query: `{ evaluateRetrieval(knowledgeBaseChatId: "KNOWLEDGE") { questions { rank reason found { score } } } }`},
		{name: "too much retrieval", query: `{ knowledgeBaseChat(id: "KNOWLEDGE") ` +
			aliases(49, `retrieve(question: "#") { score }`) + ` }`, code: "LIMIT_EXCEEDED"},
		{name: "coverage", statements: 40, query: aliases(9, `agents(first: 100) { nodes { coverage { effect } } }`),
			code: "LIMIT_EXCEEDED"},
		{name: "obstacles", statements: 60,
			query: aliases(9, `agentTests(first: 100) { nodes { ... on SimulationTest { obstacles } } }`)},
		{name: "flaky tests", statements: 80, query: aliases(30, `agentTests(first: 100) { nodes { isFlaky } }`)},
		{name: "names by resolvers", statements: 60,
			query: aliases(10, `campaignItems(campaignId: "CAMPAIGN", first: 100, filter: {phoneNumberPrefix: "+1202"}) { nodes `+aliases(20, "id")+` }`)},
		{name: "flaky agent tests", statements: 60,
			query: `{ agents(first: 100) { nodes { tests(first: 100) { nodes { isFlaky failingSince { run { id } } history(first:
				10) { id } } } } } }`},
		{name: "histories", statements: 210,
			query: aliases(20, `agentTests(first: 100) { nodes { history(first: 10) { id } } }`)},
		{name: "tests of executions", statements: 100,
			query: aliases(10, `agentTestExecution(id: "EXECUTION") { tests { testName runs { id } } }`)},
		{name: "comparisons", statements: 30,
			query: aliases(9, `compareAgentTestExecutions(baseId: "EXECUTION", headId: "EXECUTION") { tests { conclusion decidingRepeats } }`)},
		{name: "consumption", statements: 300,
			query: aliases(90, `consumptionBreakdown(from: "2026-01-01", to: "2026-12-31") { byAgent { credits } }`)},
		{name: "audit events", statements: 110, query: aliases(100, `auditEvents(first: 100) { nodes { id action } }`)},
		// One missing object leaves the operation to the executor, which resolves fields one by one.
		{name: "too many values by resolvers", statements: 60, query: withLists(`missing: tool(id: "tool_0") { id }`, 40,
			"id"), code: "LIMIT_EXCEEDED"},
		{name: "names of types by resolvers", statements: 60, query: withLists(`missing: tool(id: "tool_0") { id }`, 40,
			"__typename"), code: "LIMIT_EXCEEDED"},
		{name: "values by a plan", query: withLists("", 10, "id")},
		{name: "names of types by a plan", query: withLists("", 10, "__typename")},
		{name: "one data bag by resolvers", query: "{ campaignItems(campaignId: \"CAMPAIGN\", first: 1, filter: " +
			"{phoneNumberPrefix: \"+1202\"}) { nodes " + aliases(90, "dataBag") + " } }", code: "LIMIT_EXCEEDED"},
		{name: "lists by resolvers", statements: 210,
			query: aliases(200, `agents(filter: {nameContains: "#"}) { nodes { id } }`)},
		{name: "missing objects", statements: 310, query: aliases(300, `node(id: "agent_#") { id }`)},
		{name: "nodes by a hundred ids", statements: 300,
			query: strings.Replace(aliases(20, `nodes(ids: $ids) { id ... on Agent { tags } }`), "{", "query ($ids: [ID!]!) {",
				1), variables: values{"ids": repeated(100, "AGENT")}},
		{name: "names", statements: 110,
			query: aliases(50, `agents(filter: {nameContains: "a#"}) { totalCount nodes { id } }`)},

		{name: "the schema", query: "{ " + wholeSchema + " } " + ofWholeSchema},
		{name: "the schema twice", query: "{ " + wholeSchema + " again: " + wholeSchema + " } " + ofWholeSchema,
			code: "LIMIT_EXCEEDED"},
		{name: "types of types", query: "{ __schema { types { fields { type { fields { type { fields { type { fields { " +
			"name } } } } } } } } } }", code: "GRAPHQL_VALIDATION_FAILED"},

		{name: "unknown directives", query: "{ company { id" + strings.Repeat(" @a", 1_900) + " } }",
			code: "GRAPHQL_VALIDATION_FAILED"},
		{name: "known directives", query: "{ company { id" + strings.Repeat(" @skip(if: false)", 500) + " } }",
			code: "GRAPHQL_VALIDATION_FAILED"},
		{name: "unknown fields", query: "{" + strings.Repeat(" nonsense", 100) + aliases(1_200, "nonsense")[1:],
			code: "GRAPHQL_VALIDATION_FAILED"},
		{name: "repeated fields", query: "{ company {" + strings.Repeat(" id", 3_900) + " } }", code: "LIMIT_EXCEEDED"},
		{name: "tokens", query: "{" + strings.Repeat(" {", 10_000), code: "LIMIT_EXCEEDED"},
		{name: "depth", query: strings.Repeat("{ company ", 30) + strings.Repeat("}", 30), code: "LIMIT_EXCEEDED"},
		{name: "fragments of fragments", query: fragments(60), code: "LIMIT_EXCEEDED"},
		{name: "a fragment of itself", query: "{ ...a } fragment a on Query { ...a }", code: "GRAPHQL_VALIDATION_FAILED"},
		{name: "everybody's sub-agents", query: "{ agents { nodes { " + strings.Repeat("subAgents { agent { ", 8) + "id" +
			strings.Repeat(" } }", 8) + " } } }", code: "LIMIT_EXCEEDED"},

		{name: "many mutations", query: "mutation " +
			aliases(50, `createTool(input: {name: "a", technicalName: "a#"}) { tool { id } }`), code: "LIMIT_EXCEEDED"},
		{name: "mutations", query: "mutation " +
			aliases(49, `createTool(input: {name: "", technicalName: "a#"}) { tool { id } }`), code: "BAD_INPUT"},
		{name: "a schema that unfolds", query: toolWith, variables: values{"schema": json.RawMessage(unfolding(60))},
			code: "BAD_INPUT"},
		{name: "a schema's pattern", query: toolWith,
			variables: values{"schema": json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"(?:` +
				strings.Repeat("x", 900) + `){1000}"}}}`)}, code: "BAD_INPUT"},
		{name: "expressions of mocks",
			query: `mutation ($rules: [MockRuleInput!]!) { startSimulationChat(input: {agentId: "AGENT",
				toolMocking: {mockedTools: [{toolId: "tool", rules: $rules}]}}) { simulationChat { id } } }`,
			variables: values{"rules": repeated(20,
				values{"when": repeated(20, values{"argument": "a", "matches": "(?:" + strings.Repeat("x", 900) + "){1000}"})})},
			code: "BAD_INPUT"},
		{name: "expressions of checks", query: withChecks,
			variables: values{"checks": repeated(50,
				values{"expect": values{"called": values{"technicalName": "a",
					"where": repeated(20, values{"argument": "a", "matches": "(?:" + strings.Repeat("x", 900) + "){1000}"})}}})},
			code: "BAD_INPUT"},
		{name: "schemas of checks", query: withChecks,
			variables: values{"checks": repeated(50,
				values{"expect": values{"resultJson": values{"schema": json.RawMessage(unfolding(60))}}})}, code: "BAD_INPUT"},
		{name: "faults of items", query: addItems,
			variables: values{"items": repeated(1_000, values{"phoneNumber": "nonsense", "dataBag": values{"x": 1}})},
			code:      "BAD_INPUT"},
		{name: "too many items", query: addItems, variables: values{"items": repeated(9_990, values{})}, code: "BAD_INPUT"},
		{name: "far too many items", query: addItems, variables: values{"items": repeated(340_000, values{})},
			code: "BAD_INPUT"},
		{name: "too many tags",
			query:     `mutation ($tags: [String!]!) { updateAgent(input: {agentId: "AGENT", tags: $tags}) { agent { id } } }`,
			variables: values{"tags": repeated(9_990, "a")}},
		{name: "deep JSON", query: addItems,
			variables: values{"items": []any{
				values{"dataBag": json.RawMessage(strings.Repeat(`{"a":`, 5_000) + "1" + strings.Repeat("}", 5_000))}}},
			code: "BAD_INPUT"},
		{name: "wide JSON", query: addItems, variables: values{"items": []any{values{"dataBag": wide(50_000)}}},
			code: "BAD_INPUT"},
		{name: "long texts", query: toolWith, variables: values{"schema": values{}, "name": strings.Repeat("𝄞", 250_000)},
			code: "BAD_INPUT"},
		{name: "unused variables", query: "query (" + variables(900) + ") { company { id } }",
			code: "GRAPHQL_VALIDATION_FAILED"},
	}
	for i := range all {
		all[i].query = ids.Replace(all[i].query)
	}
	return all
}

// light returns requests that cost slightly less than heavy ones, so they do not queue.
func (e hostileFixture) light() []shape {
	all := []shape{
		{name: "light values by resolvers", query: strings.Replace(withLists(`missing: tool(id: "tool_0") { id }`, 1, "id"),
			"first: 100", "first: 9", 1)},
		{name: "fewer lists by resolvers", query: aliases(49, `agents(filter: {nameContains: "#"}) { nodes { id } }`)},
		{name: "fewer missing objects", query: aliases(49, `node(id: "agent_#") { id }`)},
	}
	for i := range all {
		all[i].query = strings.ReplaceAll(all[i].query, "CAMPAIGN", e.campaign)
	}
	return all
}

// Each request of a hostile key takes a bounded number of statements and a bounded amount of memory. BenchmarkHostile
// measures time. This test does not run in parallel with others, because they would allocate memory too.
func TestHostileRequestsAreBounded(t *testing.T) { //nolint:paralleltest // see above
	counted := &statements{}
	address, options := dbtest.URL(t), dbtest.Options()
	options.Tracer = counted
	store := dbtest.Open(t, address, options)
	settings := gateway.DefaultSettings()
	settings.ResponseBytes = 4 << 20
	// A growing response may be reallocated. Rows and variables, of up to a megabyte, are copied on the way.
	most := uint64(12 * settings.ResponseBytes)
	if raceDetector {
		most *= 2 // because pools then drop a part of the buffers that are returned to them
	}
	e := newHostileFixture(t, store, address, 300, 120_000, 25)
	server := serveWith(t, store, settings)
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	for _, s := range e.shapes() {
		for by, send := range transports {
			if !s.isPossible(by) {
				continue
			}
			metrics.Read(allocated)
			before, sent := allocated[0].Value.Uint64(), counted.Load()
			o := send(t, server, s, e.key)
			metrics.Read(allocated)
			name := s.name + " by " + by
			assert.Equal(t, s.code, o.code, name)
			assert.LessOrEqual(t, counted.Load()-sent, int64(max(s.statements, 12)), name)
			assert.LessOrEqual(t, allocated[0].Value.Uint64()-before, most, name)
			assert.Less(t, o.bytes, int(settings.ResponseBytes), name)
		}
	}
	// v1 has page numbers and no cursors.
	o := exchanged(t, http.MethodGet, server+"/CampaignItem/"+e.campaign+"?pageNumber=2000&pageSize=100", nil, e.key,
		"application/json")
	require.Equal(t, http.StatusOK, o.status)
}
