package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// event is something in a conversation that a claim is about, such as a call or a sentence, and its position.
type event struct {
	// message is the index of the message that has the sentence or follows the call. step is the position among the
	// events of the same message: first the calls, then the quotes.
	message, step int
	cited         []model.Evidence
}

// afterCalls is the step of the start of a message's text: the position of a quote in the text is added to it. atEnd is
// the step of the end of the conversation.
const (
	afterCalls = 1 << 20
	atEnd      = math.MaxInt
)

// truth is whether a claim holds. The zero value means that only the judge can decide.
type truth int

const (
	undecided truth = iota
	holds
	fails
)

func truthOf(holding bool) truth {
	if holding {
		return holds
	}
	return fails
}

// decideClaims decides the claims of a criterion. All claims must hold, but of claims joined by "or", one is enough. If
// a claim fails, decideClaims returns its finding. If all hold, it returns one finding for all of them.
func (c *Conversation) decideClaims(claims []*claim) (truth, Finding) {
	var all []string
	var cited []model.Evidence
	isOpen := len(claims) == 0
	for from := 0; from < len(claims); {
		to := from + 1
		for to < len(claims) && claims[to].link == or {
			to++
		}
		is, found := c.decideAny(claims[from:to])
		if is == fails {
			return fails, found
		}
		isOpen = isOpen || is == undecided
		all, cited = append(all, found.Observed), append(cited, found.Evidence...)
		from = to
	}
	if isOpen {
		return undecided, Finding{}
	}
	return holds, Finding{true, strings.Join(slices.Compact(all), " "), cited[:min(len(cited), MaxEvidence)]}
}

// decideAny decides claims that are joined by "or". Negated ones all have to hold: "says neither X nor Y".
func (c *Conversation) decideAny(claims []*claim) (truth, Finding) {
	needsAll := len(claims) > 1 && !slices.ContainsFunc(claims, func(c *claim) bool { return !c.isNegated })
	result, last := undecided, Finding{}
	var said []string
	hasOpen := false
	for i, each := range claims {
		is, found := c.decideClaim(each)
		last.Evidence = append(last.Evidence, found.Evidence...)
		said = append(said, found.Observed)
		last.Observed = strings.Join(said, " ")
		switch {
		case needsAll && is == fails, !needsAll && is == holds:
			return is, found
		case is == undecided:
			hasOpen = true
		case i == 0 || result != undecided:
			result = is
		}
	}
	last.Passed = result == holds
	if hasOpen {
		return undecided, Finding{}
	}
	return result, last
}

// decideClaim decides one claim. A claim with words that the parser does not know fails if isStartKnown is set, it is
// not negated, and the claimed event never happened. Otherwise the judge must decide such a claim.
func (c *Conversation) decideClaim(claim *claim) (truth, Finding) {
	if claim.isJudged() {
		return undecided, Finding{}
	}
	happened := c.eventsOf(claim)
	if claim.isUnsure {
		if claim.isStartKnown && !claim.isNegated && claim.minTimes > 0 && len(happened) == 0 {
			return fails, c.absent(claim)
		}
		return undecided, Finding{}
	}
	if claim.relatedClaim != nil {
		return c.decideOrder(claim, happened)
	}
	if claim.isAmbiguous(c) && len(happened) > 0 {
		return undecided, Finding{}
	}
	n := len(happened)
	is := n >= claim.minTimes && (claim.maxTimes < 0 || n <= claim.maxTimes)
	found := Finding{is != claim.isNegated, claim.described(n), nil}
	if n == 0 {
		found.Observed, found.Evidence = c.absent(claim).Observed, c.absent(claim).Evidence
	}
	for _, e := range happened[:min(n, MaxEvidence)] {
		found.Evidence = append(found.Evidence, e.cited...)
	}
	return truthOf(found.Passed), found
}

// isJudged reports whether the judge decides the claim, whatever happened.
func (claim *claim) isJudged() bool {
	return claim.kind == unknown || claim.isHedged ||
		claim.relatedClaim != nil && (claim.relatedClaim.kind == unknown || claim.relatedClaim.isUnsure)
}

// decideOrder decides whether a claim's event comes before or after another's. If the other event never happened,
// "never X after Y" holds, and "never X before Y" fails. "X before Y" is then left to the judge.
func (c *Conversation) decideOrder(claim *claim, happened []event) (truth, Finding) {
	others := c.eventsOf(claim.relatedClaim)
	positive := *claim
	positive.isNegated = false
	switch {
	case len(happened) == 0:
		found := c.absent(&positive)
		found.Passed = claim.isNegated
		return truthOf(claim.isNegated), found
	case len(others) == 0 && claim.order == before && !claim.isNegated:
		return undecided, Finding{}
	case len(others) == 0:
		found := c.absent(claim.relatedClaim)
		found.Passed = claim.isNegated && claim.order != before
		found.Evidence = append(found.Evidence, happened[0].cited...)
		return truthOf(found.Passed), found
	}
	one, other := happened[0], others[0]
	switch claim.order {
	case after:
		one, other = others[0], happened[len(happened)-1]
	case then:
		other = others[len(others)-1]
	}
	isBefore := cmp.Or(cmp.Compare(one.message, other.message), cmp.Compare(one.step, other.step)) < 0
	found := Finding{isBefore != claim.isNegated, claim.described(1) + " " + claim.relatedClaim.described(1),
		append(slices.Clone(one.cited), other.cited...)}
	if isBefore {
		found.Observed += " They happened in the order that the criterion names."
	} else {
		found.Observed += " They did not happen in the order that the criterion names."
	}
	return truthOf(found.Passed), found
}

