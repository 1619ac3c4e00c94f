package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway/rest/openapi"
)

const examplesFile = "../gateway/rest/openapi/examples.json"

// TestRESTAnswersFitTheirExamples calls every operation and checks each answer against the document. It compares the
// first answer of each operation with the recorded example. AGENTGRAPH_RECORD=1 records the examples.
func TestRESTAnswersFitTheirExamples(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	callEveryOperation(t, s)
	s.requireBounds(t)
	s.tidyUp(t)

	recorded := map[string]restExample{}
	stable := newStability()
	for _, call := range s.calls {
		if _, found := recorded[call.Operation]; !found {
			recorded[call.Operation] = stable.example(t, call)
		}
	}
	for _, chapter := range openapi.Chapters(s.document) {
		for _, o := range chapter.Operations {
			require.Contains(t, recorded, o.OperationID, "no request calls it")
		}
	}
	if os.Getenv("AGENTGRAPH_RECORD") != "" {
		text, err := json.MarshalIndent(recorded, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(examplesFile, append(text, '\n'), 0o600))
	}
	text, err := os.ReadFile(examplesFile)
	require.NoError(t, err)
	var kept map[string]restExample
	require.NoError(t, json.Unmarshal(text, &kept))
	require.Len(t, kept, len(recorded))
	for operation, example := range recorded {
		require.Equal(t, example.compact(t), kept[operation].compact(t), "%s: AGENTGRAPH_RECORD=1 writes the examples anew",
			operation)
	}
}

type restExample struct {
	Parameters map[string]string `json:"parameters,omitempty"`
	Body       json.RawMessage   `json:"body,omitempty"`
	Answer     json.RawMessage   `json:"answer,omitempty"`
}

func (e restExample) compact(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(e)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, json.Compact(&out, text))
	return out.String()
}

// stability replaces values that differ between runs: ids by numbered ids, times of the test by a fixed time.
type stability struct {
	ids   map[string]string
	count map[string]int
	dates *strings.Replacer
}

var (
	anID     = regexp.MustCompile(`\b([a-z]+)_[0-9a-hjkmnp-tv-z]{26}\b`)
	aMoment  = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)
	duration = regexp.MustCompile(`"durationMs":\d+`)
	seconds  = regexp.MustCompile(`"observed":"[0-9.]+ s"`)
)

func newStability() *stability {
	today := time.Now().UTC()
	date := func(days int) string { return today.AddDate(0, 0, days).Format(time.DateOnly) }
	return &stability{
		ids: map[string]string{}, count: map[string]int{},
		dates: strings.NewReplacer(date(-1), "2026-03-01", date(0), "2026-03-02", date(1), "2026-03-03"),
	}
}

func (s *stability) text(text []byte, hasMoments bool) []byte {
	text = anID.ReplaceAllFunc(text, func(id []byte) []byte {
		known, found := s.ids[string(id)]
		if !found {
			prefix, _, _ := strings.Cut(string(id), "_")
			s.count[prefix]++
			known = fmt.Sprintf("%s_01k%023d", prefix, s.count[prefix])
			s.ids[string(id)] = known
		}
		return []byte(known)
	})
	if hasMoments {
		text = aMoment.ReplaceAll(text, []byte(`"2026-03-02T09:30:00.000Z"`))
		text = []byte(s.dates.Replace(string(text)))
	}
	text = seconds.ReplaceAll(text, []byte(`"observed":"0.012 s"`))
	return duration.ReplaceAll(text, []byte(`"durationMs":12`))
}

func (s *stability) example(t *testing.T, call restCall) restExample {
	t.Helper()
	hasMoments := !strings.Contains(call.Operation, "Consumption")
	e := restExample{Answer: s.text(call.Answer, hasMoments)}
	if call.Body != nil {
		body, err := json.Marshal(call.Body)
		require.NoError(t, err)
		e.Body = s.text(body, hasMoments)
	}
	for name, value := range call.Parameters {
		if e.Parameters == nil {
			e.Parameters = map[string]string{}
		}
		e.Parameters[name] = string(s.text([]byte(value), hasMoments))
	}
	return e
}

