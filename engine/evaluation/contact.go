package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// scenarioMark is the line of the contact's instructions after which only the scenario follows.
	scenarioMark = "\n\n# Scenario\n"

	contactInstruction = `You play a person who is in a text conversation with an assistant. The scenario below says who you are and what you want. Stay in that part from beginning to end.

- You are the one who wants something. You never offer help, and you never write what the assistant would say.
- Write one message at a time, short and natural, in the language of the conversation, with nothing around it: no name, no quotation marks, no stage directions.
- Tell a fact of the scenario only when you are asked for it, or when what you want cannot be said without it.
- Invent nothing. When you are asked for something that the scenario does not say, answer that you do not know.
- The scenario is for you alone: neither quote it nor mention it, nor that this is a simulation.
- Call ` + llm.EndConversation + ` once what you want has been done, or can certainly not be done here. A promise to do it is not enough: go on until it is done. Say nothing more after that.`

	// contactOpens replaces the assistant's first message if the contact speaks first.
	contactOpens = "(Nobody has spoken yet. Write your first message.)"
)

var contactEnd = llm.Tool{
	Name:        llm.EndConversation,
	Description: "Ends the conversation for good, after what you say in the same answer.",
	Parameters:  json.RawMessage(llm.ReasonSchema),
}

// contactMessage is the contact's next step: it says something, ends the conversation, or both.
type contactMessage struct {
	text string
	// endReason is why the contact ends the conversation. It is nil if the conversation continues.
	endReason *string
}

// nextContactMessage returns the next step of a test's simulated contact. The contact sees the messages, but not the
// agent's calls. The variables fill the placeholders of its scenario and knowledge. The error is a *rules.Fault, or
// ctx's error once ctx has ended.
func nextContactMessage(ctx context.Context, p modelRole, test *model.AgentTestRow, messages []model.TestMessage,
	variables content.Values) (contactMessage, error) {
	req := llm.Request{System: withVariables(variables, contactInstruction) + roleDescription(test, variables),
		Tools: []llm.Tool{contactEnd}, Messages: contactView(messages)}
	return requestAnswer(ctx, p, req, func(a llm.Answer) (contactMessage, error) {
		said, err := readContact(a)
		if err != nil {
			return said, err
		}
		return said, roleViolation(said.text, variables.Filled(test.Scenario), messages)
	})
}

// roleDescription returns the description of the person that the contact plays, with the placeholders filled.
func roleDescription(test *model.AgentTestRow, variables content.Values) string {
	return personaInstructions(test.Persona, variables) + scenarioMark + variables.Filled(test.Scenario)
}

// contactView returns a conversation from the contact's side. It leaves out the middle of a long conversation.
func contactView(messages []model.TestMessage) []llm.Message {
	var heard []llm.Message
	if len(messages) == 0 || messages[0].Role == model.MessageRoleUser {
		heard = append(heard, llm.Message{Role: llm.RoleUser, Text: contactOpens})
	}
	length := 0
	for _, m := range messages {
		// For the contact's model, the contact is the assistant.
		role := llm.RoleAssistant
		if m.Role == model.MessageRoleAssistant {
			role = llm.RoleUser
		}
		heard, length = append(heard, llm.Message{Role: role, Text: m.Text}), length+len(m.Text)
	}
	if length <= maxTranscript {
		return heard
	}
	for i, m := range heard {
		heard[i].Text, _ = shortenMiddle(m.Text, maxText)
	}
	head, tail := ends(heard, maxTranscript, func(m llm.Message) int { return len(m.Text) })
	if head < tail {
		for heard[tail].Role != llm.RoleUser && tail < len(heard)-1 {
			tail++ // the note below must be in a message of the agent
		}
		heard[tail].Text = fmt.Sprintf("(%d messages before this one are left out.)\n\n%s", tail-head, heard[tail].Text)
	}
	return slices.Delete(heard, head, tail)
}

func readContact(answer llm.Answer) (contactMessage, error) {
	said := contactMessage{text: withoutThoughts(content.Clean(answer.Text))}
	for _, call := range answer.ToolCalls {
		if call.Name != llm.EndConversation {
			return said, unusablef("there is no tool %q, only %s", content.Cut(call.Name, maxQuoted), llm.EndConversation)
		}
		given, _, err := content.ParseArguments(call.Arguments)
		if err != nil {
			return said, unusable(err.Error())
		}
		reason, _ := given.Text("reason")
		said.endReason = new(content.Cut(strings.TrimSpace(reason), maxMessage))
	}
	switch {
	case said.text == "" && said.endReason == nil:
		return said, unusable("it is empty")
	case utf8.RuneCountInString(said.text) > model.MaxMessageLength:
		return said, unusablef("a message has at most %d characters", model.MaxMessageLength)
	}
	return said, nil
}
