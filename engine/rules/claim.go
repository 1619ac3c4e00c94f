package rules

import (
	"encoding/json"
	"slices"
	"strings"
)

// claim is what a part of a criterion claims about the conversation.
type claim struct {
	// link joins the claim to the one before it: and, or.
	link class
	// kind is callVerb, sayVerb, transferVerb or endVerb, or unknown if the part claims nothing that rules can decide.
	kind class
	// byContact is set if the contact is the subject.
	byContact bool
	isNegated bool
	// name is the called target, "" for any.
	name      string
	arguments []argument
	// text is what is said.
	text string
	// minTimes and maxTimes bound how often the claimed event happens. A negative maxTimes means no bound.
	minTimes, maxTimes int
	// position is first or last if only the first or last message of the speaker counts.
	position    class
	hasPosition bool
	// order is the position of the claim, before or after another one.
	order        class
	relatedClaim *claim
	// isUnsure is set if the part has words that the parser does not know. isStartKnown is set if all of these words
	// follow the called target or the said text. Then the part cannot hold if the target was never called, or the text
	// never said.
	isUnsure, isStartKnown bool
	// isHedged is set if the whole criterion is left to the judge.
	isHedged bool
	// isOpen is set if the part ends before its object, as in "calls nothing". The next part may name an exception:
	// "nothing but X".
	isOpen bool
	// verb is the verb as it is written. isInherited is set if the part takes the verb of the part before.
	verb        string
	isInherited bool
}

// argument is an argument of a call. An empty name stands for any argument.
type argument struct {
	name, value string
	// isNamed is set if the author certainly named an argument, as in "id = 1".
	isNamed bool
}

// claimParser is the state of reading a part of a criterion.
type claimParser struct {
	*claim
	parser                                 *parser
	actor, bound, object                   class
	isPassive, hasTalk, hasHuman, isNone   bool
	hasContact, isByNext, hasCount, hasAny bool
	hasNe, hasMessage                      bool
	unknownWords, lastLeadingUnknown       int
}

// claim reads a part of a criterion, or returns nil if it has nothing but fillers. A part without a verb takes the verb
// of the part before it.
func (p *parser) claim(tokens []token, link class, previous *claim) *claim {
	r := &claimParser{claim: &claim{minTimes: 1, maxTimes: -1}, parser: p, lastLeadingUnknown: -1}
	for at := 0; at < len(tokens); at++ {
		at += r.readToken(tokens, at)
	}
	if !slices.ContainsFunc(tokens, token.isMeaningful) {
		return nil
	}
	r.readRestrictions(tokens, link, previous)
	r.inherit(link, previous)
	r.resolveClaim()
	return r.claim
}

// readToken reads the token at a position, and returns how many further tokens it has read.
func (r *claimParser) readToken(tokens []token, at int) int {
	t := tokens[at]
	switch t.class {
	case callVerb, useVerb, startVerb, sayVerb, transferVerb, endVerb, callNoun:
		r.readVerb(t)
	case agentWord, contactWord:
		r.readActor(t)
	case nameToken, quotation:
		r.readObject(t)
	case with, markToken:
		return r.readArguments(tokens, at)
	case valueToken:
		if !t.isNumber {
			return r.readArguments(tokens, at)
		}
	case be:
		r.isPassive = true
	case by:
		r.isByNext = true
	case not, without, nor:
		r.isNegated = true
	case ne:
		r.hasNe = true
	case nothing:
		r.isNone = true
	case anything:
		r.hasAny = true
	case talk:
		r.hasTalk = true
	case human:
		r.hasHuman = true
	case toolNoun:
		r.hasAny = r.hasAny || r.kind != 0 && r.object == 0 && at == len(tokens)-1
	case first, last:
		r.position = t.class
	case messageNoun:
		r.hasPosition, r.hasMessage = r.hasPosition || r.position != 0, true
	case wordNoun:
		r.hasMessage = true
	case exactly, atLeast, atMost, moreThan, fewerThan:
		r.bound = t.class
	case once:
		r.count(1)
	case twice:
		r.count(2)
	case filler, is, hedge, ordered, timesNoun, both:
	default:
		r.countUnknown()
	}
	return r.readNumber(tokens, at)
}

// readNumber reads a count such as "3 times", or "at most 2".
func (r *claimParser) readNumber(tokens []token, at int) int {
	t := tokens[at]
	if !t.isNumber || t.class == once || t.class == twice {
		return 0
	}
	isTimes := at+1 < len(tokens) && (tokens[at+1].class == timesNoun || tokens[at+1].class == callNoun)
	switch {
	case isTimes, r.bound != 0 && (r.object == 0 || at == len(tokens)-1), strings.HasSuffix(t.folded, "x"):
		r.count(t.number)
	case t.class == valueToken:
		r.countUnknown()
	}
	if isTimes && tokens[at+1].class == timesNoun {
		return 1
	}
	return 0
}

func (r *claimParser) count(n int) {
	r.hasCount = true
	switch r.bound {
	case atLeast:
		r.minTimes = n
	case atMost:
		r.minTimes, r.maxTimes = 0, n
	case moreThan:
		r.minTimes = n + 1
	case fewerThan:
		r.minTimes, r.maxTimes = 0, n-1
	default:
		r.minTimes, r.maxTimes = n, n
	}
	r.bound = 0
}

