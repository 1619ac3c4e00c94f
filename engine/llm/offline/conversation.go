package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// maxShort bounds a message that is only a yes or a no, in words.
const maxShort = 5

// conversation is a request as the model follows it. Each answer follows the conversation again from its beginning,
// because the messages hold all that the model knows of the past.
type conversation struct {
	req      llm.Request
	excerpts []llm.Excerpt
	*brief
	speak *phrasebook

	// said is the contact's latest message so far, and heard are all of them.
	said  string
	heard []string
	// calls are the answered calls so far.
	calls []call
	// task is what the agent is about to do, and topic the last example that was followed. Both may be nil.
	task  *task
	topic *exchange
	// began is the number of the message that began the topic.
	began int
	// urgent is the emergency that the contact spoke of, if any.
	urgent *exchange
	// question is what the agent just asked, and isClosing tells that it asked whether there is anything else.
	question  string
	isClosing bool
	// lost counts the messages in a row that the model did not understand.
	lost int
	// waiting are the answered calls of the current turn that were not followed yet.
	waiting []call
}

type reply struct {
	text      string
	tool      string
	arguments map[string]any
}

func say(parts ...string) *reply {
	return &reply{text: strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")}
}

func (m Model) read(req llm.Request) *conversation {
	excerpts, instructions := llm.Excerpts(req.System)
	req.System = instructions
	c := &conversation{req: req, excerpts: excerpts, brief: m.briefOf(instructions, req.Tools)}
	c.speak = &phrases[c.agentLanguage()]
	return c
}

// agentLanguage is the language of the agent's opening words, or else of its instructions.
func (c *conversation) agentLanguage() read.Language {
	if len(c.req.Messages) > 0 && c.req.Messages[0].Role == llm.RoleAssistant {
		if spoken, ok := read.Detect(c.req.Messages[0].Text); ok {
			return spoken
		}
	}
	return c.language
}

// maxReplayed is how many of the contact's last messages each answer goes through. Older ones are forgotten, so that
// the work for an answer does not grow with the conversation.
const maxReplayed = 50

func isContact(m llm.Message) bool { return m.Role == llm.RoleUser }

// answer follows all turns and returns what comes next.
func (c *conversation) answer() *reply {
	results := map[string]string{}
	for _, message := range c.req.Messages {
		if message.Role == llm.RoleTool {
			results[message.ToolCallID] = message.Text
		}
	}
	var next *reply
	skipped := len(filter(c.req.Messages, isContact)) - maxReplayed
	for i, message := range c.req.Messages {
		if !isContact(message) {
			continue
		}
		if len(c.heard) < skipped {
			c.heard = append(c.heard, message.Text)
			continue
		}
		c.waiting = nil
		for _, later := range c.req.Messages[i+1:] {
			if later.Role == llm.RoleUser {
				break
			}
			for _, made := range later.ToolCalls {
				if result, ok := results[made.ID]; ok {
					c.waiting = append(c.waiting, newCall(made, result, len(c.heard)+1))
				}
			}
		}
		next = c.follow(message.Text)
	}
	if next == nil {
		return say(c.speak.greeting, c.ability(c.speak))
	}
	if len(c.heard) == 1 && next.tool == "" && !c.hasExamples() && c.urgent == nil {
		next.text = say(c.speak.offline, next.text).text
	}
	return next
}

// follow answers one message. It goes through the calls that were made for it, and returns the next call or the text
// after the last one.
func (c *conversation) follow(text string) *reply {
	c.said, c.heard = text, append(c.heard, text)
	if spoken, ok := read.Detect(text); ok {
		c.speak = &phrases[spoken]
	}
	next := c.hear()
	for next.tool != "" && len(c.waiting) > 0 {
		made := c.waiting[0]
		c.waiting, c.calls = c.waiting[1:], append(c.calls, made)
		next = c.after(made)
	}
	c.calls = append(c.calls, c.waiting...)
	if next.tool == "" {
		question, rest := read.LastQuestion(next.text)
		c.isClosing = elseAsked().MatchString(question)
		if c.question = question; rest != "" {
			c.question = "" // it is a suggestion in quotation marks
		}
	}
	return next
}

// elseAsked matches a question whether there is more to do.
var elseAsked = lazyregexp.New(`(?i)\b(else|autre)\b`)

// hear decides what a message is: a reply in an emergency, an answer to a question of the agent, or a new matter.
func (c *conversation) hear() *reply {
	if sentence := foreign(c.said); sentence != "" {
		return say(sentence)
	}
	words := c.lexicons[c.speak.language]
	parts := words.parts(c.said)
	wished := words.parts(read.Affirmed(c.said))
	own, small := c.spoken(c.own), c.spoken(c.small)
	if reply := c.emergency(words, parts, own, small); reply != nil {
		return reply
	}
	best := c.closest(words, parts, own, small)
	if !isDenial(best.as) {
		best = c.closest(words, wished, own, small)
	}
	if c.task != nil {
		if reply := c.resume(best); reply != nil {
			c.lost = 0
			return reply
		}
	}
	c.task = nil
	if reply := c.close(best); reply != nil {
		return reply
	}
	if c.topic != nil {
		if chosen := c.chosenReply(); chosen != nil && best.score < surely {
			return c.begin(chosen)
		}
		if found := words.nearest(c.topic.head.replies, c.withAnswer(parts)); found.score >= near &&
			(found.score+0.1 >= best.score || found.score >= surely) {
			return c.begin(found.exchange)
		}
		if i := slices.IndexFunc(c.topic.head.replies, isForAnything); i >= 0 && best.score < surely && !c.asks() {
			return c.begin(c.topic.head.replies[i])
		}
	}
	if c.question != "" && (best.score < fair || best.isBuiltIn) && c.isData() {
		return say(c.speak.noted, c.question)
	}
	if found := c.quotation(best); found != nil {
		return found
	}
	if best.exchange != nil && best.isBuiltIn && best.score < surely && !calls(best.exchange, llm.EndConversation) {
		if text := c.instructed(); text != "" {
			return say(text)
		}
	}
	if best.exchange != nil {
		return c.begin(best.exchange)
	}
	if best = words.nearest(own, parts); !isDenial(best.as) {
		best = words.nearest(own, wished)
	}
	return c.withoutExample(best)
}

// isData reports whether a message only gives a number, a name or a birthday, and is no question.
func (c *conversation) isData() bool {
	said := read.Words(c.said)
	_, isName := read.Introduction(c.said)
	return !c.asks() && len(said) <= maxData && (isName || read.HasDigits(c.said) || read.TellsBirth(said))
}

// asks reports whether the message is a question.
func (c *conversation) asks() bool {
	return strings.Contains(c.said, "?") || slices.ContainsFunc(read.Words(c.said), func(word string) bool {
		return interrogatives[word]
	})
}

var interrogatives = read.Set(`what where which who why how when can could
	quel quelle quand comment combien pourquoi`)

// maxData bounds a message that only gives data, in words.
const maxData = 12

// spoken returns the exchanges in the language of the message that may follow now.
func (c *conversation) spoken(exchanges []*exchange) []*exchange {
	return filter(exchanges, func(e *exchange) bool {
		return e.language == c.speak.language && (len(c.heard) == 1 || e.opener != keyFirst)
	})
}

// isDenial reports whether a way to say something turns something down.
func isDenial(text string) bool {
	return slices.ContainsFunc(read.Words(spelled(text)), func(word string) bool {
		return read.IsNo(word) || denials[word]
	})
}

var denials = read.Set(`dont doesnt didnt cant cannot wont isnt without sans ne`)

// closest returns the example, or the small talk, that is near enough to the message. Small talk must not hide the
// matter of a message that has one.
func (c *conversation) closest(words *lexicon, parts []partOfMessage, own, small []*exchange) match {
	best := words.nearest(own, parts)
	whole := words.nearest(small, parts[:1])
	talk := words.nearest(small, filter(parts, func(p partOfMessage) bool { return p.share >= ofPart }))
	isTalk := whole.score > best.score && whole.score >= surely || whole.score > best.score+0.1 && whole.score >= fair
	if best.score < near || isTalk && best.said < exactly {
		best = talk
	}
	isUnsure := best.exchange != nil && calls(best.exchange, llm.EndConversation) &&
		(best.score < leastEnding || strings.Contains(c.said, "?"))
	if best.score < near || best.isBuiltIn && best.score < fair || isUnsure {
		return match{}
	}
	return best
}

// leastEnding is the least score of an example that ends the conversation.
const leastEnding = 0.6

// emergency answers a message about an emergency, and each message after it. It returns nil if there is none.
func (c *conversation) emergency(words *lexicon, parts []partOfMessage, own, small []*exchange) *reply {
	urgent := func(e *exchange) bool { return e.opener == keyUrgent }
	found := words.nearest(filter(own, urgent), parts)
	if found.score < near && (found.score < alarming || found.exchange != words.nearest(own, parts).exchange) {
		found = words.nearest(filter(small, urgent), parts)
	}
	isMeant := found.score >= near || found.score >= alarming && !found.isBuiltIn
	if isMeant && found.exchange != c.urgent {
		c.urgent, c.task = found.exchange, nil
		return c.begin(found.exchange)
	}
	if c.urgent == nil {
		warned := c.warning()
		if warned != "" {
			return say(warned)
		}
		return nil
	}
	if c.task != nil {
		if reply := c.resume(match{}); reply != nil {
			return reply
		}
	}
	found = words.nearest(c.urgent.replies, parts)
	if found.score < near {
		found.exchange = c.urgent
		if i := slices.IndexFunc(c.urgent.replies, isForAnything); i >= 0 {
			found.exchange = c.urgent.replies[i]
		}
		// What was done in the emergency is not done again.
		if found.exchange == c.urgent && len(c.urgent.calls) > 0 {
			return say(c.fillAny(c.urgent.answers, nil))
		}
	}
	if talk := words.nearest(small, parts[:1]); talk.score >= surely && calls(talk.exchange, llm.EndConversation) {
		return c.leave(c.fillAny(found.answers, nil))
	}
	return c.begin(found.exchange)
}

func isForAnything(e *exchange) bool {
	return slices.ContainsFunc(e.variants, func(v variant) bool { return v.text == "*" })
}

// close takes a yes or a no to "anything else?".
func (c *conversation) close(best match) *reply {
	if !c.isClosing || len(read.Words(c.said)) > maxShort || best.score >= surely {
		return nil
	}
	said := read.Words(c.said)
	if len(read.Content(said)) > 1 {
		return nil
	}
	switch read.YesOrNo(said) {
	case 1:
		return say(c.speak.offer)
	case -1:
		return c.leave(c.speak.goodbye)
	}
	return nil
}

// withAnswer returns the parts of the message, and one with the word "yes" or "no" if it is only that.
func (c *conversation) withAnswer(parts []partOfMessage) []partOfMessage {
	said := read.Words(c.said)
	answer := read.YesOrNo(said)
	if answer == 0 || len(said) > maxShort || strings.Contains(c.said, "?") {
		return parts
	}
	word := map[int]string{1: c.speak.yes, -1: c.speak.no}[answer]
	return append(slices.Clone(parts), partOfMessage{c.lexicons[c.speak.language].hear([]string{word}), ofPart})
}