// isAmbiguous reports whether it is not certain which argument the claim means.
func (claim *claim) isAmbiguous(c *Conversation) bool {
	return slices.ContainsFunc(claim.arguments, func(a argument) bool {
		return a.name != "" && !a.isNamed && !c.hasArgument(claim.name, a.name)
	})
}

func (c *Conversation) hasArgument(target, key string) bool {
	if namesOf(c.Targets).hasParameter(target, key) {
		return true
	}
	for _, call := range c.calling(target) {
		given, _, _ := content.ParseArguments(string(call.Arguments))
		for argument := range given {
			if isSameName(argument, key) {
				return true
			}
		}
	}
	return false
}

// eventsOf returns the events that a claim is about, in order, whether or not it is negated.
func (c *Conversation) eventsOf(claim *claim) (events []event) {
	switch claim.kind {
	case sayVerb:
		return c.sayings(claim)
	case transferVerb:
		return c.eventsOfCalls(slices.DeleteFunc(c.calling(llm.TransferCall), (*model.ToolCall).Failed))
	case endVerb:
		by := Agent
		if claim.byContact {
			by = Contact
		}
		if c.endedBy == by {
			events = append(events, event{len(c.messages), atEnd, c.lastWords()})
		}
		return events
	}
	made := c.calls
	if claim.name != "" {
		made = c.calling(claim.name)
	}
	return c.eventsOfCalls(slices.DeleteFunc(slices.Clone(made), func(call *model.ToolCall) bool {
		return slices.ContainsFunc(claim.arguments, func(a argument) bool { return !c.hasArgumentOf(call, a) })
	}))
}

func (c *Conversation) eventsOfCalls(calls []*model.ToolCall) (events []event) {
	for _, call := range calls {
		events = append(events, event{int(call.MessageSequence) + 1, slices.Index(c.calls, call),
			c.citeCalls([]*model.ToolCall{call})})
	}
	return events
}

// hasArgumentOf reports whether a call has an argument of a claim. The name counts if the author certainly named an
// argument, or if the target has an argument with that name. Otherwise only the value counts.
func (c *Conversation) hasArgumentOf(call *model.ToolCall, a argument) bool {
	arguments := []byte(content.Encode(call.Arguments))
	if a.name != "" && (a.isNamed || c.hasArgument(call.TechnicalName, a.name)) {
		return hasArgumentValue(arguments, a.name, a.value)
	}
	return hasValue(arguments, a.value)
}

// sayings returns where a speaker says the claim's text.
func (c *Conversation) sayings(claim *claim) (events []event) {
	speaker := model.MessageRoleAssistant
	if claim.byContact {
		speaker = model.MessageRoleUser
	}
	var places []int
	for i, m := range c.messages {
		if m.Role == speaker && c.isIn(i, nil) {
			places = append(places, i)
		}
	}
	switch {
	case len(places) == 0:
		return nil
	case claim.position == first:
		places = places[:1]
	case claim.position == last:
		places = places[len(places)-1:]
	}
	for _, i := range places {
		text := c.messages[i].Text
		for from := 0; ; {
			quote := read.Find(text[from:], claim.text)
			if quote == "" {
				break
			}
			at := from + strings.Index(text[from:], quote)
			events = append(events, event{i, afterCalls + at, []model.Evidence{c.quote(i, quote)}})
			from = at + len(quote)
		}
	}
	return events
}

// absent is the finding for something that never happened. It quotes what comes closest, such as a failed call.
func (c *Conversation) absent(claim *claim) Finding {
	found := Finding{Passed: claim.isNegated}
	switch claim.kind {
	case sayVerb:
		found.Observed = claim.subject() + " never said " + model.Quote(claim.text) + "."
		if nearest := c.nearest(claim.text); len(nearest) > 0 && !claim.isNegated && !claim.byContact {
			found.Observed = "The agent never said " + model.Quote(claim.text) + ". The most similar text is quoted."
			found.Evidence = nearest
		}
	case transferVerb:
		found.Observed = "The agent did not transfer the call."
		if tried := c.calling(llm.TransferCall); len(tried) > 0 {
			found.Observed, found.Evidence = "The agent tried to transfer the call, and the transfer failed.", c.citeCalls(tried)
		}
	case endVerb:
		found.Observed, found.Evidence = claim.subject()+" did not end the conversation.", c.lastWords()
	default:
		if claim.name == "" {
			found.Observed = "The agent called nothing."
			break
		}
		made := c.calling(claim.name)
		found.Observed, found.Evidence = "The agent did not call "+claim.name+".", c.citeCalls(made)
		if len(made) > 0 {
			found.Observed = "The agent called " + claim.name + ", but never with " + claim.argumentsText() + "."
		}
	}
	return found
}

func (claim *claim) subject() string {
	if claim.byContact {
		return "The contact"
	}
	return "The agent"
}

func (claim *claim) argumentsText() string {
	texts := model.Map(claim.arguments, func(a argument) string { return strings.TrimPrefix(a.name+" = "+a.value, " = ") })
	return strings.Join(texts, ", ")
}

// described says in a sentence that something happened, and how often.
func (claim *claim) described(n int) string {
	often := ""
	if n > 1 {
		often = fmt.Sprintf(" %d times", n)
	}
	switch claim.kind {
	case sayVerb:
		return claim.subject() + " said " + model.Quote(claim.text) + often + "."
	case transferVerb:
		return "The agent transferred the call."
	case endVerb:
		return claim.subject() + " ended the conversation."
	}
	what := claim.name
	if what == "" {
		what = "a tool"
	}
	if len(claim.arguments) > 0 {
		what += " with " + claim.argumentsText()
	}
	return fmt.Sprintf("The agent called %s%s.", what, often)
}
