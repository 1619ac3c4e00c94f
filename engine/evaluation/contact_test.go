package evaluation

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

var heardMonday = []model.TestMessage{written(model.MessageRoleAssistant, "Is Monday at nine good for you?")}

var ana = &model.AgentTestRow{Scenario: "You are Ana."}

func TestContactSeesTheConversationFromItsSide(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		messages []model.TestMessage
		want     []llm.Message
	}{
		"nothing was said": {nil, []llm.Message{{Role: llm.RoleUser, Text: contactOpens}}},
		"the agent began":  {heardMonday, []llm.Message{{Role: llm.RoleUser, Text: "Is Monday at nine good for you?"}}},
		"the contact began": {
			[]model.TestMessage{written(model.MessageRoleUser, "Hello"), written(model.MessageRoleAssistant, "Hi")},
			[]llm.Message{{Role: llm.RoleUser, Text: contactOpens}, {Role: llm.RoleAssistant, Text: "Hello"},
				{Role: llm.RoleUser, Text: "Hi"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lines("Yes")
			said, err := nextContactMessage(t.Context(), as(p, model.RunErrorCauseSimulator), ana, test.messages, nil)
			require.NoError(t, err)
			require.Equal(t, contactMessage{text: "Yes"}, said)
			require.Len(t, p.asked, 1)
			require.Empty(t, cmp.Diff(test.want, p.asked[0].Messages))
			require.True(t, strings.HasSuffix(p.asked[0].System, "\n# Scenario\nYou are Ana."))
			require.Equal(t, []llm.Tool{contactEnd}, p.asked[0].Tools)
		})
	}
}

func TestContactAnswersAreValidated(t *testing.T) {
	t.Parallel()
	reason := "It is booked."
	empty := &llm.Error{Cause: llm.Empty, Message: "model played: an empty answer"}
	for name, test := range map[string]struct {
		lines []line
		want  contactMessage
		// wrong is the fault of the first answer, as the model sees it.
		wrong string
		// fault is the error if there is no answer.
		fault string
	}{
		"text":         {lines: []line{{text: " Yes\x00, please \n"}}, want: contactMessage{text: "Yes, please"}},
		"end":          {lines: []line{leave("", reason)}, want: contactMessage{endReason: &reason}},
		"text and end": {lines: []line{leave("Bye", reason)}, want: contactMessage{"Bye", &reason}},
		"empty": {lines: []line{{text: "  "}, {text: "Yes"}}, want: contactMessage{text: "Yes"},
			wrong: "it is empty"},
		"empty for the port": {lines: []line{{err: empty}, {text: "Yes"}}, want: contactMessage{text: "Yes"},
			wrong: "it is empty"},
		"cut off": {
			lines: []line{{err: &llm.Error{Cause: llm.TooLong}}, {text: "Yes"}}, want: contactMessage{text: "Yes"},
			wrong: "it is too long",
		},
		"too long": {
			lines: []line{{text: strings.Repeat("é", model.MaxMessageLength+1)},
				{text: strings.Repeat("é", model.MaxMessageLength)}},
			want: contactMessage{text: strings.Repeat("é", model.MaxMessageLength)}, wrong: "at most 4000 characters",
		},
		"both sides": {
			lines: []line{{text: "Yes\nAgent: It is booked."}, {text: "Yes"}}, want: contactMessage{text: "Yes"},
			wrong: "it names speakers",
		},
		"a label": {lines: []line{{text: "**Contact:** Yes"}, {text: "Yes"}}, want: contactMessage{text: "Yes"},
			wrong: "it names speakers"},
		"a confession": {lines: []line{{text: "As an AI, I have no name"}, {text: "Ana"}}, want: contactMessage{text: "Ana"},
			wrong: "being a machine"},
		"an echo": {
			lines: []line{{text: heardMonday[0].Text}, {text: "Yes"}}, want: contactMessage{text: "Yes"},
			wrong: "it repeats what the assistant said",
		},
		"the tool as text": {lines: []line{{text: "end_conversation()"}, leave("", reason)},
			want: contactMessage{endReason: &reason}, wrong: "a tool to call"},
		"another tool": {
			lines: []line{{calls: []llm.ToolCall{{ID: "c", Name: "book", Arguments: "{}"}}}, {text: "Yes"}},
			want:  contactMessage{text: "Yes"}, wrong: `there is no tool "book", only end_conversation`,
		},
		"malformed arguments": {
			lines: []line{{calls: []llm.ToolCall{{ID: "c", Name: llm.EndConversation, Arguments: "{"}}}, leave("", reason)},
			want:  contactMessage{endReason: &reason}, wrong: "the arguments are not JSON",
		},
		"wrong twice": {lines: []line{{text: "Agent: Hi"}}, wrong: "it names speakers",
			fault: "the Simulator: two of its answers in a row cannot be used: it names speakers"},
		"known failure": {lines: []line{{err: &llm.Error{Cause: llm.Unavailable, Message: "model played: 503"}}},
			fault: "the Simulator: model played: 503"},
		"other failure": {lines: []line{{err: errors.New("dial 10.0.0.1")}},
			fault: "the Simulator: the language model failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &player{lines: test.lines}
			said, err := nextContactMessage(t.Context(), as(p, model.RunErrorCauseSimulator), ana, heardMonday, nil)
			if test.fault != "" {
				require.Contains(t, requireRunFault(t, err, model.RunErrorCauseSimulator), test.fault)
			} else {
				require.NoError(t, err)
				require.Equal(t, test.want, said)
			}
			if test.wrong == "" {
				require.Len(t, p.asked, 1)
				return
			}
			require.Len(t, p.asked, 2)
			require.Contains(t, p.lastOf(1), test.wrong)
			require.Equal(t, heardMonday[0].Text, p.asked[1].Messages[0].Text)
		})
	}
}

func TestSlowContactTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := &player{lines: []line{{hook: func(ctx context.Context) { <-ctx.Done() }}}}
		_, err := nextContactMessage(t.Context(), as(p, model.RunErrorCauseSimulator), ana, nil, nil)
		require.Contains(t, requireRunFault(t, err, model.RunErrorCauseSimulator), "did not answer within 1m0s")
		require.Equal(t, time.Minute, time.Since(began))
	})
}
