package cli

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Wrap returns the lines of a text, wrapped at words. No line takes more columns of a terminal than most: longer words
// are broken.
func Wrap(text string, most int) (lines []string) {
	for _, line := range wrap(text, most) {
		for Columns(line) > most {
			at := fitting(line, most)
			lines, line = append(lines, line[:at]), line[at:]
		}
		lines = append(lines, line)
	}
	return lines
}

// wrap returns the lines of a text. No line takes more columns than most, unless a single word does.
func wrap(text string, most int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case Columns(lines[last])+1+Columns(word) <= most:
			lines[last] += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// fitting returns how many bytes of a text fit the columns, but those of one character at least.
func fitting(text string, most int) int {
	columns := 0
	for at, r := range text {
		columns += columnsOf(r)
		if columns > most && at > 0 {
			return at
		}
	}
	return len(text)
}

// Columns returns how many columns of a terminal the text takes.
func Columns(text string) (columns int) {
	for _, r := range text {
		columns += columnsOf(r)
	}
	return columns
}

// columnsOf returns 2 for wide characters such as Chinese ones, and 0 for marks that combine with others.
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
