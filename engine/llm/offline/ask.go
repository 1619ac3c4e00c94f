package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

// maxChoices bounds the choices that a question names when it is first asked.
const maxChoices = 4

var (
	// asksOpenly matches the beginning of a description that can be asked as it is: "Why it is frozen".
	asksOpenly = lazyregexp.New(
		`(?i)^(wh(at|en|ere|ich|o|y|ether)|how|if|for how|(ce qu|où|quand|comment|combien|pourquoi|quel|si )\pL*)`)
	// determined matches the beginning of a description that needs no article.
	determined = lazyregexp.New(`(?i)^(the|a|an|your|one|all|any|this|these) `)
	// ofPerson matches the end of a description of something that the contact has.
	ofPerson = lazyregexp.New(
		`(?i)^(.+?)(?: (of|of the|that the) (?:caller|customer|visitor|contact|lead|passenger|patient|recipient|policyholder|guest|cardholder)s?(?: gave| named| wants)?)$`)
)

// phrase returns the question for a property: the title of its schema if that is a question in this language, else the
// question for what everybody has, else one made from its description.
func (p *phrasebook) phrase(wanted property) string {
	spoken, told := read.Detect(wanted.question)
	switch {
	case wanted.question != "" && (!told || spoken == p.language):
		return wanted.question
	case wanted.holder == "last":
		return p.lastName
	case wanted.holder == "first":
		return p.firstName
	case wanted.holder == "full":
		return p.name
	case wanted.isBirth:
		return p.birth
	case wanted.isPhone && !wanted.isMail:
		return p.phone
	case wanted.isMail && !wanted.isPhone:
		return p.mail
	case wanted.isPostcode:
		return p.postcode
	}
	question := p.describe(wanted)
	choices := wanted.choicesInWords()
	if len(choices) == 0 || len(choices) > maxChoices {
		return question
	}
	colon := strings.Replace(p.mark, "?", ": ", 1)
	return strings.TrimRight(question, "? ") + colon + p.either(choices) + p.mark
}

// describe asks for a property in the words of its description, or of its name if the description says next to nothing.
func (p *phrasebook) describe(wanted property) string {
	label := wanted.label
	if wanted.language != p.language {
		switch wanted.format {
		case "date":
			return p.day
		case "date-time":
			return p.moment
		}
		return fill(p.give, label)
	}
	if asksOpenly().MatchString(label) {
		return fill(p.tell, label)
	}
	if p.language != read.English {
		return fill(p.give, label) // where articles have a gender
	}
	if m := ofPerson().FindStringSubmatch(label); m != nil {
		label = "your " + m[1]
	} else if !determined().MatchString(label) {
		label = "the " + label
	}
	return fill(p.tell, label)
}

func (p *phrasebook) either(choices []string) string {
	last := len(choices) - 1
	if last < 1 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " " + p.or + " " + choices[last]
}

// help says what an answer may be or looks like. It returns "" if nothing is known of that.
func (p *phrasebook) help(wanted property) string {
	if choices := wanted.choicesInWords(); len(choices) > maxChoices || len(choices) > 0 && wanted.question != "" {
		return fill(p.choices, p.either(choices))
	} else if len(choices) > 0 {
		return ""
	}
	like := wanted.example
	switch {
	case like != "":
	case wanted.isBirth:
		like = p.exampleBirth
	case wanted.format == "date":
		like = p.exampleDay
	case wanted.format == "date-time":
		like = p.exampleTime
	case wanted.kind == "boolean":
		like = p.exampleYes
	case wanted.least != nil && wanted.most != nil:
		return fmt.Sprintf(p.between, *wanted.least, *wanted.most)
	case wanted.kind == "integer", wanted.kind == "number":
		like = "12"
	case wanted.isPhone:
		like = "+44 7700 900114"
	case wanted.isMail, wanted.format == "email":
		like = "ana@example.com"
	}
	if like == "" {
		return ""
	}
	return fill(p.example, like)
}

func (p property) choicesInWords() []string {
	var choices []string
	for _, choice := range p.choices() {
		choices = append(choices, strings.Join(read.NameWords(choice), " "))
	}
	return choices
}

// say writes an argument for the contact. Days and times are written as people say them.
func (p *phrasebook) say(value any) string {
	text, _ := value.(string)
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return p.dayOf(day)
	}
	if moment, err := time.Parse(time.RFC3339, text); err == nil {
		return p.dayOf(moment) + ", " + moment.Format("15:04")
	}
	if text != "" {
		return strings.Join(strings.Fields(text), " ")
	}
	raw, _ := json.Marshal(value) // an argument always marshals
	return inWords(string(raw))
}

