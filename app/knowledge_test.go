package app_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

const (
	descaling    = "Descale the kettle every two months with vinegar."
	aboutKettles = "How often do I descale the kettle?"
)

// library is a knowledge base chat and its dataset.
type library struct{ chatID, datasetID string }

// library gives an agent a knowledge base with a manual and a list of questions. It returns when both are indexed.
func (s *served) library(t *testing.T, agentID string, settings map[string]any) library {
	t.Helper()
	var made struct {
		CreateDataset           struct{ Dataset struct{ ID string } }
		CreateKnowledgeBaseChat struct{ KnowledgeBaseChat struct{ ID string } }
	}
	s.must(t, s.key, `mutation { createDataset(input: {name: "Manuals"}) { dataset { id } } }`, nil, &made)
	l := library{datasetID: made.CreateDataset.Dataset.ID}
	s.must(t, s.key, `mutation ($in: CreateKnowledgeBaseChatInput!) { createKnowledgeBaseChat(input: $in) {
		knowledgeBaseChat { id } } }`,
		map[string]any{"in": map[string]any{"name": "Manuals", "datasetIds": []string{l.datasetID},
			"promptSettings": settings}}, &made)
	l.chatID = made.CreateKnowledgeBaseChat.KnowledgeBaseChat.ID
	s.must(t, s.key, `mutation ($agent: ID!, $chat: ID!) { connectKnowledgeBaseChat(input: {agentId: $agent,
		chatId: $chat}) { agent { id } } }`,
		map[string]any{"agent": agentID, "chat": l.chatID}, nil)
	for name, text := range map[string]string{"kettle.txt": descaling,
		"toaster.txt": "Shake the toaster out every week."} {
		s.must(t, s.key, `mutation ($in: AddDocumentInput!) { addDocument(input: $in) { document { id } } }`,
			map[string]any{"in": map[string]any{"datasetId": l.datasetID, "name": name, "text": text}}, nil)
	}
	require.Eventually(t, func() bool {
		var read struct {
			Dataset struct {
				Documents struct{ Nodes []struct{ Status string } }
			}
		}
		s.must(t, s.key, `query ($id: ID!) { dataset(id: $id) { documents { nodes { status } } } }`,
			map[string]any{"id": l.datasetID}, &read)
		ready := 0
		for _, d := range read.Dataset.Documents.Nodes {
			if d.Status == "Ready" {
				ready++
			}
		}
		return ready == 2
	}, time.Minute, 20*time.Millisecond, "both documents are indexed")
	return l
}

// citedChat is a chat with its sources.
type citedChat struct {
	Messages []struct {
		Text      string
		Citations []struct {
			Number                                     int
			DocumentID, DocumentName, ChunkID, Content string
			Position                                   int
		}
	}
	ToolCalls []keptCall
	Coverage  []struct{ Kind, TargetID, TechnicalName, Effect string }
	Warnings  []string
}

func (s *served) cited(t *testing.T, chatID string) citedChat {
	t.Helper()
	var read struct{ SimulationChat citedChat }
	s.must(t, s.key, `query ($id: ID!) { simulationChat(id: $id) {
		messages { text citations { number documentId documentName chunkId position content } }
		toolCalls { id kind targetId technicalName arguments result mocked error isTurnKept messageSequence durationMs
			delegationId }
		coverage { kind targetId technicalName effect } warnings
	} }`, map[string]any{"id": chatID}, &read)
	return read.SimulationChat
}

