package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

func (c *conversation) afterCall(made call) reply {
	next := c.answerTo(made)
	if made.Name != llm.EndConversation && made.Name != llm.TransferCall && next.tool == "" {
		next.text = say(c.lead(), next.text).text
	}
	return next
}

func (c *conversation) answerTo(made call) reply {
	failure := made.failure()
	switch {
	case made.Name == llm.EndConversation:
		return say(c.speak.goodbye)
	case made.Name == llm.TransferCall && failure != "":
		return say(fill(c.speak.transferFailed, read.Ended(read.Shorten(failure, maxFieldText))), c.speak.anythingElse)
	case made.Name == llm.TransferCall:
		return say(c.speak.transferred)
	}
	t, ok := c.tool(made.Name)
	if !ok {
		t = tool{name: made.Name, title: strings.Join(read.NameWords(made.Name), " ")}
	}
	if failure != "" {
		return say(fill(c.speak.broken, read.Ended(read.Shorten(failure, maxFieldText))), c.speak.advice)
	}
	if t.delegate && !strings.HasPrefix(strings.TrimSpace(made.result), "{") {
		return say(strings.TrimSpace(made.result))
	}
	told := c.toldOf(t, made)
	if wanted, ok := c.goal(); ok && wanted.name != t.name && c.leadsTo(wanted, t, len(c.tools)) {
		next := c.pursue(wanted, "")
		if next.tool != "" {
			return next
		}
		// Options that the contact has already chosen from are not listed.
		if slices.ContainsFunc(wanted.properties,
			func(p property) bool { return c.picks(question{tool: wanted, property: p}) }) &&
			!strings.HasSuffix(next.text, c.speak.which) {
			return next
		}
		return after(told, next.text)
	}
	if c.takenUp(t) {
		return after(told, c.speak.oneOf)
	}
	return after(told, c.speak.anythingElse)
}

// takenUp reports whether another tool takes one of the options that a tool just listed.
func (c *conversation) takenUp(t tool) bool {
	return slices.ContainsFunc(c.tools, func(other tool) bool {
		return slices.ContainsFunc(other.properties, func(p property) bool {
			return c.picks(question{property: p}) &&
				slices.ContainsFunc(p.producers, func(producer *tool) bool { return producer.name == t.name })
		})
	})
}

// toldOf tells the result of a call, or just that it is done if the result only says that it worked.
func (c *conversation) toldOf(t tool, made call) string {
	if made.saysNothing() {
		return c.speak.done
	}
	// A tool that asks for a yes changes something, and does not just look.
	if t.confirm {
		return c.speak.done + " " + read.UpperFirst(read.Ended(inWords(made.result)))
	}
	return strings.ReplaceAll(fill(c.speak.told, read.Ended(inWords(made.result))), " \n", "\n")
}

// after appends a text to the reply. After a list, it starts a new line.
func after(told, text string) reply {
	if strings.Contains(told, "\n") {
		return say(told + "\n" + text)
	}
	return say(told, text)
}

// lastCalling returns the index of the message whose calls the last messages answer, or -1.
func (c *conversation) lastCalling() int {
	for i, message := range slices.Backward(c.req.Messages) {
		if message.Role != llm.RoleTool {
			if len(message.ToolCalls) > 0 {
				return i
			}
			break
		}
	}
	return -1
}
