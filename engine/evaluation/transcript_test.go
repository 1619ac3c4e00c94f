package evaluation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// longWinded returns a run of 30 turns. In each of them the agent writes 60 KB.
func longWinded() *model.AgentTestRun {
	run := &model.AgentTestRun{}
	for turn := range 30 {
		run.Messages = append(run.Messages, written(model.MessageRoleUser, fmt.Sprintf("Question %d, please", turn)),
			written(model.MessageRoleAssistant, fmt.Sprintf("Beginning %d. %s Middle %d. %s Ending %d.", turn,
				strings.Repeat("so to speak ", 2_500), turn, strings.Repeat("é", 15_000), turn)))
		result := strings.Repeat("found ", 1_200)
		run.ToolCalls = append(run.ToolCalls, &model.ToolCall{
			ID: fmt.Sprintf("call_%d", turn), TechnicalName: "find",
			Arguments: model.JSONObject(fmt.Sprintf(`{"turn":%d}`, turn)), Result: &result, MessageSequence: int32(2 * turn),
		})
	}
	return run
}

func TestLongConversationsAreJudged(t *testing.T) {
	t.Parallel()
	p := &player{answer: func(req llm.Request) line {
		for criterion, evidence := range map[string]string{
			"first":               `{"messageIndex":1,"quote":"Beginning 0."}`,
			"last":                `{"messageIndex":59,"quote":"Ending 29"},{"messageIndex":59,"quote":"find {\"turn\":29}"}`,
			"middle of a message": `{"messageIndex":59,"quote":"Middle 29"}`,
			"middle message":      `{"messageIndex":31,"quote":"Beginning 15"}`,
			"torn":                `{"messageIndex":59,"quote":"are left out"}`,
		} {
			if strings.HasSuffix(req.Messages[0].Text, `"criterion":"`+criterion+`"}`) {
				return line{text: `{"evidence":[` + evidence + `],"rationale":"r","passed":true}`}
			}
		}
		return line{}
	}}
	shown := transcriptOf(longWinded(), 0, ending{By: rules.Limit})
	results, err := judge(t.Context(), nil, as(p, model.RunErrorCauseJudge), []string{"first", "last"}, shown)
	require.NoError(t, err)
	require.Len(t, results, 2)
	require.Equal(t, "call_29", *results[1].Evidence[1].ToolCallID)
	for criterion, want := range map[string]string{
		"middle of a message": "neither in message 59", "torn": "neither in message 59",
		"middle message": "there is no message with the messageIndex 31",
	} {
		_, err := judge(t.Context(), nil, as(p, model.RunErrorCauseJudge), []string{criterion}, shown)
		require.Contains(t, requireRunFault(t, err, model.RunErrorCauseJudge), want)
	}

	first, second := p.asked[0], p.asked[1]
	require.Equal(t, first.System, second.System)
	at := strings.LastIndex(first.Messages[0].Text, `,"criterion":`)
	require.Equal(t, first.Messages[0].Text[:at], second.Messages[0].Text[:at],
		"providers cache the common beginning of requests")
	require.Less(t, len(first.Messages[0].Text), maxTranscript)
	require.Greater(t, len(first.Messages[0].Text), maxTranscript/2)
	require.Contains(t, first.Messages[0].Text, `"leftOutBefore":`)
	require.NotContains(t, first.Messages[0].Text, "Middle")
}

func TestBoundedTranscriptCountsLeftOutMessages(t *testing.T) {
	t.Parallel()
	whole := transcriptOf(longWinded(), 0, ending{})
	for _, most := range []int{1, 20_000, 50_000, 160_000, 400_000, 10_000_000} {
		shown, next := whole.bounded(most), 0
		for _, m := range shown.Messages {
			next += m.LeftOutBefore
			require.Equal(t, next, m.MessageIndex)
			require.Equal(t, m.MessageIndex, shown.messageAt(m.MessageIndex).MessageIndex)
			next++
		}
		require.Equal(t, 60, next)
		require.Nil(t, shown.messageAt(60))
	}
	require.Equal(t, whole, whole.bounded(10_000_000))
	require.Len(t, whole.bounded(1).Messages, 2)
	require.Len(t, *whole.Messages[1].Calls[0].Result, 7_200, "the whole transcript does not change")
}

func TestConversationForTheContactIsBounded(t *testing.T) {
	t.Parallel()
	p := lines("Question 31, please")
	_, err := nextContactMessage(t.Context(), as(p, model.RunErrorCauseSimulator), ana, longWinded().Messages, nil)
	require.NoError(t, err)
	length, marks := 0, 0
	for i, m := range p.asked[0].Messages {
		length += len(m.Text)
		require.Equal(t, map[bool]llm.Role{true: llm.RoleUser, false: llm.RoleAssistant}[i%2 == 0], m.Role)
		if strings.HasPrefix(m.Text, "(") && strings.Contains(m.Text, "messages before this one are left out.)") {
			marks++
		}
	}
	require.Equal(t, 1, marks)
	require.Less(t, length, maxTranscript+maxText)
	require.Contains(t, p.lastOf(0), "Ending 29.")
}
