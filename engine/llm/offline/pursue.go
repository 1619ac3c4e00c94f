package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

const (
	// maxCalls is how many tools one turn calls.
	maxCalls = 2
	// maxAsked is how often in a row the same question is asked.
	maxAsked = 2
	// maxShortAnswer is how many words an answer such as "no, thank you" has at most.
	maxShortAnswer = 4
)

var (
	// inquiring begins a question about how things are.
	inquiring = regexp.MustCompile(`^(what|which|when|how|who|why|do you|does|is there|are there|is it|are you|quel|quelle|quels|quelles|quand|comment|combien|qui|pourquoi|est-ce que vous|avez-vous|y a-t-il|faut-il)\b`)
	// personal marks a matter of the contact's own, which is for a tool.
	personal = regexp.MustCompile(`\b(my|our|mon|ma|mes|notre|nos|i want|i need|i'd like|i would like|i lost|can you|could you|je veux|je voudrais|j'aimerais|pouvez-vous)\b`)
)

// asksForFacts reports whether a message asks how things are, and not for something to be done.
func asksForFacts(text string) bool {
	text = plain(text)
	if _, rest, ok := strings.Cut(text, " "); ok && greetings[strings.Trim(strings.Fields(text)[0], ".,!")] {
		text = rest
	}
	return inquiring.MatchString(text) && !personal.MatchString(text)
}

// subject is what the message of this matter is about. A bare number stands for what the agent offered under it.
func (c *conversation) subject() []string {
	at := min(c.began(), c.beganDelegation())
	text := c.req.Messages[at].Text
	if number := strings.Trim(text, " .)!"); len(number) == 1 && numeral.MatchString(number) {
		offered := regexp.MustCompile(`(?:^|[^\pL\d])` + number + `[.):]?\s+([^,.;\n]+)`)
		if m := offered.FindStringSubmatch(c.agentBefore(at)); m != nil {
			text = m[1]
		}
	}
	_, said := cutGreeting(wordsOf(text))
	return concepts(strings.Join(said, " "))
}

// goal is the tool that the matter is about: the one that its first message fits, if that leads to the
// question that was answered last; else the one that this question was about.
func (c *conversation) goal() (tool, bool) {
	asked, pending := c.askedBefore(c.turn)
	pending = pending && c.isAnswer(asked, c.said())
	i, _ := choose(c.tools, c.req.System, c.subject())
	switch {
	case pending && (i < 0 || !c.leadsTo(c.tools[i], asked.tool, len(c.tools))):
		return asked.tool, true
	case i < 0:
		return tool{}, false
	}
	return c.tools[i], true
}

// leadsTo reports whether a tool needs, over so many others at most, what another returns.
func (c *conversation) leadsTo(t, other tool, over int) bool {
	if t.name == other.name {
		return true
	}
	if over == 0 {
		return false
	}
	for _, p := range t.properties {
		for _, producer := range c.producers(t, p) {
			if c.leadsTo(producer, other, over-1) {
				return true
			}
		}
	}
	return false
}

// goOn takes the message as the answer to the question that was open, if there was one.
func (c *conversation) goOn() (reply, bool) {
	if made := c.delegatedBefore(c.turn); made != nil && asksBack(made.result) {
		return c.delegateAgain(*made)
	}
	if made := c.failedBefore(); made != nil && wantsAgain(c.said()) {
		if t, ok := c.tool(made.Name); ok {
			var arguments map[string]any
			if json.Unmarshal([]byte(made.Arguments), &arguments) == nil {
				return reply{tool: t.name, arguments: arguments}, true
			}
		}
	}
	asked, ok := c.askedBefore(c.turn)
	if !ok {
		return reply{}, false
	}
	if !c.isAnswer(asked, c.said()) {
		// A question in between is answered, and the own one asked again.
		found, known := relevant(c.req.System, concepts(c.said()))
		if strings.Contains(c.said(), "?") && len(found) > 0 && asksForFacts(c.said()) {
			return say(c.speak.quote(found, known), c.asking(asked)), true
		}
		return reply{}, false
	}
	if asked.confirm && !saysYes(c.said()) {
		return say(c.speak.dropped, c.speak.anythingElse), true
	}
	if len(wordsOf(c.said())) <= 2 && firstOf(c.said()) == -1 && asked.property.isText() {
		return say(c.speak.dropped, c.speak.anythingElse), true
	}
	wanted, ok := c.goal()
	if !ok {
		return reply{}, false
	}
	return c.pursue(wanted, c.speak.goingOn), true
}