// callEveryOperation calls the operations. The first call of an operation becomes its example.
func callEveryOperation(t *testing.T, s *story) {
	t.Helper()
	agent, tool, subAgent := s.agent(t)
	dataset := s.call(t, "CreateDataset", nil, object{"name": "House rules", "description": "What guests ask for",
		"parserConfig": object{"chunkTokenNum": 256, "delimiter": "\n", "taskPageSize": 12}})["id"].(string)
	s.call(t, "UpdateDataset", with("datasetId", dataset),
		object{"name": "Rules of the house", "description": "What guests ask for most",
			"parserConfig": object{"chunkTokenNum": 128, "delimiter": "\n", "taskPageSize": 12}})
	document := s.call(t, "AddDocument", with("datasetId", dataset),
		object{"name": "Breakfast.md", "text": "Breakfast is from seven to ten."})["id"].(string)
	mocking := object{"mockedTools": []any{object{"toolId": tool, "resultTemplate": "Booked.", "delaySeconds": 1.5}},
		"mockedSubAgents": []any{object{"subAgentId": subAgent, "resultTemplate": "On its way.", "delaySeconds": 1}}}
	bag := object{"hotel": "Seaview"}

	chat := s.call(t, "StartSimulationChat", nil, object{"agentId": agent, "dataBag": bag,
		"toolMocking": mocking})["simulationChatId"].(string)
	s.call(t, "SendSimulationMessage", nil, object{"simulationChatId": chat, "message": "When is breakfast?"})
	s.call(t, "GetSimulationChat", with("simulationChatId", chat), nil)

	folder := s.call(t, "CreateAgentTestFolder", nil, object{"agentId": agent, "name": "Smoke",
		"body": "Before every release."})["id"].(string)
	s.call(t, "UpdateAgentTestFolder", with("folderId", folder), object{"name": "Smoke tests", "color": "#1A7F37",
		"body": "Before each release."})
	s.call(t, "GetAgentTestFolder", with("folderId", folder), nil)
	s.call(t, "ListAgentTestFolders", with("agentId", agent), nil)
	messages := []any{object{"role": "user", "text": "I would like a room for two."}}
	checks := []any{
		object{"expect": object{"turnsAtMost": 3}},
		object{"expect": object{"called": object{"technicalName": "book_room", "kind": "Tool",
			"where": []any{object{"argument": "guests", "equals": "2"}},
			"min":   1, "max": 2, "before": "room_service"}}},
		object{"expect": object{"neverCalled": object{"technicalName": "room_service",
			"where": []any{object{"argument": "order", "matches": "champagne"}}}}},
		object{"expect": object{"says": object{"text": "breakfast", "role": "assistant", "turn": -1}}, "weight": 2},
		object{"expect": object{"says": object{"matches": "seven|eight"}}, "weight": 1},
		object{"expect": object{"neverSays": object{"matches": "(?i)refund"}}},
		object{"expect": object{"neverSays": object{"text": "sold out", "role": "assistant", "turn": 1}}},
		object{"expect": object{"endedBy": "Agent"}, "weight": 1},
		object{"expect": object{"tag": "booking"}, "weight": 1},
		object{"expect": object{"durationAtMost": 60}},
		object{"expect": object{"firstTokenAtMost": 60}},
		object{"expect": object{"creditsAtMost": 5}},
		object{"expect": object{"extracts": object{"name": "guest", "equals": "Ana"}}, "weight": 1},
		object{"expect": object{"extracts": object{"name": "guest", "matches": "^A"}}, "weight": 1},
		object{"expect": object{"resultJson": object{"technicalName": "book_room",
			"schema": object{"type": "object", "required": []any{"number"}}}}, "weight": 1},
	}
	persona := object{"mood": "Hurried", "patience": 3, "language": "French", "knowledge": "The room number is 7."}
	classification := s.call(t, "CreateClassificationTest", nil, object{"agentId": agent, "name": "A booking",
		"tagExpected":         "booking",
		"conversationContext": object{"messages": messages, "dataBag": bag}})["id"].(string)
	test := s.call(t, "CreateSimulationTest", nil, object{"agentId": agent, "name": "Asks for breakfast",
		"scenario": "Asks when breakfast is.",
		"criteria": []any{"The agent calls book_room"}, "criteriaWeights": []any{5}, "checks": checks, "passAt": 0.5,
		"judgeSees": []any{"Prompt"}, "persona": persona, "contactSays": []any{"Good morning"}, "maxTurns": 3,
		"conversationContext": messages, "variables": bag,
		"toolMocking": mocking, "folderId": folder})["id"].(string)
	s.call(t, "UpdateAgentTest", with("testId", test), object{"name": "Asks when breakfast is",
		"scenario": "Asks when breakfast is served.",
		"criteria": []any{"The agent calls book_room"}, "criteriaWeights": []any{5}, "checks": checks, "passAt": 0.5,
		"judgeSees": []any{"Prompt"}, "persona": persona, "contactSays": []any{"Good morning"}, "maxTurns": 2,
		"conversationMessages": messages, "variables": bag, "toolMocking": mocking})
	s.call(t, "UpdateAgentTest", with("testId", classification), object{"name": "A booking", "tagExpected": "booking",
		"conversationContext": object{"messages": messages, "dataBag": bag}})
	s.call(t, "GetAgentTest", with("testId", classification), nil)
	s.call(t, "ListAgentTests", with("agentId", agent, "pageSize", "10"), nil)

	execution := s.runTests(t, test)
	s.call(t, "GetAgentTestExecution", with("executionId", execution), nil)
	s.call(t, "ListAgentTestExecutions", with("agentId", agent, "pageSize", "1"), nil)
	runs := s.call(t, "ListAgentTestRuns", with("executionId", execution, "pageSize", "1"), nil)["data"].([]any)
	s.call(t, "GetAgentTestRun", with("runId", runs[0].(object)["id"].(string)), nil)

	s.await(t, "GetDocument", with("datasetId", dataset, "documentId", document), "status", "Ready")
	s.call(t, "GetDataset", with("datasetId", dataset), nil)
	s.call(t, "ListDatasets", with("pageNumber", "1", "pageSize", "10"), nil)
	s.call(t, "GetDocument", with("datasetId", dataset, "documentId", document), nil)
	s.call(t, "ListDocuments", with("datasetId", dataset), nil)
	s.tellOfKnowledge(t, agent, dataset)
	s.tellOfCampaign(t, agent)
	s.tellOfUsage(t, agent)
	s.call(t, "GetAgent", with("agentId", agent), nil)
	s.call(t, "ReplacePrompt", with("agentId", agent), object{"prompt": "You are the front desk of {hotel}. Be brief " +
		"and kind."})
}

