package rules

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a quotation, a value or a mark of a criterion.
type token struct {
	class class
	// text is as the author wrote it, without the marks of a quotation. folded is in lower case.
	text, folded string
	// number is the value of a number, and isNumber is set if there is one.
	number   int
	isNumber bool
	// isQuoted is set for texts in quotation marks.
	isQuoted bool
}

// closing has the marks that close a quotation, by the mark that opens it.
var closing = map[rune]string{
	'"': `"”`, '“': `”"“`, '„': `“”"`, '«': "»", '»': "«", '‹': "›", '\'': "'’", '‘': "’'", '‚': "‘’'", '`': "`", '「': "」",
	'『': "』", '’': "’",
}

// isSingle reports whether a quotation mark can also be an apostrophe.
func isSingle(r rune) bool { return strings.ContainsRune("'’‘", r) }

// elision matches the short words that French, Italian and Portuguese join to the next one.
var elision = regexp.MustCompile(`(?i)^(?:l|d|n|s|c|j|m|t|qu|jusqu|lorsqu|un|dell|all|nell|dall|sull|quell)'`)

// identifier matches a name in a form that no language has: with an underscore, or with a capital after a small letter.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9_-]+|[a-z0-9][A-Z][A-Za-z0-9]*)$`)

// lex splits a criterion into tokens without a class, except quotations, JSON and marks.
func lex(text string) (tokens []token) {
	previousRune := ' '
	for text != "" {
		r, width := utf8.DecodeRuneInString(text)
		size := width
		switch {
		case r == '{':
			var object json.RawMessage
			if json.NewDecoder(strings.NewReader(text)).Decode(&object) == nil {
				tokens, size = append(tokens, token{class: valueToken, text: string(object)}), len(object)
			}
		case closing[r] != "" && (!isSingle(r) || !inWord(previousRune)):
			if inner, length, ok := quotedAt(text[width:], closing[r]); ok {
				tokens = append(tokens, token{class: quotation, text: inner, folded: strings.ToLower(inner), isQuoted: true})
				size += length
			}
		case strings.ContainsRune("(),;:=.!?，。；：！？、", r):
			tokens = append(tokens, token{class: markToken, text: string(r), folded: string(r)})
		case !unicode.IsSpace(r) && !strings.ContainsRune("*[]…–—", r):
			size = wordAt(text)
			tokens = append(tokens, wordsIn(text[:size])...)
		}
		previousRune, _ = utf8.DecodeLastRuneInString(text[:size])
		text = text[size:]
	}
	return tokens
}

// quotedAt returns the text up to the first closing mark, and its length with that mark.
func quotedAt(text, marks string) (inner string, length int, ok bool) {
	for at, r := range text {
		if !strings.ContainsRune(marks, r) {
			continue
		}
		end := at + utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(text[end:])
		if isSingle(r) && inWord(next) {
			continue
		}
		inner = strings.TrimSpace(text[:at])
		return inner, end, inner != ""
	}
	return "", 0, false
}

// wordAt returns the length of the word at the start of a text, in bytes.
func wordAt(text string) int {
	for at, r := range text {
		next, _ := utf8.DecodeRuneInString(text[at+utf8.RuneLen(r):])
		last, _ := utf8.DecodeLastRuneInString(text[:at])
		switch {
		case r == '–' && unicode.IsDigit(last) && unicode.IsDigit(next): // "1–3 times"
		case unicode.IsSpace(r), strings.ContainsRune("()=,;{}[]\"“”„«»`*…–—", r):
			return cmp.Or(at, utf8.RuneLen(r))
		case at > 0 && isUnspaced(r) != isUnspaced(last):
			return at
		case strings.ContainsRune(".!?:", r) && at > 0 && !inWord(next), r == ':' && !unicode.IsDigit(last):
			return at
		}
	}
	return len(text)
}

func wordsIn(text string) (words []token) {
	text = strings.NewReplacer("’", "'", "‘", "'").Replace(text)
	if joined := elision.FindString(text); joined != "" && len(joined) < len(text) {
		words, text = wordsIn(strings.TrimSuffix(joined, "'")), text[len(joined):]
	}
	return append(words, token{text: text, folded: strings.ToLower(text)})
}

// isUnspaced reports whether a character belongs to a script without blanks between words.
func isUnspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }
