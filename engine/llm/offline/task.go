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
	// maxChoosing is the maximum length, in words, of a message that picks an option by its position in the list.
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
	// startMessage is the number of the message that began the task.
	startMessage int
	// askedProperty is the argument that the agent just asked for, or nil. times counts how often in a row.
	askedProperty *slot.Property
	times         int
	// isConfirming is set after the agent asked for agreement, and isAgreed after the contact agreed.
	isConfirming, isAgreed bool
	// isOffered is set after the agent asked whether the contact wants the task.
	isOffered bool
	// hasFailed is set after the last call failed and the agent asked whether to try again.
	hasFailed bool
	// isDelegating is set while a sub-agent waits for an answer to its question.
	isDelegating bool
	// answeredCalls are the answered calls of the task.
	answeredCalls []call
}

// next returns the tool of the next call, and the call in the example. If the offline rules cannot read the tool's
// schema, the tool has only a name. The call then fails, and its error lists the missing arguments.
func (c *conversation) next() (slot.Tool, exampleCall) {
	called := c.task.calls[c.task.step]
	t, _ := c.tool(called.name)
	t.Name = called.name
	return t, called
}

// proceed makes the next call of the task, or asks for a missing argument or for agreement. After the last call it
// reports the results.
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
		return &reply{tool: llm.TransferCall, arguments: map[string]any{"reason": read.Shorten(c.lastMessage, maxEchoed)}}
	}
	arguments, missing := c.argumentsOf(t, called)
	if missing != nil {
		return c.askForArgument(*missing, lead)
	}
	isLast := c.task.step == len(c.task.calls)-1
	if (c.task.confirm != "" && isLast || t.Confirm) && !c.task.isAgreed {
		c.task.isConfirming, c.task.arguments = true, arguments
		return textReply(lead, c.recap(t, arguments))
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
			parts = append(parts, c.formatArgument(p, value))
		}
	}
	return textReply(fill(c.phrases.recap, strings.Join(parts, "; ")), c.phrases.sure).text
}

// formatArgument writes an argument for the contact: the option with that value, or the value itself.
func (c *conversation) formatArgument(p slot.Property, value any) string {
	if list, ok := value.([]any); ok && len(list) == 1 {
		value = list[0]
	}
	for _, o := range c.options(p) {
		if isSameJSON(o.value, value) && len(p.Producers) > 0 {
			return itemInWords(o.object, c.phrases)
		}
	}
	return c.phrases.formatValue(value)
}

// askForArgument asks for an argument, at most maxAsked times in a row. If the argument is one of several options, the
// first question lists them. Without options, or after maxAsked questions, it gives up the task.
func (c *conversation) askForArgument(p slot.Property, lead string) *reply {
	if c.task.askedProperty != nil && c.task.askedProperty.Name == p.Name {
		c.task.times++
		if lead == "" {
			lead = textReply(c.phrases.unclear, c.phrases.help(p)).text
		}
	} else {
		c.task.times = 1
	}
	if isFirst := c.task.askedProperty == nil && len(c.task.arguments) == 0 && len(c.task.answeredCalls) == 0; isFirst &&
		lead == "" &&
		!strings.HasPrefix(c.task.asks[p.Name], strings.TrimRight(c.task.lead, ".! ")) {
		lead = c.task.lead
	}
	c.task.askedProperty = &p
	options := c.options(p)
	switch {
	case c.task.times > maxAsked:
		c.task = nil
		return textReply(c.phrases.stuck, c.ability(c.phrases))
	case len(p.Producers) > 0 && len(options) == 0:
		c.task = nil
		return textReply(c.phrases.nothing, c.ability(c.phrases))
	case len(p.Producers) > 0:
		question := c.phrases.which
		if asked, ok := c.task.asks[p.Name]; ok {
			question = asked
		}
		if c.task.times > 1 {
			return textReply(lead, question)
		}
		return textReply(strings.TrimSpace(strings.Join([]string{lead, listed(options, c.phrases), question}, "\n")))
	}
	if asked, ok := c.task.asks[p.Name]; ok && c.task.times == 1 {
		return textReply(lead, asked)
	}
	return textReply(lead, c.questionFor(p))
}

