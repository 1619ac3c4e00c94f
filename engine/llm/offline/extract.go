package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/slot"
)

var (
	// dayPattern, hourPattern and countPattern match definitions of days, of times of day, and of counts.
	dayPattern   = lazyregexp.New(`(?i)\b(?:day|date|jour)\b`)
	hourPattern  = lazyregexp.New(`(?i)\b(?:time|hour|heure)\b|HH:MM`)
	countPattern = lazyregexp.New(`(?i)\b(?:how many|number of|combien|nombre de)\b`)
	// alternatives matches a question that offers a choice. openQuestion matches the start of a question that cannot
	// be answered by yes or no.
	alternatives = lazyregexp.New(`(?i) (or|ou) `)
	openQuestion = lazyregexp.New(
		`(?i)^(?:(?:and|so|et|alors),? )?(?:(?:on|at|for|in|à|pour) )?(what|which|when|how|who|why|where|could you|qu|quand|` +
			`comment|combien|pourquoi|où|pouvez-vous)`)
)

// Extractor returns the model that extracts values from the contact's messages: names, days, times, numbers, reference
// codes and other texts. It reads them as this package reads arguments of tools, and omits unclear values.
func Extractor() llm.Model {
	p := ruleModel{name: "extractor"}
	p.answer = func(req llm.Request) (llm.Answer, error) {
		var asked struct {
			Values       []wantedValue
			Date         string
			Conversation []saidMessage
		}
		if len(req.Messages) == 0 || json.Unmarshal([]byte(req.Messages[0].Text), &asked) != nil {
			return llm.Answer{}, p.refuse("it only extracts values")
		}
		day, _, _ := strings.Cut(asked.Date, ",")
		today, _ := time.Parse(time.DateOnly, day)
		values := map[string]*string{}
		for _, wanted := range asked.Values {
			values[wanted.Name] = wanted.extractFrom(asked.Conversation, today)
		}
		text, err := json.Marshal(values)
		return llm.Answer{Text: string(text)}, err
	}
	return p
}

type wantedValue struct{ Name, Definition, Type string }

type saidMessage struct{ Speaker, Text string }

// agentSpeaker marks the agent's lines in a transcript.
const agentSpeaker = "agent"

// extractFrom returns the value that the contact said last, or nil.
func (v wantedValue) extractFrom(conversation []saidMessage, today time.Time) *string {
	p, ok := v.property()
	if !ok {
		return nil
	}
	for at, m := range slices.Backward(conversation) {
		if m.Speaker == agentSpeaker {
			continue
		}
		question := v.questionIn(conversation[:at])
		isAsked := question != ""
		if isAsked && p.IsText() && !isOffer(question) {
			if value, ok := p.ValueIn(m.Text, true, today); ok {
				return textOf(value)
			}
		}
		for _, sentence := range slices.Backward(read.Sentences(m.Text)) {
			if value, ok := p.ValueIn(sentence, isAsked && !p.IsText(), today); ok {
				return textOf(value)
			}
		}
	}
	return nil
}

// property describes the value as a parameter of a tool, so that the same parser can read it.
func (v wantedValue) property() (slot.Property, bool) {
	said := strings.Join(read.NameWords(v.Name), " ") + " " + read.FirstSentence(v.Definition)
	schema := map[string]string{"type": "string", "description": v.Definition}
	switch hasDay, hasHour := dayPattern().MatchString(said), hourPattern().MatchString(said); {
	case v.Type == "Nom":
	case countPattern().MatchString(said):
		schema["type"] = "integer"
	case hasDay && hasHour:
		schema["format"] = "date-time"
	case hasDay:
		schema["format"] = "date"
	case hasHour:
		schema["format"] = "time"
	}
	raw, _ := json.Marshal(schema) // strings cannot fail to marshal
	p, ok := slot.ReadProperty(v.Name, raw)
	if v.Type == "Nom" && p.Holder == "" {
		// By default, this is the contact's full name, as in "I am Ada Ali". The definition may ask for a part of it.
		// NamePartOf returns "" for other names, such as a doctor's or a company's.
		p.Holder = slot.NamePartOf("full name " + strings.ToLower(said))
	}
	return p, ok
}

// questionIn returns the question that asks for the value at the end of the agent's last message. It returns "" if the
// conversation does not end with such a message.
func (v wantedValue) questionIn(conversation []saidMessage) string {
	if len(conversation) == 0 || conversation[len(conversation)-1].Speaker != agentSpeaker {
		return ""
	}
	question, _ := read.LastQuestion(conversation[len(conversation)-1].Text)
	words := subjectWords(question)
	named := subjectWords(strings.Join(read.NameWords(v.Name), " "))
	if !slices.ContainsFunc(named, func(word string) bool { return hasWord(words, word) }) {
		return ""
	}
	return question
}

// isOffer reports whether a question offers alternatives, like "Do you want to return an article, or exchange it?".
// The answer to such a question is a decision and not a value.
func isOffer(question string) bool {
	return alternatives().MatchString(question) && !openQuestion().MatchString(question)
}

func textOf(value any) *string {
	text := strings.TrimSpace(fmt.Sprint(value))
	if text == "" {
		return nil
	}
	return &text
}
