package offline

import (
	"slices"
	"strings"
	"sync"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// conversation is a request as the rules read it. Each answer makes a new one, because the messages hold all that the
// model knows of the past.
type conversation struct {
	memory *memory
	// req has the instructions without the excerpts.
	req      llm.Request
	excerpts []llm.Excerpt
	*brief
	speak *phrasebook
	// turn is the index of the contact's latest message, or -1.
	turn    int
	calls   []call
	answers []answered
	// words are the words of the contact's latest message, and plainly is its text as read.Plain returns it.
	words   []string
	plainly func() string
	// began is the index of the message that began the matter of the latest one.
	began func() int
	// subject is what that message is about, and fit the tool that fits it best.
	subject func() subject
	fit     func() fit
}

// question is what the model asked in a message: a property of a tool, or whether to go ahead.
type question struct {
	tool     tool
	property property
	confirm  bool
}

// is reports whether two questions are about the same.
func (q question) is(other question) bool {
	return q.tool.name == other.tool.name && q.property.name == other.property.name && q.confirm == other.confirm
}

type answered struct {
	question
	at   int
	text string
}

func (m Model) read(req llm.Request) *conversation {
	excerpts, instructions := llm.Excerpts(req.System)
	req.System = instructions
	c := &conversation{memory: m.memory, req: req, excerpts: excerpts, brief: m.briefOf(instructions, req.Tools), turn: -1}
	c.speak = &phrases[c.language()]
	results := map[string]string{}
	for i, message := range slices.Backward(req.Messages) {
		if message.Role == llm.RoleTool {
			results[message.ToolCallID] = message.Text
		}
		for _, made := range slices.Backward(message.ToolCalls) {
			if result, ok := results[made.ID]; ok {
				c.calls = append(c.calls, newCall(made, i, result))
			}
		}
	}
	slices.Reverse(c.calls)
	for i, message := range req.Messages {
		if message.Role != llm.RoleUser {
			continue
		}
		c.turn = i
		for line := range strings.Lines(message.Text) {
			if asked, answer, ok := c.questionIn(line, i); ok && answer != "" {
				c.answers = append(c.answers, answered{asked, i, answer})
			}
		}
		if asked, ok := c.askedBefore(i); ok && c.isAnswer(asked, message.Text) {
			c.answers = append(c.answers, answered{asked, i, message.Text})
		}
	}
	if c.turn >= 0 {
		c.words = read.Words(c.said())
	}
	c.plainly = sync.OnceValue(func() string { return read.Plain(c.said()) })
	c.began = sync.OnceValue(c.findBegan)
	c.subject = sync.OnceValue(c.readSubject)
	c.fit = sync.OnceValue(func() fit { return c.choose(c.subject().words, c.subject().least) })
	return c
}

func (c *conversation) said() string { return c.req.Messages[c.turn].Text }

// agentBefore returns what the agent said just before a message of the contact. It is "" if the agent said nothing
// since the contact's previous message.
func (c *conversation) agentBefore(at int) string {
	for _, message := range slices.Backward(c.req.Messages[:at]) {
		if message.Role == llm.RoleUser {
			break
		}
		if message.Role == llm.RoleAssistant && message.Text != "" {
			return message.Text
		}
	}
	return ""
}

// contactBefore returns the index of the contact's message before an index, or -1.
func (c *conversation) contactBefore(at int) int {
	for at--; at >= 0 && c.req.Messages[at].Role != llm.RoleUser; at-- {
	}
	return at
}

// askedBefore finds the model's own question at the end of what the agent said before a message of the contact. It
// skips questions of sub-agents.
func (c *conversation) askedBefore(at int) (question, bool) {
	text, rest := read.LastQuestion(c.agentBefore(at))
	same := c.questions[text]
	if len(same) == 0 || rest != "" || c.delegatedBefore(at) != nil {
		return question{}, false
	}
	return *c.meant(same, at-1), true
}

// questionIn finds a question of the model at the beginning of a line, and returns what follows it.
func (c *conversation) questionIn(line string, at int) (question, string, bool) {
	before, rest, ok := strings.Cut(line, "?")
	if !ok {
		return question{}, "", false
	}
	same := c.questions[strings.TrimSpace(before+"?")]
	if len(same) == 0 {
		return question{}, "", false
	}
	return *c.meant(same, at), strings.TrimSpace(rest), true
}

// meant chooses among questions with the same words: the one of the tool which the conversation up to a message was
// about.
func (c *conversation) meant(same []*question, at int) *question {
	if len(same) == 1 {
		return same[0]
	}
	// Where options were listed, the question is which of them.
	if picking := slices.DeleteFunc(slices.Clone(same), func(q *question) bool { return !c.picks(*q) }); len(picking) > 0 {
		same = picking
	}
	for ; at >= 0; at-- {
		if c.req.Messages[at].Role != llm.RoleUser {
			continue
		}
		if open, _ := read.LastQuestion(c.agentBefore(at)); len(c.questions[open]) > 0 && c.inquiresAt(at) {
			continue // asked in between
		}
		about := c.choose(read.Concepts(c.req.Messages[at].Text), threshold)
		if i := slices.IndexFunc(same,
			func(q *question) bool { return c.leadsTo(about.tool, q.tool, len(c.tools)) }); about.ok && i >= 0 {
			return same[i]
		}
	}
	return same[0]
}

// inquiresAt reports whether a message of the contact asks how things are.
func (c *conversation) inquiresAt(at int) bool {
	message := c.req.Messages[at]
	return message.Role == llm.RoleUser && strings.Contains(message.Text, "?") && read.IsInquiry(read.Plain(message.Text))
}

// delegatedBefore returns the call of a sub-agent whose answer the agent passed on just before a message of the
// contact, or nil.
func (c *conversation) delegatedBefore(at int) *call {
	before := c.contactBefore(at)
	for i, made := range slices.Backward(c.calls) {
		if made.at < at && made.at > before {
			if t, ok := c.tool(made.Name); ok && t.delegate {
				return &c.calls[i]
			}
			return nil
		}
	}
	return nil
}

// language is the language to answer in: that of the contact's latest message which shows one, else that of the
// instructions, else English.
func (c *conversation) language() read.Language {
	for _, message := range slices.Backward(c.req.Messages) {
		if message.Role != llm.RoleUser {
			continue
		}
		if spoken, ok := read.Detect(message.Text); ok {
			return spoken
		}
	}
	return c.brief.language()
}

func (c *conversation) tool(name string) (tool, bool) {
	if i := slices.IndexFunc(c.tools, func(t tool) bool { return t.name == name }); i >= 0 {
		return c.tools[i], true
	}
	return tool{}, false
}

// isAnswer reports whether a text may be the answer to a question, instead of a question itself, a farewell, a wish for
// a human, or a new matter.
func (c *conversation) isAnswer(asked question, text string) bool {
	said := read.Words(text)
	isQuestion := strings.Contains(text, "?") && (read.IsInquiry(read.Plain(text)) || !c.reads(asked.property, text))
	isThanks := read.HasThanks(said) && len(read.Content(said)) == 0 && read.YesOrNo(said) >= 0 && !asked.confirm &&
		asked.property.kind != "boolean"
	if isQuestion || isThanks || read.IsGoodbye(text, said) || read.IsOptOut(said) || read.WantsHuman(said) {
		return false
	}
	if asked.confirm && read.YesOrNo(said) != 0 {
		return true
	}
	if read.Declines(text) {
		return false
	}
	// What fits another tool is a new matter, but free text only if it is long and fits well.
	other := c.choose(read.Concepts(text), threshold)
	if asked.property.isCode && len(said) > 2 {
		if _, ok := asked.property.in(text, true, c.today); !ok {
			return len(c.relevant(read.Concepts(text)).sentences) == 0 && (!other.ok || other.tool.name == asked.tool.name)
		}
	}
	if !other.ok || other.tool.name == asked.tool.name {
		return true
	}
	if asked.property.isText() || asked.property.isCode {
		return len(said) <= maxShortAnswer || other.score < 3*threshold
	}
	return c.reads(asked.property, text) || len(said) == 1
}

// reads reports whether a text has the value of a property that is not just any text.
func (c *conversation) reads(p property, text string) bool {
	if p.isText() {
		return false
	}
	_, ok := p.in(text, true, c.today)
	return ok
}

// findBegan finds the message that began the present matter. The model's questions and their answers continue it, and
// so does what the contact asks in between.
func (c *conversation) findBegan() int {
	at := c.turn
	var next question
	for c.contactBefore(at) >= 0 {
		asked, ok := c.askedBefore(at)
		isAnswer := slices.ContainsFunc(c.answers, func(a answered) bool { return a.at == at })
		isAskedAgain := next.is(asked)
		if !ok || !isAnswer && !isAskedAgain {
			break
		}
		next, at = asked, c.contactBefore(at)
	}
	return at
}

// beganDelegation does the same for a sub-agent's questions.
func (c *conversation) beganDelegation() int {
	at := c.turn
	for c.contactBefore(at) >= 0 {
		made := c.delegatedBefore(at)
		if made == nil || !asksBack(made.result) {
			break
		}
		at = c.contactBefore(at)
	}
	return at
}

// contactSaid returns the lines of a message of the contact, or nil for messages of others. If a line repeats a
// question, only the answer is returned.
func (c *conversation) contactSaid(at int) []string {
	message := c.req.Messages[at]
	if message.Role != llm.RoleUser {
		return nil
	}
	var texts []string
	for line := range strings.SplitSeq(message.Text, "\n") {
		if _, answer, ok := c.questionIn(line, at); ok && answer != "" {
			line = answer
		}
		texts = append(texts, line)
	}
	return texts
}

func (c *conversation) calledNow() []call {
	var made []call
	for _, call := range c.calls {
		if call.at > c.turn {
			made = append(made, call)
		}
	}
	return made
}
