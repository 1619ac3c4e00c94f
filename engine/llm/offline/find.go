package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// maxHeard is how many messages back the contact's words count for another matter than their own.
const maxHeard = 20

// find looks for a property's value, in the most reliable place first. The value of an optional property (required is
// false) must have been said in this matter.
func (c *conversation) find(t tool, p property, required bool) (any, bool) {
	for _, given := range slices.Backward(c.answers) {
		if !given.confirm && given.property.name == p.name && (p.lasts() || given.at >= c.began()) {
			// The contact may have changed its mind since.
			if value, ok := c.heard(p, given.at+1); ok && len(p.producers) == 0 {
				return value, true
			}
			options := c.options(p)
			if value, ok := chosen(p, options, given.text); ok {
				return value, true
			}
			// While there are several options, only a choice is an answer.
			if value, ok := p.in(given.text, true, c.today); ok && len(options) < 2 && !c.unasked(p) {
				return value, true
			}
		}
	}
	if value, ok := c.pieced(p); ok {
		return value, true
	}
	if len(p.producers) > 0 {
		return c.produced(p)
	}
	if value, ok := c.heard(p, c.heardFrom(p, required)); ok {
		return value, true
	}
	if value, ok := c.addressed(p); ok && required {
		return value, true
	}
	if !required {
		return nil, false
	}
	for _, made := range slices.Backward(c.calls) {
		if value, ok := made.argument(p.name); ok && p.lasts() {
			return value, true
		}
	}
	if value, ok := c.produced(p); ok {
		return value, true
	}
	if value, ok := c.instructed(p); ok {
		return value, true
	}
	switch {
	case p.fixed != nil && p.kind != "boolean":
		return p.fixed, true
	case p.isFreeText():
		return c.ownWords(t, p)
	case p.isText() && (p.name == "text" || p.name == "body"):
		// A message to send holds what the agent said last, unless that is a question.
		text := strings.TrimSpace(c.agentBefore(c.began()))
		if question, _ := read.LastQuestion(text); text == "" || question != "" {
			return c.ownWords(t, p)
		}
		return p.cut(text), true
	}
	return nil, false
}

// pieced joins a day and a time that the contact told in different answers.
func (c *conversation) pieced(p property) (any, bool) {
	if p.format != "date-time" {
		return nil, false
	}
	var told []string
	for _, given := range slices.Backward(c.answers) {
		if !given.confirm && given.property.name == p.name && given.at >= c.began() {
			told = append(told, given.text)
		}
	}
	return p.in(strings.Join(told, ", "), true, c.today)
}

// heard looks for a value in the contact's messages from an index on, the latest first. It skips values that another
// argument has taken.
func (c *conversation) heard(p property, from int) (any, bool) {
	for at := c.turn; at >= from; at-- {
		if c.req.Messages[at].Role != llm.RoleUser || at > c.began() && c.inquiresAt(at) {
			continue // asking about something is not wanting it
		}
		for _, text := range slices.Backward(c.contactSaid(at)) {
			value, ok := p.in(text, false, c.today)
			if !ok || (p.format != "" || p.isCode || p.kind == "number" || p.kind == "integer") && c.usedElsewhere(p, value) {
				continue
			}
			return value, true
		}
	}
	return nil, false
}

// heardFrom returns the index of the first message that may hold a property's value. A required one may have been said
// since the last call, whatever the matter was then.
func (c *conversation) heardFrom(p property, required bool) int {
	switch {
	case required && p.lasts():
		return 0
	case required:
		return min(c.began(), max(c.sinceCall(), c.turn-maxHeard))
	}
	return c.began()
}

// sinceCall returns the index of the first message of the contact after the last call.
func (c *conversation) sinceCall() int {
	for _, made := range slices.Backward(c.calls) {
		if made.at < c.turn {
			return made.at + 1
		}
	}
	return 0
}

// usedElsewhere reports whether a value is already an argument, or an answer, for another name.
func (c *conversation) usedElsewhere(p property, value any) bool {
	for _, made := range c.calls {
		arguments, ok := made.arguments()
		if !ok {
			continue
		}
		for name, used := range arguments {
			if name != p.name && same(used, value) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.answers, func(given answered) bool {
		used, ok := given.property.in(given.text, true, c.today)
		return ok && given.property.name != p.name && same(used, value)
	})
}

func same(one, other any) bool {
	first, _ := json.Marshal(one) // values that came from JSON always marshal
	second, _ := json.Marshal(other)
	return string(first) == string(second)
}

// ownWords returns what the contact said in this matter, unless that is nothing but the tool's own name.
func (c *conversation) ownWords(t tool, p property) (any, bool) {
	from := c.began()
	if t.delegate {
		return p.cut(c.handover(t, min(from, c.beganDelegation()))), true
	}
	said := ownLines(c, from)
	named := read.Meanings(read.NameWords(t.name))
	tells := func(word string) bool { return !read.HasAlike(named, word) && !read.IsEmpty(word) }
	if !slices.ContainsFunc(read.Concepts(said), tells) {
		return nil, false
	}
	return p.cut(said), true
}

// handover returns the request to a sub-agent, which may know nothing yet: a line with what the contact wants, in its
// own words, and a line for each question of the sub-agent, with the answer.
func (c *conversation) handover(t tool, from int) string {
	lines := []string{t.title + ". " + ownLines(c, from)}
	for at := from + 1; at <= c.turn; at++ {
		message := c.req.Messages[at]
		if message.Role != llm.RoleUser {
			continue
		}
		said := strings.Join(strings.Fields(message.Text), " ")
		if made := c.delegatedBefore(at); made != nil {
			said = lastQuestion(made.result) + " " + said
		}
		lines = append(lines, said)
	}
	return strings.Join(lines, "\n")
}

// ownLines returns a message without the lines that repeat a question with its answer.
func ownLines(c *conversation, at int) string {
	lines := strings.Split(c.req.Messages[at].Text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		_, answer, ok := c.questionIn(line, at)
		return ok && answer != ""
	}), "\n")
}

func (c *conversation) addressed(p property) (any, bool) {
	if p.holder == "" || p.isFreeText() {
		return nil, false
	}
	name := c.contact()
	if name == "" || p.holder == "last" && !strings.Contains(name, " ") {
		return nil, false
	}
	return p.person("My name is "+name, false)
}

// unasked reports whether none of a property's producers was called yet.
func (c *conversation) unasked(p property) bool {
	return len(p.producers) > 0 && !slices.ContainsFunc(p.producers, func(producer *tool) bool {
		return slices.ContainsFunc(c.calls, func(made call) bool { return made.Name == producer.name })
	})
}

// singular returns the name of a list's item: "articleId" of "articleIds".
func singular(name string) string { return strings.TrimSuffix(name, "s") }

// produced returns the property's value from the results of earlier calls: the only one there is, or the one that the
// contact chose.
func (c *conversation) produced(p property) (any, bool) {
	options := c.options(p)
	if len(options) == 1 {
		return options[0].as(p)
	}
	if len(c.calledNow()) > 0 {
		return nil, false // the contact has not seen them yet
	}
	for at := c.began(); at <= c.turn; at++ {
		for _, text := range c.contactSaid(at) {
			if value, ok := chosen(p, options, text); ok {
				return value, true
			}
		}
	}
	return nil, false
}
