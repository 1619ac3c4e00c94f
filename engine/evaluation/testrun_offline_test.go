package evaluation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// withoutKey returns a tester whose models are all offline. The agent books what the contact asks for.
func withoutKey() *tester {
	return inTest(&tester{
		modelRoles: modelRoles{
			contact: as(offline.Contact(), model.RunErrorCauseSimulator), judge: as(offline.Judge(), model.RunErrorCauseJudge),
			classifier: as(offline.Classifier(), model.RunErrorCauseAgent),
		},
		now: func() time.Time { return startOfTest },
		reply: func(_ context.Context, s engine.Situation) (*engine.Reply, []*model.ToolCall, error) {
			result, done := `{"status":"success"}`, "All is done."
			switch len(s.Messages) {
			case 2:
				return &engine.Reply{Text: "On which day?"}, nil, nil
			case 4:
				return &engine.Reply{Text: "It’s booked for Monday."}, []*model.ToolCall{{
					ID: "call_1", Kind: model.ToolCallKindTool, TechnicalName: "book_slot",
					Arguments: model.JSONObject(`{"day": "Monday", "note": "<b>"}`), Result: &result,
				}}, nil
			}
			return &engine.Reply{Text: "Goodbye.", EndReason: &done}, nil, nil
		},
	})
}

func offlineRun(criteria ...string) *model.AgentTestRun {
	welcome := "Good morning."
	return &model.AgentTestRun{Snapshot: model.RunSnapshot{
		Agent: &model.Agent{InboundWelcomeMessage: &welcome},
		Test: &model.AgentTestRow{
			Scenario: "You want to book a slot. The day is Monday.", MaxTurns: 10, Criteria: criteria,
			ToolMocking: &model.ToolMocking{}, Variables: model.JSONObject("{}"),
		},
	}}
}

func TestSimulationRunsOffline(t *testing.T) {
	t.Parallel()
	run := offlineRun(
		`Says "it's booked"`, `never says "sorry"`, `calls book_slot`, `calls book_slot with day = monday`,
		`does not call cancel_slot`, `ends the conversation`)
	require.NoError(t, withoutKey().simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusPassed, run.Status)
	require.Equal(t, []string{
		"assistant: Good morning.", "user: I want to book a slot.", "assistant: On which day?", "user: The day is Monday.",
		"assistant: It’s booked for Monday.", "user: That is all, thank you. Goodbye.", "assistant: Goodbye.",
	}, textsOf(run.Messages))
	require.EqualValues(t, 3, run.TurnCount)
	require.Equal(t, "All is done.", *run.EndReason)
	require.Len(t, run.CriteriaResults, 6)
	byAgent := new(model.MessageRoleAssistant)
	require.Equal(t, []model.Evidence{{MessageIndex: 4, Quote: "It’s booked", Speaker: byAgent,
		Kind: new(model.EvidenceKindSaid)}}, run.CriteriaResults[0].Evidence)
	require.Equal(t, []model.Evidence{{MessageIndex: 4, Quote: `book_slot {"day":"Monday","note":"<b>"}`,
		ToolCallID: &run.ToolCalls[0].ID, Speaker: byAgent, Kind: new(model.EvidenceKindCalled)}},
		run.CriteriaResults[3].Evidence)

	failed := offlineRun(`transfers the call`, `ends the conversation`)
	require.NoError(t, withoutKey().simulate(t.Context(), failed))
	require.Equal(t, model.AgentTestRunStatusFailed, failed.Status)

	undecided := offlineRun(`calls book_slot`, `Is never rude`)
	require.Error(t, withoutKey().simulate(t.Context(), undecided))
	require.Equal(t, model.AgentTestRunStatusError, undecided.Status)
	require.Equal(t, model.RunErrorCauseJudge, undecided.Error.Cause)
	require.Contains(t, undecided.Error.Message, `the criterion "Is never rude"`)
	require.Contains(t, undecided.Error.Message, "language model")
	require.Len(t, undecided.CriteriaResults, 1)
}

// The program decides these criteria itself, so a lenient judge cannot pass them.
func TestLenientJudgeCannotPassOfflineCriteria(t *testing.T) {
	t.Parallel()
	yes := lines(`{"evidence":[],"rationale":"It was wonderful.","passed":true}`)
	criteria := []string{
		`says "it is cancelled"`, `never says "booked"`, `calls cancel_slot`, `calls book_slot with day = Tuesday`,
		`does not call book_slot`,
		`transfers the call`, `ends the conversation`, `Is never rude`,
	}
	run := offlineRun(criteria...)
	run.Snapshot.Test.MaxTurns = 2
	judged := withoutKey()
	judged.judge = as(yes, model.RunErrorCauseJudge)
	require.NoError(t, judged.simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusFailed, run.Status)
	require.Len(t, run.CriteriaResults, len(criteria))
	for i, result := range run.CriteriaResults[:7] {
		require.False(t, result.Passed, criteria[i])
		require.Equal(t, model.CriterionDeciderProgram, result.DecidedBy(), criteria[i])
	}
	require.True(t, run.CriteriaResults[7].Passed)
	require.Equal(t, model.CriterionDeciderModel, run.CriteriaResults[7].DecidedBy())
	require.Len(t, yes.asked, 1)
}

