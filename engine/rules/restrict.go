package rules

import (
	"regexp"
	"slices"
)

// isMeaningful reports whether a part with this word claims or restricts something. A part without such words is
// dropped.
func (t token) isMeaningful() bool {
	switch t.class {
	case filler, agentWord, contactWord, talk, be, by, with, is, hedge, ordered, markToken:
		return t.isNumber
	}
	return true
}

// timesRange matches a range of numbers, such as "1-2".
var timesRange = regexp.MustCompile(`^\d+[-–]\d+$`)

// readRestrictions leaves the whole criterion to the judge if words of this part restrict, or count, what several parts
// mention: "one of", "at least one of", "not both", "nothing but", "1-2 times".
func (r *claimParser) readRestrictions(tokens []token, link class, previous *claim) {
	isRestricted := r.bound != 0 && (r.bound != exactly || previous != nil)
	for i, t := range tokens {
		switch {
		case t.isNumber && isRange(tokens[i:]): // "1 to 2 times"
			isRestricted = true
		case t.class == nothing: // "with no arguments"
			isRestricted = isRestricted || i > 0 && tokens[i-1].class == with
		case t.isNumber, t.class == anything:
			isRestricted = isRestricted || startsGroup(tokens[i+1:]) && (t.class != anything || !r.isNegated)
		case t.class == both:
			isRestricted = isRestricted || r.isNegated || r.isNone || link == without || link == nor
		case timesRange.MatchString(t.text):
			isRestricted = isRestricted || i+1 < len(tokens) && tokens[i+1].class == timesNoun
		}
	}
	if previous != nil && previous.isOpen && r.kind == 0 && r.object != 0 {
		isRestricted = true
	}
	r.isOpen = r.object == 0 && (r.isNone || r.hasAny)
	r.parser.isHedged = r.parser.isHedged || isRestricted
}

// isRange reports whether a number begins a range of counts, such as "1 to 3 times". In most languages, the word for
// "twice" is two words, which form one token: "une à deux fois".
func isRange(tokens []token) bool {
	if len(tokens) < 3 || tokens[1].class != filler {
		return false
	}
	return tokens[2].class == twice || len(tokens) > 3 && tokens[2].isNumber && tokens[3].class == timesNoun
}

// startsGroup reports whether a number is followed by a word such as "of", and then by what is called or said: "one of
// the words".
func startsGroup(rest []token) bool {
	at := slices.IndexFunc(rest, func(t token) bool {
		return t.class != filler && t.class != is && t.class != by && t.class != wordNoun && t.class != messageNoun &&
			t.class != toolNoun
	})
	if at < 1 || rest[at].class != nameToken && rest[at].class != quotation {
		return false
	}
	return rest[0].class == filler || rest[0].class == is || rest[0].class == by
}

// readJoin leaves a criterion to the judge if a sentence joins its parts by both "and" and "or".
func (p *parser) readJoin(part criterionPart) {
	if part.sentence != p.sentence {
		p.sentence, p.joined = part.sentence, 0
		return
	}
	link := part.link
	if link == without {
		link = and
	}
	if link != and && link != or {
		return
	}
	p.isHedged = p.isHedged || p.joined != 0 && p.joined != link
	p.joined = link
}
