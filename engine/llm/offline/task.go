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
