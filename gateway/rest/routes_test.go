package rest

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
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
		`"isConversationEnded":true,"endReason":"<endReason>"}],"agent":` + agentBody + `}`
	connectionBody = `{"agentId":"<id>","chatId":"<knowledgeBaseChatId>","chatName":"<knowledgeBaseChatName>"}`
	chatBody       = `{"id":"<id>","name":"<name>","datasetIds":["<datasetIds>"],"datasetNames":["<datasetNames>"],"connectedAgentCount":7,` +
		`"llmSettings":{"temperature":0.50,"topP":0.50,"presencePenalty":0.50,"frequencyPenalty":0.50},` +
		`"promptSettings":{"similarityThreshold":0.50,"keywordsSimilarityWeight":0.50,"topN":7,"prompt":"<prompt>","opener":"<opener>",` +
		`"emptyResponse":"<emptyResponse>","rerankModel":"<rerankModel>","showQuote":true},` +
		`"createdAt":"<createdAt>","updatedAt":"<updatedAt>"}`
	datasetBody = `{"id":"<id>","name":"<name>","description":"<description>","chunkMethod":"<chunkMethod>",` +
		`"parserConfig":{"chunkTokenNum":7,"layoutRecognize":true,"delimiter":"<delimiter>","taskPageSize":7},"createdAt":"<createdAt>"}`
)

// TestRoutes calls every route of the table and compares what the operation was given and what the
// client got, to the byte.
func TestRoutes(t *testing.T) {
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
		{"PUT /Agent/agent_1/chat", `{"chatId":"kbchat_1"}`, values{"agentId": "agent_1", "chatId": "kbchat_1"}, 200, connectionBody},
		{"GET /Agent/agent_1/chat", "", values{"agentId": "agent_1"}, 200, connectionBody},
		{"DELETE /Agent/agent_1/chat", "", values{"agentId": "agent_1"}, 204, ""},
		{"POST /SimulationChat/start", `{"agentId":"agent_1","dataBag":{"firstName":"Ada"},"toolMocking":{"mockAllTools":true,` +
			`"mockedTools":[{"toolId":"tool_1","resultTemplate":null,"delaySeconds":2}]}}`,
			values{"agentId": "agent_1", "dataBag": json.RawMessage(`{"firstName":"Ada"}`), "toolMocking": values{"mockAllTools": true,
				"mockedTools": []any{values{"toolId": "tool_1", "delaySeconds": 2.0}}}},
			200, simulationChatBody},
		{"POST /SimulationChat/send-message", `{"simulationChatId":"sim_1","message":"Hello"}`,
			values{"simulationChatId": "sim_1", "message": "Hello"}, 200, simulationChatBody},
		{"GET /SimulationChat/sim_1", "", values{"simulationChatId": "sim_1"}, 200, simulationChatBody},
		{"GET /KnowledgeBaseChat", "", values{"first": int64(50), "offset": int64(0)}, 200,
			`{"data":[` + chatBody + `],"total":7,"pageNumber":1,"pageSize":50}`},
		{"PATCH /KnowledgeBaseChat/kbchat_1", `{"name":"Help","datasetIds":[],"llmSettings":{"topP":1},"promptSettings":{"topN":3,"showQuote":false}}`,
			values{"chatId": "kbchat_1", "name": "Help", "datasetIds": []any{}, "llmSettings": values{"topP": 1.0},
				"promptSettings": values{"topN": int64(3), "showQuote": false}}, 200, chatBody},
		{"GET /KnowledgeBaseChat/kbchat_1", "", values{"chatId": "kbchat_1"}, 200, chatBody},
		{"GET /Dataset/dataset_1", "", values{"datasetId": "dataset_1"}, 200, datasetBody},
		{"GET /Dataset?pageNumber=3&pageSize=20", "", values{"first": int64(20), "offset": int64(40)}, 200,
			`{"data":[` + datasetBody + `],"total":7,"pageNumber":3,"pageSize":20}`},
		{"POST /Dataset", `{"name":"Prices","parserConfig":{"delimiter":"\n"}}`,
			values{"name": "Prices", "parserConfig": values{"delimiter": "\n"}}, 200, datasetBody},
	}
	require.Len(t, tests, len(routes), "one case for each route")
	for _, test := range tests {
		t.Run(test.request, func(t *testing.T) {
			t.Parallel()
			b, server := newServer(t)
			method, path, _ := strings.Cut(test.request, " ")
			w := call(server, method, path, test.body)
			require.Equal(t, test.status, w.Code, w.Body.String())
			require.Equal(t, test.answer, w.Body.String())
			require.Empty(t, cmp.Diff(test.variables, b.variables))
			if test.status == 200 {
				require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
			}
		})
	}
}

