package read

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// outerPunctuation may differ at the ends of a quote. It needs no quotation marks, because a folded text has none at
// the ends of a quote.
const outerPunctuation = " .,;:!?"

// Quote is a quote to find in a Passage: folded, without the punctuation around it.
type Quote struct {
	// Text is "" if the quote has no word.
	Text string
	// head and tail are the punctuation around the quote.
	head, tail string
}

// NewQuote returns a quote to find. isLoose must be the same as for the passage.
func NewQuote(quote string, isLoose bool) Quote {
	f := NewPassage(strings.TrimFunc(quote, isSpace), isLoose)
	text := strings.TrimRight(f.Text, outerPunctuation)
	end := len(text)
	text = strings.TrimLeft(text, outerPunctuation)
	if !hasWord(text) {
		return Quote{}
	}
	return Quote{text, f.source[:f.starts[end-len(text)]], f.source[f.ends[end-1]:]}
}

// hasWord reports whether a folded text has a word of at least two letters, or a number.
func hasWord(text string) bool {
	length := 0
	for _, r := range text {
		switch {
		case unicode.IsNumber(r), isUnspaced(r):
			return true
		case unicode.IsLetter(r):
			length++
		case !isWord(r):
			length = 0
		}
		if length == 2 {
			return true
		}
	}
	return false
}

// Find returns the first part of the source that equals the quote, or "".
func (f Passage) Find(quote Quote) string {
	if quote.Text == "" {
		return ""
	}
	for from := 0; ; {
		at := strings.Index(f.Text[from:], quote.Text)
		if at < 0 {
			return ""
		}
		start, end := from+at, from+at+len(quote.Text)
		if !f.cutsBefore(start) && !f.cutsAfter(end) {
			start, end = f.extend(quote, f.starts[start], f.ends[end-1])
			return strings.TrimFunc(f.source[start:end], isSpace)
		}
		_, width := utf8.DecodeRuneInString(f.Text[start:])
		from = start + width
	}
}

// extend extends a part of the source by the punctuation around it, as far as the quote has the same punctuation.
func (f Passage) extend(quote Quote, start, end int) (int, int) {
	for head := quote.head; head != ""; {
		wanted, width := utf8.DecodeLastRuneInString(head)
		before, step := utf8.DecodeLastRuneInString(f.source[:start])
		if step == 0 || shape(wanted) != shape(before) {
			break
		}
		head, start = head[:len(head)-width], start-step
	}
	for _, wanted := range quote.tail {
		after, step := utf8.DecodeRuneInString(f.source[end:])
		if step == 0 || shape(wanted) != shape(after) {
			break
		}
		end += step
	}
	return start, end
}

// cutsBefore reports whether a cut at a position of the folded text would split a word or number that starts earlier.
func (f Passage) cutsBefore(at int) bool {
	first, _ := utf8.DecodeRuneInString(f.Text[at:])
	before, width := utf8.DecodeLastRuneInString(f.Text[:at])
	previous, _ := utf8.DecodeLastRuneInString(f.Text[:at-width])
	if width == 0 || !isWord(first) {
		return false
	}
	isCut := before == minusSign || f.connects(at-width, width, previous, first)
	// An elided article is not part of the word: "l'agent".
	return isJoined(before, first) || isCut && before != '\''
}

// cutsAfter reports whether a cut at a position of the folded text would split a word or number that ends later.
func (f Passage) cutsAfter(at int) bool {
	last, _ := utf8.DecodeLastRuneInString(f.Text[:at])
	after, width := utf8.DecodeRuneInString(f.Text[at:])
	next, _ := utf8.DecodeRuneInString(f.Text[at+width:])
	return width > 0 && isWord(last) && (isJoined(last, after) || f.connects(at, width, last, next))
}

// connects reports whether the character at a position of the folded text joins its neighbors into one word or number:
// "can't" is not "can", "non-refundable" is not "refundable", "10.50" is not "10".
func (f Passage) connects(at, width int, before, after rune) bool {
	if at == 0 || at+width == len(f.Text) || f.ends[at-1] != f.starts[at] || f.ends[at] != f.starts[at+width] {
		return false // the source has something between them, such as a blank
	}
	here, _ := utf8.DecodeRuneInString(f.Text[at:])
	source, _ := utf8.DecodeRuneInString(f.source[f.starts[at]:])
	switch {
	case unicode.IsNumber(before) && unicode.IsNumber(after):
		return strings.ContainsRune(inNumbers, here)
	case unicode.IsLetter(before) && unicode.IsLetter(after):
		return here == '\'' && !f.beginsSuffix(at, width) || strings.ContainsRune(hyphens, source)
	}
	return false
}

// contracted are the ends of English contractions and possessives, which belong to the word.
var contracted = Set("s t d m ll re ve")

// beginsSuffix reports whether the apostrophe at a position of the folded text separates a name from its suffix, as
// Turkish writes it: "İstanbul'da".
func (f Passage) beginsSuffix(at, width int) bool {
	start := len(strings.TrimRightFunc(f.Text[:at], isWord))
	first, _ := utf8.DecodeRuneInString(f.source[f.starts[start]:])
	rest := f.Text[at+width:]
	suffix := rest[:len(rest)-len(strings.TrimLeftFunc(rest, isWord))]
	next, _ := utf8.DecodeRuneInString(suffix)
	return unicode.IsUpper(first) && unicode.Is(unicode.Latin, next) && !contracted[suffix]
}

func isJoined(one, other rune) bool {
	return isWord(one) && isWord(other) && !isUnspaced(one) && !isUnspaced(other)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// isUnspaced reports whether a character belongs to a script without blanks between words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

// Find returns the part of the source that equals the text: at word borders if the text has a word, otherwise anywhere.
func Find(source, text string) string {
	wanted, in := NewQuote(text, false), NewPassage(source, false)
	if wanted.Text != "" {
		return in.Find(wanted)
	}
	plain := NewPassage(text, false).Text
	at := strings.Index(in.Text, plain)
	if plain == "" || at < 0 {
		return ""
	}
	return source[in.starts[at]:in.ends[at+len(plain)-1]]
}