// runTests returns a finished execution. It cancels and retries an execution before workers start, because with workers
// the progress would differ between runs.
func (s *story) runTests(t *testing.T, test string) string {
	t.Helper()
	body := object{"testIds": []any{test}, "repeats": 1, "concurrency": 2, "virtualTime": true}
	cancelled := s.call(t, "StartAgentTestExecution", nil, body)["id"].(string)
	s.call(t, "CancelAgentTestExecution", with("executionId", cancelled), nil)
	s.call(t, "RetryAgentTestExecution", with("executionId", cancelled), object{"only": "All"})
	s.work(t)
	execution := s.call(t, "StartAgentTestExecution", nil, body)["id"].(string)
	s.await(t, "GetAgentTestExecution", with("executionId", execution), "status", "Completed")
	return execution
}

func (s *story) tellOfKnowledge(t *testing.T, agent, dataset string) {
	t.Helper()
	var made struct {
		CreateKnowledgeBaseChat struct{ KnowledgeBaseChat struct{ ID string } }
	}
	s.must(t, s.key, `mutation { createKnowledgeBaseChat(input: {name: "House"}) { knowledgeBaseChat { id } } }`, nil,
		&made)
	chat := made.CreateKnowledgeBaseChat.KnowledgeBaseChat.ID
	s.call(t, "UpdateKnowledgeBaseChat", with("chatId", chat), object{
		"name": "Rules of the house", "datasetIds": []any{dataset},
		"llmSettings": object{"temperature": 0.2, "topP": 0.5, "presencePenalty": 0, "frequencyPenalty": 0.5},
		"promptSettings": object{"similarityThreshold": 0.25, "keywordsSimilarityWeight": 0.5, "topN": 4,
			"prompt": "Answer from this: {knowledge}",
			"opener": "What would you like to know?", "emptyResponse": "I do not know."},
	})
	s.call(t, "GetKnowledgeBaseChat", with("chatId", chat), nil)
	s.call(t, "ListKnowledgeBaseChats", nil, nil)
	s.call(t, "ConnectAgentChat", with("agentId", agent), object{"chatId": chat})
	s.call(t, "GetAgentChat", with("agentId", agent), nil)
}

