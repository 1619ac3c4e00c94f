package rules

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// inherit gives a part without a verb the verb of the previous part, and its negation.
func (r *claimParser) inherit(link class, previous *claim) {
	if r.kind == callNoun {
		r.kind = callVerb
	}
	r.isNegated = r.isNegated || r.isNone
	if previous != nil && previous.isNegated && !r.isNegated && r.actor == 0 && r.kind != 0 &&
		r.parser.isBase(r.verb) && r.parser.isBase(previous.verb) {
		switch link {
		case or: // "must not call X or say Y"
			r.isNegated = true
		case and:
			r.countUnknown()
		}
	}
	if r.kind != 0 || previous == nil || previous.kind == 0 {
		return
	}
	isCall := r.object == nameToken && (previous.kind == callVerb || previous.name != "" &&
		(previous.kind == transferVerb || previous.kind == endVerb)) // a call of transfer_call or end_conversation
	if r.object == quotation && previous.kind == sayVerb || isCall {
		r.kind, r.byContact, r.verb, r.isInherited = previous.kind, previous.byContact, previous.verb, true
		if isCall {
			r.kind = callVerb
		}
		r.isNegated = r.isNegated || previous.isNegated
		if link == and || link == or || link == nor { // says "X" and "Y" in its last message
			r.parser.isHedged = r.parser.isHedged || r.hasPosition != previous.hasPosition
		}
		if previous.isUnsure && !previous.isStartKnown { // "calls a tool other than X or Y"
			r.countUnknown()
			r.lastLeadingUnknown = r.unknownWords
		}
		if r.actor == 0 && previous.byContact {
			r.actor = contactWord
		}
		if !r.hasCount && previous.minTimes == previous.maxTimes {
			r.minTimes, r.maxTimes = previous.minTimes, previous.maxTimes
		}
	}
}

// isBase reports whether a verb is in its base form, such as "call" for "calls", or "appeler", or "aufrufen".
func (p *parser) isBase(verb string) bool {
	if c := p.words[verb+"s"]; c != unknown && (c == p.words[verb] || c == callVerb && p.words[verb] == callNoun) {
		return true
	}
	return slices.ContainsFunc([]string{"er", "ir", "re", "ar", "en"},
		func(end string) bool { return strings.HasSuffix(verb, end) })
}

// resolveClaim decides what the part claims, and whether the parser has understood all of it.
func (r *claimParser) resolveClaim() {
	isOfContact := r.actor == contactWord && !r.isPassive
	switch {
	case r.object == nameToken && (r.kind == callVerb || r.kind == useVerb || r.kind == startVerb ||
		r.kind == transferVerb || r.kind == 0):
		r.kind, r.isStartKnown = callVerb, r.kind != 0
		r.isUnsure = isOfContact
		switch {
		case strings.EqualFold(r.name, llm.TransferCall):
			r.kind = transferVerb
		case strings.EqualFold(r.name, llm.EndConversation):
			r.kind = endVerb
		}
	case r.object == quotation &&
		(r.kind == sayVerb || r.kind == useVerb || r.kind == 0 && (r.hasPosition || r.isNegated && r.hasMessage)):
		r.kind, r.isStartKnown, r.byContact = sayVerb, true, isOfContact
	case r.object == 0 && (r.kind == callVerb || r.kind == useVerb) && (r.isNone || r.hasAny):
		r.kind, r.name, r.isStartKnown = callVerb, "", true
	case r.object == 0 && r.kind == transferVerb && (r.hasHuman || r.hasTalk || isPlain(r.verb)):
		r.isStartKnown, r.isUnsure = r.hasHuman || isPlain(r.verb), isOfContact
	case r.object == 0 && r.kind == endVerb && (r.hasTalk || isPlain(r.verb)):
		r.isStartKnown, r.byContact = true, isOfContact
	case r.object == quotation: // Suggest reads it, the judge decides it.
		r.kind, r.isUnsure, r.byContact = sayVerb, true, isOfContact
	default:
		r.kind, r.isUnsure = unknown, true
	}
	if r.hasNe && !r.isNegated && !r.hasCount { // "n'appelle que"
		r.unknownWords, r.lastLeadingUnknown = r.unknownWords+1, r.unknownWords+1
	}
	if r.hasHuman && r.verb != "" && (r.kind == sayVerb || r.kind == callVerb) || r.bound == exactly {
		r.isUnsure = true // "says … to a manager", "says exactly …"
	}
	if r.unknownWords > 0 {
		r.isUnsure, r.isStartKnown = true, r.isStartKnown && r.lastLeadingUnknown < 0
	}
}

// plain lists stems of verbs that mean a transfer or the end of a call even without an object.
var plain = strings.Fields(`transf trasf weiterl weiterz durchgest durchst überst doorverb doorgesch doorsch eskal escal forward
	redirect redirig inoltr encaminh deriv hang hung raccroch legt aufl aufg aufz auflegt cuelg colg riattacc riaggan hangt
	opha opge desl`)

func isPlain(verb string) bool {
	return slices.ContainsFunc(plain, func(stem string) bool { return strings.HasPrefix(verb, stem) })
}
