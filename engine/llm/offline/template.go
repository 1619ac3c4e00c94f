package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/slot"
)

// placeholder matches a placeholder of a template: "<name>".
var placeholder = lazyregexp.New(`<(\w+)>`)

// fillAny fills the first template that can be filled, and returns the text. It returns "" if there is none.
func (c *conversation) fillAny(templates []string, arguments map[string]any) string {
	return c.fillWith(c.task, templates, arguments)
}

func (c *conversation) fillWith(t *task, templates []string, arguments map[string]any) string {
	for _, template := range templates {
		isFilled := !unfilled().MatchString(template)
		text := placeholder().ReplaceAllStringFunc(template, func(place string) string {
			value, ok := c.valueOf(t, strings.Trim(place, "<>"), arguments)
			isFilled = isFilled && ok
			return value
		})
		if isFilled {
			return text
		}
	}
	return ""
}

// valueOf returns the value of a placeholder: an argument, or else a field of the task's results, the latest first.
// "results" lists the items of the last result. "can" says what the agent can do.
func (c *conversation) valueOf(t *task, name string, arguments map[string]any) (string, bool) {
	if name == "can" {
		return c.ability(c.phrases), true
	}
	var done []call
	if t != nil {
		done = t.answeredCalls
	}
	if name == "results" && len(done) > 0 {
		text := formatResult(done[len(done)-1].result, c.phrases)
		return strings.TrimSpace(text), text != ""
	}
	if value, ok := arguments[name]; ok {
		if called, isTool := c.producedProperty(name); isTool {
			return c.formatArgument(called, value), true
		}
		return c.phrases.formatValue(value), true
	}
	for _, call := range slices.Backward(done) {
		if value, ok := fieldOf(call.value(), name); ok {
			return c.phrases.formatValue(value), true
		}
	}
	return "", false
}

// producedProperty returns the property with the name, from the first tool for which another tool produces its value.
func (c *conversation) producedProperty(name string) (slot.Property, bool) {
	for _, t := range c.tools {
		if p, ok := t.Property(name); ok && len(p.Producers) > 0 {
			return p, true
		}
	}
	return slot.Property{}, false
}
