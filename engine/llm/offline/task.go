package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/slot"
)

const (
	// maxAsked is how often in a row the same question is asked.
	maxAsked = 3
	// maxChoosing bounds a message that chooses by place, in words.
	maxChoosing = 6
	// maxEchoed bounds how much of the contact's message a reason repeats, in characters.
	maxEchoed = 200
)

// task is an exchange that the agent carries out.
type task struct {
	*exchange
	// step is the number of the next call.
	step int
	// arguments are what the contact answered or chose.
	arguments map[string]any
	// began is the number of the message that began it.
	began int
	// asked is the argument that the agent just asked for, or nil, and times how often in a row.
	asked *slot.Property
	times int
	// isConfirming: the agent just asked whether to go ahead. isAgreed: the contact said yes.
	isConfirming, isAgreed bool
	// isOffered: the agent just asked whether this is what the contact wants.
	isOffered bool
	// hasFailed: the last call failed, and the agent asked whether to try again.
	hasFailed bool
	// isDelegating: a sub-agent has the task, and just asked something.
	isDelegating bool
	// done are its answered calls.
	done []call
}

// next returns the tool of the next call and what the example says about it.
func (c *conversation) next() (slot.Tool, exampleCall) {
	called := c.task.calls[c.task.step]
	t, _ := c.tool(called.name)
	return t, called
}

// proceed makes the next call of the task, or asks for what it needs. After the last call it tells the results.
func (c *conversation) proceed() *reply { return c.proceedAfter("") }

// proceedAfter is proceed with a sentence before the question, if there is one.
func (c *conversation) proceedAfter(lead string) *reply {
	if c.task.step >= len(c.task.calls) {
		return c.finish()
	}
	t, called := c.next()
	switch called.name {
	case llm.EndConversation:
		return c.leave(c.fillAny(c.task.answers, nil))
	case llm.TransferCall:
		return &reply{tool: llm.TransferCall, arguments: map[string]any{"reason": read.Shorten(c.said, maxEchoed)}}
	}
	arguments, missing := c.argumentsOf(t, called)
	if missing != nil {
		return c.ask(*missing, lead)
	}
	isLast := c.task.step == len(c.task.calls)-1
	if (c.task.confirm != "" && isLast || t.Confirm) && !c.task.isAgreed {
		c.task.isConfirming, c.task.arguments = true, arguments
		return say(lead, c.recap(t, arguments))
	}
	return &reply{tool: t.Name, arguments: arguments}
}

// recap asks the contact to agree to a call.
func (c *conversation) recap(t slot.Tool, arguments map[string]any) string {
	if text := c.fillAny([]string{c.task.confirm}, arguments); text != "" {
		return text
	}
	var parts []string
	for _, p := range t.Properties {
		if value, ok := arguments[p.Name]; ok && !p.IsFreeText() {
			parts = append(parts, c.inWords(p, value))
		}
	}
	return say(fill(c.speak.recap, strings.Join(parts, "; ")), c.speak.sure).text
}

// inWords writes an argument for the contact: the option that it stands for, or the value.
func (c *conversation) inWords(p slot.Property, value any) string {
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0]
	}
	for _, o := range c.options(p) {
		if same(o.value, value) && len(p.Producers) > 0 {
			return itemInWords(o.about, c.speak)
		}
	}
	return c.speak.say(value)
}

// ask asks for an argument, at most maxAsked times in a row. For one of several options, it lists them.
func (c *conversation) ask(p slot.Property, lead string) *reply {
	if c.task.asked != nil && c.task.asked.Name == p.Name {
		c.task.times++
		if lead == "" {
			lead = say(c.speak.unclear, c.speak.help(p)).text
		}
	} else {
		c.task.times = 1
	}
	if isFirst := c.task.asked == nil && len(c.task.arguments) == 0 && len(c.task.done) == 0; isFirst && lead == "" &&
		!strings.HasPrefix(c.task.asks[p.Name], strings.TrimRight(c.task.lead, ".! ")) {
		lead = c.task.lead
	}
	c.task.asked = &p
	options := c.options(p)
	switch {
	case c.task.times > maxAsked:
		c.task = nil
		return say(c.speak.stuck, c.ability(c.speak))
	case len(p.Producers) > 0 && len(options) == 0:
		c.task = nil
		return say(c.speak.nothing, c.ability(c.speak))
	case len(p.Producers) > 0:
		question := c.speak.which
		if asked, ok := c.task.asks[p.Name]; ok {
			question = asked
		}
		if c.task.times > 1 {
			return say(lead, question)
		}
		return say(strings.TrimSpace(strings.Join([]string{lead, listed(options, c.speak), question}, "\n")))
	}
	if asked, ok := c.task.asks[p.Name]; ok && c.task.times == 1 {
		return say(lead, asked)
	}
	return say(lead, c.questionFor(p))
}

// listed numbers options.
func listed(options []option, speak *phrasebook) string {
	var lines []string
	for i, o := range options[:min(len(options), maxOptions)] {
		lines = append(lines, fmt.Sprintf("%d) %s", i+1, itemInWords(o.about, speak)))
	}
	return strings.Join(lines, "\n")
}

