package rest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
)

const (
	agentBody = `{"agentId":"<id>","agentName":"<name>","channel":"Phone","direction":"Inbound","language":"<language>",` +
		`"tags":["<tags>"],"createdAt":"<createdAt>","prompt":"<prompt>","outboundWelcomeMessage":"<outboundWelcomeMessage>",` +
		`"inboundWelcomeMessage":"<inboundWelcomeMessage>","fields":[{"name":"<name>","isMandatory":true,"isSystem":true}],` +
		`"classificationTags":[{"name":"<name>","definition":"<definition>","isSystem":true}],` +
		`"extractedValues":[{"name":"<name>","definition":"<definition>","type":"Text"}],"isCallTransferEnabled":true,` +
		`"tools":[{"id":"<id>","name":"<name>","technicalName":"<technicalName>"}],` +
		`"subAgents":[{"id":"<id>","name":"<name>","technicalName":"<technicalName>","description":"<description>"}],` +
		`"knowledgeBaseChatId":"<knowledgeBaseChatId>"}`
	simulationChatBody = `{"simulationChatId":"<id>","messages":[{"role":"assistant","text":"<text>","timestamp":"<timestamp>",` +
		`"isConversationEnded":true,"endReason":"<endReason>"}],"status":"Open","endedAt":"<endedAt>","extracted":"<extracted>","extractionError":"<extractionError>","agent":` + agentBody + `}`
	connectionBody = `{"agentId":"<id>","chatId":"<knowledgeBaseChatId>","chatName":"<knowledgeBaseChatName>"}`
	chatBody       = `{"id":"<id>","name":"<name>","datasetIds":["<datasetIds>"],"datasetNames":["<datasetNames>"],"connectedAgentCount":7,` +
		`"llmSettings":{"temperature":0.50,"topP":0.50,"presencePenalty":0.50,"frequencyPenalty":0.50},` +
		`"promptSettings":{"similarityThreshold":0.50,"keywordsSimilarityWeight":0.50,"topN":7,"prompt":"<prompt>","opener":"<opener>",` +
		`"emptyResponse":"<emptyResponse>","rerankModel":"<rerankModel>","showQuote":true},` +
		`"createdAt":"<createdAt>","updatedAt":"<updatedAt>"}`
	datasetBody = `{"id":"<id>","name":"<name>","description":"<description>","chunkMethod":"<chunkMethod>",` +
		`"parserConfig":{"chunkTokenNum":7,"layoutRecognize":true,"delimiter":"<delimiter>","taskPageSize":7},"createdAt":"<createdAt>"}`
	documentBody = `{"id":"<id>","datasetId":"<datasetId>","name":"<name>","contentType":"<contentType>","size":7,"status":"Pending",` +
		`"error":"<error>","warning":"<warning>","chunkCount":7,"createdAt":"<createdAt>","indexedAt":"<indexedAt>"}`
	testBody = `"id":"<id>","kind":"Simulation","agentId":"<agentId>","folderId":"<folderId>","name":"<name>","lastRunId":"<lastRunId>",` +
		`"lastRunStatus":"Queued","lastRunAt":"<lastRunAt>","createdAt":"<createdAt>","updatedAt":"<updatedAt>"`
	testMessages = `[{"role":"assistant","text":"<text>","timestamp":"<timestamp>"}]`
	checkBody    = `{"description":"<description>","expect":{"called":{"technicalName":"<technicalName>","kind":"Tool",` +
		`"where":[{"argument":"<argument>","equals":"<equals>","matches":"<matches>","present":true}],"succeeded":true,"min":7,"max":7,"before":"<before>"},` +
		`"neverCalled":{"technicalName":"<technicalName>","kind":"Tool",` +
		`"where":[{"argument":"<argument>","equals":"<equals>","matches":"<matches>","present":true}]},` +
		`"says":{"text":"<text>","matches":"<matches>","role":"assistant","turn":7},` +
		`"neverSays":{"text":"<text>","matches":"<matches>","role":"assistant","turn":7},"endedBy":"Agent","tag":"<tag>","turnsAtMost":7,` +
		`"durationAtMost":0.50,"firstTokenAtMost":0.50,"creditsAtMost":0.50,"resultJson":{"technicalName":"<technicalName>","schema":"<schema>"},"extracts":{"name":"<name>","equals":"<equals>","matches":"<matches>"}},"weight":7}`
	evidenceBody       = `"evidence":[{"messageIndex":7,"quote":"<quote>","toolCallId":"<toolCallId>","speaker":"assistant","kind":"Said"}]`
	simulationTestBody = `{` + testBody +
		`,"scenario":"<scenario>","criteria":["<criteria>"],"criteriaWeights":[7],"checks":[` + checkBody +
		`],"passAt":0.50,"judgeSees":["Prompt"],"persona":{"mood":"Friendly","patience":7,"language":"<language>","knowledge":"<knowledge>"},` +
		`"contactSays":["<contactSays>"],"maxTurns":7,"conversationMessages":` + testMessages +
		`,"variables":"<variables>","toolMocking":{"mockedTools":[{"toolId":"<toolId>","resultTemplate":"<resultTemplate>","delaySeconds":0.50}],` +
		`"mockAllTools":true,"mockedSubAgents":[{"subAgentId":"<subAgentId>","resultTemplate":"<resultTemplate>","delaySeconds":0.50}],` +
		`"mockAllSubAgents":true,"mockCallTransfer":true}}`
	classificationTestBody = `{` + testBody + `,"conversationContext":{"messages":` + testMessages +
		`,"dataBag":"<dataBag>"},"tagExpected":"<tagExpected>"}`
	warned     = `,"warnings":["<obstacles>"]}`
	folderBody = `{"id":"<id>","agentId":"<agentId>","name":"<name>","color":"<color>","body":"<body>",` +
		`"createdAt":"<createdAt>","updatedAt":"<updatedAt>"}`
	executionBody = `{"id":"<id>","agentId":"<agentId>","status":"Queued","verdict":"Passed","isDraft":true,"repeats":7,"counts":{"total":7,"queued":7,"running":7,"passed":7,` +
		`"failed":7,"error":7,"cancelled":7,"skipped":7},"passRate":0.50,"passHatK":[0.50],"retryOfId":"<retryOfId>","leftOutTests":[{"testId":"<testId>","testName":"<testName>"}],"createdAt":"<createdAt>",` +
		`"startedAt":"<startedAt>","finishedAt":"<finishedAt>"}`
	runBody = `{"id":"<id>","testId":"<testId>","testName":"<testName>","executionId":"<executionId>","attempt":7,"isDraft":true,"status":"Queued",` +
		`"messages":` + testMessages +
		`,"toolCalls":[{"id":"<id>","kind":"Tool","targetId":"<targetId>","technicalName":"<technicalName>",` +
		`"arguments":"<arguments>","result":"<result>","mocked":true,"messageSequence":7,"durationMs":7,"error":"<error>"}],` +
		`"turnCount":7,"endReason":"<endReason>","extracted":"<extracted>","extractionError":"<extractionError>","checkResults":[{"check":` + checkBody + `,"expected":"<expected>","passed":true,"observed":"<observed>",` + evidenceBody +
		`}],"score":0.50,"criteriaResults":[{"criterion":"<criterion>","expected":"<expected>","weight":7,"passed":true,"applies":true,"rationale":"<rationale>",` +
		evidenceBody + `}],"classificationResult":{"tagExpected":"<tagExpected>",` +
		`"tagProduced":"<tagProduced>","passed":true,"rationale":"<rationale>"},"error":{"cause":"Agent","message":"<message>"},` +
		`"promptVersion":7,"durationMs":7,"createdAt":"<createdAt>","startedAt":"<startedAt>","finishedAt":"<finishedAt>"}`
	breakdownBody = `{"periodFrom":"<periodFrom>","periodTo":"<periodTo>","totalCredits":"<totalCredits>",` +
		`"byChannel":[{"channel":"Phone","credits":"<credits>"}],"byMonth":[{"month":"<month>","credits":"<credits>"}],` +
		`"byAgent":[{"agentId":"<agentId>","nameStatus":"Resolved","credits":"<credits>",` +
		`"campaigns":[{"campaignId":"<campaignId>","nameStatus":"Resolved","credits":"<credits>"}]}]}`
	subscriptionBody = `{"planName":"<planName>","status":"Active","creditsIncluded":"<creditsIncluded>","creditsUsed":"<creditsUsed>",` +
		`"creditsRemaining":"<creditsRemaining>","budget":"<budget>","periodStart":"<periodStart>","periodEnd":"<periodEnd>"}`
	itemBody = `{"id":"<id>","campaignId":"<campaignId>","createdAt":"<createdAt>","processedAt":"<processedAt>","lastCallDate":"<lastCallDate>",` +
		`"nextTryDate":"<nextTryDate>","runningStatus":"Pending","attemptCount":7,"phoneNumber":"<phoneNumber>","dataBag":"<dataBag>",` +
		`"result":{"tag":{"id":"<id>","name":"<name>","color":"<color>"},"conversation":{"id":"<id>","messages":[{"timestamp":"<timestamp>",` +
		`"role":"assistant","text":"<text>","intent":"<intent>"}]},"summary":"<summary>","isSystem":true,"metadata":"<metadata>"},` +
		`"isArchived":true,"eventList":[{"type":"LaunchCall","date":"<date>","description":"<description>"}]}`
	fieldBody = `{"name":"<name>","description":"<description>","isMandatory":true,"isSystem":true}`
)