func TestAnswersCiteRetrievedChunks(t *testing.T) {
	t.Parallel()
	c := openClinic(t, says("Every two months [1], not [4]."), refuses(http.StatusUnauthorized, "invalid_api_key"),
		calls("ask_expert", askExpert), says("Up."), says("Up it is."))
	c.must(t, c.key, `mutation ($id: ID!) { updateAgent(input: {agentId: $id, channel: Web}) { agent { id } } }`,
		map[string]any{"id": c.desk}, &struct{}{})
	l := c.library(t, c.desk, map[string]any{"prompt": "From the manuals:\n{knowledge}"})
	chatID := c.start(t, c.desk, mocking{"mockAllTools": true, "mockAllSubAgents": false})
	require.Equal(t, "Every two months [1], not.", c.say(t, chatID, aboutKettles).Text)

	asked := c.asked(t)
	require.Len(t, asked, 1)
	require.Equal(t, "system", asked[0].Messages[0].Role)
	require.Contains(t, asked[0].Messages[0].Content, "You are the front desk.\n\nFrom the manuals:\n[1] <excerpt "+
		"document=\"kettle.txt\">\n"+descaling+"\n</excerpt>")
	require.InDelta(t, 0.1, *asked[0].Temperature, 0)
	require.InDelta(t, 0.7, *asked[0].FrequencyPenalty, 0)
	require.NotContains(t, asked[0].offered(), "knowledge_base", "the gateway retrieves, not the model")

	kept := c.cited(t, chatID)
	require.Empty(t, kept.Warnings)
	require.Empty(t, kept.Messages[0].Citations)
	require.Len(t, kept.Messages[1].Citations, 1)
	require.Equal(t, descaling, kept.Messages[1].Citations[0].Content)
	last := kept.Coverage[len(kept.Coverage)-2]
	require.Equal(t, []string{"Retrieval", l.chatID, "knowledge_base", "Real"},
		[]string{last.Kind, last.TargetID, last.TechnicalName, last.Effect})
	c.requireParity(t, l, kept.ToolCalls[0])

	// REST v1 shows messages unchanged, without sources.
	_, body := c.exchange(t, http.MethodGet, "/SimulationChat/"+chatID, nil)
	require.NotContains(t, string(body), "citations")

	// A failed turn keeps its retrieval as evidence.
	a := c.send(t, chatID, "And the kettle?")
	require.Equal(t, []string{"UPSTREAM_FAILED"}, a.codes())
	evidence := c.cited(t, chatID).ToolCalls
	require.Len(t, evidence, 2)
	require.False(t, evidence[1].IsTurnKept)
	require.Equal(t, "Up it is.", c.say(t, chatID, "How do I get up the kettle?").Text)
	asked = c.asked(t)
	require.Empty(t, asked[2].callResults(), "the model sees its own calls, not the retrieval")
}

// requireParity requires an agent's retrieval to equal the answer of the field retrieve exactly, scores included.
func (s *served) requireParity(t *testing.T, l library, call keptCall) {
	t.Helper()
	require.Equal(t, "Retrieval", call.Kind)
	require.Equal(t, l.chatID, *call.TargetID)
	require.False(t, call.Mocked)
	require.Nil(t, call.Error)
	var question struct{ Question string }
	require.NoError(t, json.Unmarshal(call.Arguments, &question))
	type scores struct {
		Content                         string
		Score, TermSimilarity           json.Number
		VectorSimilarity                *json.Number
		Document                        struct{ ID, Name string }
		DocumentID, DocumentName, Extra string
	}
	var read struct{ KnowledgeBaseChat struct{ Retrieve []scores } }
	s.must(t, s.key, `query ($id: ID!, $question: String!) { knowledgeBaseChat(id: $id) {
		retrieve(question: $question) { content score termSimilarity vectorSimilarity document { id name } }
	} }`, map[string]any{"id": l.chatID, "question": question.Question}, &read)
	var found struct{ Chunks []scores }
	require.NoError(t, json.Unmarshal([]byte(*call.Result), &found))
	require.NotEmpty(t, found.Chunks)
	for i := range found.Chunks {
		chunk := &found.Chunks[i]
		chunk.Document.ID, chunk.Document.Name = chunk.DocumentID, chunk.DocumentName
		chunk.DocumentID, chunk.DocumentName = "", ""
	}
	require.Equal(t, read.KnowledgeBaseChat.Retrieve, found.Chunks)
}

// serveDesk serves a company with a front desk agent that uses the offline model.
func serveDesk(t *testing.T) (s *served, agentID string) {
	t.Helper()
	address := dbtest.URL(t)
	tenant, key := (&gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}).company(t, "Desk")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt: "Opening hours: 9 to 5.", InboundWelcomeMessage: new("Welcome."),
	})
	require.NoError(t, err)
	return serve(t, address, key), agent.ID
}

