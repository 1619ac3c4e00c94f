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
	// maxAsked bounds how often in a row the same question is asked.
	maxAsked = 3
	// maxChoosing bounds a message that chooses an option by its place in the list, in words.
	maxChoosing = 6
	// maxEchoed bounds the part of the contact's message that a reason quotes, in characters.
	maxEchoed = 200
)

// task is the exchange in progress.
type task struct {
	*exchange
	// step is the number of the next call.
	step int
	// arguments are the values that the contact gave or chose, by name.
	arguments map[string]any
	// began is the number of the message that began the task.
	began int
	// asked is the argument that the agent just asked for, or nil. times counts how often in a row.
	asked *slot.Property
	times int
	// isConfirming is set after the agent asked for agreement, and isAgreed after the contact agreed.
	isConfirming, isAgreed bool
	// isOffered is set after the agent asked whether the contact wants the task.
	isOffered bool
	// hasFailed is set after the last call failed and the agent asked whether to try again.
	hasFailed bool
	// isDelegating is set while a sub-agent waits for an answer to its question.
	isDelegating bool
	// done are the answered calls of the task.
	done []call
}

// next returns the tool of the next call, and the call in the example. If no rule can fill the tool's schema, the tool
// has only a name, and the error of the call says what is missing.
func (c *conversation) next() (slot.Tool, exampleCall) {
	called := c.task.calls[c.task.step]
	t, _ := c.tool(called.name)
	t.Name = called.name
	return t, called
}

// proceed makes the next call of the task, or asks for a missing argument. After the last call it reports the results.
func (c *conversation) proceed() *reply { return c.proceedAfter("") }

// proceedAfter is proceed, but puts a sentence before the question that it may ask.
func (c *conversation) proceedAfter(lead string) *reply {
	if c.task.step >= len(c.task.calls) {
		return c.finishTask()
	}
	t, called := c.next()
	switch called.name {
	case llm.EndConversation:
		return c.endConversation(c.fillAny(c.task.answers, nil))
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

// inWords writes an argument for the contact: the option with that value, or the value itself.
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

// listed writes options as a numbered list.
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

func (c *conversation) dropTask() *reply {
	c.task = nil
	return say(c.speak.dropped, c.speak.anythingElse)
}

// isWaiting is part of the failure of a delegation to an agent that itself waits for this answer. Trying it again would
// fail again.
const isWaiting = "is already waiting for this answer"

// isRefused is part of the result of a call that was not made and would be refused again.
const isRefused = "so nothing was done"

// afterCall returns the reply to the result of a call.
func (c *conversation) afterCall(made call) *reply {
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
		return c.tellResult(made)
	case strings.Contains(failure, isWaiting):
		c.task = nil
		return say(c.speak.lost, c.ability(c.speak))
	case strings.Contains(failure, isRefused):
		c.task = nil
		return say(fill(c.speak.broken, read.Ended(failure)))
	case failure != "":
		c.task.hasFailed = true
		return say(fill(c.speak.broken, read.Ended(read.Shorten(failure, maxFieldText))), c.speak.advice)
	}
	t, _ := c.tool(made.Name)
	if t.Delegate && !strings.HasPrefix(strings.TrimSpace(made.result), "{") {
		question, rest := read.LastQuestion(made.result)
		c.task.isDelegating = question != "" && rest == "" && !closingQuestion().MatchString(question)
		if !c.task.isDelegating {
			c.task = nil
		}
		return say(strings.TrimSpace(made.result))
	}
	c.task.done = append(c.task.done, made)
	c.task.step++
	return c.proceed()
}

// finishTask ends the task with its example's answer, or else with the last result.
func (c *conversation) finishTask() *reply {
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
	return c.tellResult(last)
}

// tellResult reports a result without a template.
func (c *conversation) tellResult(made call) *reply {
	if t, _ := c.tool(made.Name); t.Delegate && made.saysNothing() {
		return say(fill(c.speak.passedOn, t.Title), c.speak.anythingElse)
	}
	if made.saysNothing() {
		return say(c.speak.done, c.speak.anythingElse)
	}
	result := read.Ended(inWords(made.result, c.speak))
	if result == "" {
		return say(c.speak.done, c.speak.anythingElse)
	}
	text := fill(c.speak.report, result)
	if strings.Contains(text, "\n") {
		return say(strings.ReplaceAll(text, " \n", "\n") + "\n" + c.speak.anythingElse)
	}
	return say(text, c.speak.anythingElse)
}
