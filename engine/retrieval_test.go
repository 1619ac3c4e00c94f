package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// library is a knowledge base chat with its dataset.
type library struct {
	chat      *model.KnowledgeBaseChat
	datasetID string
}

// library connects a knowledge base chat to an agent of the clinic. The texts are its documents, by name.
func (c *clinic) library(t *testing.T, e *engine.Engine, agent *model.Agent, settings model.PromptSettingsInput,
	texts map[string]string) library {
	t.Helper()
	dataset, err := c.tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Leaflets"})
	require.NoError(t, err)
	l := library{datasetID: dataset.ID}
	l.chat, err = c.tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{
		Name: "Leaflets", DatasetIds: []string{dataset.ID}, PromptSettings: &settings,
		LlmSettings: &model.LlmSettingsInput{Temperature: new(0.5), TopP: new(0.25), PresencePenalty: new(-1.0),
			FrequencyPenalty: new(1.5)},
	})
	require.NoError(t, err)
	_, err = c.tenant.ConnectKnowledgeBaseChat(t.Context(), model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID,
		ChatID: l.chat.ID})
	require.NoError(t, err)
	for name, text := range texts {
		c.document(t, e, l.datasetID, name, text)
	}
	return l
}

func (c *clinic) document(t *testing.T, e *engine.Engine, datasetID, name, text string) {
	t.Helper()
	d, err := e.Knowledge().AddDocument(t.Context(), c.tenant, model.AddDocumentInput{DatasetID: datasetID, Name: &name,
		Text: &text})
	require.NoError(t, err)
	require.NoError(t, e.Knowledge().Index(t.Context(), c.tenant, d.IndexingID, 1))
}

// leaflets are about vaccinations and parking. Both mention the clinic.
func leaflets() map[string]string {
	return map[string]string{
		"vaccination.txt": "The influenza vaccination of the clinic costs 30 dollars.",
		"parking.txt":     "The parking garage of the clinic closes at midnight.",
	}
}

const aboutFlu = "What does the influenza vaccination cost at the clinic?"

// found is the stored record of a retrieval.
type found struct {
	Chunks []struct {
		Number                                     int
		ChunkID, DocumentID, DocumentName, Content string
		Position                                   int32
		Score, TermSimilarity                      float64
		VectorSimilarity                           *float64
	}
}

func foundBy(t *testing.T, call *model.ToolCall) found {
	t.Helper()
	require.NotNil(t, call.Result)
	var f found
	require.NoError(t, json.Unmarshal([]byte(*call.Result), &f))
	return f
}

