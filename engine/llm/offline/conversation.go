package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// maxShort bounds a message that only says yes or no, in words.
const maxShort = 5

// conversation is the state of a conversation while the model replays it. Each answer replays the messages from the
// beginning, because the model stores nothing between requests.
type conversation struct {
	req      llm.Request
	excerpts []llm.Excerpt
	*brief
	phrases *phrasebook

	// lastMessage is the contact's latest message. contactMessages are all of them so far.
	lastMessage     string
	contactMessages []string
	// calls are the answered calls so far.
	calls []call
	// task is the exchange in progress. topic is the agent's last example that was started. Both may be nil.
	task  *task
	topic *exchange
	// topicStart is the number of the message that began the topic.
	topicStart int
	// activeEmergency is the emergency that the contact mentioned, or nil.
	activeEmergency *exchange
	// question is the agent's last question, or "". isClosing is set if it was "anything else?".
	question  string
	isClosing bool
	// misunderstood counts the messages in a row that the model did not understand.
	misunderstood int
	// unreplayedCalls are the answered calls of the current turn that the replay has not reached.
	unreplayedCalls []call
}

type reply struct {
	text      string
	tool      string
	arguments map[string]any
}

func textReply(parts ...string) *reply {
	return &reply{text: strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")}
}

func (m Model) readRequest(req llm.Request) *conversation {
	excerpts, instructions := llm.Excerpts(req.System)
	req.System = instructions
	c := &conversation{req: req, excerpts: excerpts, brief: m.briefOf(instructions, req.Tools)}
	c.phrases = &phrases[c.agentLanguage()]
	return c
}

// agentLanguage returns the language of the agent's opening words, or else of its instructions.
func (c *conversation) agentLanguage() read.Language {
	if len(c.req.Messages) > 0 && c.req.Messages[0].Role == llm.RoleAssistant {
		if spoken, ok := read.Detect(c.req.Messages[0].Text); ok {
			return spoken
		}
	}
	return c.language
}

// maxReplayed bounds the contact's messages that each answer replays. Older messages are ignored, so that the work for
// an answer does not grow with the conversation.
const maxReplayed = 50

func isContact(m llm.Message) bool { return m.Role == llm.RoleUser }

// answer replays all turns and returns the agent's next reply.
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
		if len(c.contactMessages) < skipped {
			c.contactMessages = append(c.contactMessages, message.Text)
			continue
		}
		c.unreplayedCalls = nil
		for _, later := range c.req.Messages[i+1:] {
			if later.Role == llm.RoleUser {
				break
			}
			for _, toolCall := range later.ToolCalls {
				if result, ok := results[toolCall.ID]; ok {
					c.unreplayedCalls = append(c.unreplayedCalls, newCall(toolCall, result, len(c.contactMessages)+1))
				}
			}
		}
		next = c.takeTurn(message.Text)
	}
	if next == nil {
		return textReply(c.phrases.greeting, c.ability(c.phrases))
	}
	if len(c.contactMessages) == 1 && next.tool == "" && !c.hasExamples() && c.activeEmergency == nil {
		next.text = textReply(c.phrases.offline, next.text).text
	}
	return next
}

// takeTurn answers one message. It replays the calls that the message led to. Then it returns the next call, or the
// text after the last call.
func (c *conversation) takeTurn(text string) *reply {
	c.lastMessage, c.contactMessages = text, append(c.contactMessages, text)
	if spoken, ok := read.Detect(text); ok {
		c.phrases = &phrases[spoken]
	}
	next := c.chooseReply()
	for next.tool != "" && len(c.unreplayedCalls) > 0 {
		call := c.unreplayedCalls[0]
		c.unreplayedCalls, c.calls = c.unreplayedCalls[1:], append(c.calls, call)
		next = c.afterCall(call)
	}
	c.calls = append(c.calls, c.unreplayedCalls...)
	if next.tool == "" {
		if next.text == "" {
			// Every answer of the example has a placeholder without a value.
			next = textReply(c.phrases.lost, c.ability(c.phrases))
		}
		question, rest := read.LastQuestion(next.text)
		c.isClosing = closingQuestion().MatchString(question)
		if c.question = question; rest != "" {
			c.question = "" // a question with text after it is a quoted suggestion
		}
	}
	return next
}

