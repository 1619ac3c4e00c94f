package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// longestUnspaced is the number of characters of the longest words in scripts without blanks.
const longestUnspaced = 8

// Target is a tool or a sub-agent that the agent can call.
type Target struct {
	Name string
	// Parameters are the names of its arguments.
	Parameters []string
}

// criterionPart is a part of a criterion, and how it is joined to the part before it: by and, or, without, before,
// after or then.
type criterionPart struct {
	link   class
	tokens []token
	// sentence is the number of its sentence.
	sentence int
	// isContrast is set if the part follows a word such as "but".
	isContrast bool
}

// parser reads criteria in one language.
type parser struct {
	*lexicon
	names targetNames
	// unknownWords counts the words that the language does not have.
	unknownWords int
	isHedged     bool
	isOrdered    bool
	// joined is the class of "and" or "or" if one of these words joins the parts of the current sentence.
	joined   class
	sentence int
}

// parse returns the claims of a criterion in the language that understands most of it. If several languages understand
// as much, it returns the claims in each of them.
func parse(criterion string, targets []Target) (readings [][]*claim) {
	names := namesOf(append(slices.Clone(targets), Target{Name: llm.TransferCall}, Target{Name: llm.EndConversation}))
	tokens := lex(criterion)
	least := -1
	for _, l := range languages() {
		p := &parser{lexicon: l, names: names}
		claims := p.claims(p.cutUnspaced(tokens))
		missed := p.unknownWords
		for _, c := range claims {
			if c.isUnsure {
				missed++
			}
		}
		if least < 0 || missed < least {
			readings, least = nil, missed
		}
		if missed == least {
			readings = append(readings, claims)
		}
	}
	return readings
}

// IsNegative reports whether a criterion denies something, so that nothing can be quoted to show that it holds.
func IsNegative(criterion string) bool {
	least, isNegative := -1, false
	for _, l := range languages() {
		p := &parser{lexicon: l}
		denies := slices.ContainsFunc(p.classify(p.cutUnspaced(lex(criterion))), func(t token) bool {
			return t.class == not || t.class == nothing || t.class == without || t.class == nor
		})
		if least < 0 || p.unknownWords < least {
			least, isNegative = p.unknownWords, denies
		} else if p.unknownWords == least {
			isNegative = isNegative || denies
		}
	}
	return isNegative
}

// claims returns the claims of the parts of a criterion, in order.
func (p *parser) claims(tokens []token) (claims []*claim) {
	var last, leading *claim
	for _, each := range p.split(p.classify(tokens)) {
		if last != nil && p.mergeArguments(last, each) {
			continue
		}
		c := p.claim(each.tokens, each.link, last)
		if c == nil {
			p.isHedged = p.isHedged || each.link == without // "without arguments"
			continue
		}
		p.readJoin(each)
		p.isHedged = p.isHedged || each.isContrast && c.isInherited && c.isNegated && each.link == and
		c.link = each.link
		switch {
		// "never calls X without Y" means that Y comes before X.
		case each.link == without && last != nil && last.isNegated && last.order == 0:
			last.order, last.relatedClaim = before, c
			continue
		case each.link == without, each.link == nor:
			c.link, c.isNegated = and, true
		case last == nil && leading == nil && (each.link == before || each.link == after):
			leading = c
			continue
		case leading != nil:
			c.order, c.relatedClaim, leading = leading.link, leading, nil
		case each.link == before || each.link == after || each.link == then:
			for i, one := range slices.Backward(claims) { // "says X or Y before it hangs up"
				one.order, one.relatedClaim = each.link, c
				if i == 0 || !one.isInherited || claims[i-1].order != 0 {
					break
				}
			}
			if each.link == then { // "X then Y" also claims Y, and "then Z" may follow
				c.link = and
				claims = append(claims, c)
				last = c
			}
			continue
		}
		claims, last = append(claims, c), c
	}
	for i, c := range claims {
		if p.isOrdered && i > 0 && claims[i-1].order == 0 {
			claims[i-1].order, claims[i-1].relatedClaim = then, c
		}
		c.isHedged = p.isHedged
		if c.position != 0 && !c.hasPosition {
			c.isUnsure = c.isUnsure || c.order != then
			c.position = 0
		}
	}
	return claims
}

// classify gives each token its class. It joins the words of phrases.
func (p *parser) classify(tokens []token) (classified []token) {
	for at := 0; at < len(tokens); {
		t := tokens[at]
		size := 1
		if t.class == unknown || t.class == markToken {
			for n := min(longestPhrase, len(tokens)-at); n > 0; n-- {
				if c, ok := p.words[phraseOf(tokens[at:at+n])]; ok {
					t.class, size = c, n
					break
				}
			}
		}
		t = p.classifyName(t, classified)
		if n, ok := p.numberOf(t.folded); ok && size == 1 && !t.isQuoted {
			t.number, t.isNumber = n, true
			if t.class == unknown {
				t.class = valueToken
			}
		}
		if t.class == unknown {
			t = p.classifyUnknown(t)
		}
		p.isHedged, p.isOrdered = p.isHedged || t.class == hedge, p.isOrdered || t.class == ordered
		classified = append(classified, t)
		at += size
	}
	return classified
}