// listed writes options as a numbered list.
func listed(options []option, phrases *phrasebook) string {
	var lines []string
	for i, o := range options[:min(len(options), maxOptions)] {
		lines = append(lines, fmt.Sprintf("%d) %s", i+1, itemInWords(o.object, phrases)))
	}
	return strings.Join(lines, "\n")
}

// lastArgument returns an argument of the latest tool call, or nil.
func (c *conversation) lastArgument(name, argument string) any {
	for _, call := range slices.Backward(c.calls) {
		if call.Name == name {
			return call.arguments()[argument]
		}
	}
	return nil
}

func (c *conversation) dropTask() *reply {
	c.task = nil
	return textReply(c.phrases.dropped, c.phrases.anythingElse)
}

// waitingText occurs in the error of a delegation whose target is already waiting for this answer. Trying it again
// would fail again.
const waitingText = "is already waiting for this answer"

// refusedText is part of the result of a call that was not made and would be refused again.
const refusedText = "so nothing was done"

// afterCall returns the reply to the result of a call.
func (c *conversation) afterCall(call call) *reply {
	failure := call.failure()
	switch {
	case call.Name == llm.EndConversation:
		return textReply(c.phrases.goodbye)
	case call.Name == llm.TransferCall && failure != "":
		c.task = nil
		return textReply(fill(c.phrases.transferFailed, read.Ended(read.Shorten(failure, maxFieldText))),
			c.phrases.anythingElse)
	case call.Name == llm.TransferCall:
		return textReply(c.phrases.transferred)
	case c.task == nil || c.task.step >= len(c.task.calls) || c.task.calls[c.task.step].name != call.Name:
		return c.tellResult(call)
	case strings.Contains(failure, waitingText):
		c.task = nil
		return textReply(c.phrases.lost, c.ability(c.phrases))
	case strings.Contains(failure, refusedText):
		c.task = nil
		return textReply(fill(c.phrases.broken, read.Ended(failure)))
	case failure != "":
		c.task.hasFailed = true
		return textReply(fill(c.phrases.broken, read.Ended(read.Shorten(failure, maxFieldText))), c.phrases.advice)
	}
	t, _ := c.tool(call.Name)
	if t.Delegate && !strings.HasPrefix(strings.TrimSpace(call.result), "{") {
		question, rest := read.LastQuestion(call.result)
		c.task.isDelegating = question != "" && rest == "" && !closingQuestion().MatchString(question)
		if !c.task.isDelegating {
			c.task = nil
		}
		return textReply(strings.TrimSpace(call.result))
	}
	c.task.answeredCalls = append(c.task.answeredCalls, call)
	c.task.step++
	return c.proceed()
}

// finishTask ends the task with its example's answer, or else with the last result.
func (c *conversation) finishTask() *reply {
	t := c.task
	c.task = nil
	if len(t.answeredCalls) == 0 {
		return textReply(c.fillWith(t, t.answers, nil))
	}
	last := t.answeredCalls[len(t.answeredCalls)-1]
	if text := c.fillWith(t, t.answers, last.arguments()); text != "" {
		return textReply(text)
	}
	return c.tellResult(last)
}

// tellResult reports a result without a template.
func (c *conversation) tellResult(call call) *reply {
	if t, _ := c.tool(call.Name); t.Delegate && call.saysNothing() {
		return textReply(fill(c.phrases.passedOn, t.Title), c.phrases.anythingElse)
	}
	if call.saysNothing() {
		return textReply(c.phrases.done, c.phrases.anythingElse)
	}
	result := read.Ended(formatResult(call.result, c.phrases))
	if result == "" {
		return textReply(c.phrases.done, c.phrases.anythingElse)
	}
	text := fill(c.phrases.report, result)
	if strings.Contains(text, "\n") {
		return textReply(strings.ReplaceAll(text, " \n", "\n") + "\n" + c.phrases.anythingElse)
	}
	return textReply(text, c.phrases.anythingElse)
}