func TestAgentAnswersFromItsKnowledgeBase(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	var asked []llm.Request
	e := newEngine(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		asked = append(asked, req)
		return say("It costs 30 dollars [1], and [7] parking [1, 9] is free [0]. [3]")
	}), engine.Options{})
	l := c.library(t, e, c.agent, model.PromptSettingsInput{
		Prompt: new("The leaflets of {clinic}:\n{knowledge}\nNothing else. {never}"), SimilarityThreshold: new(0.01),
	}, leaflets())
	chat := c.start(t, e, nil)
	require.Equal(t, []string{"the prompt of the knowledge base chat has the placeholder {never}, which has no value " +
		"and is left unchanged"}, chat.Warnings)
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, aboutFlu)
	require.NoError(t, err)

	// Retrieve returns exactly what the agent received, including the scores.
	want, err := e.Knowledge().Retrieve(t.Context(), c.tenant, l.chat, aboutFlu)
	require.NoError(t, err)
	require.Len(t, want, 2)
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 1)
	call := calls[0]
	require.Equal(t, model.ToolCallKindRetrieval, call.Kind)
	require.Equal(t, l.chat.ID, *call.TargetID)
	require.Equal(t, "knowledge_base", call.TechnicalName)
	require.JSONEq(t, `{"question":"`+aboutFlu+`"}`, string(call.Arguments))
	require.False(t, call.Mocked)
	require.True(t, call.IsTurnKept)
	require.Nil(t, call.Error)
	require.Nil(t, call.DelegationID)
	require.EqualValues(t, 1, call.MessageSequence)
	got := foundBy(t, call).Chunks
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, i+1, g.Number)
		require.Equal(t, []string{w.ID, w.DocumentID, w.Document.Name, w.Content},
			[]string{g.ChunkID, g.DocumentID, g.DocumentName, g.Content})
		require.Equal(t, w.Position, g.Position)
		require.Equal(t, w.Score, g.Score)                   //nolint:testifylint // to the last digit
		require.Equal(t, w.TermSimilarity, g.TermSimilarity) //nolint:testifylint // to the last digit
		require.Equal(t, w.VectorSimilarity, g.VectorSimilarity)
	}

	require.Len(t, asked, 1)
	system := asked[0].System
	require.True(t, strings.HasPrefix(system, "You are the receptionist of Lakeside."))
	require.Contains(t, system, "The leaflets of Lakeside:\n[1] <excerpt document=\"vaccination.txt\">\n"+
		leaflets()["vaccination.txt"]+"\n</excerpt>")
	require.Contains(t, system, "[2] <excerpt document=\"parking.txt\">")
	require.Contains(t, system, "Nothing else. {never}")
	require.NotContains(t, system, "{knowledge}")
	require.Equal(t, llm.Settings{Temperature: new(0.5), TopP: new(0.25), PresencePenalty: new(-1.0),
		FrequencyPenalty: new(1.5)}, asked[0].Settings)

	answer := messages[1]
	require.Equal(t, "It costs 30 dollars [1], and parking [1] is free.", answer.Text)
	require.Equal(t, []model.Citation{{
		Number: 1, DocumentID: want[0].DocumentID, DocumentName: "vaccination.txt", ChunkID: want[0].ID,
		Content: want[0].Content,
	}}, answer.Citations)
	kept, err := c.tenant.MessagesOfChats(t.Context(), []string{chat.ID})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(answer.Citations, kept[1].Citations))
	require.Empty(t, kept[0].Citations)

	// The next turn searches again, and the model does not see earlier retrievals.
	_, _, err = send(t.Context(), e, c.tenant, chat.ID, "When does the parking garage close?")
	require.NoError(t, err)
	require.Len(t, asked[1].Messages, 3)
	require.Contains(t, asked[1].System, "[1] <excerpt document=\"parking.txt\">")
	require.Len(t, c.calls(t, chat.ID), 2)
}

func TestRetrievalStatementsDoNotDependOnResults(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	e := newEngine(greets, engine.Options{})
	l := c.library(t, e, c.agent, model.PromptSettingsInput{SimilarityThreshold: new(0.0), TopN: new(int32(50))},
		leaflets())
	chat := c.start(t, e, nil)
	statements := func() int64 {
		before := c.reads.Load()
		_, _, err := send(t.Context(), e, c.tenant, chat.ID, aboutFlu)
		require.NoError(t, err)
		return c.reads.Load() - before
	}
	few := statements()
	for i := range 20 {
		c.document(t, e, l.datasetID, fmt.Sprintf("more%d.txt", i), "Another influenza vaccination.\nAnother clinic.")
	}
	require.Equal(t, few, statements())
	calls := c.calls(t, chat.ID)
	require.Len(t, foundBy(t, calls[0]).Chunks, 2)
	require.Len(t, foundBy(t, calls[1]).Chunks, 22)
	before := c.reads.Load()
	_, err := e.Knowledge().Retrieve(t.Context(), c.tenant, l.chat, aboutFlu)
	require.NoError(t, err)
	require.Equal(t, few, 5+1+c.reads.Load()-before, "a turn without knowledge, the knowledge base chat, and what "+
		"retrieving takes")
}