// TestEveryRouteRunsItsOperation calls every route of the table. It compares the operation's variables and the bytes of
// the response.
func TestEveryRouteRunsItsOperation(t *testing.T) {
	t.Parallel()
	type values = map[string]any
	tests := []struct {
		request, body string
		variables     values
		status        int
		answer        string
	}{
		{"GET /Agent/agent_1", "", values{"agentId": "agent_1"}, 200, agentBody},
		{"PUT /Agent/agent_1/prompt", `{"prompt":"Hi"}`, values{"agentId": "agent_1", "prompt": "Hi"}, 200,
			`{"agentId":"<id>","agentName":"<name>","prompt":"<prompt>"}`},
		{"PUT /Agent/agent_1/chat", `{"chatId":"kbchat_1"}`, values{"agentId": "agent_1", "chatId": "kbchat_1"}, 200,
			connectionBody},
		{"GET /Agent/agent_1/chat", "", values{"agentId": "agent_1"}, 200, connectionBody},
		{"DELETE /Agent/agent_1/chat", "", values{"agentId": "agent_1"}, 204, ""},
		{"POST /SimulationChat/start",
			`{"agentId":"agent_1","dataBag":{"firstName":"Ada"},"toolMocking":{"mockAllTools":true,` +
				`"mockedTools":[{"toolId":"tool_1","resultTemplate":null,"delaySeconds":2}]}}`,
			values{"agentId": "agent_1", "dataBag": json.RawMessage(`{"firstName":"Ada"}`),
				"toolMocking": values{"mockAllTools": true,
					"mockedTools": []any{values{"toolId": "tool_1", "delaySeconds": 2.0}}}},
			200, simulationChatBody},
		{"POST /SimulationChat/send-message", `{"simulationChatId":"sim_1","message":"Hello"}`,
			values{"simulationChatId": "sim_1", "message": "Hello"}, 200, simulationChatBody},
		{"GET /SimulationChat/sim_1", "", values{"simulationChatId": "sim_1"}, 200, simulationChatBody},
		{"GET /KnowledgeBaseChat", "", values{"first": int64(50), "offset": int64(0)}, 200,
			`{"data":[` + chatBody + `],"total":7,"pageNumber":1,"pageSize":50}`},
		{"PATCH /KnowledgeBaseChat/kbchat_1",
			`{"name":"Help","datasetIds":[],"llmSettings":{"topP":1},"promptSettings":{"topN":3,"showQuote":false}}`,
			values{"chatId": "kbchat_1", "name": "Help", "datasetIds": []any{}, "llmSettings": values{"topP": 1.0},
				"promptSettings": values{"topN": int64(3), "showQuote": false}}, 200, chatBody},
		{"GET /KnowledgeBaseChat/kbchat_1", "", values{"chatId": "kbchat_1"}, 200, chatBody},
		{"GET /Dataset/dataset_1", "", values{"datasetId": "dataset_1"}, 200, datasetBody},
		{"GET /Dataset?pageNumber=3&pageSize=20", "", values{"first": int64(20), "offset": int64(40)}, 200,
			`{"data":[` + datasetBody + `],"total":7,"pageNumber":3,"pageSize":20}`},
		{"POST /Dataset", `{"name":"Prices","parserConfig":{"delimiter":"\n"}}`,
			values{"name": "Prices", "parserConfig": values{"delimiter": "\n"}}, 200, datasetBody},
		{"PATCH /Dataset/dataset_1", `{"chunkMethod":"qa","parserConfig":{"chunkTokenNum":64}}`,
			values{"datasetId": "dataset_1", "chunkMethod": "qa", "parserConfig": values{"chunkTokenNum": int64(64)}}, 200,
			datasetBody},
		{"DELETE /Dataset/dataset_1", "", values{"datasetId": "dataset_1"}, 204, ""},
		{"DELETE /KnowledgeBaseChat/kbchat_1", "", values{"chatId": "kbchat_1"}, 204, ""},
		{"POST /Dataset/dataset_1/document", `{"name":"Hours","text":"Open at nine.","file":"ignored"}`,
			values{"datasetId": "dataset_1", "name": "Hours", "text": "Open at nine."}, 200, documentBody},
		{"GET /Dataset/dataset_1/document?pageSize=5", "", values{"datasetId": "dataset_1", "first": int64(5),
			"offset": int64(0)}, 200,
			`{"data":[` + documentBody + `],"total":7,"pageNumber":1,"pageSize":5}`},
		{"GET /Dataset/dataset_1/document/document_1", "", values{"datasetId": "dataset_1", "documentId": "document_1"}, 200,
			documentBody},
		{"DELETE /Dataset/dataset_1/document/document_1", "", values{"datasetId": "dataset_1", "documentId": "document_1"},
			204, ""},
		{"POST /AgentTest/simulation",
			`{"agentId":"agent_1","name":"Angry","scenario":"Wants a refund","criteria":["Is polite"],` +
				`"conversationContext":[{"role":"user","text":"Hi","timestamp":"2026-03-01T09:30:00Z"}],"variables":{"firstName":"Ada"},` +
				`"toolMocking":{"mockAllTools":true},"folderId":"folder_1"}`,
			values{"agentId": "agent_1", "name": "Angry", "scenario": "Wants a refund", "criteria": []any{"Is polite"},
				"maxTurns": int64(10), "checks": []any(nil), "criteriaWeights": []any(nil), "judgeSees": []any(nil),
				"contactSays":         []any(nil),
				"conversationContext": []any{values{"role": "user", "text": "Hi", "timestamp": "2026-03-01T09:30:00Z"}},
				"variables":           json.RawMessage(`{"firstName":"Ada"}`), "toolMocking": values{"mockAllTools": true},
				"folderId": "folder_1"},
			200, strings.TrimSuffix(simulationTestBody, "}") + warned},
		{"POST /AgentTest/classification",
			`{"agentId":"agent_1","name":"Tag","conversationContext":{"messages":[{"role":"user","text":"Hi"}],` +
				`"dataBag":{"firstName":"Ada"}},"tagExpected":"greeting"}`,
			values{"agentId": "agent_1", "name": "Tag", "tagExpected": "greeting", "conversationContext": values{
				"messages": []any{values{"role": "user", "text": "Hi"}}, "dataBag": json.RawMessage(`{"firstName":"Ada"}`)}},
			200, strings.TrimSuffix(classificationTestBody, "}") + warned},
		{"PATCH /AgentTest/test_1", `{"criteria":["Is brief"],"maxTurns":3,"scenario":null}`,
			values{"testId": "test_1", "criteria": []any{"Is brief"}, "maxTurns": int64(3)}, 200, simulationTestBody},
		{"GET /AgentTest?agentId=agent_1&KIND=Classification&atRoot=true&pageNumber=2&pageSize=10", "",
			values{"agentId": "agent_1", "atRoot": true, "kind": "Classification", "first": int64(10), "offset": int64(10)}, 200,
			`{"data":[` + classificationTestBody + `],"total":7,"pageNumber":2,"pageSize":10}`},
		{"GET /AgentTest/test_1", "", values{"testId": "test_1"}, 200, simulationTestBody},
		{"DELETE /AgentTest/test_1", "", values{"testId": "test_1"}, 204, ""},
		{"POST /AgentTestFolder", `{"agentId":"agent_1","name":"Smoke"}`,
			values{"agentId": "agent_1", "name": "Smoke", "color": "#6B7280", "body": ""}, 200, folderBody},
		{"GET /AgentTestFolder?agentId=agent_1", "", values{"agentId": "agent_1", "first": int64(50), "offset": int64(0)},
			200,
			`{"data":[` + folderBody + `],"total":7,"pageNumber":1,"pageSize":50}`},
		{"GET /AgentTestFolder/folder_1", "", values{"folderId": "folder_1"}, 200, folderBody},
		{"PATCH /AgentTestFolder/folder_1", `{"color":"#000000"}`, values{"folderId": "folder_1", "color": "#000000"}, 200,
			folderBody},
		{"DELETE /AgentTestFolder/folder_1", "", values{"folderId": "folder_1"}, 204, ""},
		{"POST /AgentTestExecution", `{"testIds":["test_1"],"repeats":2,"virtualTime":true}`,
			values{"testIds": []any{"test_1"}, "repeats": int64(2), "concurrency": int64(5), "virtualTime": true}, 200,
			executionBody},
		{"GET /AgentTestExecution", "", values{"first": int64(50), "offset": int64(0)}, 200,
			`{"data":[` + executionBody + `],"total":7,"pageNumber":1,"pageSize":50}`},
		{"GET /AgentTestExecution/execution_1", "", values{"executionId": "execution_1"}, 200, executionBody},
		{"POST /AgentTestExecution/execution_1/cancel", "", values{"executionId": "execution_1"}, 202, executionBody},
		{"POST /AgentTestExecution/execution_1/retry", ``, values{"executionId": "execution_1", "only": "NotPassed"}, 202,
			executionBody},
		{"GET /AgentTestRun?executionId=execution_1", "", values{"executionId": "execution_1", "first": int64(50),
			"offset": int64(0)}, 200,
			`{"data":[` + runBody + `],"total":7,"pageNumber":1,"pageSize":50}`},
		{"GET /AgentTestRun/run_1", "", values{"runId": "run_1"}, 200, runBody},
		{"GET /Consumption/breakdown?from=2026-03-01&to=2026-03-31T09:30:00.5%2B02:00", "",
			values{"from": "2026-03-01", "to": "2026-03-31T09:30:00.5+02:00"}, 200, breakdownBody},
		{"GET /Subscription", "", values{}, 200, subscriptionBody},
		{"GET /CampaignItem/campaign_1?runningStatus=Calling&ISARCHIVED=false&pageSize=10", "", values{
			"campaignId": "campaign_1", "runningStatus": "Calling", "isArchived": false, "first": int64(10), "offset": int64(0)},
			200,
			`{"data":[` + itemBody + `],"total":7,"pageNumber":1,"pageSize":10}`},
		{"POST /CampaignItem/campaign_1", `{"items":[{"phoneNumber":"+12025550143","dataBag":{"b":"1","a":"2"}},{}]}`,
			values{"campaignId": "campaign_1", "items": []any{
				values{"phoneNumber": "+12025550143", "dataBag": json.RawMessage(`{"b":"1","a":"2"}`)}, values{}},
				"onDuplicate": "SKIP"},
			200, `{"items":[` + itemBody +
				`],"duplicates":[{"index":7,"phoneNumber":"<phoneNumber>","firstIndex":7,"itemId":"<itemId>"}]}`},
		{"GET /CampaignItem/campaign_1/item_1", "", values{"campaignId": "campaign_1", "itemId": "item_1"}, 200, itemBody},
		{"DELETE /CampaignItem/campaign_1/item_1", "", values{"campaignId": "campaign_1", "itemId": "item_1"}, 204, ""},
		{"POST /CampaignItem/campaign_1/item_1/reset", "", values{"campaignId": "campaign_1", "itemId": "item_1"}, 200,
			itemBody},
		{"GET /CampaignField?campaignId=campaign_1", "", values{"campaignId": "campaign_1"}, 200,
			`{"campaignId":"<id>","data":[` + fieldBody + `]}`},
		{"POST /CampaignField", `{"campaignId":"campaign_1","name":"offer"}`,
			values{"campaignId": "campaign_1", "name": "offer", "isMandatory": false}, 200, fieldBody},
	}
	require.Len(t, tests, len(routes), "one case for each route")
	for _, test := range tests {
		t.Run(test.request, func(t *testing.T) {
			t.Parallel()
			b, server := newServer(t)
			server.(*handler.Server).
				AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
					operation := graphql.GetOperationContext(ctx).Operation
					operation.SelectionSet = concrete(b.schema, nil, operation.SelectionSet)
					return next(ctx)
				})
			method, path, _ := strings.Cut(test.request, " ")
			w := call(server, method, path, test.body)
			require.Equal(t, test.status, w.Code, w.Body.String())
			require.Equal(t, test.answer, w.Body.String())
			require.Empty(t, cmp.Diff(test.variables, b.variables))
			if test.status != 204 {
				require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
			}
		})
	}
}

