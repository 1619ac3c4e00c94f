package engine

import (
	"regexp"
	"strings"
	"unicode"
)

const (
	doubleMarks = "\"“”„‟«»"
	singleMarks = "'‘’‚‛‹›`´"
	dashes      = "-‐‑‒–—―−"
)

// find returns the part of the message, of its text or of its calls, that is the quote word for word. Only white space
// and the shape of quotation marks and dashes may differ, and marks around the quote may be missing there. A quote needs
// a letter or digit. The judge can quote a call's name with its arguments, its result, its error, its JSON as a whole,
// and what it found in the knowledge base. In calls, white space matters only within words. callID is that of the call in
// which the quote stands, one that was not cited if there is such a call; nil for the message's text.
func (m transcriptMessage) find(quote string, cited map[string]bool) (found string, callID *string) {
	quote = strings.TrimFunc(quote, isSpace)
	bare := strings.TrimFunc(quote, func(r rune) bool { return isSpace(r) || strings.ContainsRune(doubleMarks+singleMarks, r) })
	if !strings.ContainsFunc(bare, isWord) {
		return "", nil
	}
	for _, wanted := range []string{quote, bare} {
		if found, callID = m.look(wanted, cited); found != "" {
			break
		}
	}
	return found, callID
}

// look is find for a quote with all its marks.
func (m transcriptMessage) look(quote string, cited map[string]bool) (found string, callID *string) {
	if found = pattern(quote, false).FindString(m.Text); found != "" || len(m.Calls) == 0 {
		return found, nil
	}
	loose := pattern(quote, true)
	for _, call := range m.Calls {
		for _, text := range call.texts() {
			here := loose.FindString(text)
			if here == "" || found != "" && cited[call.id] {
				continue
			}
			found, callID = here, &call.id
			if !cited[call.id] {
				return found, callID
			}
			break
		}
	}
	return found, callID
}

// texts returns what can be quoted of a call.
func (c transcriptCall) texts() []string {
	texts := []string{c.Name + " " + encode(c.Arguments), encode(c)}
	for _, text := range []*string{c.Result, c.Error} {
		if text != nil {
			texts = append(texts, *text)
		}
	}
	return append(texts, c.excerpts...)
}

// pattern matches a quote. If loose, white space matters only between letters and digits.
func pattern(quote string, loose bool) *regexp.Regexp {
	const space = `[\s\v\x{85}\p{Z}]`
	var expression strings.Builder
	var last rune
	pending := false
	for _, r := range quote {
		if isSpace(r) {
			pending = true
			continue
		}
		switch {
		case expression.Len() == 0:
		case loose && (!isWord(last) || !isWord(r)):
			expression.WriteString(space + "*")
		case pending:
			expression.WriteString(space + "+")
		}
		last, pending = r, false
		switch {
		case strings.ContainsRune(doubleMarks, r):
			expression.WriteString("[" + doubleMarks + "]")
		case strings.ContainsRune(singleMarks, r):
			expression.WriteString("[" + singleMarks + "]")
		case strings.ContainsRune(dashes, r):
			expression.WriteString("[" + dashes + "]")
		default:
			expression.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	// Every part of the expression is quoted or known to be valid.
	return regexp.MustCompile(expression.String())
}

// isSpace reports whether the pattern treats the character as white space.
func isSpace(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) }

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