// resume takes the message as the answer to the task's question. It returns nil if the message is about something
// else. best is the example that is nearest to the message, if any.
func (c *conversation) resume(best match) *reply {
	t := c.task
	answer := 0
	if said := read.Words(c.said); len(said) <= 2*maxShort || t.isConfirming {
		answer = read.YesOrNo(said)
	}
	isOther := best.score >= surely && best.exchange != t.exchange
	switch {
	case t.isOffered && answer == 1:
		t.isOffered = false
		return c.proceed()
	case t.isOffered && answer == -1 && len(read.Words(c.said)) <= maxShort:
		return c.drop()
	case t.isOffered:
		return nil
	case t.hasFailed:
		t.hasFailed = false
		if answer == 1 || read.WantsRepeat(c.said) {
			return c.proceed()
		}
		if answer == -1 {
			return c.drop()
		}
		return nil
	case t.isDelegating && !isOther:
		return c.proceed()
	case t.isConfirming:
		return c.confirmed(answer, isOther)
	case t.asked == nil:
		return nil
	}
	p := *t.asked
	value, ok := c.answered(p)
	isPlain := len(p.Producers) == 0 && (p.IsText() || p.Holder != "" || p.IsCode && p.Pattern == nil)
	if best.exchange != nil && best.isBuiltIn && !strings.Contains(c.said, "?") &&
		!calls(best.exchange, llm.EndConversation) {
		best, isOther = match{}, false // "ok" and "yes" are no other matter
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
	if c.looksElsewhere() {
		return c.proceed()
	}
	said := read.Content(read.Words(c.said))
	isBareNo := answer == -1 && p.Kind != "boolean" && len(said) < leastPart

	if isBareNo && !read.HasDigits(c.said) || c.declines() && best.score < surely {
		return c.drop()
	}
	if isOther && best.opener != keyFirst || best.score >= near && strings.Contains(c.said, "?") {
		if len(best.calls) > 0 || len(best.replies) > 0 {
			return nil
		}
		// This answers what the contact asks in between, and asks again.
		return say(c.fillAny(best.answers, nil), c.questionFor(p))
	}
	if found := c.quotation(best); found != nil && strings.Contains(c.said, "?") {
		return say(strings.TrimSuffix(found.text, " "+c.speak.anythingElse), c.questionFor(p))
	}
	if c.asks() && len(read.Words(c.said)) > 1 {
		return c.interrupted(p)
	}
	if t.times < maxAsked && len(p.Choices()) == 0 &&
		(len(said) > 0 && len(read.Words(c.said)) > leastPart || read.HasDigits(c.said)) {
		return c.proceedAfter(c.speak.noted) // this tells something else
	}
	return c.proceed()
}

// interrupted answers a question that no example is near to as well as it can, and asks for the property again.
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

// confirmed goes ahead after a yes, and drops the task after a no. A message with another value corrects the call.
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
	case c.looksElsewhere():
		return c.proceed()
	case answer == 1:
		c.task.isAgreed = true
		return c.proceed()
	case answer == -1 || c.declines():
		return c.drop()
	case isOther:
		return nil
	}
	return say(c.speak.unclear, c.recap(t, c.task.arguments))
}

// looksElsewhere goes back to the call that found the options, if the message asks for others, such as another day.
func (c *conversation) looksElsewhere() bool {
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

// lastArgument returns an argument of the latest call of a tool, or nil.
func (c *conversation) lastArgument(name, argument string) any {
	for _, made := range slices.Backward(c.calls) {
		if made.Name == name {
			value, _ := made.argument(argument)
			return value
		}
	}
	return nil
}

func (c *conversation) drop() *reply {
	c.task = nil
	return say(c.speak.dropped, c.speak.anythingElse)
}

// after follows an answered call.
func (c *conversation) after(made call) *reply {
	failure := made.failure()
	switch {
	case made.Name == llm.EndConversation:
		return say(c.speak.goodbye)
	case made.Name == llm.TransferCall && failure != "":
		c.task = nil
		return say(fill(c.speak.transferFailed, read.Ended(read.Shorten(failure, maxFieldText))), c.speak.anythingElse)
	case made.Name == llm.TransferCall:
		return say(c.speak.transferred)
	case c.task == nil || c.task.step >= len(c.task.calls) || c.task.calls[c.task.step].name != made.Name:
		return c.told(made)
	case failure != "":
		c.task.hasFailed = true
		return say(fill(c.speak.broken, read.Ended(read.Shorten(failure, maxFieldText))), c.speak.advice)
	}
	t, _ := c.tool(made.Name)
	if t.Delegate && !strings.HasPrefix(strings.TrimSpace(made.result), "{") {
		question, rest := read.LastQuestion(made.result)
		c.task.isDelegating = question != "" && rest == "" && !elseAsked().MatchString(question)
		if !c.task.isDelegating {
			c.task = nil
		}
		return say(strings.TrimSpace(made.result))
	}
	c.task.done = append(c.task.done, made)
	c.task.step++
	return c.proceed()
}

// finish ends a task with the answer of its example, or by telling the last result.
func (c *conversation) finish() *reply {
	t := c.task
	c.task = nil
	if len(t.done) == 0 {
		return say(c.fillWith(t, t.answers, nil))
	}
	last := t.done[len(t.done)-1]
	arguments, _ := last.arguments()
	if text := c.fillWith(t, t.answers, arguments); text != "" {
		return say(text)
	}
	return c.told(last)
}

// told tells a result in general words.
func (c *conversation) told(made call) *reply {
	if made.saysNothing() {
		return say(c.speak.done, c.speak.anythingElse)
	}
	text := fill(c.speak.told, read.Ended(inWords(made.result, c.speak)))
	if strings.Contains(text, "\n") {
		return say(strings.ReplaceAll(text, " \n", "\n") + "\n" + c.speak.anythingElse)
	}
	return say(text, c.speak.anythingElse)
}