func (s *story) tellOfCampaign(t *testing.T, agent string) {
	t.Helper()
	var made struct {
		CreateCampaign struct{ Campaign struct{ ID string } }
	}
	s.must(t, s.key, `mutation ($agent: ID!) { createCampaign(input: {agentId: $agent,
		name: "Spring"}) { campaign { id } } }`, object{"agent": agent}, &made)
	campaign := made.CreateCampaign.Campaign.ID
	s.call(t, "AddCampaignField", nil, object{"campaignId": campaign, "name": "offer", "description": "What is on offer"})
	s.call(t, "ListCampaignFields", with("campaignId", campaign), nil)
	items := s.call(t, "AddCampaignItems", with("campaignId", campaign), object{"items": []any{
		object{"phoneNumber": "+12025550143",
			"dataBag": object{"hotel": "Seaview", "offer": "Two nights for one"}}}})["items"].([]any)
	item := items[0].(object)["id"].(string)
	names := object{"campaign": campaign, "item": item}
	s.must(t, s.key, `mutation ($campaign: ID!, $item: ID!) {
		a: advanceCampaignItem(input: {campaignId: $campaign, itemId: $item, to: Calling}) { item { id } }
		b: advanceCampaignItem(input: {campaignId: $campaign, itemId: $item, to: ProcessingResult}) { item { id } }
		c: advanceCampaignItem(input: {campaignId: $campaign, itemId: $item, to: Processed, result: {tag: {name: "booking"},
			summary: "Books two nights.",
			metadata: {guest: "Ada"}, conversation: {id: "call-1", messages: [{timestamp: "2026-03-01T09:30:00Z",
				role: assistant, text: "Hello!"}]}}}) { item { id } }
	}`, names, nil)
	s.call(t, "GetCampaignItem", with("campaignId", campaign, "itemId", item), nil)
	s.call(t, "ListCampaignItems", with("campaignId", campaign, "runningStatus", "Processed"), nil)
	s.call(t, "ResetCampaignItem", with("campaignId", campaign, "itemId", item), nil)
}

func (s *story) tellOfUsage(t *testing.T, agent string) {
	t.Helper()
	s.must(t, s.key, recordUsage, object{"entries": []any{
		object{"idempotencyKey": "call-1", "agentId": agent, "channel": "Web", "credits": 2.5, "at": "2025-03-01T09:30:00Z"},
	}}, nil)
	s.call(t, "GetConsumptionBreakdown", with("from", "2025-03-01", "to", "2025-03-31"), nil)
	s.call(t, "ExportConsumption", with("from", "2025-03-01", "to", "2025-03-31", "format", "json"), nil)
	s.call(t, "GetSubscription", nil, nil)
	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	s.call(t, "ExportAuditEvents", with("from", day(-1), "to", day(1)), nil)
}

// tidyUp deletes the objects that the story created.
func (s *story) tidyUp(t *testing.T) {
	t.Helper()
	first := func(operation string) map[string]string {
		for _, call := range s.calls {
			if call.Operation == operation {
				return call.Parameters
			}
		}
		return nil
	}
	s.call(t, "DeleteCampaignItem", first("GetCampaignItem"), nil)
	s.call(t, "DisconnectAgentChat", first("GetAgentChat"), nil)
	s.call(t, "DeleteKnowledgeBaseChat", first("GetKnowledgeBaseChat"), nil)
	s.call(t, "DeleteDocument", first("GetDocument"), nil)
	s.call(t, "DeleteDataset", first("GetDataset"), nil)
	s.call(t, "DeleteAgentTest", first("GetAgentTest"), nil)
	s.call(t, "DeleteAgentTestFolder", first("GetAgentTestFolder"), nil)
}