// failedBefore is the call of which the agent said last that it did not work; nil when it said something else.
func (c *conversation) failedBefore() *call {
	before := strings.TrimSpace(c.agentBefore(c.turn))
	for _, book := range phrases {
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

func wantsAgain(text string) bool {
	return saysYes(text) || slices.ContainsFunc(wordsOf(text), func(word string) bool {
		return slices.Contains([]string{"again", "retry", "try", "reessayer", "reessayez", "encore"}, word)
	})
}

// delegateAgain hands the answer to a sub-agent's question to the sub-agent, with all that was said in
// the matter: it may begin its conversation anew.
func (c *conversation) delegateAgain(made call) (reply, bool) {
	t, ok := c.tool(made.Name)
	said := wordsOf(c.said())
	if !ok || wantsHuman(said) {
		return reply{}, false
	}
	return c.pursue(t, ""), true
}

func (c *conversation) asking(asked question) string {
	if asked.confirm {
		return c.speak.confirmation(asked.tool)
	}
	if len(c.options(asked.tool, asked.property)) > 1 && len(c.producers(asked.tool, asked.property)) > 0 {
		return c.speak.which(asked.tool, asked.property)
	}
	return c.speak.ask(asked.tool, asked.property)
}

// pursue does what comes next for a tool: calls it, or calls first what it needs, or asks. lead is
// said before a question.
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
		for _, producer := range c.producers(t, p) {
			if !slices.ContainsFunc(c.calls, func(made call) bool { return made.Name == producer.name }) {
				return c.pursue(producer, lead)
			}
		}
		missing = append(missing, p)
	}
	if len(missing) > 0 {
		return c.ask(question{tool: t, property: c.first(t, missing)}, lead)
	}
	for _, p := range t.properties {
		if _, has := arguments[p.name]; !has {
			if value, found := c.find(t, p, false); found {
				arguments[p.name] = value
			}
		}
	}
	asked, _ := c.askedBefore(c.turn)
	if t.confirm && !(asked.confirm && asked.tool.name == t.name) {
		return say(lead, c.told(t, arguments), c.speak.confirmation(t))
	}
	made := c.calledNow()
	if len(made) >= maxCalls || slices.ContainsFunc(made, func(made call) bool { return made.Name == t.name && sameArguments(made, arguments) }) {
		return say(c.speak.anythingElse)
	}
	return reply{tool: t.name, arguments: arguments}
}

// first is the property to ask for: one that a result offers options for, which the contact may just have read.
func (c *conversation) first(t tool, missing []property) property {
	i := slices.IndexFunc(missing, func(p property) bool { return len(c.options(t, p)) > 1 })
	return missing[max(i, 0)]
}

// wanted are the properties that a call of the tool must have: those that the schema requires, those of the first
// alternative that can be filled, and as many more as it wants at least, those that can be filled first.
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

// ask asks for an argument, and gives up when that was asked in vain before.
func (c *conversation) ask(wanted question, lead string) reply {
	text := c.asking(wanted)
	times := 0
	for at := c.turn; at >= 0 && strings.HasSuffix(strings.TrimSpace(c.agentBefore(at)), text); at = c.contactBefore(at) {
		times++
	}
	switch {
	case times >= maxAsked:
		return say(about(c.speak.stuck, wanted.tool), c.speak.anythingElse)
	case times > 0:
		lead = c.speak.unclear
	}
	return say(lead, text)
}

// afterCall answers from the result of the call that was made last.
func (c *conversation) afterCall(made call) reply {
	failure := errorIn(made.result)
	switch {
	case made.Name == llm.EndConversation:
		return say(c.speak.goodbye)
	case made.Name == llm.TransferCall && failure != "":
		return say(fill(c.speak.transferFailed, ended(shorten(failure, maxFieldText))), c.speak.anythingElse)
	case made.Name == llm.TransferCall:
		return say(c.speak.transferred)
	}
	t, ok := c.tool(made.Name)
	if !ok {
		t = tool{name: made.Name, title: strings.Join(nameWords(made.Name), " ")}
	}
	if failure != "" {
		return say(fill(about(c.speak.broken, t), ended(shorten(failure, maxFieldText))), c.speak.advice)
	}
	if t.delegate && !strings.HasPrefix(strings.TrimSpace(made.result), "{") {
		return say(strings.TrimSpace(made.result))
	}
	told := fill(about(c.speak.done, t), ended(inWords(made.result)))
	if wanted, ok := c.goal(); ok && wanted.name != t.name && c.leadsTo(wanted, t, len(c.tools)) {
		next := c.pursue(wanted, "")
		if next.tool != "" {
			return next
		}
		return after(told, next.text)
	}
	return after(told, c.speak.anythingElse)
}

// after says something behind what was told, on its own line behind a list.
func after(told, text string) reply {
	if strings.Contains(told, "\n") {
		return say(told + "\n" + text)
	}
	return say(told, text)
}

// lastCalling is the index of the message that makes calls which the last messages answer; -1 when they answer none.
func (c *conversation) lastCalling() int {
	for i, message := range slices.Backward(c.req.Messages) {
		if message.Role != llm.RoleTool {
			if len(message.ToolCalls) > 0 {
				return i
			}
			break
		}
	}
	return -1
}

// told names the arguments of a call in words.
func (c *conversation) told(t tool, arguments map[string]any) string {
	var parts []string
	for _, p := range t.properties {
		if value, ok := arguments[p.name]; ok {
			parts = append(parts, strings.Join(p.title, " ")+": "+valueInWords(value))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ended(strings.Join(parts, ", "))
}

// ended is a text with an end mark.
func ended(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") || strings.Contains(text, "\n") {
		return text
	}
	return text + "."
}

// wantsNothingElse reports whether the contact says no to "is there anything else".
func (c *conversation) wantsNothingElse(said []string) bool {
	if len(said) > maxShortAnswer || len(said) == 0 || !no[said[0]] || len(contentOf(said)) > 0 {
		return false
	}
	before := strings.TrimSpace(c.agentBefore(c.turn))
	for _, book := range phrases {
		for _, closing := range []string{book.more, book.welcome, book.anythingElse} {
			if strings.HasSuffix(before, closing) {
				return true
			}
		}
	}
	return false
}
