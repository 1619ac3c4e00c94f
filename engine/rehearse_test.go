package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// onStage returns a tester of the scene's agent, with offline parts.
func (s *scene) onStage() *tester {
	t := withoutKey()
	t.reply = func(ctx context.Context, at situation) (*reply, []*model.ToolCall, error) {
		turn := &turn{
			model: &s.script, limits: s.limits, effects: s.effects, checks: rules.NewChecker(), variables: at.variables, mocking: &s.mocking,
		}
		return turn.rehearse(ctx, s.main, at)
	}
	return t
}

func TestTheAgentOfATestRemembersItsTurns(t *testing.T) {
	t.Parallel()
	s := newScene(
		do("book", `{"day":"Monday"}`), say("Booked. Anything else?"),
		do("book", `{"day":"Friday"}`, "ask_expert", `{"request":"Why?"}`), do(llm.EndConversation, `{"reason":"done"}`).saying("Goodbye."),
	)
	s.script.answers["Expert of {clinic}"] = []answer{do("dig", `{}`), say("Because")}
	first := int32(0)
	result := "the first"
	s.mocking.MockedTools = []model.MockedTool{{ToolID: "tool_book", Mock: model.Mock{Rules: []model.MockRule{{CallIndex: &first, ResultTemplate: &result}}}}}
	run := offlineRun(`calls book with day = Friday`, `calls dig`, `ends the conversation`, `does not call look`)
	run.Snapshot.Test.Scenario = `Says "Monday" and then "Friday too"`
	require.NoError(t, s.onStage().simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusPassed, run.Status, run.CriteriaResults)
	require.Equal(t, "done", *run.EndReason)

	var calls []string
	for _, c := range run.ToolCalls {
		require.NotNil(t, c.Result)
		calls = append(calls, c.TechnicalName+": "+*c.Result)
	}
	require.Equal(t, "book: the first", calls[0])
	require.Contains(t, strings.Join(calls, "\n"), `book: {"status":"success"`, "the rule was for the first call alone")
	require.Contains(t, calls, "dig: result of dig")

	// The second turn begins with the messages and calls of the first.
	told := s.script.asked["Main"][2].Messages
	require.Empty(t, cmp.Diff([]llm.Message{
		{Role: llm.RoleAssistant, Text: "Good morning."},
		{Role: llm.RoleUser, Text: "Monday"},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: run.ToolCalls[0].ID, Name: "book", Arguments: `{"day":"Monday"}`}}},
		{Role: llm.RoleTool, ToolCallID: run.ToolCalls[0].ID, Text: "the first"},
		{Role: llm.RoleAssistant, Text: "Booked. Anything else?"},
		{Role: llm.RoleUser, Text: "Friday too"},
	}, told))
}

func TestTheAgentOfATestFails(t *testing.T) {
	t.Parallel()
	s := newScene(do("book", `{"day":"Monday"}`), answer{err: &llm.Error{Cause: llm.Unavailable, Message: "model scripted: 503"}})
	run := offlineRun("calls book")
	require.Error(t, s.onStage().simulate(t.Context(), run))
	require.Equal(t, &model.RunError{Cause: model.RunErrorCauseAgent, Message: "the agent: model scripted: 503"}, run.Error)
	require.Len(t, run.ToolCalls, 1)
	require.NotNil(t, run.ToolCalls[0].Result)
	require.False(t, run.ToolCalls[0].IsTurnKept)
}

// TestAllOffline runs a test without any language model, not even for the agent.
func TestAllOffline(t *testing.T) {
	t.Parallel()
	s := newScene()
	book := newTool("book_slot", `{"type":"object","properties":{"day":{"type":"string","description":"the day","enum":["Monday","Friday"]}},"required":["day"]}`)
	book.Description = "Books a slot at the clinic."
	s.main = &speaker{agent: &model.Agent{ID: "main", Prompt: "You answer for a clinic. The clinic is open from nine to five.", Language: "en"}, tools: []*model.Tool{book}}
	s.mocking.MockAllTools = true
	tester := withoutKey()
	tester.reply = func(ctx context.Context, at situation) (*reply, []*model.ToolCall, error) {
		turn := &turn{model: offline.New(), limits: s.limits, effects: s.effects, checks: rules.NewChecker(), variables: at.variables, mocking: &s.mocking}
		return turn.rehearse(ctx, s.main, at)
	}
	for range 2 {
		run := offlineRun(`calls book_slot with day = Friday`, `ends the conversation`, `never says "nine"`)
		run.Snapshot.Test.Scenario = "You are a patient. You want to book a slot at the clinic. The day is Friday."
		require.NoError(t, tester.simulate(t.Context(), run))
		require.Equal(t, model.AgentTestRunStatusPassed, run.Status, "%v\n%v", textsOf(run.Messages), run.CriteriaResults)
	}
	require.Empty(t, s.effected, "all calls were mocked")
}
