package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

const (
	// maxCalls bounds the calls of one turn.
	maxCalls = 2
	// maxAsked is how often in a row the same question is asked.
	maxAsked = 2
	// maxShortAnswer bounds an answer such as "no, thank you", in words.
	maxShortAnswer = 4
	// maxChoosing bounds a message that chooses by place, in words.
	maxChoosing = 6
)

// goOn takes the message as the answer to the open question, if there is one.
func (c *conversation) goOn() (reply, bool) {
	if made := c.delegatedBefore(c.turn); made != nil && asksBack(made.result) {
		return c.delegateAgain(*made)
	}
	made := c.failedBefore()
	if made != nil && c.refuses() {
		return say(c.speak.dropped, c.speak.anythingElse), true
	}
	if made != nil && wantsAgain(c.said()) {
		if t, ok := c.tool(made.Name); ok {
			if arguments, ok := made.arguments(); ok {
				return reply{tool: t.name, arguments: arguments}, true
			}
		}
	}
	if read.YesOrNo(c.words) == 1 && c.offersTransfer() && c.offeredTransfer() {
		return c.putThrough(), true
	}
	asked, ok := c.askedBefore(c.turn)
	if !ok {
		return reply{}, false
	}
	if !c.isAnswer(asked, c.said()) {
		// This answers what the contact asks in between, and asks again.
		found := c.relevant(read.ConceptsOf(c.words))
		if strings.Contains(c.said(), "?") && len(found.sentences) > 0 && c.inquires() {
			return say(c.speak.quote(found), c.asking(asked)), true
		}
		return reply{}, false
	}
	if asked.confirm && read.YesOrNo(c.words) == -1 && !c.corrects(asked.tool) {
		return say(c.speak.dropped, c.speak.anythingElse), true
	}
	if c.refuses() && asked.property.kind != "boolean" && !c.reads(asked.property, c.said()) {
		return say(c.speak.dropped, c.speak.anythingElse), true
	}
	wanted, ok := c.goal()
	if !ok {
		return reply{}, false
	}
	return c.pursue(wanted, c.speak.goingOn[len(c.answers)%len(c.speak.goingOn)]), true
}

// failedBefore returns the call whose failure the agent reported last, or nil if it said something else.
func (c *conversation) failedBefore() *call {
	before := strings.TrimSpace(c.agentBefore(c.turn))
	for _, book := range &phrases {
		if !strings.HasSuffix(before, book.advice) {
			continue
		}
		for i, made := range slices.Backward(c.calls) {
			if made.at < c.turn {
				return &c.calls[i]
			}
		}
	}
	return nil
}

func wantsAgain(text string) bool { return read.SaysYes(text) || read.WantsRepeat(text) }

// delegateAgain passes the answer to a sub-agent's question on to it, with everything said in the matter, because a
// sub-agent may remember nothing.
func (c *conversation) delegateAgain(made call) (reply, bool) {
	t, ok := c.tool(made.Name)
	if !ok || read.WantsHuman(c.words) {
		return reply{}, false
	}
	if c.refuses() && !asksYesOrNo(made.result) {
		return say(c.speak.dropped, c.speak.anythingElse), true
	}
	return c.pursue(t, ""), true
}

// refuses reports whether the contact's message is a no and nothing more.
func (c *conversation) refuses() bool {
	return len(c.words) <= maxShortAnswer && read.YesOrNo(c.words) == -1 && len(read.Content(c.words)) == 0
}

func (c *conversation) asking(asked question) string {
	if asked.confirm {
		return c.speak.sure
	}
	if c.picks(asked) {
		return c.speak.which
	}
	return asked.property.asked[c.speak.language]
}

