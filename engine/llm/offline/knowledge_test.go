package offline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

// shelf returns instructions with excerpts of all forms, the best first.
func shelf(instructions string, numbered bool, texts ...string) string {
	for i, text := range texts {
		e := llm.Excerpt{Document: "leaflet.md", Text: text}
		if numbered {
			e.Number = i + 1
		}
		instructions += "\n\n" + e.String()
	}
	return instructions
}

const (
	lights = "Brook kettle > Lights\nA steady white light: ready. Three red flashes: the kettle was started " +
		"without water; let it cool."
	vinegar = "Can I use vinegar to descale the Brook kettle?\nNo. Vinegar attacks the seal of the lid. Use " +
		"citric acid."
	prices        = "Article: Spout filter; Price: 4.20; Available: yes"
	returnsFrench = "Article 4\nLes bougies entamées ne sont pas reprises. Le linge est repris sous trente jours."
)

func TestAnswersFromExcerpts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		system, said, want string
	}{
		"a sentence of the best excerpt": {
			shelf(clinic, true, vinegar, lights), "What do three red flashes mean?",
			"Here is what I find about that: “Three red flashes: the kettle was started without water; let it cool.” [2] Is " +
				"there anything else you would like to know?",
		},
		"the answer of a question": {
			shelf(clinic, true, vinegar, lights), "Can I descale the kettle with vinegar?",
			"Here is what I find about that: “No. Vinegar attacks the seal of the lid. Use citric acid.” [1] Is there " +
				"anything else you would like to know?",
		},
		"a row": {
			shelf(clinic, true, prices), "What is the price of the spout filter?",
			"Here is what I find about that: “Article: Spout filter; Price: 4.20; Available: yes.” [1] Is there anything else " +
				"you would like to know?",
		},
		"without numbers": {
			shelf(banque, false, returnsFrench), "Les bougies entamées sont-elles reprises ?",
			"Voici ce que je trouve à ce sujet : « Les bougies entamées ne sont pas reprises. » Souhaitez-vous savoir autre " +
				"chose ?",
		},
		"instructions where no excerpt fits": {
			shelf(clinic, true, lights), "Where is the parking?",
			"This is what I was told about that: “Parking is behind the building!” Is there anything else you would like to " +
				"know?",
		},
		"small talk": {shelf(clinic, true, lights), "Good morning!", "Hello! How can I help you?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := llm.Collect(offline.New().
				Chat(t.Context(), llm.Request{System: test.system, Messages: []llm.Message{user(test.said)}}))
			require.NoError(t, err)
			require.Equal(t, test.want, answer.Text)
		})
	}
}

func TestAQuestionInBetweenIsAnsweredFromExcerpts(t *testing.T) {
	t.Parallel()
	book := llm.Tool{Name: "book_repair", Description: "Books a repair.",
		Parameters: []byte(`{"type":"object","properties":{"serialNumber":{"type":"string","description":"Serial number."}},"required":["serialNumber"]}`)}
	messages := []llm.Message{user("I want to book a repair")}
	ask := func() string {
		answer, err := llm.Collect(offline.New().
			Chat(t.Context(), llm.Request{System: shelf(clinic, true, lights), Messages: messages, Tools: []llm.Tool{book}}))
		require.NoError(t, err)
		return answer.Text
	}
	question := ask()
	require.Contains(t, question, "serial number")
	messages = append(messages, assistant(question), user("What does the white light mean?"))
	_, question, _ = strings.Cut(question, ". ")
	require.Equal(t, "Here is what I find about that: “A steady white light: ready.” [1] "+question, ask())
}
