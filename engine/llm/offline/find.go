package offline

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/slot"
)

// messageWanted stands for the contact's own words in an example.
const messageWanted = "<message>"

// argumentsOf returns the known arguments of a call, and the first required argument without a value, or nil.
func (c *conversation) argumentsOf(t slot.Tool, called exampleCall) (map[string]any, *slot.Property) {
	arguments := map[string]any{}
	var missing *slot.Property
	order := func(p *slot.Property) int {
		if len(p.Producers) > 0 {
			return -2 // options go first, because the contact has just read them
		}
		if i := slices.Index(c.task.order, p.Name); i >= 0 {
			return i
		}
		return len(c.task.order)
	}
	for _, name := range c.requiredArguments(t, called) {
		p, ok := t.Property(name)
		if !ok {
			continue
		}
		if value, found := c.argumentValue(t, p, called); found {
			arguments[name] = value
		} else if missing == nil || order(&p) < order(missing) {
			missing = &p
		}
	}
	for _, p := range t.Properties {
		if _, has := arguments[p.Name]; !has && missing == nil {
			if value, found := c.mentioned(p, called); found {
				arguments[p.Name] = value
			}
		}
	}
	return arguments, missing
}

// requiredArguments returns the names of the arguments that a call must have: the schema's required ones, and one of
// the tool's alternative sets. It takes the first set that can be filled, or else the first set. If the schema demands
// more arguments than these, it adds known ones before unknown ones.
func (c *conversation) requiredArguments(t slot.Tool, called exampleCall) []string {
	names := slices.Clone(t.Wanted)
	filled := func(name string) bool {
		p, ok := t.Property(name)
		if ok {
			_, ok = c.argumentValue(t, p, called)
		}
		return ok
	}
	if len(t.Alternatives) > 0 {
		chosen := t.Alternatives[0]
		for _, branch := range t.Alternatives {
			if !slices.ContainsFunc(branch, func(name string) bool { return !filled(name) }) {
				chosen = branch
				break
			}
		}
		names = append(names, chosen...)
	}
	for _, onlyFilled := range []bool{true, false} {
		for _, p := range t.Properties {
			if len(names) < t.Least && !slices.Contains(names, p.Name) && (!onlyFilled || filled(p.Name)) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// mentioned returns the value that the contact gave since the task began, or else the example's value.
func (c *conversation) mentioned(p slot.Property, called exampleCall) (any, bool) {
	if value, ok := c.task.arguments[p.Name]; ok {
		return value, true
	}
	for _, text := range slices.Backward(c.contactMessages[c.task.startMessage:]) {
		if value, ok := c.valueIn(p, text, false); ok && len(p.Producers) == 0 && !c.isTaken(p, value) {
			return value, true
		}
	}
	text, ok := called.arguments[p.Name]
	switch {
	case !ok:
		return nil, false
	case text == messageWanted:
		return p.Cut(read.Shorten(c.contactMessages[c.task.startMessage], maxEchoed)), true
	case p.Kind == "array":
		return []any{text}, true
	case p.Kind == "integer", p.Kind == "number":
		value, err := strconv.ParseFloat(text, 64)
		return value, err == nil
	case p.Kind == "boolean":
		return text == "true", true
	}
	return text, true
}

// isTaken reports whether another argument of the task already has the value. It compares only numbers and values with
// a format, such as a day.
func (c *conversation) isTaken(p slot.Property, value any) bool {
	if p.Format == "" && p.Kind != "number" && p.Kind != "integer" {
		return false
	}
	for name, taken := range c.task.arguments {
		if name != p.Name && isSameJSON(taken, value) {
			return true
		}
	}
	return slices.ContainsFunc(c.task.answeredCalls, func(call call) bool {
		for name, taken := range call.arguments() {
			if name != p.Name && isSameJSON(taken, value) {
				return true
			}
		}
		return false
	})
}

// argumentValue looks for the value of a required argument. It tries the most reliable place first.
func (c *conversation) argumentValue(t slot.Tool, p slot.Property, called exampleCall) (any, bool) {
	if value, ok := c.mentioned(p, called); ok {
		return value, true
	}
	if len(p.Producers) > 0 {
		return c.produced(p)
	}
	if p.IsReusable() {
		for _, text := range slices.Backward(c.contactMessages) {
			if value, ok := p.ValueIn(text, false, c.today); ok {
				return value, true
			}
		}
		for _, call := range slices.Backward(c.calls) {
			if value, ok := call.arguments()[p.Name]; ok {
				return value, true
			}
		}
	}
	if value, ok := c.produced(p); ok {
		return value, true
	}
	if !c.hasExamples() && !p.IsFreeText() && p.Kind == "string" && len(p.Enum) == 0 && p.Format != "date" {
		if value, ok := p.ValueIn(c.opening, false, c.today); ok {
			return value, true
		}
	}
	switch {
	case p.Fixed != nil && p.Kind != "boolean":
		return p.Fixed, true
	case t.Delegate:
		return strings.Join(c.contactMessages[c.task.startMessage:], "\n"), true
	case p.IsFreeText() && p.Question == "" || p.Name == "text" || p.Name == "body":
		return p.Cut(read.Shorten(c.contactMessages[c.task.startMessage], maxEchoed)), true
	}
	return nil, false
}

// answered reads the latest message as the answer to a question for a property.
func (c *conversation) answered(p slot.Property) (any, bool) {
	if len(p.Producers) > 0 {
		options := c.options(p)
		if len(options) == 1 && read.SaysYes(c.lastMessage) {
			return options[0].as(p)
		}
		return chosen(p, options, c.lastMessage)
	}
	value, ok := c.valueIn(p, c.lastMessage, true)
	if !ok && p.Format == "date-time" && c.task.times > 1 {
		// A day and a time may come in two answers.
		from := max(c.task.startMessage, len(c.contactMessages)-maxAsked)
		return p.ValueIn(strings.Join(c.contactMessages[from:], ", "), true, c.today)
	}
	return value, ok
}

// valueIn reads a property's value from a message. If the property is the earliest time, a day is enough.
func (c *conversation) valueIn(p slot.Property, text string, isAnswer bool) (any, bool) {
	value, ok := p.ValueIn(text, isAnswer, c.today)
	if ok || p.Format != "date-time" || !slices.Contains(p.Title, "earliest") {
		return value, ok
	}
	if _, ok := read.Date(text, c.today); !ok {
		return nil, false
	}
	return p.ValueIn(text+" at 6:00", isAnswer, c.today)
}

// produced returns a property's value from the results of earlier calls: the only value, or the one that the contact
// chose.
func (c *conversation) produced(p slot.Property) (any, bool) {
	options := c.options(p)
	if len(options) < 2 {
		for _, o := range options {
			return o.as(p)
		}
		return nil, false
	}
	// A contact cannot choose before reading the options, but an agent that forwards several messages can.
	from := max(c.task.startMessage, options[0].turn)
	if strings.Contains(c.lastMessage, "\n") {
		from = c.task.startMessage
	}
	for _, text := range slices.Backward(c.contactMessages[from:]) {
		if value, ok := chosen(p, options, text); ok {
			return value, true
		}
	}
	return nil, false
}

// chooses reports whether the message chooses an option for a call of the exchange.
func (c *conversation) chooses(e *exchange) bool {
	for _, called := range e.calls {
		t, _ := c.tool(called.name)
		for _, p := range t.Properties {
			options := c.options(p)
			if len(p.Producers) == 0 || len(options) == 0 {
				continue
			}
			if _, ok := chosen(p, options, c.lastMessage); ok || len(options) == 1 && read.SaysYes(c.lastMessage) {
				return true
			}
		}
	}
	return false
}

func isSameJSON(one, other any) bool {
	first, _ := json.Marshal(one) // values that came from JSON always marshal
	second, _ := json.Marshal(other)
	return string(first) == string(second)
}

// singular returns the name of a list's item: "articleId" for "articleIds".
func singular(name string) string { return strings.TrimSuffix(name, "s") }