// pursue does what comes next for a tool: it calls the tool, or first one that it needs, or asks. lead precedes a
// question.
func (c *conversation) pursue(t tool, lead string) reply {
	arguments := map[string]any{}
	var missing []property
	for _, name := range c.wanted(t) {
		p, ok := t.property(name)
		if !ok {
			continue
		}
		value, found := c.find(t, p, true)
		if found {
			arguments[name] = value
			continue
		}
		for _, producer := range p.producers {
			isCalled := slices.ContainsFunc(c.calls, func(made call) bool { return made.Name == producer.name })
			// The contact may want something else by now, so this looks again.
			if !isCalled || len(c.calledNow()) == 0 && c.corrects(*producer) {
				return c.pursue(*producer, lead)
			}
		}
		missing = append(missing, p)
	}
	if len(missing) > 0 {
		return c.ask(question{tool: t, property: c.first(missing)}, lead)
	}
	for _, p := range t.properties {
		if _, has := arguments[p.name]; !has {
			if value, found := c.find(t, p, false); found {
				arguments[p.name] = value
			}
		}
	}
	if t.confirm && !c.confirmed(t) {
		return say(lead, c.recap(t, arguments), c.speak.sure)
	}
	if before := c.calledAlike(t, arguments); before != nil && !read.WantsRepeat(c.said()) {
		if t.delegate {
			return say(lead, before.result)
		}
		return after(say(c.speak.already, c.toldOf(t, *before)).text, c.speak.anythingElse)
	}
	made := c.calledNow()
	if len(made) >= maxCalls ||
		slices.ContainsFunc(made, func(made call) bool { return made.Name == t.name && made.hasArguments(arguments) }) {
		return say(c.speak.anythingElse)
	}
	return reply{tool: t.name, arguments: arguments}
}

// calledAlike returns the tool's successful call of an earlier turn with the same arguments, or nil.
func (c *conversation) calledAlike(t tool, arguments map[string]any) *call {
	for i, made := range c.calls {
		if made.at < c.turn && made.Name == t.name && made.hasArguments(arguments) && made.failure() == "" {
			return &c.calls[i]
		}
	}
	return nil
}

// confirmed reports whether the contact just said yes to going ahead with a tool.
func (c *conversation) confirmed(t tool) bool {
	last := len(c.answers) - 1
	return last >= 0 && c.answers[last].at == c.turn && c.answers[last].confirm && c.answers[last].tool.name == t.name &&
		read.SaysYes(c.answers[last].text)
}

// first returns the property to ask for. One with options goes first, because the contact may just have read them.
func (c *conversation) first(missing []property) property {
	i := slices.IndexFunc(missing, func(p property) bool { return len(c.options(p)) > 1 })
	return missing[max(i, 0)]
}

// wanted returns the properties that a call of the tool must have: those that the schema requires, those of the first
// alternative that can be filled, and more up to the least number, those that can be filled first.
func (c *conversation) wanted(t tool) []string {
	names := slices.Clone(t.wanted)
	filled := func(name string) bool {
		p, ok := t.property(name)
		if !ok {
			return false
		}
		_, ok = c.find(t, p, true)
		return ok
	}
	if len(t.alternatives) > 0 {
		chosen := t.alternatives[0]
		for _, branch := range t.alternatives {
			if !slices.ContainsFunc(branch, func(name string) bool { return !filled(name) }) {
				chosen = branch
				break
			}
		}
		names = append(names, chosen...)
	}
	for _, onlyFilled := range []bool{true, false} {
		for _, p := range t.properties {
			if len(names) < t.least && !slices.Contains(names, p.name) && (!onlyFilled || filled(p.name)) {
				names = append(names, p.name)
			}
		}
	}
	return names
}

// picks reports whether a question asks the contact to choose among several options.
func (c *conversation) picks(asked question) bool {
	return len(asked.property.producers) > 0 && len(c.options(asked.property)) > 1
}

// wantsNothingElse reports whether the contact says no to "is there anything else".
func (c *conversation) wantsNothingElse(said []string) bool {
	if len(said) > maxShortAnswer || len(said) == 0 || !read.IsNo(said[0]) || len(read.Content(said)) > 0 {
		return false
	}
	before := strings.TrimSpace(c.agentBefore(c.turn))
	for _, book := range &phrases {
		for _, closing := range []string{book.more, book.welcome, book.anythingElse} {
			if strings.HasSuffix(before, closing) {
				return true
			}
		}
		if read.HasThanks(said) && strings.Contains(before, book.offer) {
			return true
		}
	}
	return false
}