func TestOfflineModelAnswersFromDocuments(t *testing.T) {
	t.Parallel()
	s, agentID := serveDesk(t)
	l := s.library(t, agentID, map[string]any{})
	chatID := s.start(t, agentID, nil)
	require.Contains(t, s.say(t, chatID, aboutKettles).Text, "“"+descaling+"” [1]")
	kept := s.cited(t, chatID)
	require.Equal(t, "kettle.txt", kept.Messages[2].Citations[0].DocumentName)
	s.requireParity(t, l, kept.ToolCalls[0])
	require.Contains(t, s.say(t, chatID, "When are you open?").Text, "hours: 9 to 5",
		"the answer comes from the instructions, not from a document")
}

func TestAgentTestRunsSearchTheKnowledgeBase(t *testing.T) {
	t.Parallel()
	s, agentID := serveDesk(t)
	l := s.library(t, agentID, map[string]any{"opener": "Not said: there is a welcome message."})
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	s.must(t, s.key, `mutation ($in: CreateSimulationTestInput!) { createSimulationTest(input: $in) { agentTest { id } }
		}`, map[string]any{
		"in": map[string]any{
			"agentId": agentID, "name": "Kettle", "scenario": `says: "` + aboutKettles + `"`, "maxTurns": 1,
			"criteria":    []string{`says "every two months"`, `calls knowledge_base`, `says "[1]"`},
			"toolMocking": map[string]any{"sideEffects": "Deny"},
		},
	}, &made)
	s.must(t, s.key, `mutation ($id: ID!) { startAgentTestExecution(input: {testIds: [$id]}) { execution { id } } }`,
		map[string]any{"id": made.CreateSimulationTest.AgentTest.ID}, nil)
	var read struct {
		AgentTest struct {
			LastRun struct {
				Status    string
				ToolCalls []keptCall
			}
		}
	}
	require.Eventually(t, func() bool {
		s.must(t, s.key, `query ($id: ID!) { agentTest(id: $id) { lastRun { status
			toolCalls { kind targetId technicalName arguments result mocked error isTurnKept messageSequence }
		} } }`, map[string]any{"id": made.CreateSimulationTest.AgentTest.ID}, &read)
		return read.AgentTest.LastRun.Status != "Queued" && read.AgentTest.LastRun.Status != "Running"
	}, dbtest.WaitTimeout, often)
	require.Equal(t, "Passed", read.AgentTest.LastRun.Status)
	require.Len(t, read.AgentTest.LastRun.ToolCalls, 1)
	s.requireParity(t, l, read.AgentTest.LastRun.ToolCalls[0])
}

func TestQuestionModelWritesTheRetrievalQuery(t *testing.T) {
	t.Parallel()
	p := startProvider(t, map[string][]fixture{
		"speaker-model":  {says("Hello."), says("Every two months.")},
		"question-model": {says(aboutKettles)},
	})
	address := dbtest.URL(t)
	_, key := (&gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}).company(t, "Questions")
	s := serve(t, address, key, p.asks("speaker-model"), func(o *app.EngineOptions) { o.QuestionModel = "question-model" })
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	s.must(t, key, `mutation { createAgent(input: {name: "Help", channel: Web, direction: Inbound, language: "en",
		prompt: "Help."}) { agent { id } } }`, nil, &made)
	l := s.library(t, made.CreateAgent.Agent.ID, map[string]any{})
	chatID := s.start(t, made.CreateAgent.Agent.ID, nil)
	s.say(t, chatID, "I have a kettle.")
	require.Empty(t, p.asked(t, "question-model"), "nothing was said before")
	s.say(t, chatID, "How often must it be descaled?")
	require.Len(t, p.asked(t, "question-model"), 1)
	calls := s.cited(t, chatID).ToolCalls
	require.JSONEq(t, `{"question":"`+aboutKettles+`"}`, string(calls[1].Arguments))
	s.requireParity(t, l, calls[1])
	require.Contains(t, p.asked(t, "speaker-model")[1].Messages[0].Content, descaling)
}