// concrete resolves fragments and interfaces, because the backend has no samples for them. A list holds classification
// tests, and a single test is a simulation test.
func concrete(schema *ast.Schema, object *ast.Definition, set ast.SelectionSet) ast.SelectionSet {
	var fields ast.SelectionSet
	add := func(condition string, inner ast.SelectionSet) {
		if object == nil || object.Name == condition || slices.Contains(object.Interfaces, condition) {
			fields = append(fields, concrete(schema, object, inner)...)
		}
	}
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.InlineFragment:
			add(s.TypeCondition, s.SelectionSet)
		case *ast.FragmentSpread:
			add(s.Definition.TypeCondition, s.Definition.SelectionSet)
		case *ast.Field:
			field, definition := *s, *s.Definition
			if definition.Type.Name() == "AgentTest" && definition.Type.Elem != nil {
				definition.Type = ast.ListType(ast.NamedType("ClassificationTest", nil), nil)
			} else if definition.Type.Name() == "AgentTest" {
				definition.Type = ast.NamedType("SimulationTest", nil)
			}
			field.Definition = &definition
			field.SelectionSet = concrete(schema, schema.Types[definition.Type.Name()], s.SelectionSet)
			fields = append(fields, &field)
		}
	}
	return fields
}

func TestNullResultsAreKept(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.gives(`{"agent":{"agentId":"a","chatId":null,"chatName":null}}`)
	w := call(server, "GET", "/Agent/a/chat", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, `{"agentId":"a","chatId":null,"chatName":null}`, w.Body.String())
}