func TestEmptyRetrievalGivesTheEmptyResponse(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	asked := 0
	system := ""
	e := newEngine(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		asked, system = asked+1, req.System
		return say("Let me think. [1]")
	}), engine.Options{})
	empty := "I do not know {clinic} [1]."
	l := c.library(t, e, c.agent, model.PromptSettingsInput{EmptyResponse: &empty}, leaflets())
	chat := c.start(t, e, nil)
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, "Xylophone?")
	require.NoError(t, err)
	require.Equal(t, empty, messages[1].Text, "unchanged")
	require.Empty(t, messages[1].Citations)
	require.Zero(t, asked)
	require.Empty(t, foundBy(t, c.calls(t, chat.ID)[0]).Chunks)
	require.Contains(t, *c.calls(t, chat.ID)[0].Result, `"chunks":[]`)

	l.chat, err = c.tenant.UpdateKnowledgeBaseChat(t.Context(), model.UpdateKnowledgeBaseChatInput{
		ChatID: l.chat.ID, PromptSettings: &model.PromptSettingsInput{EmptyResponse: new("")},
	})
	require.NoError(t, err)
	_, messages, err = send(t.Context(), e, c.tenant, chat.ID, "Xylophone?")
	require.NoError(t, err)
	require.Equal(t, "Let me think.", messages[1].Text)
	require.Equal(t, 1, asked)
	require.Contains(t, system, "nothing was found")
	require.NotContains(t, system, "{knowledge}")
}

func TestHiddenSourcesAreNotCited(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	system := ""
	e := newEngine(actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		system = req.System
		return say("30 dollars [1].")
	}), engine.Options{})
	c.library(t, e, c.agent, model.PromptSettingsInput{ShowQuote: new(false)}, leaflets())
	_, messages, err := send(t.Context(), e, c.tenant, c.start(t, e, nil).ID, aboutFlu)
	require.NoError(t, err)
	require.Equal(t, "30 dollars.", messages[1].Text)
	require.Empty(t, messages[1].Citations)
	require.Contains(t, system, leaflets()["vaccination.txt"])
	require.NotContains(t, system, "[1]")
}

func TestOpenerReplacesAMissingWelcomeMessage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		welcome *string
		opener  string
		want    []string
	}{
		"opener":          {nil, "Ask {clinic} anything.", []string{"Ask Lakeside anything."}},
		"welcome message": {new("Hello."), "Ask {clinic} anything.", []string{"Hello."}},
		"neither":         {nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t, func(in *model.CreateAgentInput) { in.InboundWelcomeMessage = test.welcome })
			e := newEngine(greets, engine.Options{})
			c.library(t, e, c.agent, model.PromptSettingsInput{Opener: &test.opener}, nil)
			messages, err := c.tenant.MessagesOfChats(t.Context(), []string{c.start(t, e, nil).ID})
			require.NoError(t, err)
			var texts []string
			for _, m := range messages {
				texts = append(texts, m.Text)
			}
			require.Equal(t, test.want, texts)
		})
	}
}

func TestSubAgentAnswersFromItsOwnKnowledgeBase(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	expert := newAgent(t, c.tenant, func(in *model.CreateAgentInput) { in.Prompt = "You are the expert." })
	ask := c.subAgent(t, c.agent, expert, "ask_expert")
	e := newEngine(actor(func(ctx context.Context, req llm.Request) (llm.Answer, error) {
		if strings.HasPrefix(req.System, "You are the expert.") {
			return say(fmt.Sprint(strings.Contains(req.System, leaflets()["vaccination.txt"]), " [1] [2]"))
		}
		if strings.Contains(req.System, "excerpt") || req.Temperature != nil {
			return llm.Answer{}, errors.New("the agent itself has no knowledge base")
		}
		return once("ask_expert", `{"request":"`+aboutFlu+`"}`)(ctx, req)
	}), engine.Options{})
	l := c.library(t, e, expert, model.PromptSettingsInput{TopN: new(int32(1))}, leaflets())
	// Neither mocks nor denied side effects prevent a search.
	mocking := &model.ToolMocking{MockAllTools: true, MockCallTransfer: true, SideEffects: model.SideEffectsDeny}
	chat := c.start(t, e, mocking)
	require.Equal(t, []string{"ask_expert Real", "ask_expert/knowledge_base Real"}, c.covered(t, e, chat))
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, "How much?")
	require.NoError(t, err)
	require.Equal(t, "true [1]", messages[1].Text)
	require.Empty(t, messages[1].Citations, "[1] refers to the sub-agent's sources")
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 2)
	require.Equal(t, ask.ID, *calls[0].TargetID)
	require.Equal(t, l.chat.ID, *calls[1].TargetID)
	require.Equal(t, calls[0].ID, *calls[1].DelegationID)
	require.False(t, calls[1].Mocked)
	require.Len(t, foundBy(t, calls[1]).Chunks, 1)
}