func (p *phrasebook) dayOf(day time.Time) string {
	return fmt.Sprintf("%d %s %d", day.Day(), p.months[day.Month()-1], day.Year())
}

// labelOf names a property in the words of its description, or of its name if the description says next to nothing.
func labelOf(p property) string {
	text := strings.TrimSpace(toolReference().ReplaceAllString(read.FirstSentence(p.description), ""))
	text, _, _ = strings.Cut(text, ", ")
	if len(read.Content(read.Words(text))) < 2 && len(p.title) > 1 && !asksOpenly().MatchString(text) || text == "" {
		text = strings.Join(p.title, " ")
	}
	return read.LowerFirst(text)
}

// ask asks for an argument. It asks once more with help if the answer did not tell, and then gives up.
func (c *conversation) ask(wanted question, lead string) reply {
	text := c.asking(wanted)
	times := 0
	for at := c.turn; at >= 0 && strings.HasSuffix(strings.TrimSpace(c.agentBefore(at)), text); at = c.contactBefore(at) {
		if !c.inquiresAt(at) {
			times++
		}
	}
	// A request that is handed over includes the questions.
	inRequest := 0
	for _, given := range c.answers {
		if given.at == c.turn && given.is(wanted) {
			inRequest++
		}
	}
	times = max(times, inRequest)
	isNew := times == 0 && c.began() == c.turn && len(c.calledNow()) == 0
	switch {
	case len(wanted.property.producers) > 0 && !c.picks(wanted):
		return say(c.speak.nothing, c.instead(wanted.tool))
	case times >= maxAsked:
		return say(c.speak.stuck, c.instead(wanted.tool))
	case times > 0 && len(c.calledNow()) == 0:
		lead = say(c.speak.unclear, c.speak.help(wanted.property)).text
	case isNew:
		lead = say(lead, c.speak.gladly).text
	}
	if c.picks(wanted) && len(c.calledNow()) == 0 {
		var listed []string
		options := c.options(wanted.property)
		for i, o := range options[:min(len(options), maxOptions)] {
			listed = append(listed, fmt.Sprintf("%d) %s", i+1, itemInWords(o.about)))
		}
		return after(strings.TrimPrefix(lead+"\n"+strings.Join(listed, "\n"), "\n"), text)
	}
	return say(lead, text)
}

// instead returns what to offer if the model can do nothing: a callback, else a transfer, else anything else.
func (c *conversation) instead(t tool) string {
	switch callback := c.callback(); {
	case callback != nil && callback.name != t.name:
		return c.speak.callBack
	case c.offersTransfer():
		return c.speak.putThrough
	}
	return c.speak.anythingElse
}

func (c *conversation) callback() *tool {
	if i := slices.IndexFunc(c.tools, tool.callsBack); i >= 0 {
		return &c.tools[i]
	}
	return nil
}

// offeredTransfer reports whether the agent just offered to put the contact through.
func (c *conversation) offeredTransfer() bool {
	before := strings.TrimSpace(c.agentBefore(c.turn))
	return slices.ContainsFunc(phrases[:], func(p phrasebook) bool { return strings.HasSuffix(before, p.putThrough) })
}

// corrects reports whether the latest message has a value for the tool.
func (c *conversation) corrects(t tool) bool {
	return slices.ContainsFunc(t.properties, func(p property) bool {
		_, ok := p.in(c.said(), false, c.today)
		return ok && !p.isText()
	})
}

// recap reads the arguments of a call back to the contact. It leaves out the contact's own account, and the identifiers
// of options.
func (c *conversation) recap(t tool, arguments map[string]any) string {
	var parts []string
	for _, p := range t.properties {
		value, ok := arguments[p.name]
		if !ok || p.isFreeText() {
			continue
		}
		if len(p.producers) > 0 {
			for _, o := range c.options(p) {
				if same(o.value, value) {
					parts = append(parts, itemInWords(o.about))
				}
			}
			continue
		}
		parts = append(parts, strings.Join(p.title, " ")+" "+c.speak.say(value))
	}
	if len(parts) == 0 {
		return ""
	}
	return fill(c.speak.recap, strings.Join(parts, ", "))
}
