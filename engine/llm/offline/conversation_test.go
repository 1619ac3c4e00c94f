package offline

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// talk returns the model's answer to the messages, as text.
func talk(t *testing.T, req llm.Request) string {
	t.Helper()
	var said string
	for chunk, err := range New().Chat(t.Context(), req) {
		require.NoError(t, err)
		said += chunk.Text
	}
	return said
}

// The gateway treats an empty answer as a failure of the model.
func TestExampleWithoutValuesIsNotAnsweredByNothing(t *testing.T) {
	t.Parallel()
	const lost = "I am sorry, I have no answer to that."
	said := talk(t, llm.Request{
		System:   "You deliver parcels.\n\n# Examples\nUser: when does it come\nAgent: It comes on {deliveryDate}.\n",
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "when does it come"}},
	})
	require.Contains(t, said, lost)
}

func TestNoAfterTheClosingQuestionEndsTheConversation(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"no", "no thanks", "nope"} {
		require.Contains(t, talk(t, llm.Request{
			System: "You answer for a shop.\n\n# Examples\nUser: when are you open\nAgent: From 8 to 18. Anything else?\n",
			Messages: []llm.Message{
				{Role: llm.RoleUser, Text: "when are you open"},
				{Role: llm.RoleAssistant, Text: "From 8 to 18. Anything else?"},
				{Role: llm.RoleUser, Text: text},
			},
		}), "Goodbye", text)
	}
}

func TestDelegationIsReportedByItsName(t *testing.T) {
	t.Parallel()
	answerTo := func(result string) string {
		return talk(t, llm.Request{
			System: "You rebook flights.\n\n# Examples\nUser: my bag has not arrived\nCall: delayed_baggage\n",
			Tools: []llm.Tool{{Name: "delayed_baggage", Description: "Follows a bag.", Parameters: json.RawMessage(
				`{"type":"object","properties":{"request":{"type":"string"}},"required":["request"]}`)}},
			Messages: []llm.Message{
				{Role: llm.RoleUser, Text: "my bag has not arrived"},
				{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{
					{ID: "1", Name: "delayed_baggage", Arguments: `{"request":"my bag has not arrived"}`}}},
				{Role: llm.RoleTool, ToolCallID: "1", Text: result},
			},
		})
	}
	require.Contains(t, answerTo(`{"status":"success","message":"The call to delayed_baggage succeeded."}`),
		"I have passed your request on to “delayed baggage”.")
	require.Contains(t, answerTo("Your bag is in Lisbon."), "Your bag is in Lisbon.", "the mock's own text")
	require.NotContains(t, answerTo("The call failed: the agent behind it is already waiting for this answer, "+
		"so asking it would never end."), "again", "it would fail again")
	const refused = "The call failed: side effects are denied in this simulation, so nothing was done."
	require.Contains(t, answerTo(refused), "nothing was done.")
	require.NotContains(t, answerTo(refused), "again", "it would be refused again")
}

// The work for an answer must not grow with the conversation.
func TestAnswerGoesThroughLastMessagesOnly(t *testing.T) {
	t.Parallel()
	const examples = "You are a clinic.\n\n# Examples\n" +
		"Urgent: my chest hurts\nAgent: Dial 999.\nUser: *\nAgent: Dial 999 now.\n"
	answerAfter := func(later int) string {
		messages := []llm.Message{{Role: llm.RoleUser, Text: "my chest hurts"}}
		for range later {
			messages = append(messages, llm.Message{Role: llm.RoleAssistant, Text: "Dial 999 now."},
				llm.Message{Role: llm.RoleUser, Text: "the weather is fine"})
		}
		var said string
		for chunk, err := range New().Chat(t.Context(), llm.Request{System: examples, Messages: messages}) {
			require.NoError(t, err)
			said += chunk.Text
		}
		return said
	}
	require.Equal(t, "Dial 999 now.", answerAfter(maxReplayed-1))
	require.NotEqual(t, "Dial 999 now.", answerAfter(maxReplayed))
}