func TestShortEvidenceIsQuotedByTheProgram(t *testing.T) {
	t.Parallel()
	run := offlineRun(`says "A"`)
	run.Snapshot.Test.MaxTurns = 1
	typed := withoutKey()
	typed.reply = func(context.Context, engine.Situation) (*engine.Reply, []*model.ToolCall, error) {
		return &engine.Reply{Text: "It is type A."}, nil, nil
	}
	require.NoError(t, typed.simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusPassed, run.Status)
	require.Equal(t, "A", run.CriteriaResults[0].Evidence[0].Quote)
}

func TestClassificationRunsOffline(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.AgentTestRunStatus{
		"Your slot is booked": model.AgentTestRunStatusPassed, "I am not interested": model.AgentTestRunStatusFailed,
		"Hello": model.AgentTestRunStatusFailed,
	} {
		run := &model.AgentTestRun{Snapshot: model.RunSnapshot{
			Agent: &model.Agent{ClassificationTags: someTags},
			Test: &model.AgentTestRow{TagExpected: "Booked", ConversationContext: &model.ConversationContext{
				Messages: []model.TestMessage{written(model.MessageRoleAssistant, text)},
			}},
		}}
		require.NoError(t, withoutKey().classify(t.Context(), run))
		require.Equal(t, want, run.Status, text)
	}
}

// No part uses a language model, not even the agent.
func TestTestRunsWithoutLanguageModel(t *testing.T) {
	t.Parallel()
	tenant, _, _ := newRun(t, dbtest.Open(t, dbtest.URL(t), db.Options{}))
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Clinic", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt: "You answer for a clinic. The clinic is open from nine to five.", InboundWelcomeMessage: new("Good morning."),
	})
	require.NoError(t, err)
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{
		Name: "Book", TechnicalName: "book_slot", Description: new("Books a slot at the clinic."),
		Parameters: model.JSONObject(
			`{"type":"object","properties":{"day":{"type":"string","description":"the day","enum":["Monday","Friday"]}},"required":["day"]}`),
	})
	require.NoError(t, err)
	_, err = tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: agent.ID, Name: "Books", MaxTurns: 10, ToolMocking: &model.ToolMocking{MockAllTools: true},
		Scenario: "You are a patient. You want to book a slot at the clinic. The day is Friday.",
		Criteria: []string{`calls book_slot with day = Friday`, `ends the conversation`, `never says "nine"`},
	})
	require.NoError(t, err)
	execution, err := tenant.StartAgentTestExecution(t.Context(),
		model.StartAgentTestExecutionInput{TestIds: []string{test.ID}, Repeats: 2, Concurrency: 2})
	require.NoError(t, err)
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 2})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	e := evaluatorOf(offline.New(), Options{Contact: offline.Contact(), Judge: offline.Judge(),
		Classifier: offline.Classifier()})
	for _, run := range runs {
		require.NoError(t, e.RunTest(t.Context(), tenant, run.ID, 1))
		ended, err := dbtest.Find[*model.AgentTestRun](t.Context(), tenant, db.AgentTestRunRows, []string{run.ID})
		require.NoError(t, err)
		require.Equal(t, model.AgentTestRunStatusPassed, ended[0].Status, "%v\n%v", textsOf(ended[0].Messages),
			ended[0].CriteriaResults)
		require.True(t, ended[0].ToolCalls[0].Mocked)
	}
}

func TestTestBeginsWithTheOpener(t *testing.T) {
	t.Parallel()
	chatID := "chat"
	for name, test := range map[string]struct {
		change func(*model.AgentTestRun)
		want   string
	}{
		"no welcome message": {func(*model.AgentTestRun) {}, "Ask me anything."},
		"welcome message": {
			func(run *model.AgentTestRun) { run.Snapshot.Agent.InboundWelcomeMessage = new("Good morning.") }, "Good morning."},
		"no chat": {func(run *model.AgentTestRun) { run.Snapshot.Agent.KnowledgeBaseChatID = nil },
			"I want to book a slot."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := offlineRun("ends the conversation")
			run.Snapshot.Agent.InboundWelcomeMessage, run.Snapshot.Agent.KnowledgeBaseChatID = nil, &chatID
			test.change(run)
			tester := withoutKey()
			tester.opener = func() (string, error) { return "Ask me anything.", nil }
			require.NoError(t, tester.simulate(t.Context(), run))
			require.Equal(t, test.want, run.Messages[0].Text)
		})
	}
}
