package offline

import (
	"slices"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// optionVariant is the variant of a reply that chooses one of the options in a result.
const optionVariant = "<option>"

// chosenReply returns the reply of the current block that takes the option which the message chooses, or nil.
func (c *conversation) chosenReply() *exchange {
	for _, reply := range c.topic.head.replies {
		if slices.ContainsFunc(reply.variants, func(v variant) bool { return v.text == optionVariant }) && c.chooses(reply) {
			return reply
		}
	}
	return nil
}

// begin follows an example from its beginning.
func (c *conversation) begin(e *exchange) *reply {
	c.lost = 0
	if !e.isBuiltIn {
		if c.topic == nil || c.topic.head != e.head || e == e.head {
			c.began = len(c.heard) - 1
		}
		c.topic = e
	}
	c.task = &task{exchange: e, arguments: map[string]any{}, began: len(c.heard) - 1}
	if e != e.head {
		c.task.began = c.began
	}
	return c.proceed()
}

// suppose follows an example that is only likely to be meant. It asks first if the example would change something at
// once.
func (c *conversation) suppose(e *exchange) *reply {
	next := c.begin(e)
	if text := c.instructed(); next.tool != "" && e.offer == "" && text != "" {
		c.task = nil
		return say(text)
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
		return say(c.speak.lost, c.ability(c.speak))
	}
	c.task.isOffered = true
	if e.offer != "" {
		return say(e.offer)
	}
	return say(fill(c.speak.shall, t.Title))
}

// isLookup reports whether a tool only reads, by the verb that its name begins with.
func isLookup(name string) bool {
	words := read.NameWords(name)
	return len(words) > 0 && lookups[words[0]]
}

var lookups = read.Set(`find list get check search track look quote show read fetch query verify`)

// leave says goodbye, and ends the conversation if that is offered.
func (c *conversation) leave(text string) *reply {
	if !c.offers(llm.EndConversation) {
		return say(text)
	}
	return &reply{text: text, tool: llm.EndConversation, arguments: map[string]any{"reason": c.speak.goodbyeReason}}
}

func (c *conversation) offers(name string) bool {
	return slices.ContainsFunc(c.req.Tools, func(t llm.Tool) bool { return t.Name == name })
}

// withoutExample answers a message that no example is near: by a tool whose name or description fits, by what the
// instructions tell, or by saying what the agent can do.
func (c *conversation) withoutExample(best match) *reply {
	least := likely
	if c.question != "" && !c.asks() {
		least = likelyNext
	}
	if text := c.instructed(); text != "" && c.asks() {
		c.lost = 0
		return say(text) // the prompt itself answers a question better than a guess
	}
	if best.score >= least && best.opener != keyUrgent {
		return c.suppose(best.exchange)
	}
	if c.declines() && c.hasExamples() {
		return c.drop()
	}
	parts := c.toolWords.parts(c.said)
	least = nearTool
	if c.hasExamples() {
		least = surely
	}
	if found := c.toolWords.nearest(c.implied, parts); found.score >= least && !c.declines() {
		return c.begin(found.exchange)
	}
	if text := c.instructed(); text != "" {
		c.lost = 0
		return say(text)
	}
	if len(c.heard) > 1 && !c.asks() && c.lost == 0 {
		c.lost++
		if c.question == "" {
			return say(c.speak.noted, c.speak.anythingElse)
		}
		return say(c.speak.noted, c.question)
	}
	c.lost++
	if c.lost > 1 {
		return say(c.speak.lostAgain, c.ability(c.speak))
	}
	return say(c.speak.lost, c.ability(c.speak))
}

// nearTool is the least score of a tool without an example.
const nearTool = 0.3

func (c *conversation) declines() bool { return read.Declines(c.said) }