// cutUnspaced splits words of scripts without blanks into the longest words of the language.
func (p *parser) cutUnspaced(tokens []token) (cut []token) {
	for _, t := range tokens {
		letters := []rune(t.text)
		if t.class != unknown || !isUnspaced(letters[0]) {
			cut = append(cut, t)
			continue
		}
		for from := 0; from < len(letters); {
			to := min(len(letters), from+longestUnspaced)
			for to > from+1 && p.words[string(letters[from:to])] == unknown {
				to--
			}
			word := string(letters[from:to])
			cut = append(cut, token{text: word, folded: word})
			from = to
		}
	}
	return cut
}

// phraseOf joins the words of tokens, or returns "" if there is something other than words.
func phraseOf(tokens []token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		if t.class != unknown && (t.class != markToken || len(tokens) > 1) {
			return ""
		}
		words[i] = t.folded
	}
	return strings.Join(words, " ")
}

// classifyName makes a token the name of a target if it is one. A target whose name is also a common word must follow a
// verb for calls.
func (p *parser) classifyName(t token, before []token) token {
	isKnown := p.names.has(t.text)
	switch {
	case t.class == valueToken || t.class == markToken:
	case isKnown && (t.class == unknown || t.isQuoted):
		t.class = nameToken
	case isKnown:
		at := len(before) - 1
		for at >= 0 && (before[at].class == filler || before[at].class == toolNoun) {
			at--
		}
		if at >= 0 && slices.Contains([]class{callVerb, useVerb, startVerb}, before[at].class) {
			t.class = nameToken
		}
	case t.class == unknown && identifier.MatchString(t.text):
		t.class = nameToken
	}
	return t
}

// classifyUnknown classifies a word that the language does not have.
func (p *parser) classifyUnknown(t token) token {
	if owner, isOwn := strings.CutSuffix(t.folded, "'s"); isOwn && p.words[owner] != unknown {
		t.class = p.words[owner]
		return t
	}
	if strings.ContainsAny(t.text, "0123456789@") {
		t.class = valueToken
		return t
	}
	p.unknownWords++
	return t
}

func (p *parser) numberOf(word string) (int, bool) {
	if n, ok := p.numbers[word]; ok {
		return n, true
	}
	n, err := strconv.Atoi(strings.TrimRight(word, "x×"))
	return n, err == nil
}

// split splits a criterion where its parts are joined. A comma joins like the next "and" or "or".
func (p *parser) split(tokens []token) (parts []criterionPart) {
	current, depth := criterionPart{}, 0
	add := func(link class) {
		// "calls X, not before Y"
		p.isHedged = p.isHedged || len(current.tokens) == 0 && current.link == without && (link == before || link == after)
		if len(current.tokens) > 0 {
			parts = append(parts, current)
			current = criterionPart{link: link, sentence: current.sentence}
		} else if current.link == 0 || current.link == markToken || link != and && link != markToken {
			current.link = link
		}
	}
	for i, t := range tokens {
		switch {
		case t.text == "(" && t.class == markToken:
			depth++
		case t.text == ")" && t.class == markToken:
			depth--
		}
		switch {
		case depth > 0:
			current.tokens = append(current.tokens, t)
		case t.class == markToken && slices.Contains([]string{".", "!", "?", ";"}, t.text):
			add(and)
			current.sentence++
		case t.class == markToken && t.text == ",":
			add(markToken)
		case t.class == or && slices.ContainsFunc(tokens[i+1:], func(t token) bool { return t.class == or }): // "either"
		case t.class == markToken && t.text == ":" && len(current.tokens) == 0:
		case t.class == then && current.isOpen():
			current.link = then
		case (t.class == before || t.class == after) && current.isOpen():
		case t.class == nor && current.isOpen():
			current.tokens = append(current.tokens, t)
		case t.class == and, t.class == or, t.class == nor, t.class == without, t.class == before, t.class == after,
			t.class == then:
			add(t.class)
		case t.class == but:
			add(and)
			current.isContrast = true
		default:
			current.tokens = append(current.tokens, t)
		}
	}
	if len(current.tokens) > 0 {
		parts = append(parts, current)
	}
	next := and
	for i, each := range slices.Backward(parts) {
		switch each.link {
		case markToken:
			parts[i].link = next
		case or, and:
			next = each.link
		}
	}
	return parts
}

// isOpen reports whether a part has started and still lacks what is called, said or done.
func (p criterionPart) isOpen() bool {
	return len(p.tokens) > 0 && !slices.ContainsFunc(p.tokens, func(t token) bool {
		return t.class == nameToken || t.class == quotation || t.class == endVerb || t.class == transferVerb
	})
}

// mergeArguments reports whether a part only has more arguments of the call before it, and adds them.
func (p *parser) mergeArguments(last *claim, each criterionPart) bool {
	isMore := each.tokens[0].class == with
	if each.link != and || last.kind != callVerb || len(last.arguments) == 0 && !isMore {
		return false
	}
	for i, t := range each.tokens {
		if isMore && t.class == nameToken && i > 0 {
			continue
		}
		switch t.class {
		case callVerb, useVerb, startVerb, sayVerb, transferVerb, endVerb, nameToken, not, agentWord:
			return false
		}
	}
	more, rest := p.arguments(each.tokens, last.name)
	if len(rest) > 0 || len(more) == 0 {
		return false
	}
	last.arguments = append(last.arguments, more...)
	return true
}
