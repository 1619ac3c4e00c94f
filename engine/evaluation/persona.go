package evaluation

import (
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// knowledgeMark is the line of the contact's instructions after which its knowledge follows, up to the scenario.
const knowledgeMark = "\n\n# Knowledge\n"

var moods = map[model.ContactMood]string{
	model.ContactMoodFriendly: "friendly and at ease",
	model.ContactMoodHurried:  "in a hurry: you write as little as possible, and long answers annoy you",
	model.ContactMoodAnxious:  "worried: you ask whether things are certain, and need to be calmed",
	model.ContactMoodConfused: "confused: you mix things up at first, and ask back when something is not said plainly",
	model.ContactMoodAngry: "angry about something that happened before, and let it be felt until you are taken " +
		"seriously",
	model.ContactMoodSceptical: "sceptical: you doubt what you are told, and want to know how it is known",
}

// personaInstructions returns the contact's instructions about its persona. A nil persona adds nothing.
func personaInstructions(p *model.ContactPersona, values content.Values) string {
	if p == nil {
		return ""
	}
	var text strings.Builder
	if p.Mood != nil {
		fmt.Fprintf(&text, "\n- You are %s.", moods[*p.Mood])
	}
	if p.Language != nil {
		fmt.Fprintf(&text, "\n- Write in this language, whatever language the assistant writes: %s.", *p.Language)
	}
	if p.Patience != nil {
		fmt.Fprintf(&text, "\n- Count the answers in a row that bring you no further. After %d of them, say that you give "+
			"up, and end the conversation in the same answer.", *p.Patience)
	}
	if p.Knowledge != nil {
		text.WriteString("\n- What you know stands below, under Knowledge. Tell of it what you are asked for, and no more.")
		text.WriteString(knowledgeMark + values.Filled(*p.Knowledge))
	}
	return text.String()
}

// isPatienceExhausted reports whether the contact's patience has certainly run out: the agent's last answers in the run
// repeat each other too often. Only the contact's model can judge other unhelpful answers.
func isPatienceExhausted(p *model.ContactPersona, said []model.TestMessage) bool {
	if p == nil || p.Patience == nil {
		return false
	}
	var last string
	repeats := int32(-1)
	for i := len(said) - 1; i >= 0; i-- {
		switch {
		case said[i].Role != model.MessageRoleAssistant:
		case repeats < 0:
			last, repeats = read.NewQuote(said[i].Text, false).Text, 0
		case read.NewQuote(said[i].Text, false).Text != last:
			return repeats >= *p.Patience
		default:
			repeats++
		}
	}
	return repeats >= *p.Patience
}