func TestLocationEscapesTheID(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.gives(`{"createDataset":{"dataset":{"id":"a/b 1"}}}`)
	w := call(server, "POST", "/Dataset", `{"name":"n"}`)
	require.Equal(t, "/Dataset/a%2Fb%201", w.Header().Get("Location"))
}

// TestTableMustMatchTheSchema requires that New refuses tables and operations that do not match the schema.
func TestTableMustMatchTheSchema(t *testing.T) {
	t.Parallel()
	get := route{method: "GET", path: "/Agent/{agentId}", operation: "Get", result: "agent"}
	const getText = `query Get($agentId: ID!) { agent(id: $agentId) { id } }`
	tests := map[string]struct {
		stored string
		route  route
		want   string
	}{
		"not GraphQL":       {`query Get(`, get, "Expected"},
		"no such operation": {`query Other { company { id } }`, get, `no file holds the operation "Get"`},
		"no such fragment": {`query Get($agentId: ID!) { agent(id: $agentId) { ...F } }`, get,
			`no file holds the fragment "F"`},
		"unused operation": {getText + ` query Other { company { id } }`, get, `no route uses the operation "Other"`},
		"two operations":   {getText + getText, get, `two operations "Get"`},
		"two fragments": {getText + ` fragment F on Agent { id } fragment F on Agent { id }`, get,
			`two fragments "F"`},
		"no such field": {`query Get($agentId: ID!) { agent(id: $agentId) { nickname } }`, get,
			`Cannot query field "nickname"`},
		"wrong variable type": {`query Get($agentId: Int!) { agent(id: $agentId) { id } }`, get,
			`Variable "$agentId" of type "Int!"`},
		"path without variable": {`query Get { agent(id: "a") { id } }`, get, "no variable agentId"},
		"object in a query string": {`mutation Drop($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }`,
			route{method: "DELETE", path: "/Agent", operation: "Drop", result: "deleteAgent"}, "cannot be in a query string"},
		"no such result":             {`query Get($agentId: ID!) { node(id: $agentId) { id } }`, get, "result path"},
		"a field next to the result": {`query Get($agentId: ID!) { agent(id: $agentId) { id } company { id } }`, get, "result path"},
		"result is not an object": {`mutation Put($agentId: ID!, $prompt: String!) {
			updateAgentPrompt(input: {agentId: $agentId, prompt: $prompt}) { agent { id } } }`,
			route{method: "PUT", path: "/Agent/{agentId}/prompt", operation: "Put", result: "updateAgentPrompt.agent.id"},
			"is not an object"},
		"page without its shape": {
			`query Get($first: Int!, $offset: Int!) { datasets(first: $first, offset: $offset) { nodes { id } } }`,
			route{method: "GET", path: "/Dataset", operation: "Get", result: "datasets", paged: true}, "data and total"},
		"location without member": {getText, route{method: "GET", path: get.path, operation: "Get", result: "agent",
			location: "/Agent/{agentId}"},
			"no agentId for the location"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := stored.Read(fstest.MapFS{"operations/a.graphql": {Data: []byte(test.stored)}})
			if err == nil {
				_, err = newEndpoints(theSchema(t), all, []route{test.route})
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestUnreadableTypeIsRefused(t *testing.T) {
	t.Parallel()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: `
		scalar Odd
		input CreateInput { name: String! odd: Odd }
		type Thing { id: ID! }
		type Query { thing: Thing }
		type Mutation { create(input: CreateInput!): Thing }`})
	require.NoError(t, err)
	all, err := stored.Read(fstest.MapFS{"operations/a.graphql": {Data: []byte(
		`mutation Create($name: String!, $odd: Odd) { create(input: {name: $name, odd: $odd}) { id } }`)}})
	require.NoError(t, err)
	_, err = newEndpoints(schema, all, []route{{method: "POST", path: "/Thing", operation: "Create", result: "create"}})
	require.ErrorContains(t, err, "odd has type Odd")
}

func TestOptionsAreRequired(t *testing.T) {
	t.Parallel()
	_, err := New(theSchema(t), Options{})
	require.Error(t, err)
}
