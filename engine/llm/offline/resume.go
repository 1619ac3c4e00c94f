package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/slot"
)

// resume treats the message as the answer to the task's question. It returns nil if the message is about something
// else. best is the nearest example, if any.
func (c *conversation) resume(best match) *reply {
	t := c.task
	answer := 0
	if said := read.Words(c.said); len(said) <= 2*maxShort || t.isConfirming {
		answer = read.YesOrNo(said)
	}
	isOther := best.score >= sure && best.exchange != t.exchange
	switch {
	case t.isOffered && answer == 1:
		t.isOffered = false
		return c.proceed()
	case t.isOffered && answer == -1 && len(read.Words(c.said)) <= maxShort:
		return c.dropTask()
	case t.isOffered:
		return nil
	case t.hasFailed:
		t.hasFailed = false
		if answer == 1 || read.WantsRepeat(c.said) {
			return c.proceed()
		}
		if answer == -1 {
			return c.dropTask()
		}
		return nil
	case t.isDelegating && !isOther:
		return c.proceed()
	case t.isConfirming:
		return c.confirmed(answer, isOther)
	case t.asked == nil:
		return nil
	}
	return c.resumeArgument(best, answer, isOther)
}

// resumeArgument treats the message as the value of the argument that the task asked for. answer is 1 for yes and -1
// for no. isOther is set if the message clearly matches another example.
func (c *conversation) resumeArgument(best match, answer int, isOther bool) *reply {
	t, p := c.task, *c.task.asked
	value, ok := c.answered(p)
	isPlain := len(p.Producers) == 0 && (p.IsText() || p.Holder != "" || p.IsCode && p.Pattern == nil)
	if best.exchange != nil && best.isBuiltIn && !strings.Contains(c.said, "?") &&
		!calls(best.exchange, llm.EndConversation) {
		best, isOther = match{}, false // "ok" and "yes" do not start another subject
	}
	if answer != 0 && len(read.Words(c.said)) <= leastPart {
		best, isOther = match{}, false
	}
	switch {
	case ok && isPlain && (isOther || read.Declines(c.said)):
		ok = false
	case ok && isPlain && strings.Contains(c.said, "?") && best.score >= near:
		ok = false
	}
	if ok {
		t.arguments[p.Name], t.asked = value, nil
		return c.proceed()
	}
	if c.searchAgain() {
		return c.proceed()
	}
	said := read.Content(read.Words(c.said))
	isBareNo := answer == -1 && p.Kind != "boolean" && len(said) < leastPart
	if isBareNo && !read.HasDigits(c.said) || c.declines() && best.score < sure {
		return c.dropTask()
	}
	if isOther && best.opener != keyFirst || best.score >= near && strings.Contains(c.said, "?") {
		if len(best.calls) > 0 || len(best.replies) > 0 {
			return nil
		}
		// Answer the contact's own question, then ask again.
		return say(c.fillAny(best.answers, nil), c.questionFor(p))
	}
	return c.digress(best, p, len(said) > 0)
}

// digress answers a message that does not answer the task's question, and asks for the property again. hasContent is
// set if the message has more than function words.
func (c *conversation) digress(best match, p slot.Property, hasContent bool) *reply {
	if found := c.quotation(best); found != nil && strings.Contains(c.said, "?") {
		return say(strings.TrimSuffix(found.text, " "+c.speak.anythingElse), c.questionFor(p))
	}
	if c.asks() && len(read.Words(c.said)) > 1 {
		return c.interrupted(p)
	}
	if c.task.times < maxAsked && len(p.Choices()) == 0 &&
		(hasContent && len(read.Words(c.said)) > leastPart || read.HasDigits(c.said)) {
		return c.proceedAfter(c.speak.noted) // the message gives other information
	}
	return c.proceed()
}

// interrupted answers a question of the contact that resembles no example, and asks for the property again.
func (c *conversation) interrupted(p slot.Property) *reply {
	words := c.lexicons[c.speak.language]
	found := words.nearest(c.spoken(c.own), words.parts(c.said))
	switch {
	case found.exchange == c.task.exchange:
		return c.proceedAfter(c.speak.noted) // it is a wish for this task
	case found.score >= likely && len(found.calls) == 0 && len(found.replies) == 0:
		return say(c.fillAny(found.answers, nil), c.questionFor(p))
	}
	return say(c.speak.lost, c.questionFor(p))
}

func (c *conversation) questionFor(p slot.Property) string {
	if question, _ := read.LastQuestion(c.task.asks[p.Name]); question != "" {
		return question
	}
	if len(p.Producers) > 0 {
		return c.speak.which
	}
	return c.speak.phrase(p)
}

// confirmed makes the call after a yes and drops the task after a no. A message with another value corrects the call.
func (c *conversation) confirmed(answer int, isOther bool) *reply {
	t, called := c.next()
	for _, p := range t.Properties {
		value, ok := p.In(c.said, false, c.today)
		if ok && !p.IsText() && len(p.Producers) == 0 && !same(value, c.task.arguments[p.Name]) && called.with[p.Name] == "" {
			c.task.arguments[p.Name] = value
			return c.proceed()
		}
	}
	switch {
	case c.searchAgain():
		return c.proceed()
	case answer == 1:
		c.task.isAgreed = true
		return c.proceed()
	case answer == -1 || c.declines():
		return c.dropTask()
	case isOther:
		return nil
	}
	return say(c.speak.unclear, c.recap(t, c.task.arguments))
}

// searchAgain goes back to the call that found the options, if the message asks for different ones, such as another
// day.
func (c *conversation) searchAgain() bool {
	for step := c.task.step - 1; step >= 0; step-- {
		t, ok := c.tool(c.task.calls[step].name)
		for _, p := range t.Properties {
			value, isSaid := p.In(c.said, false, c.today)
			if ok && isSaid && (p.Format != "" || len(p.Enum) > 0) && !same(value, c.lastArgument(t.Name, p.Name)) {
				c.task.step, c.task.asked, c.task.isConfirming = step, nil, false
				for _, taken := range c.tools {
					for _, chosen := range taken.Properties {
						if slices.Contains(chosen.Producers, t.Name) {
							delete(c.task.arguments, chosen.Name)
						}
					}
				}
				c.task.arguments[p.Name] = value
				return true
			}
		}
	}
	return false
}