func (r *claimParser) readVerb(t token) {
	switch {
	case t.class == callNoun:
		r.hasTalk = true
		if r.kind == 0 {
			r.kind, r.verb = callNoun, t.folded
		}
	case r.kind == 0 || r.kind == callNoun || r.kind == useVerb:
		r.kind, r.verb = t.class, t.folded
	case r.kind != t.class && t.class != useVerb:
		r.countUnknown() // the parser reads only one verb
	}
}

func (r *claimParser) readActor(t token) {
	switch {
	case t.class == contactWord && t.folded == "person" && r.kind == transferVerb:
		r.hasHuman = true
	case r.isByNext || r.kind == 0 || r.kind == callNoun:
		if r.actor == 0 || r.isByNext {
			r.actor = t.class
		}
		r.isByNext = false
	}
	r.hasContact = r.hasContact || t.class == contactWord
	r.hasHuman = r.hasHuman || t.class == agentWord && r.kind == transferVerb
}

func (r *claimParser) readObject(t token) {
	if r.object != 0 {
		r.countUnknown() // the parser reads only one object
		return
	}
	r.object = t.class
	isWord := !strings.ContainsAny(t.text, " .,!?") // tool names have none of these
	if r.object == quotation && (r.kind == callVerb || r.kind == callNoun && r.isPassive) && isWord {
		r.object = nameToken
	}
	r.name, r.text = t.text, t.text
}

func (r *claimParser) countUnknown() {
	r.unknownWords++
	isEnd := r.hasHuman && r.kind == transferVerb || r.hasTalk && r.kind == endVerb
	if r.object == 0 && !isEnd {
		r.lastLeadingUnknown = r.unknownWords
	}
}

// readArguments reads the arguments of a call, and returns how many further tokens they take.
func (r *claimParser) readArguments(tokens []token, at int) int {
	t := tokens[at]
	switch {
	case t.class == markToken && t.text != "(":
		return 0
	case t.class == with && (r.kind == sayVerb || r.kind == transferVerb && r.object == 0 || r.kind == endVerb):
		return 0
	case r.object != nameToken:
		if t.class != with {
			r.countUnknown()
		}
		return 0
	}
	from := at + 1
	if t.class == valueToken {
		from = at
	}
	given, rest := r.parser.arguments(tokens[from:], r.name)
	r.arguments = append(r.arguments, given...)
	if len(given) == 0 && t.class == with && !slices.ContainsFunc(tokens[from:],
		func(t token) bool { return t.class == unknown || t.class == valueToken }) {
		return 0 // "for the customer"
	}
	if len(given) == 0 && t.class != markToken {
		r.countUnknown()
	}
	return len(tokens) - len(rest) - at - 1
}

// arguments reads arguments from the start of tokens: "id A-1", "id = A-1 and day: Monday", "(A-1)", JSON. It returns
// the tokens that are left.
func (p *parser) arguments(tokens []token, target string) (given []argument, rest []token) {
	for rest = tokens; len(rest) > 0; {
		at, key, isNamed := 0, []string{}, false
	words:
		for at < len(rest) && rest[at].class != valueToken && rest[at].class != quotation {
			t := rest[at]
			switch {
			case t.class == is || t.class == be:
				isNamed = isNamed || t.class == is && slices.Contains([]string{"=", "==", ":"}, t.folded)
			case t.class == unknown || t.class == nameToken || p.names.hasParameter(target, t.text):
				if len(key) > 0 && p.names.hasParameter(target, strings.Join(key, " ")) {
					break words // the value is a plain word
				}
				key = append(key, t.text)
			case t.class == callVerb || t.class == sayVerb || t.class == timesNoun || t.class == not || t.class == once ||
				t.class == exactly || t.class == atLeast || t.class == atMost:
				return given, rest
			case t.class == messageNoun || t.class == wordNoun || t.class == human || t.class == talk || t.class == contactWord:
				key = append(key, t.text)
			case isNamed && t.class != markToken && len(key) > 0:
				break words
			}
			at++
			if isNamed && len(key) > 0 && at < len(rest) && rest[at].class != is {
				break
			}
		}
		if at >= len(rest) {
			return given, rest
		}
		found := p.argumentsOf(rest[at], strings.Join(key, " "), isNamed)
		at++
		for isNamed && at < len(rest) && (rest[at].class == unknown || rest[at].class == valueToken) && !rest[at-1].isQuoted {
			found[0].value += " " + rest[at].text
			at++
		}
		given, rest = append(given, found...), rest[at:]
	}
	return given, rest
}

// argumentsOf returns the arguments in a value: the members of a JSON object, or the value itself.
func (p *parser) argumentsOf(t token, key string, isNamed bool) (given []argument) {
	var members map[string]json.RawMessage
	if key == "" && strings.HasPrefix(t.text, "{") && json.Unmarshal([]byte(t.text), &members) == nil {
		for member, value := range members {
			given = append(given, argument{member, valueText(value), true})
		}
		return given
	}
	return []argument{{key, t.text, isNamed}}
}