// closingQuestion matches "anything else?" and similar questions.
var closingQuestion = lazyregexp.New(`(?i)\b(else|autre)\b`)

// chooseReply decides whether the message belongs to an emergency, answers the agent's question, or starts a new
// subject. It returns the reply.
func (c *conversation) chooseReply() *reply {
	if sentence := foreign(c.lastMessage); sentence != "" {
		return textReply(sentence)
	}
	words := c.lexicons[c.phrases.language]
	parts := words.parts(c.lastMessage)
	wished := words.parts(read.Affirmed(c.lastMessage))
	own, small := c.spoken(c.agentExamples), c.spoken(c.smallTalkExamples)
	if reply := c.emergency(words, parts, own, small); reply != nil {
		return reply
	}
	best := c.closest(words, parts, own, small)
	if !isDenial(best.variantText) {
		best = c.closest(words, wished, own, small)
	}
	if c.task != nil {
		if reply := c.resume(best); reply != nil {
			c.misunderstood = 0
			return reply
		}
	}
	c.task = nil
	if reply := c.answerClosing(best); reply != nil {
		return reply
	}
	if c.topic != nil {
		if chosen := c.chosenReply(); chosen != nil && best.score < sureScore {
			return c.startExample(chosen)
		}
		replies := c.spoken(c.topic.head.replies)
		if found := words.nearest(replies, c.withAnswer(parts)); found.score >= nearScore &&
			(found.score+0.1 >= best.score || found.score >= sureScore) {
			return c.startExample(found.exchange)
		}
		if i := slices.IndexFunc(replies, isForAnything); i >= 0 && best.score < sureScore && !c.asks() {
			return c.startExample(replies[i])
		}
	}
	if c.question != "" && (best.score < fairScore || best.isBuiltIn) && c.isData() {
		return textReply(c.phrases.noted, c.question)
	}
	if found := c.quotation(best); found != nil {
		return found
	}
	if best.exchange != nil && best.isBuiltIn && best.score < sureScore && !calls(best.exchange, llm.EndConversation) {
		if text := c.quoteInstructions(); text != "" {
			return textReply(text)
		}
	}
	if best.exchange != nil {
		return c.startExample(best.exchange)
	}
	if best = words.nearest(own, parts); !isDenial(best.variantText) {
		best = words.nearest(own, wished)
	}
	return c.answerWithoutExample(best)
}

// isData reports whether the message only gives a number, a name or a birthday, without a question.
func (c *conversation) isData() bool {
	said := read.Words(c.lastMessage)
	_, isName := read.Introduction(c.lastMessage)
	return !c.asks() && len(said) <= maxData && (isName || read.HasDigits(c.lastMessage) || read.TellsBirth(said))
}

// asks reports whether the message is a question.
func (c *conversation) asks() bool {
	return strings.Contains(c.lastMessage, "?") || slices.ContainsFunc(read.Words(c.lastMessage), func(word string) bool {
		return interrogatives[word]
	})
}

var interrogatives = read.Set(`what where which who why how when can could
	quel quelle quand comment combien pourquoi`)

// maxData bounds a message that isData accepts, in words.
const maxData = 12

// spoken returns the exchanges in the message's language that are allowed at this point of the conversation.
func (c *conversation) spoken(exchanges []*exchange) []*exchange {
	return filter(exchanges, func(e *exchange) bool {
		return e.language == c.phrases.language && (len(c.contactMessages) == 1 || e.opener != keyFirst)
	})
}

// isDenial reports whether a text negates or refuses something.
func isDenial(text string) bool {
	return slices.ContainsFunc(read.Words(spelled(text)), func(word string) bool {
		return read.IsNo(word) || denials[word]
	})
}

var denials = read.Set(`dont doesnt didnt cant cannot wont isnt without sans ne n except sauf`)

