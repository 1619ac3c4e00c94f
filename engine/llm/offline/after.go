package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline/read"
)

// afterCall answers from the result of the call that was made last.
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
		return say(fill(about(c.speak.broken, t), read.Ended(read.Shorten(failure, maxFieldText))), c.speak.advice)
	}
	if t.delegate && !strings.HasPrefix(strings.TrimSpace(made.result), "{") {
		return say(strings.TrimSpace(made.result))
	}
	told := c.toldOf(c.speak.done, t, made)
	if wanted, ok := c.goal(); ok && wanted.name != t.name && c.leadsTo(wanted, t, len(c.tools)) {
		next := c.pursue(wanted, "")
		if next.tool != "" {
			return next
		}
		// Options of which one is chosen already need not be told again.
		if slices.ContainsFunc(wanted.properties, func(p property) bool { return c.picks(question{tool: wanted, property: p}) }) &&
			!strings.HasSuffix(next.text, c.speak.which(wanted)) {
			return next
		}
		return after(told, next.text)
	}
	return after(told, c.speak.anythingElse)
}

// toldOf tells of a result in a phrase; of one that says nothing but that the call succeeded, that it is done.
func (c *conversation) toldOf(phrase string, t tool, made call) string {
	told := read.Ended(inWords(made.result))
	if told == "The call to "+made.Name+" succeeded." {
		lead, _, _ := strings.Cut(about(phrase, t), "%")
		return read.Ended(strings.TrimRight(lead, " :"))
	}
	return strings.ReplaceAll(fill(about(phrase, t), told), " \n", "\n")
}

// after says something behind what was told, on its own line behind a list.
func after(told, text string) reply {
	if strings.Contains(told, "\n") {
		return say(told + "\n" + text)
	}
	return say(told, text)
}

// lastCalling is the index of the message that makes calls which the last messages answer; -1 when they answer none.
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