// Each message gets an answer or a call, whatever the examples say and the tools require.
func TestNoAnswerIsEmpty(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","properties":{"filter":{"type":"object"}},"required":["filter"]}`
	for name, example := range map[string]string{
		"a tool that requires an object":  "User: what is the parcel quote\nCall: parcel_quote\nAgent: It is <price>.",
		"no answer":                       "User: what is the parcel quote",
		"an answer that cannot be filled": "User: what is the parcel quote\nAgent: It is {price}.",
		"only an end":                     "User: what is the parcel quote\nCall: end_conversation\nAgent: It is {price}.",
		"only a failed call":              "User: what is the parcel quote\nCall: other\nCall: parcel_quote",
	} {
		request := llm.Request{System: "You get quotes.\n\n# Examples\n" + example,
			Messages: []llm.Message{{Role: llm.RoleUser, Text: "What is the parcel quote?"}},
			Tools: []llm.Tool{{Name: "parcel_quote", Description: "Gets a parcel quote.", Parameters: []byte(object)},
				{Name: "other", Description: "Does something else."}}}
		for range 3 {
			answer, err := llm.Collect(New().Chat(t.Context(), request))
			require.NoError(t, err)
			require.False(t, answer.Text == "" && len(answer.ToolCalls) == 0, name)
			if len(answer.ToolCalls) == 0 {
				break
			}
			request.Messages = append(request.Messages, llm.Message{Role: llm.RoleAssistant, ToolCalls: answer.ToolCalls},
				llm.Message{Role: llm.RoleTool, ToolCallID: answer.ToolCalls[0].ID, Text: "{}"})
		}
	}
}

// Many MCP servers describe no arguments. The question then has their name.
func TestArgumentsWithoutADescriptionAreAskedByName(t *testing.T) {
	t.Parallel()
	answer, err := llm.Collect(New().Chat(t.Context(), llm.Request{System: "You get quotes.",
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "What is the parcel quote?"}},
		Tools: []llm.Tool{{Name: "parcel_quote", Description: "Gets a parcel quote.", Parameters: []byte(
			`{"type":"object","properties":{"parcelSize":{"type":"integer"}},"required":["parcelSize"]}`)}}}))
	require.NoError(t, err)
	require.Contains(t, answer.Text, "Could you tell me this, please: parcel size?")
}

// A contact may change the language in an emergency, and in the middle of a subject.
func TestContactChangesTheLanguage(t *testing.T) {
	t.Parallel()
	const shop = "You answer for a shop.\n\n# Examples\nUser: when are you open\nAgent: From 8 to 18. On which day?\n" +
		"User: on monday | on sunday\nAgent: From 9 on that day.\nUser: *\nAgent: Please name a day.\n\n" +
		"User: quand êtes-vous ouverts\nAgent: De 8 h à 18 h.\n"
	for _, system := range []string{"You answer for a shop.", shop} {
		for _, said := range [][]string{
			{"There is smoke in my kitchen, help, fire", "excusez-moi, parlez-vous français ?", "112"},
			{"Il y a le feu chez moi", "sorry, do you speak English? my French is bad", "999"},
			{"I am having a heart attack", "je ne parle pas bien anglais, où est-ce que je peux garer la voiture ?", "112"},
			{"Au secours, je fais une crise cardiaque", "et maintenant ?", "112"},
		} {
			require.Contains(t, talk(t, llm.Request{System: system, Messages: []llm.Message{
				{Role: llm.RoleUser, Text: said[0]}, {Role: llm.RoleAssistant, Text: "Call 112."},
				{Role: llm.RoleUser, Text: said[1]}}}), said[2], said)
		}
	}
	said := talk(t, llm.Request{System: shop, Messages: []llm.Message{{Role: llm.RoleUser, Text: "when are you open"},
		{Role: llm.RoleAssistant, Text: "From 8 to 18. On which day?"},
		{Role: llm.RoleUser, Text: "pardon, quand êtes-vous ouverts ?"}}})
	require.Contains(t, said, "De 8 h à 18 h.")
	require.NotContains(t, talk(t, llm.Request{System: shop, Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "c'est la commande 4471, je crois"}}}), "urgence")
}
