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
	if said := read.Words(c.lastMessage); len(said) <= 2*maxShort || t.isConfirming {
		answer = read.YesOrNo(said)
	}
	isOther := best.score >= sureScore && best.exchange != t.exchange
	switch {
	case t.isOffered && answer == 1:
		t.isOffered = false
		return c.proceed()
	case t.isOffered && answer == -1 && len(read.Words(c.lastMessage)) <= maxShort:
		return c.dropTask()
	case t.isOffered:
		return nil
	case t.hasFailed:
		t.hasFailed = false
		if answer == 1 || read.WantsRepeat(c.lastMessage) {
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
	case t.askedProperty == nil:
		return nil
	}
	return c.resumeArgument(best, answer, isOther)
}

// resumeArgument treats the message as the value of the argument that the task asked for. answer is 1 for yes and -1
// for no. isOther is set if the message clearly matches another example.
func (c *conversation) resumeArgument(best match, answer int, isOther bool) *reply {
	t, p := c.task, *c.task.askedProperty
	value, ok := c.answered(p)
	isPlain := len(p.Producers) == 0 && (p.IsText() || p.Holder != "" || p.IsCode && p.Pattern == nil)
	if best.exchange != nil && best.isBuiltIn && !strings.Contains(c.lastMessage, "?") &&
		!calls(best.exchange, llm.EndConversation) {
		best, isOther = match{}, false // "ok" and "yes" do not start another subject
	}
	if answer != 0 && len(read.Words(c.lastMessage)) <= leastPart {
		best, isOther = match{}, false
	}
	switch {
	case ok && isPlain && (isOther || read.Declines(c.lastMessage)):
		ok = false
	case ok && isPlain && strings.Contains(c.lastMessage, "?") && best.score >= nearScore:
		ok = false
	}
	if ok {
		t.arguments[p.Name], t.askedProperty = value, nil
		return c.proceed()
	}
	if c.searchAgain() {
		return c.proceed()
	}
	said := read.Content(read.Words(c.lastMessage))
	isBareNo := answer == -1 && p.Kind != "boolean" && len(said) < leastPart
	if isBareNo && !read.HasDigits(c.lastMessage) || c.declines() && best.score < sureScore {
		return c.dropTask()
	}
	if isOther && best.opener != keyFirst || best.score >= nearScore && strings.Contains(c.lastMessage, "?") {
		if len(best.calls) > 0 || len(best.replies) > 0 {
			return nil
		}
		// Answer the contact's own question, then ask again.
		return textReply(c.fillAny(best.answers, nil), c.questionFor(p))
	}
	return c.digress(best, p, len(said) > 0)
}

// digress answers a message that does not answer the task's question, and asks for the property again. hasContent is
// set if the message has more than function words.
func (c *conversation) digress(best match, p slot.Property, hasContent bool) *reply {
	if found := c.quotation(best); found != nil && strings.Contains(c.lastMessage, "?") {
		return textReply(strings.TrimSuffix(found.text, " "+c.phrases.anythingElse), c.questionFor(p))
	}
	if c.asks() && len(read.Words(c.lastMessage)) > 1 {
		return c.interrupted(p)
	}
	if c.task.times < maxAsked && len(p.Choices()) == 0 &&
		(hasContent && len(read.Words(c.lastMessage)) > leastPart || read.HasDigits(c.lastMessage)) {
		return c.proceedAfter(c.phrases.noted) // the message gives other information
	}
	return c.proceed()
}

// interrupted answers a question of the contact that resembles no example, and asks for the property again.
func (c *conversation) interrupted(p slot.Property) *reply {
	words := c.lexicons[c.phrases.language]
	found := words.nearest(c.spoken(c.agentExamples), words.parts(c.lastMessage))
	switch {
	case found.exchange == c.task.exchange:
		return c.proceedAfter(c.phrases.noted) // it is a wish for this task
	case found.score >= likelyScore && len(found.calls) == 0 && len(found.replies) == 0:
		return textReply(c.fillAny(found.answers, nil), c.questionFor(p))
	}
	return textReply(c.phrases.lost, c.questionFor(p))
}

func (c *conversation) questionFor(p slot.Property) string {
	if question, _ := read.LastQuestion(c.task.asks[p.Name]); question != "" {
		return question
	}
	if len(p.Producers) > 0 {
		return c.phrases.which
	}
	return c.phrases.phrase(p)
}

// confirmed makes the call after a yes and drops the task after a no. A message with another value corrects the call.
func (c *conversation) confirmed(answer int, isOther bool) *reply {
	t, called := c.next()
	for _, p := range t.Properties {
		value, ok := p.ValueIn(c.lastMessage, false, c.today)
		if ok && !p.IsText() && len(p.Producers) == 0 && !isSameJSON(value, c.task.arguments[p.Name]) &&
			called.arguments[p.Name] == "" {
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
	return textReply(c.phrases.unclear, c.recap(t, c.task.arguments))
}

// searchAgain goes back to the call that found the options, if the message asks for different ones, such as another
// day.
func (c *conversation) searchAgain() bool {
	for step := c.task.step - 1; step >= 0; step-- {
		t, ok := c.tool(c.task.calls[step].name)
		for _, p := range t.Properties {
			value, isSaid := p.ValueIn(c.lastMessage, false, c.today)
			if ok && isSaid && (p.Format != "" || len(p.Enum) > 0) && !isSameJSON(value, c.lastArgument(t.Name, p.Name)) {
				c.task.step, c.task.askedProperty, c.task.isConfirming = step, nil, false
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
