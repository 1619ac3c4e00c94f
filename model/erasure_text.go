package model

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldedText is a text as a reader sees it. Each character is a sign, whatever its escape:
//
//	0-9  a digit of any script
//	+    a plus sign
//	( )  parentheses of any kind
//	- .  a hyphen, a dot
//	/    another separator, an invisible character, or an HTML tag within a line
//	|    the end of a table cell: a tab, a bar, or another HTML tag
//	\n   the end of a line
//	,    a sign that separates values
//	x    any other characters
//
// The first and the last sign are x, also for the ends of the text.
type foldedText struct {
	signs string
	// starts are the places of the signs in the text. The end of a sign is the start of the next one.
	starts []int
}

func foldText(text string) foldedText {
	signs, starts := []byte{'x'}, []int{0}
	for i := 0; i < len(text); {
		sign, end := readSign(text, i)
		if sign != 'x' || signs[len(signs)-1] != 'x' {
			signs, starts = append(signs, sign), append(starts, i)
		}
		i = end
	}
	return foldedText{string(append(signs, 'x')), append(starts, len(text))}
}

const (
	maxEntity = 20
	maxTag    = 100
)

// tagAt matches an HTML tag without digits. A tag with digits may contain the number. The group is the name of a tag
// that may be in the middle of a number.
var tagAt = regexp.MustCompile(`^(?:<|\\+u003[cC])\\*/?` +
	`(?:((?i:a|b|em|font|i|mark|small|span|strong|u|wbr))|[A-Za-z]+)(?:[^<>0-9A-Za-z][^<>0-9]*)?(?:>|\\+u003[eE])`)

// readSign reads the sign at i, and returns the index after it.
func readSign(text string, i int) (sign byte, end int) {
	if letter := text[i] | 0x20; 'a' <= letter && letter <= 'z' {
		return 'x', i + 1
	}
	char, end := unescape(text, i)
	switch char {
	case '<':
		tag := tagAt.FindStringSubmatch(text[i:min(len(text), i+maxTag)])
		switch {
		case tag == nil:
		case tag[1] != "":
			return '/', i + len(tag[0])
		default:
			return '|', i + len(tag[0])
		}
	case '&':
		if name, _, ok := strings.Cut(text[end:min(len(text), end+maxEntity)], ";"); ok {
			if read := []rune(html.UnescapeString("&" + name + ";")); len(read) == 1 {
				return signOf(read[0]), end + len(name) + 1
			}
		}
	}
	return signOf(char), end
}

// unescape reads the character at i. It decodes the escapes of JSON, also in JSON within JSON, and those that URLs need
// for separators and the plus sign.
func unescape(text string, i int) (char rune, end int) {
	switch text[i] {
	case '\\':
		end = i + len(text[i:]) - len(strings.TrimLeft(text[i:], `\`))
		switch next := text[end:min(len(text), end+5)]; {
		case next == "":
		case next[0] == 'n' || next[0] == 'r':
			return '\n', end + 1
		case next[0] == 't':
			return '\t', end + 1
		case next[0] == '/':
			return '/', end + 1
		case next[0] == 'u' && len(next) == 5:
			if n, err := strconv.ParseUint(next[1:], 16, 16); err == nil {
				return rune(n), end + 5
			}
		}
		return '\\', end
	case '%':
		if n, err := strconv.ParseUint(text[i+1:min(len(text), i+3)], 16, 7); err == nil &&
			strings.ContainsRune(" ()+-./", rune(n)) {
			return rune(n), i + 3
		}
	}
	char, size := utf8.DecodeRuneInString(text[i:])
	return char, i + size
}

// others are separators that are not in a class of Unicode.
const others = "/~'_\u00b7\u2018\u2019\u2022\u2053\u2219\u223c\u30fb\u30fc\uff0e\uff0f\uff5e"

// signOf returns the sign of a character, as listed at foldedText.
func signOf(char rune) byte {
	for _, zero := range []rune{'0', '\u0660', '\u06f0', '\uff10'} { // the digits that phonenumbers parses
		if n := char - zero; 0 <= n && n <= 9 {
			return '0' + byte(n)
		}
	}
	switch char {
	case '+', '\uff0b':
		return '+'
	case '(', '[', '\uff08', '\uff3b':
		return '('
	case ')', ']', '\uff09', '\uff3d':
		return ')'
	case '.':
		return '.'
	case ',', ':':
		return ','
	case '|', '\t':
		return '|'
	case '\n', '\r', '\u2028', '\u2029':
		return '\n'
	}
	switch {
	case unicode.IsSpace(char):
		return ' '
	case unicode.Is(unicode.Pd, char), char == '\u2212':
		return '-'
	case unicode.Is(unicode.Cf, char), strings.ContainsRune(others, char):
		return '/'
	}
	return 'x'
}