func TestNullsOfTheResultAreKept(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.gives(`{"agent":{"agentId":"a","chatId":null,"chatName":null}}`)
	w := call(server, "GET", "/Agent/a/chat", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, `{"agentId":"a","chatId":null,"chatName":null}`, w.Body.String())
}

func TestLocation(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.gives(`{"createDataset":{"dataset":{"id":"a/b 1"}}}`)
	w := call(server, "POST", "/Dataset", `{"name":"n"}`)
	require.Equal(t, "/Dataset/a%2Fb%201", w.Header().Get("Location"))
}

// TestDrift checks that a table and operations that do not fit the schema are refused at the start.
func TestDrift(t *testing.T) {
	t.Parallel()
	get := route{method: "GET", path: "/Agent/{agentId}", operation: "Get", result: "agent"}
	const getText = `query Get($agentId: ID!) { agent(id: $agentId) { id } }`
	tests := map[string]struct {
		stored string
		route  route
		want   string
	}{
		"not GraphQL":           {`query Get(`, get, "Expected"},
		"no such operation":     {`query Other { company { id } }`, get, `no file holds the operation "Get"`},
		"no such fragment":      {`query Get($agentId: ID!) { agent(id: $agentId) { ...F } }`, get, `no file holds the fragment "F"`},
		"unused operation":      {getText + ` query Other { company { id } }`, get, `no route uses the operation "Other"`},
		"two operations":        {getText + getText, get, `two operations "Get"`},
		"two fragments":         {getText + ` fragment F on Agent { id } fragment F on Agent { id }`, get, `two fragments "F"`},
		"no such field":         {`query Get($agentId: ID!) { agent(id: $agentId) { nickname } }`, get, `Cannot query field "nickname"`},
		"wrong variable type":   {`query Get($agentId: Int!) { agent(id: $agentId) { id } }`, get, `Variable "$agentId" of type "Int!"`},
		"path without variable": {`query Get { agent(id: "a") { id } }`, get, "no variable agentId"},
		"variable without path": {`query Get($agentId: ID!, $first: Int!) { agent(id: $agentId) { simulationChats(first: $first) { totalCount } } }`,
			get, "nothing fills the variable first"},
		"no such result":  {`query Get($agentId: ID!) { node(id: $agentId) { id } }`, get, "result path"},
		"beside a result": {`query Get($agentId: ID!) { agent(id: $agentId) { id } company { id } }`, get, "result path"},
		"result is no object": {`mutation Put($agentId: ID!, $prompt: String!) {
			updateAgentPrompt(input: {agentId: $agentId, prompt: $prompt}) { agent { id } } }`,
			route{method: "PUT", path: "/Agent/{agentId}/prompt", operation: "Put", result: "updateAgentPrompt.agent.id"}, "is not an object"},
		"page without its shape": {`query Get($first: Int!, $offset: Int!) { datasets(first: $first, offset: $offset) { nodes { id } } }`,
			route{method: "GET", path: "/Dataset", operation: "Get", result: "datasets", paged: true}, "data and total"},
		"location without member": {getText, route{method: "GET", path: get.path, operation: "Get", result: "agent", location: "/Agent/{agentId}"},
			"no agentId for the location"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := readStored(fstest.MapFS{"operations/a.graphql": {Data: []byte(test.stored)}})
			if err == nil {
				_, err = newEndpoints(theSchema(t), all, []route{test.route})
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestUnreadableType(t *testing.T) {
	t.Parallel()
	all, err := readStored(fstest.MapFS{"operations/a.graphql": {Data: []byte(`mutation Create($name: String!, $expiresAt: DateTime) {
		createApiKey(input: {name: $name, scopes: [read], expiresAt: $expiresAt}) { apiKey { id } } }`)}})
	require.NoError(t, err)
	_, err = newEndpoints(theSchema(t), all, []route{{method: "POST", path: "/Key", operation: "Create", result: "createApiKey.apiKey"}})
	require.ErrorContains(t, err, "expiresAt is of type DateTime")
}

func TestOptionsAreRequired(t *testing.T) {
	t.Parallel()
	_, err := New(theSchema(t), Options{})
	require.Error(t, err)
}