func TestRetrievalIsAnnouncedAndCovered(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	e := newEngine(greets, engine.Options{})
	l := c.library(t, e, c.agent, model.PromptSettingsInput{}, leaflets())
	chat := c.start(t, e, &model.ToolMocking{MockAllTools: true, SideEffects: model.SideEffectsDeny})
	require.Equal(t, []string{"knowledge_base Real"}, c.covered(t, e, chat))
	coverage, err := e.Coverage(t.Context(), c.tenant, []*model.SimulationChat{chat})
	require.NoError(t, err)
	require.Equal(t, l.chat.ID, *coverage[chat.ID][0].TargetID)
	require.Equal(t, model.ToolCallKindRetrieval, coverage[chat.ID][0].Kind)

	events := c.follow(t, chat.ID)
	_, _, err = send(t.Context(), e, c.tenant, chat.ID, aboutFlu)
	require.NoError(t, err)
	// A follower that reads the rows itself may see the messages before the announcement of the call.
	var started model.ToolCallStarted
	var finished model.ToolCallFinished
	for finished.ID == "" {
		switch event := next(events).(type) {
		case model.ToolCallStarted:
			started = event
		case model.ToolCallFinished:
			finished = event
		case nil:
			require.Fail(t, "the call was not announced")
		}
	}
	require.Equal(t, model.ToolCallKindRetrieval, started.Kind)
	require.JSONEq(t, `{"question":"`+aboutFlu+`"}`, string(started.Arguments))
	require.Equal(t, started.ID, finished.ID)
	require.Equal(t, model.ToolCallKindRetrieval, finished.Kind)
	require.False(t, finished.Mocked)
	require.Nil(t, finished.Error)
}

func TestUnavailableKnowledgeBaseFailsTheTurn(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	asked := false
	e := newEngine(actor(func(context.Context, llm.Request) (llm.Answer, error) {
		asked = true
		return say("Hello")
	}), engine.Options{})
	c.library(t, e, c.agent, model.PromptSettingsInput{}, leaflets())
	chat := c.start(t, e, nil)
	c.reads.holding.Store(new("chunk"))
	_, _, err := send(t.Context(), e, c.tenant, chat.ID, aboutFlu)
	c.reads.holding.Store(nil)
	require.Error(t, err)
	require.NotErrorAs(t, err, new(*model.Error), "INTERNAL: the client has no part in the failure")
	require.False(t, asked, "the model is not asked without knowledge")
	calls := c.calls(t, chat.ID)
	require.Len(t, calls, 1)
	require.Equal(t, "something went wrong that is not the agent's fault", *calls[0].Error)
	require.False(t, calls[0].IsTurnKept)
	_, _, err = send(t.Context(), e, c.tenant, chat.ID, aboutFlu)
	require.NoError(t, err, "it can be sent again")
}

func TestOfflineModelAnswersFromTheKnowledgeBase(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	e := newEngine(offline.New(), engine.Options{})
	c.library(t, e, c.agent, model.PromptSettingsInput{}, leaflets())
	chat := c.start(t, e, nil)
	_, messages, err := send(t.Context(), e, c.tenant, chat.ID, aboutFlu)
	require.NoError(t, err)
	require.Contains(t, messages[1].Text, "“The influenza vaccination of the clinic costs 30 dollars.” [1]")
	require.Len(t, messages[1].Citations, 1)
	require.Equal(t, "vaccination.txt", messages[1].Citations[0].DocumentName)
}
