package read

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	doubleMarks = "\"“”„‟«»"
	singleMarks = "'‘’‚‛‹›`´"
	// emphasis has the marks of Markdown within a line, except the backtick, which is among singleMarks.
	emphasis = "*_~"
	hyphens  = "-‐‑"
	dashes   = hyphens + "‒–—―−"
	// inNumbers has the characters that can join digits into one number.
	inNumbers = ".,:⁄"
	// minusSign is a minus sign before a number. It is not a dash.
	minusSign = '−'
	// dotAbove is the combining dot above. Lower-case forms of İ have it after the i.
	dotAbove = '\u0307'
)

// Passage is a text folded for comparison, with the origin of each of its bytes.
type Passage struct {
	source, Text string
	// starts and ends have, for each byte of Text, the bounds of the character in source that it comes from.
	starts, ends []int
}

// NewPassage folds the differences that models introduce when they repeat a text: case, compatible characters (NFKC),
// digits of other scripts, invisible characters, amounts of white space, shapes of quotation marks and dashes, and
// quotation marks and Markdown around words. İ, I, ı and i are one letter, and ß is ss. If isLoose, white space matters
// only between letters and digits.
func NewPassage(text string, isLoose bool) Passage {
	f := passageBuilder{Passage: Passage{source: text}, isLoose: isLoose, isLineStart: true}
	for at := 0; at < len(text); {
		width := norm.NFKC.NextBoundaryInString(text[at:], true)
		f.addUnit(text[at:at+width], at, at+width)
		at += width
	}
	f.Text = f.written.String()
	return f.Passage
}

type passageBuilder struct {
	Passage
	written strings.Builder
	// last has the last written character. pending has white space to write before the next character.
	last    rune
	pending bool
	isLoose bool
	// isLineStart is set while the line has only marks of Markdown.
	isLineStart bool
}

// addUnit folds the characters of the source from start to end, which form one unit of normalization.
func (f *passageBuilder) addUnit(segment string, start, end int) {
	if strings.ContainsFunc(segment, func(r rune) bool { return isMark(r) || unicode.Is(unicode.No, r) }) {
		// NFKC would make another number (10² is not 102), or a blank with an accent (´).
		for at := start; at < end; {
			r, width := utf8.DecodeRuneInString(f.source[at:])
			f.character(r, at, at+width)
			at += width
		}
		return
	}
	for _, r := range norm.NFKC.String(segment) {
		f.character(latinDigit(r), start, end)
	}
}

func (f *passageBuilder) character(r rune, start, end int) {
	switch {
	case isInvisible(r), r == dotAbove && f.last == 'i':
	case isSpace(r):
		f.isLineStart = f.isLineStart || r == '\n'
		f.pending = true
	case f.isLineStart && f.marksLine(r, end):
	case isMark(r):
		f.mark(r, start, end)
	case strings.ContainsRune(dashes, r):
		f.dash(start, end)
	default:
		for _, r := range foldCase(string(r)) {
			f.write(r, start, end)
		}
	}
}

// foldCase returns a text in lower case, in which letters that differ only in case are equal. Turkish has ı for I and İ
// for i, so these four letters are equal.
func foldCase(text string) string {
	return strings.ReplaceAll(strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, text),
		"ß", "ss")
}

// marksLine reports whether a character at the beginning of a line is a Markdown mark: of a heading, a quotation or an
// unnumbered list.
func (f *passageBuilder) marksLine(r rune, end int) bool {
	next, _ := utf8.DecodeRuneInString(f.source[end:])
	switch r {
	case '>', '#':
		return true
	case '-', '*', '+', '•':
		return isSpace(next)
	}
	return false
}

// mark writes a quotation mark or a Markdown mark only where it neither quotes nor emphasizes: within a word, or
// between blanks if it is a mark of emphasis.
func (f *passageBuilder) mark(r rune, start, end int) {
	next := f.next(end)
	isWithin := !f.pending && isWord(f.last) && isWord(next)
	isAlone := f.pending && isSpace(next) && strings.ContainsRune(emphasis, r)
	if isWithin || isAlone {
		f.write(shape(r), start, end)
	}
	f.isLineStart = false
}

// dash writes a dash without the blanks around it, or a minus sign before a number.
func (f *passageBuilder) dash(start, end int) {
	if unicode.IsNumber(f.next(end)) && (f.pending || !isWord(f.last)) {
		f.write(minusSign, start, end)
		return
	}
	f.pending = false
	f.write('-', start, end)
}

// next returns the next visible character of the source, or 0 at its end.
func (f *passageBuilder) next(at int) rune {
	for _, r := range f.source[at:] {
		if !isInvisible(r) {
			return r
		}
	}
	return 0
}

func (f *passageBuilder) write(r rune, start, end int) {
	if f.pending && f.last != 0 && f.last != '-' && (!f.isLoose || isWord(f.last) && isWord(r)) {
		f.append(' ', start, start)
	}
	f.append(r, start, end)
	f.last, f.pending, f.isLineStart = r, false, false
}

func (f *passageBuilder) append(r rune, start, end int) {
	for range utf8.RuneLen(r) {
		f.starts, f.ends = append(f.starts, start), append(f.ends, end)
	}
	f.written.WriteRune(r)
}

// shape returns one character for all kinds of white space, of dashes, and of single or double quotation marks.
func shape(r rune) rune {
	switch {
	case isSpace(r):
		return ' '
	case strings.ContainsRune(doubleMarks, r):
		return '"'
	case strings.ContainsRune(singleMarks, r):
		return '\''
	case strings.ContainsRune(dashes, r):
		return '-'
	}
	return r
}

func isMark(r rune) bool { return strings.ContainsRune(doubleMarks+singleMarks+emphasis, r) }

// latinDigit returns the digit 0 to 9 for a decimal digit of another script, and other characters unchanged.
func latinDigit(r rune) rune {
	if r < 0x660 || !unicode.IsDigit(r) {
		return r
	}
	for _, digits := range unicode.Nd.R16 {
		if rune(digits.Lo) <= r && r <= rune(digits.Hi) {
			return '0' + (r-rune(digits.Lo))%10
		}
	}
	return r
}

// isInvisible reports whether a character is invisible, such as a joiner, a soft hyphen, a byte order mark or a
// variation selector.
func isInvisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Variation_Selector) }

func isSpace(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) }
