package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// rehearse makes the scene's agent answer the last message of a test.
func (s *scene) rehearse(t *testing.T, messages []model.TestMessage,
	calls []*model.ToolCall) (*Reply, []*model.ToolCall, error) {
	t.Helper()
	turn := &turn{chooseModel: s.chooseModel, limits: s.limits, effects: s.effects, checks: rules.NewChecker(),
		variables: content.Values{}, mocking: &s.mocking}
	return turn.rehearse(t.Context(), s.main, Situation{Messages: messages, Calls: calls})
}

func TestTestAgentRemembersItsTurns(t *testing.T) {
	t.Parallel()
	s := newScene(
		do("book", `{"day":"Monday"}`), say("Booked. Anything else?"),
		do("book", `{"day":"Friday"}`, "ask_expert", `{"request":"Why?"}`), do(llm.EndConversation, `{"reason":"done"}`).
			saying("Goodbye."),
	)
	s.script.answers["Expert of {clinic}"] = []answer{do("dig", `{}`), say("Because")}
	first := int32(0)
	result := "the first"
	s.mocking.MockedTools =
		[]model.MockedTool{{ToolID: "tool_book",
			Mock: model.Mock{Rules: []model.MockRule{{CallIndex: &first, ResultTemplate: &result}}}}}
	messages := []model.TestMessage{{Role: model.MessageRoleAssistant, Text: "Good morning."},
		{Role: model.MessageRoleUser, Text: "Monday"}}
	said, calls, err := s.rehearse(t, messages, nil)
	require.NoError(t, err)
	require.Equal(t, "Booked. Anything else?", said.Text)
	require.Len(t, calls, 1)
	require.Equal(t, "the first", *calls[0].Result)

	calls[0].MessageSequence, calls[0].IsTurnKept = 1, true
	messages = append(messages, model.TestMessage{Role: model.MessageRoleAssistant, Text: said.Text},
		model.TestMessage{Role: model.MessageRoleUser, Text: "Friday too"})
	said, later, err := s.rehearse(t, messages, calls)
	require.NoError(t, err)
	require.Equal(t, "done", *said.EndReason)
	var made []string
	for _, c := range later {
		require.NotNil(t, c.Result)
		made = append(made, c.TechnicalName+": "+*c.Result)
	}
	require.Contains(t, strings.Join(made, "\n"), `book: {"status":"success"`, "the rule applies to the first call only")
	require.Contains(t, made, "dig: result of dig")

	// The second turn begins with the messages and calls of the first.
	require.Empty(t, cmp.Diff([]llm.Message{
		{Role: llm.RoleAssistant, Text: "Good morning."},
		{Role: llm.RoleUser, Text: "Monday"},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: calls[0].ID, Name: "book", Arguments: `{"day":"Monday"}`}}},
		{Role: llm.RoleTool, ToolCallID: calls[0].ID, Text: "the first"},
		{Role: llm.RoleAssistant, Text: "Booked. Anything else?"},
		{Role: llm.RoleUser, Text: "Friday too"},
	}, s.script.asked["Main"][2].Messages))
}

func TestTestAgentFailureIsReported(t *testing.T) {
	t.Parallel()
	s := newScene(do("book", `{"day":"Monday"}`),
		answer{err: &llm.Error{Cause: llm.Unavailable, Message: "model scripted: 503"}})
	said, calls, err := s.rehearse(t, []model.TestMessage{{Role: model.MessageRoleUser, Text: "Monday"}}, nil)
	require.Equal(t, "model scripted: 503", requireFault(t, err))
	require.Nil(t, said)
	require.Len(t, calls, 1)
	require.NotNil(t, calls[0].Result, "completed calls are returned")
}