// closest returns the best example or small talk, if its score is high enough. An example precedes small talk if the
// message has both, as in "hello, I need an appointment".
func (c *conversation) closest(words *lexicon, parts []partOfMessage, own, small []*exchange) match {
	best := words.nearest(own, parts)
	whole := words.nearest(small, parts[:1])
	talk := words.nearest(small, filter(parts, func(p partOfMessage) bool { return p.share >= sentenceShare }))
	isTalk := whole.score > best.score && whole.score >= sureScore || whole.score > best.score+0.1 &&
		whole.score >= fairScore
	if best.score < nearScore || isTalk && best.variantScore < exactScore {
		best = talk
	}
	isUnsure := best.exchange != nil && calls(best.exchange, llm.EndConversation) &&
		(best.score < leastEnding || strings.Contains(c.lastMessage, "?"))
	if best.score < nearScore || best.isBuiltIn && best.score < fairScore || isUnsure {
		return match{}
	}
	return best
}

// leastEnding is the lowest score of an example that ends the conversation.
const leastEnding = 0.6

// emergency answers a message about an emergency, and all later messages. It returns nil if there is no emergency.
func (c *conversation) emergency(words *lexicon, parts []partOfMessage, own, small []*exchange) *reply {
	urgent := func(e *exchange) bool { return e.opener == keyUrgent }
	found := words.nearest(filter(own, urgent), parts)
	if found.score < nearScore && (found.score < alarming || found.exchange != words.nearest(own, parts).exchange) {
		found = words.nearest(filter(small, urgent), parts)
	}
	isMeant := found.score >= nearScore || found.score >= alarming && !found.isBuiltIn
	if isMeant && found.exchange != c.activeEmergency {
		c.activeEmergency, c.task = found.exchange, nil
		return c.startExample(found.exchange)
	}
	if c.activeEmergency == nil {
		warned := c.warning()
		if warned != "" {
			return textReply(warned)
		}
		return nil
	}
	if c.task != nil {
		if reply := c.resume(match{}); reply != nil {
			return reply
		}
	}
	if i := slices.IndexFunc(small, urgent); i >= 0 && c.activeEmergency.language != c.phrases.language {
		c.activeEmergency = small[i] // the contact changed the language
	}
	found = words.nearest(c.spoken(c.activeEmergency.replies), parts)
	if found.score < nearScore {
		found.exchange = c.activeEmergency
		if i := slices.IndexFunc(c.activeEmergency.replies, isForAnything); i >= 0 {
			found.exchange = c.activeEmergency.replies[i]
		}
		// The calls of the emergency are made only once.
		if found.exchange == c.activeEmergency && len(c.activeEmergency.calls) > 0 {
			return textReply(c.fillAny(c.activeEmergency.answers, nil))
		}
	}
	if talk := words.nearest(small, parts[:1]); talk.score >= sureScore && calls(talk.exchange, llm.EndConversation) {
		return c.endConversation(c.fillAny(found.answers, nil))
	}
	return c.startExample(found.exchange)
}

func isForAnything(e *exchange) bool {
	return slices.ContainsFunc(e.variants, func(v variant) bool { return v.text == "*" })
}

// answerClosing replies to a yes or a no after "anything else?". It returns nil for other messages.
func (c *conversation) answerClosing(best match) *reply {
	if !c.isClosing || len(read.Words(c.lastMessage)) > maxShort || best.score >= sureScore && !best.isBuiltIn {
		return nil
	}
	said := read.Words(c.lastMessage)
	if len(read.Content(said)) > 1 {
		return nil
	}
	switch answer := read.YesOrNo(said); {
	case answer > 0 && best.score < sureScore:
		return textReply(c.phrases.offer)
	case answer < 0:
		return c.endConversation(c.phrases.goodbye)
	}
	return nil
}

// withAnswer returns the parts of the message. If the message only agrees or refuses, it adds a part with the word
// "yes" or "no".
func (c *conversation) withAnswer(parts []partOfMessage) []partOfMessage {
	said := read.Words(c.lastMessage)
	answer := read.YesOrNo(said)
	if answer == 0 || len(said) > maxShort || strings.Contains(c.lastMessage, "?") {
		return parts
	}
	word := map[int]string{1: c.phrases.yes, -1: c.phrases.no}[answer]
	return append(slices.Clone(parts), partOfMessage{c.lexicons[c.phrases.language].hear([]string{word}), sentenceShare})
}
