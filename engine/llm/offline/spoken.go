package offline

import (
	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

var (
	// sayThat and tellTo match what the model has to say and the contact can hear as it is.
	sayThat = lazyregexp.New(`(?i)\b(?:say|explain|tell (?:them|him|her|the \w+)|remind (?:them|the \w+)) that ([^.;:]+)`)
	tellTo  = lazyregexp.New(`(?i)\btell (?:them|him|her|the \w+) (not )?to ([^.;:]+)`)
	sayWhat = lazyregexp.New(`(?i)\bsay (what to \w+): ([^.]+)`)
	// forbidding matches what must not be said.
	forbidding = lazyregexp.New(
		`(?i)\b(never|not (say|tell|explain|remind)|don['’]t (say|tell|explain|remind)|jamais|only say)\b`)
	// andThen matches the beginning of what the model has to do besides.
	andThen = lazyregexp.New(
		`(?i),? (and|then) (open|hand|end|transfer|call|close|pass|give|record|wait|ask)\b.*|, and when\b.*`)
	furtherTo    = lazyregexp.New(`(,| and) to `)
	furtherNotTo = lazyregexp.New(`(,| and) not to `)
	// order matches the beginning of the part of a sentence that is for the model, after a fact or a condition.
	order = lazyregexp.New(`(?i)[,:;] (?:then )?(?:` + orders + `)\b`)
	// manner matches sentences about how the model speaks and what it is there for, anywhere.
	manner = lazyregexp.New(
		`(?i)\b(emoji|sentences?|phrases courtes|formatting|plain text|jargon|body talk|vouvoie|messages? (under|as)|short (replies|numbered)|words at most|mots au plus|` +
			`good result|usual answers|nobody is bothered|knowing three things|one (step|question) at a time|une seule question)\b`)
	// aside matches sentences about the contact. Only those with figures are for the contact.
	aside = lazyregexp.New(
		`(?i)\b(the|a) (caller|customer|visitor|contact|lead|passenger|person|user)(s|'s|’s)?\b|\b(la personne|le client|la cliente)\b`)
	// hidden matches texts that no contact hears: a placeholder without a value, and the contact's own number.
	hidden = lazyregexp.New(`\{[A-Za-z_][\w.]*\}|\+\d{8,}|(?i:^today is )`)
	// mannerHeading matches headings of sections about how the model works.
	mannerHeading = lazyregexp.New(
		`(?i)^#+\s*(how you|how to (speak|write|answer)|tone|ton\b|style|form\b|format|aim|goals?\b|role|never|sources|method|verify|ta mission|course of|first things)`)
)

const orders = `stop|end|listen|say|do not|don['’]t|ask|tell|use|call|offer|suggest|answer|give|leave|thank|hand|open|read|repeat|send|take|transfer|schedule|agree|wish|apologise|explain|prefer|spell|let|` +
	`find|begin|make|check|confirm|order|freeze|dispute|close|book|expliquer|demande|rembourse|ouvre|réponds|propose|donne|laisse|retrouve|récapitule|attends|indique|reconnais|appelle|vouvoie`

// forContact turns a sentence that tells the model what to say into what the contact hears. It returns false for other
// sentences.
func forContact(sentence string) (string, bool) {
	if forbidding().MatchString(sentence) {
		return "", false
	}
	if m := occasion().FindStringSubmatch(sentence); m != nil && contactNamed().MatchString(sentence) {
		return read.Ended(read.UpperFirst(m[1])), true
	}
	if m := sayThat().FindStringSubmatch(sentence); m != nil {
		return read.Ended(read.UpperFirst(andThen().ReplaceAllString(m[1], ""))), true
	}
	if m := sayWhat().FindStringSubmatch(sentence); m != nil {
		return read.Ended(read.UpperFirst(m[1]) + ": " + m[2]), true
	}
	if m := tellTo().FindStringSubmatch(sentence); m != nil {
		wish := andThen().ReplaceAllString(m[2], "")
		wish = furtherTo().ReplaceAllString(furtherNotTo().ReplaceAllString(wish, "$1 do not "), "$1 ")
		if m[1] != "" {
			wish = "do not " + wish
		}
		return read.Ended("Please " + wish), true
	}
	return "", false
}

// withoutOrders returns the part of a sentence before what it tells the model to do, or "" if that part says
// nothing.
func withoutOrders(sentence string) string {
	at := order().FindStringIndex(sentence)
	switch {
	case at == nil:
		return sentence
	case condition().MatchString(sentence), sentence[at[0]] == ',', len(read.Words(sentence[:at[0]])) < 3:
		return ""
	}
	return sentence[:at[0]] + "."
}

// isForModel reports whether a sentence is about the model's manners, or about the contact without a fact.
func isForModel(sentence string) bool {
	return manner().MatchString(sentence) || hidden().MatchString(sentence) || contactNamed().MatchString(sentence) ||
		aside().MatchString(sentence) && !read.HasDigits(sentence)
}
