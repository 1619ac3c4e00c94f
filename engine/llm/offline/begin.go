package offline

import (
	"slices"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// optionVariant is the variant of a reply with which the contact chooses one of the options in a result.
const optionVariant = "<option>"

// chosenReply returns the reply of the current block that accepts an option, if the message chooses one. Otherwise it
// returns nil.
func (c *conversation) chosenReply() *exchange {
	for _, reply := range c.topic.head.replies {
		if slices.ContainsFunc(reply.variants, func(v variant) bool { return v.text == optionVariant }) && c.chooses(reply) {
			return reply
		}
	}
	return nil
}

// startExample makes the example the current task and returns its first step.
func (c *conversation) startExample(e *exchange) *reply {
	c.misunderstood = 0
	if !e.isBuiltIn {
		if c.topic == nil || c.topic.head != e.head || e == e.head {
			c.topicStart = len(c.contactMessages) - 1
		}
		c.topic = e
	}
	c.task = &task{exchange: e, arguments: map[string]any{}, startMessage: len(c.contactMessages) - 1}
	if e != e.head {
		c.task.startMessage = c.topicStart
	}
	return c.proceed()
}

// offerExample starts an example whose score is too low to be sure. If the first step would change something, it asks
// the contact first.
func (c *conversation) offerExample(e *exchange) *reply {
	next := c.startExample(e)
	if text := c.quoteInstructions(); next.tool != "" && e.offer == "" && text != "" {
		c.task = nil
		return textReply(text)
	}
	if next.tool == "" || next.tool == llm.TransferCall || isLookup(next.tool) {
		return next
	}
	t, _ := c.tool(next.tool)
	if t.Delegate {
		return next
	}
	if next.tool == llm.EndConversation {
		c.task = nil
		return textReply(c.phrases.lost, c.ability(c.phrases))
	}
	c.task.isOffered = true
	if e.offer != "" {
		return textReply(e.offer)
	}
	return textReply(fill(c.phrases.shall, t.Title))
}

// isLookup reports whether a tool only reads, by the verb that its name begins with.
func isLookup(name string) bool {
	words := read.NameWords(name)
	return len(words) > 0 && lookups[words[0]]
}

var lookups = read.Set(`find list get check search track look quote show read fetch query verify`)

// endConversation says goodbye. It also calls the tool that ends the conversation, if the request offers that tool.
func (c *conversation) endConversation(text string) *reply {
	if !slices.ContainsFunc(c.req.Tools, func(t llm.Tool) bool { return t.Name == llm.EndConversation }) {
		return textReply(text)
	}
	return &reply{text: text, tool: llm.EndConversation, arguments: map[string]any{"reason": c.phrases.goodbyeReason}}
}

// answerWithoutExample answers a message that resembles no example. It calls a tool whose name or description matches,
// quotes the instructions, or says what the agent can do.
func (c *conversation) answerWithoutExample(best match) *reply {
	least := likelyScore
	if c.question != "" && !c.asks() {
		least = likelyReply
	}
	if text := c.quoteInstructions(); text != "" && c.asks() {
		c.misunderstood = 0
		return textReply(text) // the prompt itself answers a question better than a guess
	}
	if best.score >= least && best.opener != keyUrgent {
		return c.offerExample(best.exchange)
	}
	if c.declines() && c.hasExamples() {
		return c.dropTask()
	}
	parts := c.toolWords.parts(c.lastMessage)
	least = nearTool
	if c.hasExamples() {
		least = sureScore
	}
	if found := c.toolWords.nearest(c.toolExamples, parts); found.score >= least && !c.declines() {
		return c.startExample(found.exchange)
	}
	if text := c.quoteInstructions(); text != "" {
		c.misunderstood = 0
		return textReply(text)
	}
	if len(c.contactMessages) > 1 && !c.asks() && c.misunderstood == 0 {
		c.misunderstood++
		if c.question == "" {
			return textReply(c.phrases.noted, c.phrases.anythingElse)
		}
		return textReply(c.phrases.noted, c.question)
	}
	c.misunderstood++
	if c.misunderstood > 1 {
		return textReply(c.phrases.lostAgain, c.ability(c.phrases))
	}
	return textReply(c.phrases.lost, c.ability(c.phrases))
}

// nearTool is the lowest score at which a tool without an example is called.
const nearTool = 0.3

func (c *conversation) declines() bool { return read.Declines(c.lastMessage) }
